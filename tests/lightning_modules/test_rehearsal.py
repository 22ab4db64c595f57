"""Tests of each family on a simulated GPU: all tensors are on the device, and the host waits only where documented."""

import copy
from pathlib import Path

import pytest
import torch
from families import CASES, Family
from pytorch_lightning.plugins.precision import MixedPrecision, Precision

from heedful.lightning_modules import CausalLM, Encoder
from heedful.records import SOFT

from causal import EXAMPLES, TASK, prompt, save
from rehearsal import Rehearsal
from tiers import first_tier

EXACTNESS = Path(__file__).parents[2] / "docs" / "exactness.md"
# places that may wait for the device; docs/exactness.md gives the reasons
MASK = "transformers/masking_utils.py:_ignore_bidirectional_mask_sdpa"
TEXT, PROMPTED = "lightning_modules/text/", "lightning_modules/prompted/"
HEADS = "lightning_modules/heads.py:"
NUMBERS = HEADS + "answer"
PREDICTING = {
    "Reader": {TEXT + "reader.py:answer"},
    "Seq2Seq, BART": {TEXT + "seq2seq.py:decoded"},
    "Seq2Seq, greedy": {HEADS + "generated", NUMBERS},
    "Writer": {HEADS + "generated"},
    "BlipAnswers, ranked": {HEADS + "likelihoods"},
}
TRAINING = {
    "Seq2Seq, BART": {TEXT + "seq2seq.py:decoded"},
    "BlipAnswers, soft": {HEADS + "loss"},
}
# the text of a simulated number is no name of an expert
REHEARSED = [name for name in CASES if name != "Seq2Seq, Switch"]
SHARED = PROMPTED + "shared_prefix.py:"
FIRST = {SHARED + "__init__", PROMPTED + "causal_lm.py:_begin"}
SCORED = {SHARED + "read", SHARED + "pad"}
WRITTEN = {PROMPTED + "causal_lm.py:generated", PROMPTED + "causal_lm.py:_generated", NUMBERS, SHARED + "_forward"}
PRECISIONS = {"32-true": Precision, "bf16-mixed": lambda: MixedPrecision("bf16-mixed", "cuda")}


def waits(rehearsal):
    """Places where the host waits for the device; other findings fail the test."""
    assert {str(found) for found in rehearsal.findings if found.kind not in ("wait", "copy")} == set()
    return {found.by if found.by == MASK else found.where for found in rehearsal.findings}


def checks(name):
    """The place of the check for padding; encoders have none."""
    return set() if name.startswith("Encoder") else {MASK}


def expect_alike(outputs, expected, tolerance):
    for values, wanted in zip(outputs, expected, strict=True):
        if isinstance(wanted, torch.Tensor) and wanted.is_floating_point():
            torch.testing.assert_close(values, wanted, rtol=0, atol=tolerance)
        elif wanted is not None:
            assert len(values) == len(wanted)


@pytest.mark.parametrize(
    ("device", "precision"), first_tier(1, [("cuda:0", "32-true"), ("cuda:0", "bf16-mixed"), ("mps:0", "32-true")])
)
@pytest.mark.parametrize("name", first_tier(3, REHEARSED))
def test_predictions(zoo, name, device, precision):
    model, examples = zoo.model(name), list(zoo.pool(name))
    batch = {"inputs": model.processor(examples), "size": len(examples)}
    with torch.inference_mode():
        expected = copy.deepcopy(model).predict(batch)  # the copy may cache features
    with Rehearsal(device) as rehearsal:
        rehearsal.place(model)
        placed = rehearsal.place(batch)
        with torch.inference_mode(), PRECISIONS[precision]().val_step_context():
            outputs = model.predict(placed)
        assert all(values.device == torch.device(device) for values in outputs if isinstance(values, torch.Tensor))
        found = rehearsal.fetch(outputs)
    # on an Apple GPU, indices of labels are copied without waiting
    assert waits(rehearsal) == checks(name) | PREDICTING.get(name, set()) - ({NUMBERS} if device == "mps:0" else set())
    expect_alike(found, expected, 1e-5 if precision == "32-true" else 0.03)


@pytest.mark.parametrize("name", first_tier(3, REHEARSED))
def test_training(zoo, name, monkeypatch):
    model, examples = zoo.model(name).train(), list(zoo.pool(name))[:3]
    monkeypatch.setattr(model, "log", lambda *args, **settings: None)
    labels = torch.tensor([0, 1, 0])
    if model.task.kind is SOFT:
        labels = torch.nn.functional.one_hot(labels, len(model.task.labels)).float() * 0.6
    batch = {"inputs": model.processor(examples), "size": 3, "labels": labels}
    if name == "Reader":
        batch["inputs"]["targets"] = torch.zeros(len(batch["inputs"]["windows"]), 2, dtype=torch.int64)
    with Rehearsal() as rehearsal:
        rehearsal.place(model)
        placed = rehearsal.place(batch)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        before = [rehearsal.fetch(parameter.detach()) for parameter in model.parameters()]
        with PRECISIONS["bf16-mixed"]().train_step_context():
            loss = model.training_step(placed, 0)
        loss.backward()
        optimizer.step()
        after = [rehearsal.fetch(parameter.detach()) for parameter in model.parameters()]
        assert rehearsal.fetch(loss.detach()).isfinite()
    assert waits(rehearsal) == checks(name) | TRAINING.get(name, set())
    assert loss.dtype == torch.float32
    assert any(not torch.equal(was, now) for was, now in zip(before, after, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("decoding", "later"), [("likelihood", SCORED), ("greedy", SCORED | WRITTEN)])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_shared_prefix(precision, decoding, later, tmp_path):
    save(tmp_path)

    def built():
        model = CausalLM(str(tmp_path), decoding=decoding)
        model.bind(TASK)
        model.prompt_with(prompt())
        model.configure_model()
        return model

    model = built()
    batch = {"inputs": model.processor(EXAMPLES), "size": len(EXAMPLES)}
    with torch.inference_mode():
        expected = model.predict(batch)
    model = built()
    with Rehearsal() as rehearsal:
        rehearsal.place(model.network)
        placed = rehearsal.place(batch)
        with torch.inference_mode(), PRECISIONS[precision]().val_step_context():
            model.predict(placed)
            assert waits(rehearsal) == FIRST | later
            rehearsal.findings.clear()
            outputs = model.predict(placed)
        found = rehearsal.fetch(outputs)
    assert waits(rehearsal) == later
    expect_alike(found, expected, 1e-5 if precision == "32-true" else 0.1)


class Misplaced(Encoder):
    """A model that adds a tensor of the host to its scores."""

    def scores(self, inputs):
        return super().scores(inputs) + torch.ones(3)


class Waiting(Encoder):
    """A model that reads a value of its scores on the host."""

    def scores(self, inputs):
        scores = super().scores(inputs)
        return scores if scores[0, 0].item() < 1e9 else scores * 2


@pytest.mark.parametrize("family", [Misplaced, Waiting])
def test_a_fault_in_a_model_is_found(zoo, family, monkeypatch):
    monkeypatch.setitem(CASES, "faulty", Family(family, "tiny_bert", "pairs"))
    model = zoo.model("faulty")
    with Rehearsal() as rehearsal, torch.inference_mode():
        rehearsal.place(model)
        batch = rehearsal.place({"inputs": model.processor(list(zoo.pool("Encoder"))), "size": 6})
        if family is Misplaced:
            with pytest.raises(RuntimeError, match="same device"):
                model.predict(batch)
        else:
            model.predict(batch)
    kind, operator = ("mixed", "aten.add.Tensor") if family is Misplaced else ("wait", "aten._local_scalar_dense")
    (found,) = [one for one in rehearsal.findings if one.by != MASK]
    assert found.kind == kind
    assert found.operator.startswith(operator)
    assert found.where == "tests/lightning_modules/test_rehearsal.py:scores"


def test_the_waits_that_are_known_stand_in_the_documents():
    text = EXACTNESS.read_text()
    known = (FIRST | SCORED | WRITTEN).union(*PREDICTING.values(), *TRAINING.values())
    assert {place for place in known if not all(piece in text for piece in place.split(":"))} == set()
    assert MASK.split(":")[1] in text

"""Each family on a rehearsed GPU: nothing lies on the wrong device, and nothing waits but what is known to."""

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from pytorch_lightning.plugins.precision import MixedPrecision, Precision

from heedful.lightning_modules import Blip, BlipAnswers, CausalLM, Encoder, LateFusion, Reader, Seq2Seq, Vilt, Writer
from heedful.lightning_modules.classifier import Classifier
from heedful.lightning_modules.gradients import integrated_gradients
from heedful.lightning_modules.outputs import Outputs
from heedful.records import CLASSIFICATION, SOFT, SPAN, Example, Picture, Task

from causal import EXAMPLES, TASK, prompt, save
from rehearsal import DEVICE, OnDevice, Rehearsal
from tiers import first_tier

ROOT = Path(__file__).parents[2]
LABELS = ("yes", "no")
PAIRS = Task(CLASSIFICATION, ("premise", "hypothesis"), LABELS)
QUESTIONS = Task(CLASSIFICATION, ("image", "question"), LABELS, pictures=("image",))
PASSAGES = Task(SPAN, ("context", "question"), ())
# the places that are known to wait, as docs/exactness.md lists them, with reasons
MASK = "transformers/masking_utils.py:_ignore_bidirectional_mask_sdpa"
TEXT, PROMPTED = "lightning_modules/text/", "lightning_modules/prompted/"
READER = TEXT + "reader.py:answer"
WRITES = TEXT + "seq2seq.py:_written"
NUMBERS = TEXT + "seq2seq.py:answer"
RANKS = "lightning_modules/label_scorer.py:forward"
WORTHS = "lightning_modules/label_scorer.py:loss"
SHARED = PROMPTED + "shared_prefix.py:"
FIRST = {SHARED + "read_prefix", PROMPTED + "causal_lm.py:_read"}
WRITTEN = {PROMPTED + "causal_lm.py:" + name for name in ("answer", "_written", "_generated")} | {
    SHARED + "join",
    SHARED + "_forward",
}
GRADIENTS = "lightning_modules/gradients.py:integrated_gradients"


@dataclass(frozen=True)
class Case:
    """A family, its tiny backbone, how it is set, and where it is known to wait when it predicts and when it learns."""

    family: type[Classifier]
    backbone: str
    task: Task
    settings: dict[str, Any] = field(default_factory=dict)
    predicting: frozenset[str] = frozenset({MASK})
    training: frozenset[str] = frozenset({MASK})


GREEDY = {"decoding": "greedy"}
CASES = {
    "Encoder": Case(Encoder, "tiny_bert", PAIRS),
    "Encoder, soft": Case(Encoder, "tiny_bert", Task(SOFT, PAIRS.parts, LABELS)),
    "Reader": Case(
        Reader, "tiny_bert", PASSAGES, {"overlap": 8, "longest_answer": 8}, predicting=frozenset({MASK, READER})
    ),
    "Seq2Seq": Case(Seq2Seq, "tiny_t5", PAIRS),
    "Seq2Seq, mean": Case(Seq2Seq, "tiny_t5", PAIRS, {"score": "mean"}),
    "Seq2Seq, greedy": Case(Seq2Seq, "tiny_t5", PAIRS, GREEDY, predicting=frozenset({MASK, WRITES, NUMBERS})),
    "Writer": Case(Writer, "tiny_t5", PASSAGES, {"longest_answer": 3}, predicting=frozenset({MASK, WRITES})),
    "LateFusion": Case(LateFusion, "tiny_bert", QUESTIONS, {"image_size": [32, 32], "hidden": 32}),
    "Vilt": Case(Vilt, "tiny_vilt", QUESTIONS),
    "Blip": Case(Blip, "tiny_blip", QUESTIONS),
    "BlipAnswers": Case(BlipAnswers, "tiny_blip", QUESTIONS),
    "BlipAnswers, ranked": Case(BlipAnswers, "tiny_blip", QUESTIONS, {"rank": 1}, predicting=frozenset({MASK, RANKS})),
    "BlipAnswers, soft": Case(
        BlipAnswers,
        "tiny_blip",
        Task(SOFT, QUESTIONS.parts, LABELS, pictures=("image",)),
        training=frozenset({MASK, WORTHS}),
    ),
}
PRECISIONS: dict[str, Callable[[], Precision]] = {
    "32-true": Precision,
    "bf16-mixed": lambda: MixedPrecision("bf16-mixed", "cuda"),
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    """Two pictures of one colour."""
    made = []
    for colour in ("red", "blue"):
        path = tmp_path_factory.mktemp("pictures") / f"{colour}.png"
        Image.new("RGB", (40, 32), colour).save(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        made.append(Picture(digest, str(path), 0, path.stat().st_size, "row 0"))
    return made


def examples_of(task: Task, pictures: Sequence[Picture]) -> list[Example]:
    """Three examples of different lengths, so that some are padded; those of passages have an answer."""
    made = []
    for i in range(3):
        words = {part: " ".join(["the"] * (3 + 4 * i)) for part in task.parts}
        shown = dict.fromkeys(task.pictures, pictures[i % 2])
        made.append(Example(f"e{i}", words | shown, None))
    return made


def labels_of(task: Task) -> torch.Tensor:
    return torch.tensor([[0.0, 1.0], [0.3, 0.0], [1.0, 0.6]]) if task.kind is SOFT else torch.tensor([0, 1, 0])


def model_of(case: Case, request: pytest.FixtureRequest) -> Classifier:
    torch.manual_seed(0)
    model = case.family(str(request.getfixturevalue(case.backbone)), max_length=40, **case.settings)
    model.prepare(case.task)
    model.configure_model()
    return model


def waits(rehearsal: Rehearsal) -> set[str]:
    """The places that wait for the device; all else that can be found is found nowhere."""
    assert {str(found) for found in rehearsal.findings if found.kind not in ("wait", "copy")} == set()
    return {found.by if found.by == MASK else found.where for found in rehearsal.findings}


def is_alike(outputs: Outputs, expected: Outputs, tolerance: float) -> bool:
    for values, wanted in zip(outputs, expected, strict=True):
        if isinstance(wanted, torch.Tensor) and wanted.is_floating_point():
            torch.testing.assert_close(values, wanted, rtol=0, atol=tolerance)
        elif isinstance(wanted, torch.Tensor):
            assert values.shape == wanted.shape
            assert values.dtype == wanted.dtype
        elif wanted is not None:
            assert len(values) == len(wanted)
    return True


@pytest.mark.parametrize(
    ("device", "precision"), first_tier(1, [("cuda:0", "32-true"), ("cuda:0", "bf16-mixed"), ("mps:0", "32-true")])
)
@pytest.mark.parametrize("name", first_tier(3, CASES))
def test_predictions(
    name: str, device: str, precision: str, request: pytest.FixtureRequest, pictures: list[Picture]
) -> None:
    case = CASES[name]
    model = model_of(case, request).eval()
    examples = examples_of(case.task, pictures)
    batch = {"inputs": model.processor(examples), "size": len(examples)}
    with torch.inference_mode():
        expected = copy.deepcopy(model).predict(batch)  # which may keep what it has encoded
    with Rehearsal(device) as rehearsal:
        rehearsal.place(model)
        placed = rehearsal.place(batch)
        with torch.inference_mode(), PRECISIONS[precision]().val_step_context():
            outputs = model.predict(placed)
        assert all(values.device == torch.device(device) for values in outputs if isinstance(values, torch.Tensor))
        found = rehearsal.fetch(outputs)
    assert waits(rehearsal) == case.predicting - ({NUMBERS} if device == "mps:0" else set())  # which is a copy
    assert is_alike(found, expected, 1e-5 if precision == "32-true" else 0.03)


@pytest.mark.parametrize("name", first_tier(3, CASES))
def test_training(
    name: str, request: pytest.FixtureRequest, pictures: list[Picture], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    model = model_of(case, request).train()
    monkeypatch.setattr(model, "log", lambda *args, **settings: None)
    batch = {"inputs": model.processor(examples_of(case.task, pictures)), "size": 3, "labels": labels_of(case.task)}
    if case.family is Reader:
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
    assert waits(rehearsal) == case.training
    assert loss.dtype == torch.float32
    assert any(not torch.equal(was, now) for was, now in zip(before, after, strict=True))


def causal(folder: Path, **settings: Any) -> CausalLM:
    model = CausalLM(str(folder), **settings)
    model.prepare(TASK)
    model.prompt_with(prompt())
    model.configure_model()
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("decoding", "later"), [("likelihood", set()), ("greedy", WRITTEN)])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_shared_prefix(precision: str, decoding: str, later: set[str], tmp_path: Path) -> None:
    model = causal(save(tmp_path), decoding=decoding)
    batch = {"inputs": model.processor(EXAMPLES), "size": len(EXAMPLES)}
    with torch.inference_mode():
        expected = model.predict(batch)
    model = causal(tmp_path, decoding=decoding)
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
    assert is_alike(found, expected, 1e-5 if precision == "32-true" else 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda:0", "mps:0"])
@pytest.mark.parametrize("name", ["Encoder", "Seq2Seq"])
def test_gradients(name: str, device: str, request: pytest.FixtureRequest, pictures: list[Picture]) -> None:
    case = CASES[name]
    model = model_of(case, request).eval()
    inputs = model.processor(examples_of(case.task, pictures))
    ends = inputs, torch.zeros_like(inputs["input_ids"]), torch.tensor([0, 1, 0])
    expected = integrated_gradients(model, *ends, steps=4, at_once=6)
    with Rehearsal(device) as rehearsal:
        rehearsal.place(model)
        found = integrated_gradients(model, *rehearsal.place(ends), steps=4, at_once=6)
    assert waits(rehearsal) == {MASK, GRADIENTS}
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


class Misplaced(Encoder):
    """Its scores are added to a tensor of the host."""

    def scores(self, inputs: dict[str, Any]) -> torch.Tensor:
        return super().scores(inputs) + torch.ones(2)


class Waiting(Encoder):
    """It looks at a value of its scores."""

    def scores(self, inputs: dict[str, Any]) -> torch.Tensor:
        scores = super().scores(inputs)
        return scores if scores[0, 0].item() < 1e9 else scores * 2


@pytest.mark.parametrize("family", [Misplaced, Waiting])
def test_a_fault_in_a_model_is_found(
    family: type[Encoder], request: pytest.FixtureRequest, pictures: list[Picture]
) -> None:
    model = model_of(Case(family, "tiny_bert", PAIRS), request).eval()
    with Rehearsal() as rehearsal, torch.inference_mode():
        rehearsal.place(model)
        batch = rehearsal.place({"inputs": model.processor(examples_of(PAIRS, pictures)), "size": 3})
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


FAULTS = {
    "wait": [
        lambda values: values.sum().item(),
        lambda values: bool(values.isfinite().all()),
        lambda values: values.nonzero(),
        lambda values: values[values > 0],
        lambda values: values.tolist(),
        lambda values: values.cpu(),
        lambda values: values.unique(),
        lambda values: values.argmax(dim=1)[0] in (0, 1),
    ],
    "copy": [
        lambda values: torch.ones(3).to(DEVICE),
        lambda values: torch.ones(3).to(DEVICE, non_blocking=True),
        lambda values: torch.ones(3).pin_memory().to(DEVICE),
        lambda values: torch.tensor([1.0], device=DEVICE),
        lambda values: values[:, [2, 1, 0]],
        lambda values: values[:, torch.tensor([2, 1, 0])],
    ],
    "float64": [lambda values: values.double(), lambda values: torch.zeros(2, dtype=torch.float64, device=DEVICE)],
}
FREE = [
    lambda values: torch.ones(3).pin_memory().to(DEVICE, non_blocking=True),
    lambda values: values + torch.tensor(2.0),
    lambda values: torch.arange(3, device=values.device) * values,
    lambda values: values.masked_fill(values > 0, 0).softmax(dim=-1),
    lambda values: values.new_zeros(2, 3).index_add(0, values.argmax(dim=1), values),
]


@pytest.mark.parametrize(("kind", "fault"), [(kind, fault) for kind in FAULTS for fault in FAULTS[kind]])
def test_each_kind_of_fault_is_found(kind: str, fault: Callable[[torch.Tensor], Any]) -> None:
    with Rehearsal() as rehearsal:
        fault(rehearsal.place(torch.eye(2, 3)))
    assert kind in {found.kind for found in rehearsal.findings}


@pytest.mark.parametrize("call", FREE)
def test_what_does_not_wait_is_not_found(call: Callable[[torch.Tensor], Any]) -> None:
    with Rehearsal() as rehearsal:
        made = call(rehearsal.place(torch.eye(2, 3)))
    assert isinstance(made, OnDevice)
    assert rehearsal.findings == []


def test_autocast_is_that_of_a_gpu() -> None:
    with Rehearsal() as rehearsal, torch.autocast("cuda", torch.bfloat16):
        values = rehearsal.place(torch.eye(3))
        assert (values @ values).dtype == torch.bfloat16
        assert torch.nn.functional.linear(values, values).dtype == torch.bfloat16
        halves = values @ values
        assert halves.softmax(dim=-1).dtype == torch.float32
        assert torch.nn.functional.layer_norm(halves, (3,)).dtype == torch.float32, "a CPU keeps bfloat16 here"
        assert (halves + values).dtype == torch.float32


def test_the_waits_that_are_known_stand_in_the_documents() -> None:
    text = (ROOT / "docs" / "exactness.md").read_text()
    known = (
        {place for case in CASES.values() for place in case.predicting | case.training} | FIRST | WRITTEN | {GRADIENTS}
    )
    missing = {
        place
        for place in known
        if (place != MASK and place.split(":")[0] not in text) or place.split(":")[1] not in text
    }
    assert missing == set()

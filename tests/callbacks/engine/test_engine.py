"""The engine on models with known attentiveness."""

import numpy as np
import pyarrow.compute as pc
import pytest
import torch

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.callbacks.engine.predictions import BatchPredictor, Collector
from heedful.datamodules import Planted
from heedful.lightning_modules.outputs import Outputs
from heedful.records import HeedfulError, ModelError, RunError, Spool, generator
from heedful.records.rows import KEY, select, strings

import oracles
from refusals import refused

LABELS = ("entailment", "neutral", "contradiction")


class Oracle(oracles.ByParts):
    """Answers ``rule(premise, hypothesis)``, and records the sizes of its batches."""

    def __init__(self, rule):
        super().__init__(rule)
        self.batches = []

    def predict(self, batch):
        self.batches.append(batch["size"])
        return super().predict(batch)


def guess(premise, hypothesis):
    """A label that depends on the hypothesis alone."""
    return LABELS[int(3 * generator("test", hypothesis).random())]


def validate(module, data, *evaluations, **settings):
    """Measure a model."""
    module.has_learned = True
    return measured(module, data, evaluations, accelerator="cpu", **settings)


def measure(rule=guess, n=120, exhaustive=True, draws=5, max_examples=None, swap=("premise",), **kwargs):
    data = Planted(**{"n_validation": n, "swap": list(swap), "eval_batch_size": 16} | kwargs)
    module = Oracle(rule)
    engine = validate(module, data, Accuracy(max_null=10), Attentiveness(draws, max_examples), exhaustive=exhaustive)
    return engine, module, data


def test_every_example_is_predicted_once_and_only_non_default_predictions_are_changed():
    engine, module, data = measure(n=77)
    rows, _ = engine.rows["attentiveness"]
    base = select(rows, intervention="base")
    assert sorted(base["uid"].to_pylist()) == sorted(e.uid for e in data.pool)
    assert base["y2"].null_count == base["p2"].null_count == 77
    swapped = select(rows, intervention="swap")
    assert pc.all(pc.not_equal(swapped["y"], "neutral")).as_py()
    eligible = int(np.sum(strings(base, "y") != "neutral"))
    assert swapped.num_rows == 5 * eligible == 5 * engine.content["counts"]["attentiveness/premise"]["eligible"]
    assert sum(module.batches) == 77 + 77 + 5 * eligible, "base examples, null control, and swaps"
    assert module.batches[:7] == [16, 16, 16, 16, 13, 8, 16], "the first batch of changed examples is cut to half"
    few = Oracle(guess)
    validate(few, Planted(n_validation=3), Accuracy())
    assert few.batches == [3, 1, 2]


def test_batches_are_limited_by_tokens_and_results_record_the_limit(tiny_bert):
    found = {}
    for tokens in (None, 200, 90):
        data = Planted(n_validation=40, eval_tokens=tokens, swap=["premise", "hypothesis"])
        model = oracles.Sizes(str(tiny_bert), max_length=64)
        torch.manual_seed(0)
        engine = validate(model, data, Accuracy(), Attentiveness(2))
        found[tokens] = engine, model.shapes
        assert all(n == 1 or n * width <= (tokens or n * width) for n, width in model.shapes)
    assert "batches" not in found[None][0].content
    assert max(n for n, _ in found[None][1]) == 64
    for tokens in (200, 90):
        engine, shapes = found[tokens]
        assert engine.content["batches"] == {"examples": 4096, "tokens": tokens}
        assert len(shapes) > len(found[None][1])
        assert engine["null/planted/flips"].value == 0
        for name, (rows, _) in engine.rows.items():
            plain = found[None][0].rows[name][0]
            assert rows.select(KEY).equals(plain.select(KEY))
            for column in ("p", "p2"):
                pairs = zip(rows[column].to_pylist(), plain[column].to_pylist(), strict=True)
                assert all((a is None) == (b is None) and (a is None or np.allclose(a, b, atol=1e-5)) for a, b in pairs)


class Small(Oracle):
    """Its memory holds ``most`` examples."""

    def __init__(self, rule, most):
        super().__init__(rule)
        self.most = most

    def answer(self, inputs):
        if len(inputs["parts"]) > self.most:
            raise torch.OutOfMemoryError
        return super().answer(inputs)


def test_a_batch_that_memory_cannot_hold_is_halved_and_counted(caplog):
    data = Planted(n_validation=40, eval_batch_size=16)
    small, plain = (validate(module, data, Accuracy()) for module in (Small(guess, 8), Oracle(guess)))
    rows = [engine.rows["accuracy"][0].to_pylist() for engine in (small, plain)]
    assert rows[0] == rows[1]
    assert small.content["counts"]["halved_batches"] == 2 + 2  # 16, 16, 8; and the null control: 8, 16, 16
    assert "halved_batches" not in plain.content["counts"]
    assert caplog.text.count("cannot hold a batch of 16 examples") == 1
    with refused(ModelError, "a batch of 8 examples", "data.eval_tokens"):
        validate(Small(guess, 7), data, Accuracy())


def test_without_an_eligible_example_the_value_is_undefined():
    engine, _, _ = measure(lambda premise, hypothesis: "neutral")
    assert engine["attentiveness/planted/premise"].value is None
    assert engine.content["metrics"]["attentiveness/planted/premise"]["value"] is None


def test_the_null_control_sees_a_model_that_depends_on_its_batch():
    class BatchMates(Oracle):
        def predict(self, batch):
            return oracles.sure_of([LABELS[batch["size"] % 2]] * batch["size"], LABELS)

    data = Planted(n_validation=51, eval_batch_size=16)
    engine = validate(BatchMates(None), data, Accuracy())
    flips = engine["null/planted/flips"]
    assert flips.value > 0
    assert flips.flags == ("predictions_depend_on_batch",)


def test_monitoring_changes_a_sample_and_a_smaller_sample_is_part_of_a_larger_one():
    few, more = (measure(exhaustive=False, max_examples=n)[0] for n in (20, 40))
    uids = [set(select(e.rows["attentiveness"][0], intervention="swap")["uid"].to_pylist()) for e in (few, more)]
    assert [len(u) for u in uids] == [20, 40]
    assert uids[0] < uids[1]
    assert few["null/planted/flips"].n == 10


@pytest.mark.parametrize("chunk", [1, 40])
def test_rows_depend_neither_on_blocks_nor_batches_nor_threads(monkeypatch, chunk):
    found = []
    for size, batch, is_on_cpu in ((chunk, 16, True), (16_384, 16, True), (16_384, 5, True), (chunk, 16, False)):
        monkeypatch.setattr("heedful.callbacks.engine.blocks.CHUNK", size)
        monkeypatch.setattr(BatchPredictor, "is_on_cpu", is_on_cpu)
        both = ("premise", "hypothesis")
        engine, _, _ = measure(
            lambda premise, hypothesis: guess("", premise + hypothesis), 19, swap=both, draws=2, eval_batch_size=batch
        )
        found.append((engine.content, {name: rows.to_pylist() for name, (rows, _) in engine.rows.items()}))
    assert all(each == found[0] for each in found)
    keys = [tuple(row[name] for name in KEY) for row in found[0][1]["attentiveness"]]
    assert keys == sorted(keys)


@pytest.mark.parametrize(("limit", "n"), [(1, 16), (2, 32), (0.25, 16), (0.5, 32), (9, 64), (1.0, 64)])
def test_limited_validation_batches_are_examples_chosen_by_hash(limit, n, caplog):
    """The integer 1 is one batch. The longest examples, which are predicted first, are not preferred."""
    data = Planted(n_validation=64, eval_batch_size=16)
    with caplog.at_level("INFO"):
        engine = validate(Oracle(guess), data, Accuracy(), limit_val_batches=limit)
    counts = engine.content["counts"]
    assert (counts["examples"], counts["not_predicted"]) == (n, 64 - n)
    assert f"evaluating on {n}{'' if n == 64 else ' of 64'} examples." in caplog.text
    uids = select(engine.rows["accuracy"][0], intervention="base")["uid"].to_pylist()
    ranked = sorted((e.uid for e in data.pool), key=lambda uid: generator(0, "limit_val_batches", uid).integers(2**63))
    assert sorted(uids) == sorted(ranked[:n])


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize("batch", [0, 1])
def test_outputs_that_are_not_finite_are_an_error(batch, broken):
    """In base predictions (batch 0), or in the predictions of changed examples."""

    class Diverged(Oracle):
        def predict(self, batch_):
            self.batches.append(batch_["size"])
            probs = [1.0, 0.0, 0.0] if len(self.batches) <= batch else [broken, 0.0, 0.0]
            return Outputs(torch.tensor([probs] * batch_["size"]))

    data = Planted(n_validation=8)
    what = "the intervention null" if batch else "the examples themselves"
    with refused(ModelError, f" predictions ({what})"):
        validate(Diverged(None), data, Accuracy())


@pytest.mark.parametrize(("share", "n"), [(slice(1, None), 1), (slice(0), 8)])
def test_an_example_without_a_prediction_is_an_error(monkeypatch, share, n):
    whole = Collector.predictions

    def lacking(collector):
        found = whole(collector)
        return found.take(np.arange(len(found))[share])

    monkeypatch.setattr(Collector, "predictions", lacking)
    data = Planted(n_validation=8)
    with refused(RunError, f"{n} validation examples"):
        validate(Oracle(guess), data, Accuracy())


@pytest.mark.parametrize("every", [0, 1e9])
def test_a_long_evaluation_logs_its_progress(monkeypatch, caplog, every):
    monkeypatch.setattr("heedful.callbacks.engine.predictions.EVERY", every)
    monkeypatch.setattr("heedful.callbacks.engine.blocks.CHUNK", 40)
    with caplog.at_level("INFO"):
        measure(n=64)
    lines = [line for line in caplog.messages if " min left." in line]
    assert bool(lines) == (every == 0)
    if lines:
        assert "planted: predictions of this process: 16 of 64 examples after 0 min, about 0 min left." in lines
        assert "Changed inputs of accuracy, attentiveness: 28 of 64 examples after 0 min, about 0 min left." in lines
        assert len(lines) > 8


@pytest.mark.parametrize("failing", ["__init__", "write", "finish"])
def test_an_error_of_the_process_that_writes_rows_reaches_all_processes(monkeypatch, failing):
    told = []

    def by_first(make):
        try:
            return make()
        except HeedfulError as error:
            told.append(str(error))
            raise

    def refuse(*_):
        raise RunError("The disk is full.")

    data = Planted(n_validation=8)
    data.setup("validate")  # spools the examples
    monkeypatch.setattr("heedful.callbacks.engine.experiment.by_first", by_first)
    monkeypatch.setattr("heedful.callbacks.engine.experiment.Spool", type("Full", (Spool,), {failing: refuse}))
    with refused(RunError, "The disk is full."):
        validate(Oracle(guess), data, Accuracy())
    assert told == ["The disk is full."]

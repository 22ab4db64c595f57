"""``measure`` without a Trainer, and with a Trainer whose callbacks are in any order."""

from itertools import permutations

import pytest
from pytorch_lightning import Callback, Trainer

from heedful.callbacks import Accuracy, Attentiveness, EvaluationCallback
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.measure import measure
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules import Planted
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Swap
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.predictor_module import PredictorModule
from heedful.records import generator
from heedful.records.rows import BASE, select

LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("dog", "cat", "runs", "sleeps")


def answer(parts):
    """A label that depends on the words of both parts."""
    words = " ".join(parts.values()).split()
    return LABELS[sum((k + 1) * words.count(word) for k, word in enumerate(WORDS)) % 3]


def function():
    return Function(lambda inputs: [answer(parts) for parts in inputs])


def pairs(n=40):
    rng = generator("words")
    texts = [f"{WORDS[rng.integers(4)]} {WORDS[rng.integers(4)]} number {i}" for i in range(2 * n)]
    rows = [{"premise": texts[i], "hypothesis": texts[n + i], "label": LABELS[i % 3]} for i in range(n)]
    parts = {part: part for part in ("premise", "hypothesis")}
    labels = {label: [] for label in LABELS}
    data = Pairs("rows", parts, labels, path=rows, default_label="neutral", swap=list(parts), eval_batch_size=16)
    data.setup("validate")
    return data


def measured(data, *evaluations):
    model = function()
    model.bind(data.task)
    plans = Plans.of(evaluations, Setting(data), [evaluation.name for evaluation in evaluations])
    return measure(model, data, plans, Processes())


def test_a_function_is_measured_as_by_a_loop():
    data = pairs()
    found = measured(data, Accuracy(), Attentiveness(draws=3))
    texts = {example.uid: dict(example.parts) for example in data.pool}
    answers = {uid: answer(parts) for uid, parts in texts.items()}
    right = sum(answers[example.uid] == example.label for example in data.pool)
    assert found["accuracy/rows"].value == right / len(data.pool)
    rows, _ = found.rows["attentiveness"]
    for part in ("premise", "hypothesis"):
        swapped = select(rows, intervention="swap", part=part).to_pylist()
        uids = {uid for uid, label in answers.items() if label != "neutral"}
        assert {row["uid"] for row in swapped} == uids
        hits = [answer(texts[r["uid"]] | {part: texts[r["partner"]][part]}) != answers[r["uid"]] for r in swapped]
        assert len(hits) == 3 * len(uids)
        assert found[f"attentiveness/rows/{part}"].value == pytest.approx(sum(hits) / len(hits), abs=1e-12)
        assert 0 < sum(hits) < len(hits)
    assert found["null/rows/flips"].value == 0


def test_evaluations_and_callbacks_may_be_in_any_order():
    contents = []
    for order in permutations(range(2)):
        written = []
        evaluations = [[Attentiveness(draws=2), Accuracy()][k] for k in order]
        engine = EvaluationCallback(evaluations, writers=[type("Writer", (), {"write": written.append})])
        callbacks = [engine, Callback()]
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
        trainer = Trainer(callbacks=[callbacks[k] for k in order], use_distributed_sampler=False, **quiet)
        data = Planted(n_validation=30, swap=["premise", "hypothesis"], eval_batch_size=8)
        trainer.validate(PredictorModule(function()), datamodule=data)
        (measurements,) = written
        assert measurements is engine.measurements
        assert {"accuracy/planted", "attentiveness/planted/premise"} <= set(measurements)
        contents.append((dict(sorted(measurements.content["metrics"].items())), measurements.content["identity"]))
    assert all(content == contents[0] for content in contents)


class InTwoStages(Attentiveness):
    """Changes 5 examples first, and 12 given their rows."""

    limits = 5, 12

    def plan(self, setting):
        plan = super().plan(setting)
        return type(plan)(plan.pool, self._swaps(self.limits[0]), plan.settings)

    def second_stage(self, plan, rows, context):
        assert select(rows, intervention="swap", draw=0).num_rows == 2 * self.limits[0]
        return self._swaps(self.limits[1])

    def _swaps(self, limit):
        return [Swap(part, "neutral", draws=self.draws, limit=limit) for part in ("premise", "hypothesis")]


class InOneStage(InTwoStages):
    limits = 12, 12

    def second_stage(self, plan, rows, context):
        return None


def test_two_stages_have_the_rows_of_one_stage():
    data = pairs()
    two, one = (measured(data, kind(draws=2)) for kind in (InTwoStages, InOneStage))
    (rows, metadata), (expected, of_expected) = two.rows["attentiveness"], one.rows["attentiveness"]
    assert rows.combine_chunks().equals(expected.combine_chunks())
    assert (metadata["manifest"], dict(two)) == (of_expected["manifest"], dict(one))
    assert select(rows, intervention=BASE).num_rows == len(data.pool)

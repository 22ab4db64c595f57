"""``measure``: any predictor, without a Trainer and with one, whatever the order of its callbacks."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pytorch_lightning import Trainer

from heedful.callbacks import Accuracy, Attentiveness, Engine
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.measure import measure
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules import Planted
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Swap
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor_module import PredictorModule
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Task, column, generator
from heedful.records.rows import BASE, select

LABELS = ("entailment", "neutral", "contradiction")


class Words(Processor):
    """Counts the words of a vocabulary in all parts."""

    def __init__(self, parts, vocabulary):
        self.parts, self.vocabulary = parts, vocabulary

    def _texts(self, examples):
        return [" ".join(texts) for texts in zip(*(column(examples, f"parts.{p}") for p in self.parts), strict=True)]

    def lengths(self, examples):
        return np.array([len(text.split()) for text in self._texts(examples)], dtype=np.int32)

    def __call__(self, examples):
        return {"counts": np.array([[t.split().count(w) for w in self.vocabulary] for t in self._texts(examples)])}


class BagOfWords(BasePredictor):
    """A softmax of weighted counts of words."""

    def __init__(self, weights):
        super().__init__()
        self.vocabulary, self.weights = list(weights), np.array(list(weights.values()))

    def prepare(self, task: Task):
        self.task, self.processor = task, Words(task.parts, self.vocabulary)

    def answer(self, inputs):
        scores = np.exp(inputs["counts"] @ self.weights)
        return Outputs((scores / scores.sum(axis=1, keepdims=True)).astype(np.float32))


WEIGHTS = {"dog": (2.0, 0.0, 1.0), "cat": (0.0, 0.5, 1.9), "runs": (1.0, 0.0, 1.2), "sleeps": (0.0, 2.2, 0.1)}


def pairs(n=40):
    words = list(WEIGHTS)
    rng = generator("words")

    def text(i):
        return f"{words[rng.integers(4)]} {words[rng.integers(4)]} number {i}"

    rows = [{"premise": text(i), "hypothesis": text(i), "label": LABELS[i % 3]} for i in range(n)]
    data = Pairs(
        "rows",
        {part: part for part in ("premise", "hypothesis")},
        {label: [] for label in LABELS},
        path=rows,
        default_label="neutral",
        swap=["premise", "hypothesis"],
        eval_batch_size=16,
    )
    data.setup("validate")
    return data


def by_hand(example):
    counts = [" ".join(example.values()).split().count(word) for word in WEIGHTS]
    return LABELS[int(np.argmax(np.array(counts) @ np.array(list(WEIGHTS.values()))))]


def plans_of(data, *evaluations):
    return Plans.of(evaluations, Setting(data), [evaluation.name for evaluation in evaluations])


def test_a_bag_of_words_is_measured_as_by_hand():
    data, model = pairs(), BagOfWords(WEIGHTS)
    model.bind(data.task)
    found = measure(model, data, plans_of(data, Accuracy(), Attentiveness(draws=3)), Processes())
    texts = {example.uid: dict(example.parts) for example in data.pool}
    answers = {uid: by_hand(parts) for uid, parts in texts.items()}
    right = sum(answers[example.uid] == example.label for example in data.pool)
    assert found["accuracy/rows"].value == right / len(data.pool)
    rows, _ = found.rows["attentiveness"]
    for part in ("premise", "hypothesis"):
        swapped = select(rows, intervention="swap", part=part).to_pylist()
        uids = {uid for uid, answer in answers.items() if answer != "neutral"}
        assert {row["uid"] for row in swapped} == uids
        hits = [by_hand(texts[r["uid"]] | {part: texts[r["partner"]][part]}) != answers[r["uid"]] for r in swapped]
        assert len(hits) == 3 * len(uids)
        assert found[f"attentiveness/rows/{part}"].value == pytest.approx(np.mean(hits), abs=1e-12)
    assert found["null/rows/flips"].value == 0


def test_callbacks_may_stand_in_any_order():
    contents = []
    for order in permutations(range(3)):
        written = []
        engine = Engine(writers=[type("Writer", (), {"write": written.append})])
        callbacks = [Attentiveness(draws=2), engine, Accuracy()]
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
        trainer = Trainer(callbacks=[callbacks[k] for k in order], use_distributed_sampler=False, **quiet)
        data = Planted(n_validation=30, swap=["premise", "hypothesis"], eval_batch_size=8)
        trainer.validate(PredictorModule(BagOfWords(WEIGHTS | {"the": (0.5, 0.2, 0.1)})), datamodule=data)
        (measurements,) = written
        assert measurements is engine.measurements
        assert {"accuracy/planted", "attentiveness/planted/premise"} <= set(measurements)
        contents.append({**measurements.content, "metrics": dict(sorted(measurements.content["metrics"].items()))})
    assert all(content["metrics"] == contents[0]["metrics"] for content in contents)
    assert all(content["identity"] == contents[0]["identity"] for content in contents)


class InTwoStages(Attentiveness):
    """Changes a few examples first, and more once their rows are known."""

    limits = 5, 12

    def plan(self, setting):
        plan = super().plan(setting)
        return type(plan)(plan.pool, self._swaps(self.limits[0]), plan.settings)

    def second_stage(self, plan, rows, context):
        assert pc.count_distinct(select(rows, intervention="swap")["uid"]).as_py() >= self.limits[0]
        return self._swaps(self.limits[1])

    def _swaps(self, limit):
        return [Swap(part, "neutral", self.draws, limit=limit) for part in ("premise", "hypothesis")]


class InOneStage(InTwoStages):
    limits = 12, 12

    def second_stage(self, plan, rows, context):
        return None


def test_a_second_stage_adds_the_rows_that_one_stage_would_have():
    data, model = pairs(), BagOfWords(WEIGHTS)
    model.bind(data.task)
    two, one = (measure(model, data, plans_of(data, kind(draws=2)), Processes()) for kind in (InTwoStages, InOneStage))
    (rows, metadata), (expected, of_expected) = two.rows["attentiveness"], one.rows["attentiveness"]
    assert pa.Table.equals(rows.combine_chunks(), expected.combine_chunks())
    assert metadata["manifest"] == of_expected["manifest"]
    assert dict(two) == dict(one)
    assert select(rows, intervention=BASE).num_rows == len(data.pool)

"""Models whose written answer may be another label than the most probable: both attentivenesses come of one run."""

import hashlib

import numpy as np
import pytest
import torch

from heedful.callbacks import Attentiveness
from heedful.datamodules import PairedData
from heedful.lightning_modules import NO_LABEL_NUMBER, Outputs
from heedful.lightning_modules.predictor import Capabilities
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured as by_name
from heedful.records import NO_LABEL, Context, Example, Examples, MetricName
from heedful.records.rows import read_rows, save_rows

from oracles import Oracle, measure

LABELS = ("entailment", "neutral", "contradiction")


class Pairs(PairedData):
    """Pairs of numbered sentences."""

    def load(self, split):
        pairs = [(f"premise {i}", f"hypothesis {i}") for i in range(60)]
        return Examples.of(
            Example(f"d/{i}", dict(zip(self.full_task.parts, pair, strict=True)), LABELS[i % 3], {})
            for i, pair in enumerate(pairs)
        )


def drawn(what, parts, n):
    text = f"{what}|{parts['premise']}|{parts['hypothesis']}"
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % n


class Scribe(Oracle):
    """Writes one answer, now and then none, and holds another label for the most probable."""

    def __init__(self, writes):
        super().__init__(None)
        self.capabilities = Capabilities(writes=writes)

    def answer(self, inputs):
        written = [drawn("written", parts, 4) for parts in inputs["parts"]]
        scored = torch.tensor([drawn("scored", parts, 3) for parts in inputs["parts"]], dtype=torch.int64)
        numbers = [NO_LABEL_NUMBER if number == 3 else number for number in written]
        return Outputs(torch.nn.functional.one_hot(scored, 3).float(), torch.tensor(numbers, dtype=torch.int64))


def run(writes, **settings):
    engine = measure(
        Scribe(writes), Pairs("d", ("premise", "hypothesis"), LABELS, default_label="neutral"), Attentiveness(draws=3)
    )
    rows, metadata = engine.rows["attentiveness"]
    return engine, rows.to_pylist(), rows, metadata


@pytest.fixture(scope="module")
def measured():
    return run(True)


def scored(p):
    return LABELS[int(np.argmax(p))]


def test_an_example_is_changed_where_either_answer_counts(measured):
    _, rows, *_ = measured
    base = {row["uid"]: row for row in rows if row["intervention"] == "base"}
    changed = {row["uid"] for row in rows if row["intervention"] == "swap"}
    expected = {uid for uid, row in base.items() if row["y"] != "neutral" or scored(row["p"]) != "neutral"}
    assert changed == expected
    written = {uid for uid, row in base.items() if row["y"] != "neutral"}
    assert {row["uid"] for row in run(False)[1] if row["intervention"] == "swap"} == written < changed


def test_the_attentiveness_of_what_is_written_is_that_of_before(measured):
    engine, before = measured[0], run(False)[0]
    name = "attentiveness/d/premise"
    numbers = {n: v for n, v in engine.content["metrics"].items() if n.startswith(name)}
    assert numbers == {n: v for n, v in before.content["metrics"].items() if n.startswith(name)}
    assert engine.content["metrics"][name]["value"] is not None
    assert f"{name}/with_invalid" in numbers
    counts = engine.content["counts"]["attentiveness/premise"]
    assert counts == before.content["counts"]["attentiveness/premise"]


def test_the_attentiveness_of_the_most_probable_label_comes_of_the_same_rows(measured, tmp_path):
    """Against a loop over all rows; every example that is not scored as the default label has all of its draws."""
    _, rows, table, metadata = measured
    save_rows(tmp_path / "rows.parquet", table, metadata)
    read, _ = read_rows(tmp_path / "rows.parquet")
    draws = {}
    for row in rows:
        if row["intervention"] == "swap" and scored(row["p"]) != "neutral":
            draws.setdefault(row["draw"], {})[row["uid"]] = scored(row["p"]) != scored(row["p2"])
    base = [row for row in rows if row["intervention"] == "base"]
    eligible = {row["uid"] for row in base if scored(row["p"]) != "neutral"}
    assert [set(of) for of in draws.values()] == [eligible] * 3
    for column, p in (("y", "p"), ("y2", "p2")):
        texts = [None if values is None else scored(values) for values in read[p].to_pylist()]
        read = read.set_column(read.schema.get_field_index(column), column, [texts])
    context = Context("d", labels=LABELS, default_label="neutral", own={"swap": ["premise"]})
    found = by_name(attentiveness(read, "premise", context))[MetricName("attentiveness", "d", "premise")]
    assert found.value == pytest.approx(np.mean([np.mean(list(of.values())) for of in draws.values()]))
    assert (found.n, found.draws) == (len(eligible), 3)
    assert any(row["y"] == NO_LABEL for row in base)


def test_in_training_a_limit_chooses_among_what_is_written():
    swapped = []
    for writes in (True, False):
        data = Pairs("d", ("premise", "hypothesis"), LABELS, default_label="neutral")
        engine = measure(Scribe(writes), data, Attentiveness(draws=2, max_examples=7), exhaustive=False)
        rows = engine.rows["attentiveness"][0].to_pylist()
        swapped.append({row["uid"] for row in rows if row["intervention"] == "swap"})
    assert swapped[0] == swapped[1]
    assert len(swapped[0]) == 7

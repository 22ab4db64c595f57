"""Models whose written answer may differ from the most probable label: one run yields the numbers of both."""

import hashlib

import numpy as np
import pytest
import torch

from heedful.callbacks import Attentiveness
from heedful.lightning_modules import NO_LABEL_NUMBER, Outputs
from heedful.lightning_modules.predictor import Capabilities
from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured as by_name
from heedful.records import NO_LABEL, Context, Example, MetricName
from heedful.records.rows import read_rows, save_rows

from oracles import NLI as LABELS
from oracles import Given, Oracle, measure

NAME = "attentiveness/d/premise"


def drawn(what, parts, n):
    text = f"{what}|{parts['premise']}|{parts['hypothesis']}"
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % n


class Scribe(Oracle):
    """Writes one label, or sometimes no label, and gives another label the highest probability."""

    def __init__(self, writes):
        super().__init__(None)
        self.capabilities = Capabilities(writes=writes)

    def answer(self, inputs):
        written = [drawn("written", parts, 4) for parts in inputs["parts"]]
        scored = torch.tensor([drawn("scored", parts, 3) for parts in inputs["parts"]], dtype=torch.int64)
        numbers = [NO_LABEL_NUMBER if number == 3 else number for number in written]
        return Outputs(torch.nn.functional.one_hot(scored, 3).float(), torch.tensor(numbers, dtype=torch.int64))


@pytest.fixture(scope="module")
def engines():
    """Measurements of a model that writes, and of a model whose written answers are its only answers."""
    pairs = [{"premise": f"premise {i}", "hypothesis": f"hypothesis {i}"} for i in range(60)]
    examples = [Example(f"d/{i}", pair, LABELS[i % 3]) for i, pair in enumerate(pairs)]
    data = Given(examples, default_label="neutral")
    return [measure(Scribe(writes), data, Attentiveness(draws=3)) for writes in (True, False)]


def rows_of(engine):
    """Base rows by uid, and the rows of swaps."""
    rows = engine.rows["attentiveness"][0].to_pylist()
    base = {row["uid"]: row for row in rows if row["intervention"] == "base"}
    return base, [row for row in rows if row["intervention"] == "swap"]


def scored(p):
    return LABELS[int(np.argmax(p))]


def test_an_example_is_changed_if_either_answer_counts(engines):
    (base, swaps), (_, written_swaps) = map(rows_of, engines)
    written = {uid for uid, row in base.items() if row["y"] != "neutral"}
    assert {row["uid"] for row in swaps} == written | {u for u, row in base.items() if scored(row["p"]) != "neutral"}
    assert {row["uid"] for row in written_swaps} == written < {row["uid"] for row in swaps}
    assert any(row["y"] == NO_LABEL for row in base.values())
    counts = engines[0].rows["attentiveness"][1]["counts"]
    assert counts["no_label"] == sum(row["y2"] == NO_LABEL for row in swaps) > 0


def test_the_attentiveness_of_written_answers_does_not_depend_on_the_probabilities(engines):
    numbers, other = ({n: m for n, m in each.content["metrics"].items() if n.startswith(NAME)} for each in engines)
    assert numbers == other
    assert numbers[NAME]["value"] is not None
    assert f"{NAME}/with_invalid" in numbers
    counts, other = (each.content["counts"]["attentiveness/premise"] for each in engines)
    assert counts == other


def test_the_attentiveness_of_the_most_probable_label_follows_from_the_same_rows(engines, tmp_path):
    """Against a loop over all rows, in which every eligible example has all of its draws."""
    base, swaps = rows_of(engines[0])
    save_rows(tmp_path / "rows.parquet", *engines[0].rows["attentiveness"])
    read, _ = read_rows(tmp_path / "rows.parquet")
    draws = {}
    for row in swaps:
        assert row["expects"] == ("" if row["y"] == "neutral" else "leaves")
        if scored(row["p"]) != "neutral":
            draws.setdefault(row["draw"], {})[row["uid"]] = scored(row["p"]) != scored(row["p2"])
    eligible = {uid for uid, row in base.items() if scored(row["p"]) != "neutral"}
    assert [set(hits) for hits in draws.values()] == [eligible] * 3
    for column, p in (("y", "p"), ("y2", "p2")):
        texts = [None if values is None else scored(values) for values in read[p].to_pylist()]
        read = read.set_column(read.schema.get_field_index(column), column, [texts])
    context = Context("d", labels=LABELS, default_label="neutral", own={"swap": [["premise", "leaves"]]})
    found = by_name(attentiveness(read, "premise", context))[MetricName("attentiveness", "d", "premise")]
    assert found.value == pytest.approx(np.mean([np.mean(list(hits.values())) for hits in draws.values()]))
    assert (found.n, found.draws) == (len(eligible), 3)

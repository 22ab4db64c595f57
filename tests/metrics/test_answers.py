"""What base predictions are worth beside the best single answer, against loops."""

import json
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.answers import Scores, majority_flags
from heedful.metrics.statistics.paired import recording
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, SPAN

from made_rows import make

KINDS = {
    CLASSIFICATION: (st.sampled_from("abc"), st.sampled_from(["a", "b", NO_LABEL])),
    SOFT: (st.dictionaries(st.sampled_from("abc"), st.sampled_from([0.3, 1.0])), st.sampled_from(["a", "z", NO_LABEL])),
    SPAN: (st.lists(st.sampled_from(["x", "The y"]), max_size=2), st.sampled_from(["", "X", "y", NO_LABEL])),
}


def worth(kind, answer, gold):
    if kind is CLASSIFICATION:
        return float(answer == gold)
    if kind is SOFT:
        return gold.get(answer, 0.0)
    return float(answer.lower() in ([text.lower().removeprefix("the ") for text in gold] or [""]))


@given(st.data(), st.sampled_from(list(KINDS)))
def test_worth_and_the_best_answer_are_those_of_loops(data, kind):
    examples = data.draw(st.lists(st.tuples(*KINDS[kind]), min_size=1, max_size=8))
    base = {f"u{i}": (gold if kind is CLASSIFICATION else json.dumps(gold, sort_keys=True), y)
            for i, (gold, y) in enumerate(examples)}  # fmt: skip
    swaps = [{"uid": uid, "y2": "a", "gold": None} for uid in base]
    found = Scores.of_rows(make(base, swaps), kind)
    assert found.each.tolist() == [worth(kind, y, gold) for gold, y in examples]
    single = [""] if kind is SPAN else "abc"
    totals = {answer: sum(worth(kind, answer, gold) for gold, _ in examples) for answer in single}
    assert found.best.sum() == pytest.approx(max(totals.values()))
    assert any(found.best.tolist() == [worth(kind, a, gold) for gold, _ in examples] for a in single)
    majority = found.majority()
    assert (majority.value, majority.n, majority.ci95) == (pytest.approx(max(totals.values()) / len(examples)),
                                                           len(examples), None)  # fmt: skip


def test_of_equally_frequent_labels_the_first_is_the_majority():
    assert Scores.of_rows(make({"a": ("no", "x"), "b": ("yes", "x")}), CLASSIFICATION).best.tolist() == [1, 0]
    soft = make({"a": ('{"no": 1.0}', "x"), "b": ('{"maybe": 1.0}', "x")})
    assert Scores.of_rows(soft, SOFT).best.tolist() == [0, 1]  # the first by name


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=40), st.integers(0, 2))
def test_two_classes_are_labels_but_for_the_majority_of_equal_ones(examples, seed):
    gold, is_right, cluster = map(np.array, zip(*examples, strict=True))
    found = Scores.of_classes(gold, is_right, cluster)
    first = sum(gold) >= len(gold) - sum(gold)
    assert found.each.tolist() == [float(right) for _, right, _ in examples]
    assert found.best.tolist() == [float(is_first == first) for is_first, _, _ in examples]
    assert found.majority().value == pytest.approx(max(sum(gold), len(gold) - sum(gold)) / len(gold))
    order = sorted(range(len(examples)), key=lambda i: not gold[i])  # of equally frequent labels the first is best
    base = {f"u{k:02}": (str(gold[i]), str(gold[i] == is_right[i])) for k, i in enumerate(order)}
    rows = make(base)
    groups = pa.array([f"g{cluster[i]}" for i in order])
    labels = Scores.of_rows(rows.set_column(rows.schema.get_field_index("group"), "group", groups), CLASSIFICATION)
    assert found.flags(seed) == labels.flags(seed)


def test_examples_without_a_gold_label_do_not_count():
    rows = make({"a": ("yes", "yes"), "b": (None, "yes")})
    assert Scores.of_rows(rows, CLASSIFICATION).each.tolist() == [1]
    assert majority_flags(make({"b": (None, "yes")}), CLASSIFICATION) == ("not_above_majority",)


def test_under_recording_the_majority_keeps_its_clusters():
    base = {f"u{i}": ("yes" if i % 3 else "no", "yes") for i in range(9)}
    with recording():
        entries = Scores.of_rows(make(base), CLASSIFICATION).majority().entries
    assert entries.hits.tolist() == [0, 1, 1] * 3
    assert [len(list(of)) for _, of in groupby(entries.ways[0])] == [1] * 9

"""F1 and the Matthews correlation, against loops over labels and against torchmetrics."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics import functional

from heedful.metrics.accuracy import label_scores
from heedful.records import MANY, NO_LABEL, Context

from made_rows import by_text

label_scores = by_text(label_scores)
LABELS = ("yes", "no", "maybe")
pairs_of = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, NO_LABEL))), min_size=1, max_size=30)


def base_of(pairs):
    return {f"u{i}": pair for i, pair in enumerate(pairs)}


def f1(pairs, label):
    """F1 of a label by its precision and recall; None if the label is neither gold nor predicted."""
    hit = sum(gold == y == label for gold, y in pairs)
    predicted, gold = (sum(pair[side] == label for pair in pairs) for side in (1, 0))
    if not predicted + gold:
        return None
    if not hit:
        return 0.0
    precision, recall = hit / predicted, hit / gold
    return 2 * precision * recall / (precision + recall)


def matthews(pairs):
    """Correlation of the indicators of gold and predicted classes (Gorodkin 2004)."""
    classes = sorted({text for pair in pairs for text in pair})
    x, y = (np.array([[pair[side] == c for c in classes] for pair in pairs], dtype=float) for side in (0, 1))
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    below = math.sqrt((x * x).sum() * (y * y).sum())
    return (x * y).sum() / below if below > 1e-9 else None


@given(pairs_of)
def test_equals_the_reference(rows_of, pairs):
    found = label_scores(rows_of(base_of(pairs)), Context("d", labels=LABELS, default_label="maybe"))
    assert set(found) == {"accuracy/d/macro_f1", "accuracy/d/matthews"}
    scores = [score for label in LABELS if (score := f1(pairs, label)) is not None]
    assert found["accuracy/d/macro_f1"].value == pytest.approx(np.mean(scores), abs=1e-12)
    expected = matthews(pairs)
    assert found["accuracy/d/matthews"].value == (None if expected is None else pytest.approx(expected, abs=1e-12))
    for m in found.values():
        assert m.n == len(pairs)
        if m.ci95 is not None:
            least = -1 if m is found["accuracy/d/matthews"] else 0
            assert least <= m.ci95[0] <= m.value + 1e-12
            assert m.value - 1e-12 <= m.ci95[1] <= 1
            assert m.ci95[0] < m.ci95[1]


@given(st.lists(st.tuples(st.sampled_from(LABELS[:2]), st.sampled_from(LABELS[:2])), min_size=1, max_size=30))
def test_without_unknown_answers_it_is_torchmetrics(rows_of, pairs):
    found = label_scores(rows_of(base_of(pairs), labels=2), Context("d", labels=LABELS[:2], default_label="yes"))
    gold, y = (torch.tensor([int(pair[side] == "no") for pair in pairs]) for side in (0, 1))
    expected = {
        "f1": functional.classification.binary_f1_score(y, gold),
        "macro_f1": functional.classification.multiclass_f1_score(y, gold, num_classes=2, average="macro"),
        "matthews": functional.classification.binary_matthews_corrcoef(y, gold),
    }
    assert set(found) == {f"accuracy/d/{name}" for name in expected}
    for name, value in expected.items():
        if (m := found[f"accuracy/d/{name}"]).value is not None:
            assert m.value == pytest.approx(value.item(), abs=1e-6)
        else:
            assert (m.ci95, bool(m.reason)) == (None, True)


@pytest.mark.parametrize("n", [3, 15, 24])
def test_labels_that_are_all_one_off(rows_of, n):
    """If labels are in the wrong order, no cluster moves the correlation, which still has an interval."""
    pairs = [(LABELS[i % 3], LABELS[(i + 1) % 3]) for i in range(n)]
    found = label_scores(rows_of(base_of(pairs)), Context("d", labels=LABELS))["accuracy/d/matthews"]
    assert found.value == pytest.approx(-0.5)
    low, high = found.ci95
    assert -1 <= low < found.value < high <= 1


def drawn(rng: np.random.Generator, n: int, joint: list[float]) -> list[tuple[str, str]]:
    """Random pairs (gold, prediction) with the given joint probabilities."""
    kinds = [("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")]
    return [kinds[k] for k in rng.choice(4, n, p=joint)]


@pytest.mark.parametrize("joint", [[0.45, 0.05, 0.05, 0.45], [0.9, 0.02, 0.02, 0.06]])
def test_intervals_hold_the_truth_also_where_a_label_is_rare(rows_of, joint):
    context = Context("d", labels=LABELS[:2], default_label="no")
    no, wrong, missed, hit = joint
    truth = {"f1": 2 * hit / (2 * hit + wrong + missed)}
    truth["macro_f1"] = (truth["f1"] + 2 * no / (2 * no + wrong + missed)) / 2
    sides = (no + wrong) * (missed + hit) * (no + missed) * (wrong + hit)
    truth["matthews"] = (no * hit - wrong * missed) / math.sqrt(sides)
    rng, tries, covered = np.random.default_rng(0), 40, dict.fromkeys(truth, 0)
    for _ in range(tries):
        found = label_scores(rows_of(base_of(drawn(rng, 200, joint)), labels=2), context)
        for name, value in truth.items():
            low, high = found[f"accuracy/d/{name}"].ci95
            covered[name] += low <= value <= high
    assert min(covered.values()) >= 0.9 * tries


def test_many_labels_and_no_examples_have_no_numbers(rows_of):
    many = Context("d", labels=tuple(str(i) for i in range(MANY + 1)))
    assert label_scores(rows_of({}), Context("d", labels=LABELS)) == {}
    assert label_scores(rows_of(base_of([("yes", "no")])), many) == {}

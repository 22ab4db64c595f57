"""Accuracy, the majority rule and the noise floor, against plain loops and a binomial tail."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.accuracy import METRIC, accuracy, accuracy_by_slice, loss, noise
from heedful.metrics.statistics.majority import majority_flag
from heedful.records import Context, RunError

from made_rows import by_text
from refusals import refused

accuracy, accuracy_by_slice, loss, noise = map(by_text, (accuracy, accuracy_by_slice, loss, noise))
LABELS = ("yes", "no", "maybe")
CONTEXT = Context("d", labels=LABELS)
predictions = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


def base_of(pairs: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {f"u{i}": pair for i, pair in enumerate(pairs)}


@given(predictions)
def test_equals_the_reference(rows_of, pairs):
    found = accuracy(rows_of(base_of(pairs)), CONTEXT)
    golds = {gold for gold, _ in pairs}
    assert set(found) == {"accuracy/d", "accuracy/d/majority", *(f"accuracy/d/{gold}" for gold in golds)}
    right = sum(gold == y for gold, y in pairs)
    assert found["accuracy/d"].value == pytest.approx(right / len(pairs), abs=1e-12)
    assert found["accuracy/d"].n == found["accuracy/d/majority"].n == len(pairs)
    most = max(sum(gold == label for gold, _ in pairs) for label in golds)
    assert found["accuracy/d/majority"].value == pytest.approx(most / len(pairs), abs=1e-12)
    for label in golds:
        answers = [y for gold, y in pairs if gold == label]
        recall = found[f"accuracy/d/{label}"]
        assert recall.value == pytest.approx(sum(y == label for y in answers) / len(answers), abs=1e-12)
        assert recall.n == len(answers)
        assert recall.ci95[0] <= recall.value <= recall.ci95[1]
    assert bool(found["accuracy/d"].flags) == (tail(right, len(pairs), most / len(pairs)) >= 0.05)


@given(predictions, st.data())
def test_of_several_splits_each_has_the_accuracy_that_it_has_alone(rows_of, pairs, data):
    splits = ("alpha1", "alpha2", "alpha3")
    of = {uid: data.draw(st.sampled_from(splits)) for uid in base_of(pairs)}

    def rows(split=""):
        base = {uid: pair for uid, pair in base_of(pairs).items() if split in ("", of[uid])}
        changed = [{"uid": uid, "y2": "yes"} for uid in base]
        made = rows_of(base, changed)
        slices = pa.array([[f"split={of[uid]}", "split2=alpha1"] for uid in made["uid"].to_pylist()])
        return made.set_column(made.column_names.index("slices"), "slices", slices)

    found = accuracy_by_slice(rows(), Context("d", slices=("split",)))
    for split in sorted(set(of.values())):
        alone = accuracy(rows(split), CONTEXT)
        golds = {pair[0] for uid, pair in base_of(pairs).items() if of[uid] == split}
        of_slice = found.pop(f"accuracy/d/split={split}")
        if len(golds) > 1:
            assert of_slice == alone["accuracy/d"]
            assert found.pop(f"accuracy/d/majority/split={split}") == alone["accuracy/d/majority"]
        else:  # all answers may be right, and none is above that
            assert "not_above_majority" not in of_slice.flags
            assert replace(alone["accuracy/d"], flags=of_slice.flags) == of_slice
    assert not found


def test_an_example_without_a_gold_label_does_not_count(rows_of):
    found = accuracy(rows_of(base_of([("yes", "yes"), ("no", "yes"), (None, "yes"), (None, "no")])), CONTEXT)
    assert set(found) == {"accuracy/d", "accuracy/d/majority", "accuracy/d/yes", "accuracy/d/no"}
    assert (found["accuracy/d"].value, found["accuracy/d"].n, found["accuracy/d/majority"].value) == (0.5, 2, 0.5)


def tail(correct: int, n: int, share: float) -> float:
    """P(X >= correct) for X binomial(n, share), summed by hand."""
    return sum(math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(correct, n + 1))


@pytest.mark.parametrize(
    ("correct", "n", "flagged"),
    [(0, 100, True), (58, 100, True), (59, 100, False), (100, 100, False), (50, 84, True), (20, 30, False)],
)
def test_accuracy_is_flagged_unless_it_is_above_the_majority_share(rows_of, correct, n, flagged):
    """With half of each label: P(X >= 58 of 100) = 0.067, 59: 0.044; 50 of 84: 0.0506; 20 of 30: 0.0494."""
    pairs = [(LABELS[i % 2], LABELS[(i + (i >= correct)) % 2]) for i in range(n)]
    m = accuracy(rows_of(base_of(pairs)), CONTEXT)["accuracy/d"]
    assert m.value == correct / n
    assert m.flags == (("not_above_majority",) if flagged else ())


def null_rows(rows_of, shifts: list[float], flips: int, others: list | tuple = ()):
    """Null rows whose first probability moves by each shift; the first ``flips`` answers flip."""
    base = {f"u{i}": ("yes", "yes") for i in range(len(shifts))}
    nulls = []
    for i, shift in enumerate(shifts):
        p = np.array([0.5, 0.25, 0.25], dtype=np.float32)
        p2 = np.array([0.5 + shift, 0.25 - shift, 0.25], dtype=np.float32)
        y2 = "no" if i < flips else "yes"
        nulls.append({"uid": f"u{i}", "intervention": "null", "part": "", "draw": -1, "y2": y2, "p": p, "p2": p2})
    return rows_of(base, [*nulls, *others])


any_probabilities = st.none() | st.tuples(*[st.floats(0, 1, width=32)] * 3)
answers = st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), any_probabilities, any_probabilities)


@pytest.mark.parametrize("group", [2, 65_536])
@given(drawn=st.lists(answers, min_size=1, max_size=12), probabilistic=st.booleans())
def test_noise_equals_the_reference_and_without_probabilities_flips_are_what_is_left(
    rows_of, group, drawn, probabilistic
):
    if probabilistic:
        drawn = [(y, y2, p or (0.5, 0.5, 0), p2 or (0, 0.5, 0.5)) for y, y2, p, p2 in drawn]
    base = {f"u{i}": ("yes", y) for i, (y, *_) in enumerate(drawn)}
    nulls = [
        {"uid": f"u{i}", "intervention": "null", "part": "", "draw": -1, "y2": y2, "p": p, "p2": p2}
        for i, (_, y2, p, p2) in enumerate(drawn)
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("heedful.metrics.accuracy.GROUP", group)
        found = noise(rows_of(base, nulls), CONTEXT)
    flips = sum(y != y2 for y, y2, _, _ in drawn)
    assert found.pop("null/d/flips").value == pytest.approx(flips / len(drawn), abs=1e-12)
    if any(p is None or p2 is None for _, _, p, p2 in drawn):
        assert not found
    else:
        changes = [abs(b - a) for _, _, p, p2 in drawn for a, b in zip(p, p2, strict=True)]
        assert found.pop("null/d/max_change").value == pytest.approx(max(changes), abs=1e-12)
        assert not found


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.integers(0, 6)), min_size=1, max_size=20))
def test_the_loss_is_that_of_torch(rows_of, drawn):
    import torch

    rows = rows_of(base_of([(gold, "yes") for gold, _ in drawn]), seed=len(drawn))
    base = rows.filter(pa.compute.equal(rows["intervention"], "base"))
    scores = torch.tensor(base["p"].to_pylist(), dtype=torch.float64).log()
    golds = torch.tensor([LABELS.index(gold) for gold in base["gold"].to_pylist()])
    expected = torch.nn.functional.cross_entropy(scores, golds, reduction="mean")
    found = loss(rows, CONTEXT)["loss/d"]
    assert (found.value, found.n, found.ci95) == (pytest.approx(expected.item(), rel=1e-6), len(drawn), None)


def test_a_probability_of_0_has_a_finite_loss_and_none_has_no_loss(rows_of):
    base = base_of([("yes", "no"), ("no", "no")])
    rows = rows_of(base)
    at = rows.column_names.index("p")
    for p, expected in (([[0, 1, 0], [0, 1, 0]], 87.336545 / 2), ([None, [0, 1, 0]], None)):
        given = rows.set_column(at, "p", pa.array(p, rows.schema.field("p").type))
        found = loss(given, CONTEXT)
        assert (found["loss/d"].value if found else None) == (expected and pytest.approx(expected, rel=1e-6))


@pytest.mark.parametrize(("groups", "size", "alike"), [(10, 30, 0.7), (60, 20, 0.45), (200, 3, 0.6)])
def test_the_majority_test_over_groups_errs_in_one_of_twenty_at_most(groups, size, alike):
    """A model that is right as often as the best answer, and about whole groups where ``alike`` has it so."""
    drawn = np.random.default_rng(7)
    best, of = np.arange(groups * size) < 0.4 * groups * size, np.repeat(np.arange(groups), size)
    above = 0
    for _ in range(400):
        is_shared = drawn.random((groups, size)) < alike
        worth = np.where(is_shared, drawn.random((groups, 1)) < 0.4, drawn.random((groups, size)) < 0.4)
        above += majority_flag(worth.ravel(), best, of, (0,)) == ()
    assert above / 400 < 0.07


@given(st.permutations(range(12)))
def test_rows_in_another_order_are_refused(rows_of, order):
    """Shuffled rows would be counted as more examples than there are."""
    rows = null_rows(rows_of, [0.0] * 6, flips=0)
    shuffled, context = rows.take(pa.array(order)), Context("d", labels=LABELS)
    if order == sorted(order):
        assert METRIC.score(shuffled, context)
    else:
        with refused(RunError, " u"):
            METRIC.score(shuffled, context)
    with refused(RunError, "uid, intervention, part, variant, draw"):
        METRIC.score(pa.concat_tables([rows, rows]), context)


@given(predictions)
def test_a_model_that_always_says_the_same_is_said_to(rows_of, pairs):
    found = METRIC.score(rows_of(base_of(pairs)), Context("d", labels=LABELS))
    is_constant = len(pairs) > 1 and len({y for _, y in pairs}) == 1
    flagged = [str(name) for name, m in found.items() if "constant_predictions" in m.flags]
    assert flagged == (["accuracy/d"] if is_constant else [])

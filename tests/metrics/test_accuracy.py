"""Scores, accuracy, the majority baseline and the noise floor against loops, for each kind of task."""

import json
import math
from dataclasses import replace
from itertools import groupby, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.accuracy import METRIC, loss, noise
from heedful.metrics.answers import Scores, majority_flags
from heedful.metrics.statistics.majority import above_zero, majority_flag
from heedful.metrics.statistics.paired import recording
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, SPAN, Context, RunError

from made_rows import by_text, make
from refusals import refused
from tiers import costly

loss, noise, score = map(by_text, (loss, noise, METRIC.score))
LABELS = ("yes", "no", "maybe")
CONTEXT = Context("d", labels=LABELS)
KINDS = {  # strategies of gold labels and of answers
    CLASSIFICATION: (st.sampled_from(LABELS), st.sampled_from([*LABELS, NO_LABEL])),
    SOFT: (
        st.dictionaries(st.sampled_from(LABELS), st.sampled_from([0.3, 0.6, 1.0])),
        st.sampled_from(["yes", "no", "z", NO_LABEL]),
    ),
    SPAN: (
        st.lists(st.sampled_from(["x", "The y", "no label"]), max_size=2),
        st.sampled_from(["", "X", "y", NO_LABEL]),
    ),
}


def base_of(pairs):
    """Map uids to gold labels as text and answers."""
    text = {uid: gold if gold is None or isinstance(gold, str) else json.dumps(gold, sort_keys=True)
            for uid, (gold, _) in enumerate(pairs)}  # fmt: skip
    return {f"u{i:02}": (text[i], y) for i, (_, y) in enumerate(pairs)}


def with_column(rows, name, values):
    return rows.set_column(rows.column_names.index(name), name, pa.array(values, rows.schema.field(name).type))


def worth(kind, answer, gold):
    if kind is CLASSIFICATION:
        return float(answer == gold)
    if kind is SOFT:
        return gold.get(answer, 0.0)
    answers = [text.lower().removeprefix("the ") for text in gold] or [""]
    return float(answer != NO_LABEL and answer.lower() in answers)


def best_worth(kind, golds):
    """The score of the best constant answer."""
    return max(sum(worth(kind, answer, gold) for gold in golds) for answer in ([""] if kind is SPAN else LABELS))


@given(st.data(), st.sampled_from(list(KINDS)))
def test_scores_and_the_best_answer_are_those_of_loops(data, kind):
    pairs = data.draw(st.lists(st.tuples(*KINDS[kind]), min_size=1, max_size=8))
    base = base_of(pairs)
    found = Scores.of_rows(make(base, [{"uid": uid, "y2": "a"} for uid in base]), kind)
    assert found.each.tolist() == [worth(kind, y, gold) for gold, y in pairs]
    best = best_worth(kind, [gold for gold, _ in pairs])
    assert found.best.sum() == pytest.approx(best)
    single = [""] if kind is SPAN else LABELS
    assert any(found.best.tolist() == [worth(kind, answer, gold) for gold, _ in pairs] for answer in single)
    majority = found.majority()
    assert (majority.value, majority.n, majority.ci95) == (pytest.approx(best / len(pairs)), len(pairs), None)


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
    order = sorted(range(len(examples)), key=lambda i: not gold[i])  # of equally frequent labels, the first wins
    rows = make({f"u{k:02}": (str(gold[i]), str(gold[i] == is_right[i])) for k, i in enumerate(order)})
    labels = Scores.of_rows(with_column(rows, "group", [f"g{cluster[i]}" for i in order]), CLASSIFICATION)
    assert found.flags(seed) == labels.flags(seed)


def test_examples_without_a_gold_label_do_not_count():
    rows = make(base_of([("yes", "yes"), ("no", "yes"), (None, "yes"), (None, "no")]))
    found = score(rows, CONTEXT)
    assert (found["accuracy/d"].value, found["accuracy/d"].n, found["accuracy/d/majority"].value) == (0.5, 2, 0.5)
    assert majority_flags(make({"b": (None, "yes")}), CLASSIFICATION) == ("not_above_majority",)


def test_under_recording_the_majority_keeps_its_clusters():
    with recording():
        entries = Scores.of_rows(make(base_of([("yes" if i % 3 else "no", "yes") for i in range(9)])), CLASSIFICATION)
        entries = entries.majority().entries
    assert entries.hits.tolist() == [0, 1, 1] * 3
    assert [len(list(of)) for _, of in groupby(entries.ways[0])] == [1] * 9


@costly
@given(st.data(), st.sampled_from([CLASSIFICATION, SOFT]))
def test_accuracy_is_that_of_loops(data, kind):
    """Over all examples, by label, by slice and by split; the column "split2" is no split."""
    example = st.tuples(*KINDS[kind], st.sampled_from(["", "x/y"]), st.sampled_from("st"))
    examples = data.draw(st.lists(example, min_size=1, max_size=20))
    shown = {"": "none", "x/y": "x-y"}
    columns = {"kind": [shown[e[2]] for e in examples], "split": [e[3] for e in examples]}
    rows = make(base_of([e[:2] for e in examples]))
    rows = with_column(rows, "slices", [[f"kind={e[2]}", f"split={e[3]}", "split2=s"] for e in examples])
    is_exclusive = kind is CLASSIFICATION
    context = Context("d", kind=kind, labels=LABELS if is_exclusive else (), slices=("kind",), splits=("s", "t"))
    expected = {"no_answer/d": [y == NO_LABEL for _, y, *_ in examples]}
    expected = expected if any(expected["no_answer/d"]) else {}
    masks = {"": [True] * len(examples)}
    masks |= {f"/{name}={v}": [v == text for text in texts] for name, texts in columns.items() for v in set(texts)}
    masks |= {f"/{label}": [e[0] == label for e in examples] for label in LABELS if is_exclusive}
    for name, mask in masks.items():
        of_slice = [e for e, here in zip(examples, mask, strict=True) if here]
        if of_slice:
            expected[f"accuracy/d{name}"] = [worth(kind, y, gold) for gold, y, *_ in of_slice]
    found = {n: m for n, m in score(rows, context).items() if n.startswith(("accuracy/d", "no_answer"))}
    for name in ("f1", "macro_f1", "matthews"):
        found.pop(f"accuracy/d/{name}", None)
    for name, mask in masks.items():
        golds = [e[0] for e, here in zip(examples, mask, strict=True) if here]
        of_several = "=" in name and is_exclusive and len(set(golds)) > 1
        if not name or of_several:
            majority = found.pop(f"accuracy/d/majority{name}")
            assert (majority.value, majority.n) == (pytest.approx(best_worth(kind, golds) / len(golds)), len(golds))
            if is_exclusive:
                is_best = [gold == kind.best_answer(golds) for gold in golds]
                is_right = [e[0] == e[1] for e, here in zip(examples, mask, strict=True) if here]
                chance = sign_test(sum(np.greater(is_right, is_best)), sum(np.less(is_right, is_best)))
                if abs(chance - 0.05) > 0.01:  # 10,000 choices of signs
                    assert ("not_above_majority" in found[f"accuracy/d{name}"].flags) == (chance >= 0.05)
        elif "=" in name and golds:
            assert found[f"accuracy/d{name}"].flags == ()
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        m = found[name]
        assert (m.value, m.n) == (pytest.approx(np.mean(values)), len(values)), name
        assert m.ci95[0] - 1e-12 <= m.value <= m.ci95[1] + 1e-12
    is_constant = len(examples) > 1 and len({y for _, y, *_ in examples}) == 1
    assert [name for name, m in found.items() if "constant_predictions" in m.flags] == ["accuracy/d"] * is_constant


def sign_test(more: int, fewer: int) -> float:
    """P(X >= more) for X binomial(more + fewer, 0.5), summed by hand."""
    n = int(more + fewer)
    return sum(math.comb(n, k) for k in range(int(more), n + 1)) / 2**n


@pytest.mark.parametrize(("correct", "n", "flagged"), [(62, 100, True), (63, 100, False), (53, 84, True)])
def test_accuracy_is_flagged_unless_it_is_above_the_majority_share(correct, n, flagged):
    """Two equally frequent labels. Of 50 predictions that differ from the constant answer in score, 31 are right
    (p = 0.059), of 49 31 (p = 0.043), of 41 26 (p = 0.059).
    """
    pairs = [(LABELS[i % 2], LABELS[(i + (i >= correct)) % 2]) for i in range(n)]
    m = score(make(base_of(pairs)), CONTEXT)["accuracy/d"]
    assert (m.value, m.flags) == (correct / n, ("not_above_majority",) * flagged)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_the_majority_test_is_the_test_over_all_choices_of_signs(tenths):
    differences = [k / 10 for k in tenths]
    signs = list(product([1, -1], repeat=len(differences)))
    sums = [sum(s * abs(d) for s, d in zip(row, differences, strict=True)) for row in signs]
    exact = np.mean([total >= sum(differences) - 1e-9 for total in sums])
    assert above_zero(differences, (0,)) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 10_000))


def test_soft_scores_are_flagged_unless_they_are_above_the_best_answer():
    right = [({"yes": 1.0}, "yes") if i % 2 else ({"no": 0.6, "yes": 0.3}, "no") for i in range(40)]
    one_picture = with_column(make(base_of(right)), "group", ["picture"] * 40)
    always, few = ([(gold, "yes") for gold, _ in right], right[:3])
    cases = [make(base_of(pairs)) for pairs in (right, always, few)] + [one_picture]
    assert [bool(majority_flags(rows, SOFT)) for rows in cases] == [False, True, True, True]


any_probabilities = st.none() | st.tuples(*[st.floats(0, 1, width=32)] * 3)
answers = st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS), any_probabilities, any_probabilities)


@pytest.fixture(params=[2, 65_536], scope="module")
def group(request):
    """Number of rows whose probabilities are read at a time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("heedful.metrics.accuracy.GROUP", request.param)
        yield


@costly
@given(st.lists(answers, min_size=1, max_size=12), st.booleans(), st.booleans(), st.integers(0, 1))
def test_noise_is_that_of_loops(group, drawn, probabilistic, asked, alone):
    """Without probabilities, only flips are measured."""
    if probabilistic:
        drawn = [(y, y2, p or (0.5, 0.5, 0), p2 or (0, 0.5, 0.5)) for y, y2, p, p2 in drawn]
    base = {f"u{i}": ("yes", y) for i, (y, *_) in enumerate(drawn)}
    nulls = [
        {"uid": f"u{i}", "intervention": "null", "part": "", "draw": -1, "y2": y2, "p": p, "p2": p2}
        for i, (_, y2, p, p2) in enumerate(drawn)
    ]
    found = noise(make(base, nulls), replace(CONTEXT, own={"asked": asked, "alone": alone}))
    flips = sum(y != y2 for y, y2, _, _ in drawn)
    m, flag = found.pop("null/d/flips"), "answers_differ" if asked else "predictions_depend_on_batch"
    change = 0
    if not any(p is None or p2 is None for _, _, p, p2 in drawn):
        change = max(abs(b - a) for _, _, p, p2 in drawn for a, b in zip(p, p2, strict=True))
        assert found.pop("null/d/max_change").value == pytest.approx(change, abs=1e-12)
    is_flagged = flips or alone or (change > 1e-3 and not asked)
    assert (m.value, m.flags) == (pytest.approx(flips / len(drawn)), (flag,) if is_flagged else ())
    assert not found


@pytest.mark.parametrize(
    ("change", "own", "is_flagged"),
    [
        (5e-4, {}, False),
        (0.01, {}, True),
        (0.01, {"rounding": 0.05}, False),
        (0.07, {"rounding": 0.05}, True),
        (0.07, {"asked": True}, False),  # the flag of a server is about answers
    ],
)
def test_a_change_of_a_probability_above_rounding_is_flagged(change, own, is_flagged):
    null = {"uid": "u", "intervention": "null", "part": "", "draw": -1, "y2": "yes"}
    null |= {"p": (0.5, 0.5, 0), "p2": (0.5 + change, 0.5 - change, 0)}
    flips = noise(make({"u": ("yes", "yes")}, [null]), replace(CONTEXT, own=own))["null/d/flips"]
    assert (flips.value, flips.flags) == (0, ("predictions_depend_on_batch",) if is_flagged else ())


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.integers(0, 6)), min_size=1, max_size=20))
def test_the_loss_is_that_of_torch(group, drawn):
    import torch

    rows = make(base_of([(gold, "yes") for gold, _ in drawn]), seed=len(drawn))
    base = rows.filter(pa.compute.equal(rows["intervention"], "base"))
    scores = torch.tensor(base["p"].to_pylist(), dtype=torch.float64).log()
    golds = torch.tensor([LABELS.index(gold) for gold in base["gold"].to_pylist()])
    expected = torch.nn.functional.cross_entropy(scores, golds, reduction="mean")
    found = loss(rows, CONTEXT)["loss/d"]
    assert (found.value, found.n, found.ci95) == (pytest.approx(expected.item(), rel=1e-6), len(drawn), None)


def test_a_probability_of_0_has_a_finite_loss_and_none_has_no_loss():
    base = base_of([("yes", "no"), ("no", "no")])
    rows = make(base)
    at = rows.column_names.index("p")
    for p, expected in (([[0, 1, 0], [0, 1, 0]], 87.336545 / 2), ([None, [0, 1, 0]], None)):
        given = rows.set_column(at, "p", pa.array(p, rows.schema.field("p").type))
        found = loss(given, CONTEXT)
        assert (found["loss/d"].value if found else None) == (expected and pytest.approx(expected, rel=1e-6))


@pytest.mark.parametrize(("groups", "size", "alike"), [(10, 30, 0.7), (60, 20, 0.45), (200, 3, 0.6)])
def test_the_majority_test_over_groups_errs_in_one_of_twenty_at_most(groups, size, alike):
    """For a model as good as the majority baseline, whose answers to a group are all right or wrong with ``alike``."""
    drawn = np.random.default_rng(7)
    best, of = np.arange(groups * size) < 0.4 * groups * size, np.repeat(np.arange(groups), size)
    above = 0
    for _ in range(400):
        is_shared = drawn.random((groups, size)) < alike
        worth = np.where(is_shared, drawn.random((groups, 1)) < 0.4, drawn.random((groups, size)) < 0.4)
        above += majority_flag(worth.ravel(), best, of, (0,)) == ()
    assert above / 400 < 0.07


@given(st.permutations(range(12)))
def test_rows_in_another_order_are_refused(order):
    """In shuffled rows, an example would count several times."""
    base = {f"u{i}": ("yes", "yes") for i in range(6)}
    rows = make(base, [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": "yes"} for uid in base])
    if order == sorted(order):
        assert METRIC.score(rows.take(pa.array(order)), CONTEXT)
    else:
        with refused(RunError, " u"):
            METRIC.score(rows.take(pa.array(order)), CONTEXT)
    with refused(RunError, "uid, intervention, part, variant, draw"):
        METRIC.score(pa.concat_tables([rows, rows]), CONTEXT)

"""Attentiveness against a reference in plain loops."""

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.callbacks import Attentiveness
from heedful.callbacks.engine.evaluation import Plan
from heedful.interventions import Swap
from heedful.metrics.attentiveness import METRIC, attentiveness
from heedful.records import NO_LABEL, Context, Example, Examples, Measurement

from made_rows import by_text

attentiveness, score = by_text(attentiveness), by_text(METRIC.score)

LABELS = ("entailment", "neutral", "contradiction")


def about(default="neutral", seed=0, slices=()):
    return Context("d", seed, labels=LABELS, default_label=default, slices=slices, own={"swap": ["premise", "b"]})


def reference_score(answers: dict, counts_as_hit) -> dict | None:
    """One score per draw over the (uid, draw) -> (y, y2) given, then mean and sample standard deviation."""
    draws = sorted({draw for _, draw in answers})
    if not draws:
        return None
    scores = []
    for draw in draws:
        hits = total = 0
        for (_, d), (y, y2) in answers.items():
            if d == draw:
                total += 1
                hits += counts_as_hit(y, y2)
        scores.append(hits / total)
    mean = sum(scores) / len(scores)
    std = None
    if len(scores) > 1:
        std = math.sqrt(sum((score - mean) ** 2 for score in scores) / (len(scores) - 1))
    return {"value": mean, "std": std, "per_draw": scores, "n": len({uid for uid, _ in answers}), "draws": len(draws)}


def reference(base: dict, swapped: dict, default: str | None) -> dict:
    """The paper, section 3.3: keep the predictions that are not the default, swap, count the changes."""
    kept = {(uid, d): (base[uid][1], y2) for (uid, d), y2 in swapped.items() if base[uid][1] != default}

    def changes(y: str, y2: str) -> bool:
        return y != y2

    expected = {"": reference_score(kept, changes)}
    if default is not None:
        expected["/to_default"] = reference_score(kept, lambda y, y2: y2 == default)
    for label in LABELS:
        if label != default:
            of_label = {key: pair for key, pair in kept.items() if pair[0] == label}
            expected[f"/from_{label}"] = reference_score(of_label, changes)
    return expected


@st.composite
def experiments(draw, only_eligible: bool = True):
    """(base, swapped, default label): predictions of up to 12 uids, some of which have no partner."""
    default = draw(st.none() | st.sampled_from(LABELS))
    answers = st.sampled_from(draw(st.sampled_from([LABELS, LABELS[:2], LABELS[1:2]])))
    base = {f"u{i}": draw(st.tuples(answers, answers)) for i in range(draw(st.integers(1, 12)))}
    k, swapped = draw(st.integers(1, 5)), {}
    for uid, (_, y) in base.items():
        if (y != default or not only_eligible) and draw(st.integers(0, 4)):
            swapped |= {(uid, d): draw(st.sampled_from(LABELS)) for d in range(k)}
    return base, swapped, default


def compute(rows_of, base: dict, swapped: dict, default: str | None, others: list = ()) -> dict[str, Measurement]:
    changed = [{"uid": uid, "draw": d, "y2": y2} for (uid, d), y2 in swapped.items()]
    return attentiveness(rows_of(base, [*changed, *others]), "premise", about(default))


def check(found: dict[str, Measurement], expected: dict) -> None:
    for suffix, score in expected.items():
        m = found.pop("attentiveness/d/premise" + suffix)
        if score is None:
            assert (m.value, m.n, m.draws, m.std, m.ci95, m.per_draw) == (None, 0, None, None, None, ())
            assert m.reason
        else:
            assert m.value == pytest.approx(score["value"], abs=1e-12)
            assert m.per_draw == pytest.approx(score["per_draw"], abs=1e-12)
            assert (m.n, m.draws, m.reason) == (score["n"], score["draws"], None)
            assert m.std == (None if score["std"] is None else pytest.approx(score["std"], abs=1e-12))
            low, high = m.ci95
            assert 0 <= low <= m.value + 1e-12
            assert m.value - 1e-12 <= high <= 1
            assert low < high
    assert list(found) == ["attentiveness/d/premise/eligible"]


@given(experiments())
def test_equals_the_reference(rows_of, experiment):
    base, swapped, default = experiment
    found = compute(rows_of, base, swapped, default)
    eligible = found["attentiveness/d/premise/eligible"]
    assert eligible.value == pytest.approx(sum(y != default for _, y in base.values()) / len(base))
    assert eligible.n == len(base)
    check(found, reference(base, swapped, default))


@given(experiments(only_eligible=False))
def test_swaps_of_predictions_of_the_default_label_do_not_count(rows_of, experiment):
    """Rows made without a default label may be measured with one."""
    base, swapped, default = experiment
    check(compute(rows_of, base, swapped, default), reference(base, swapped, default))


def test_with_every_prediction_the_default_label_the_score_is_undefined(rows_of):
    base = {f"u{i}": ("entailment" if i % 2 else "neutral", "neutral") for i in range(6)}
    found = compute(rows_of, base, {}, "neutral")
    for suffix in ("", "/to_default"):
        m = found["attentiveness/d/premise" + suffix]
        assert (m.value, m.n) == (None, 0)
        assert m.reason == "every prediction is the default label 'neutral'"
    assert "'entailment'" in found["attentiveness/d/premise/from_entailment"].reason
    assert found["attentiveness/d/premise/eligible"].value == 0


@pytest.mark.parametrize("default", ["neutral", None])
def test_an_answer_that_is_not_a_label_is_not_counted_as_eligible(rows_of, default):
    rows = rows_of({"a": ("yes", "yes"), "b": ("yes", NO_LABEL), "c": ("neutral", "neutral")})
    context = Context("d", labels=("yes", "neutral"), default_label=default, own={"swap": ["premise"]})
    pool = Examples.of([Example(uid, {"premise": uid, "hypothesis": f"of {uid}"}, "neutral") for uid in "abc"])
    counts = Attentiveness().counts(Plan(pool, [Swap("premise", default)]), rows, context)
    share = score(rows, context)["attentiveness/d/premise/eligible"].value
    assert counts["premise"]["eligible"] == round(3 * share) == (1 if default else 2)


@pytest.mark.parametrize("right", [50, 80])
def test_the_score_of_a_model_no_better_than_the_majority_is_flagged(rows_of, right):
    base = {f"u{i}": (LABELS[i % 2], LABELS[(i + (i >= right)) % 2]) for i in range(100)}
    swapped = {(uid, 0): "contradiction" for uid in base}
    found = compute(rows_of, base, swapped, "neutral")
    for suffix in ("", "/to_default", "/from_entailment"):
        assert ("not_above_majority" in found["attentiveness/d/premise" + suffix].flags) == (right == 50)


def test_a_slice_has_the_score_of_its_examples_alone(rows_of):
    base = {f"u{i}": ("entailment", LABELS[i % 3]) for i in range(24)}
    changed = [{"uid": uid, "draw": d, "y2": LABELS[(i * (d + 1)) % 3]} for i, uid in enumerate(base) for d in range(2)]
    kinds = {uid: f"kind={'ab'[i % 2]}" for i, uid in enumerate(base)}
    rows = rows_of(base, changed)
    slices = pa.array([[kinds[uid]] for uid in rows["uid"].to_pylist()])
    rows = rows.set_column(rows.column_names.index("slices"), "slices", slices)
    found = attentiveness(rows, "premise", about(slices=("kind",)), flags=("f",))
    without = attentiveness(rows, "premise", about(), flags=("f",))
    for kind in ("kind=a", "kind=b"):
        uids = {uid for uid in base if kinds[uid] == kind}
        alone = rows_of({u: base[u] for u in uids}, [c for c in changed if c["uid"] in uids])
        expected = attentiveness(alone, "premise", about(), flags=("f",))["attentiveness/d/premise"]
        m = found.pop(f"attentiveness/d/premise/{kind}")
        assert replace(m, ci95=None) == replace(expected, ci95=None)
        assert m.ci95[0] <= m.value <= m.ci95[1]
    assert found == without


@given(experiments())
def test_what_rests_on_fewer_than_ten_examples_is_flagged_and_keeps_its_value(rows_of, experiment):
    base, swapped, default = experiment
    expected = {f"attentiveness/d/premise{suffix}": m for suffix, m in reference(base, swapped, default).items()}
    for name, m in compute(rows_of, base, swapped, default).items():
        counted = expected.get(name)
        assert ("few_examples" in m.flags) == (counted is not None and counted["n"] < 10), name
        assert counted is None or m.value == pytest.approx(counted["value"])

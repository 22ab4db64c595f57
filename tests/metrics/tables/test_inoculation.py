"""Inoculation: accuracies against loops, and the outcome for given intervals."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.tables.challenge import challenge_pairs
from heedful.metrics.tables.inoculation import inoculation, inoculation_outcome
from heedful.records import Measurement, MetricName

from challenge_rows import INTERVENTIONS, LABELS, C, Case, E, cases, rows_from
from clustered_shares import Entry, change_interval


def compute(rows_of, before: dict[str, Case], after: dict[str, Case], kind: str = "flipped", **settings):
    runs = tuple(rows_from(rows_of, of_uid, **settings) for of_uid in (before, after))
    found = inoculation(runs, runs, "d", INTERVENTIONS, kind)
    return {f"{name.part}/{name.statistic}": m for name, m in found.items()}


def outcome_of(found: dict[str, Measurement], margin: float = 0.02):
    named = {MetricName("inoculation", "d", *name.split("/")): m for name, m in found.items()}
    return inoculation_outcome(named, "d", margin)


def share(values: list) -> float | None:
    return sum(values) / len(values) if values else None


@settings(max_examples=25)
@given(cases(), st.sampled_from(("preserved", "flipped")), st.data())
def test_equals_the_reference(rows_of, before, kind, data):
    answer, after = st.sampled_from(LABELS), {}
    for uid, case in before.items():
        changes = {change: (gold, data.draw(answer)) for change, (gold, _) in case.changes.items()}
        after[uid] = replace(case, y=data.draw(answer), changes=changes)
    found = compute(rows_of, before, after, kind)
    scored = [(p.uid, p.which[0], p.which[2]) for p in challenge_pairs(rows_from(rows_of, before), INTERVENTIONS)[kind]]
    right = {"original": {uid: [case.y == case.gold for case in (before[uid], after[uid])] for uid in before}}
    right["paired"] = {uid: right["original"][uid] for uid, *_ in scored}
    right["challenge"] = {
        uid: [len(set(of_uid[uid].changes[name, variant])) == 1 for of_uid in (before, after)]
        for uid, name, variant in scored
    }
    ways = {"": LABELS} | ({"/from_entailment": [E], "/from_contradiction": [C]} if kind == "flipped" else {})
    expected = {}
    for way, golds in ways.items():
        mean = {}
        for part, of_uid in right.items():
            some = [both for uid, both in of_uid.items() if before[uid].gold in golds]
            mean[part] = [share([both[i] for both in some]) for i in range(2)]
            expected |= in_time(f"{part}", way, *mean[part], len(some)) if part != "original" or not way else {}
        gaps = [None if a is None else a - b for a, b in zip(mean["paired"], mean["challenge"], strict=True)]
        expected |= in_time("gap", way, *gaps, len(some))
    if kind == "flipped":
        for name in [name for name in expected if name.endswith("/from_entailment")]:
            each = [expected[name][0], expected[name.replace("entailment", "contradiction")][0]]
            mean_of_both = None if None in each else sum(each) / 2
            expected[name.replace("from_entailment", "both_ways")] = mean_of_both, len(scored)
    assert set(found) == set(expected)
    for name, (value, n) in expected.items():
        m = found[name]
        assert m.n == n
        assert m.value == (None if value is None else pytest.approx(value, abs=1e-12))
        if value is None:
            assert (m.ci95, bool(m.reason)) == (None, True)
        else:
            assert m.ci95[0] < m.ci95[1]
            assert m.ci95[0] - 1e-12 <= value <= m.ci95[1] + 1e-12
            if len({case.table for case in before.values()}) == 1:  # a single table has a wide interval
                assert m.ci95[1] - m.ci95[0] > 0.5


def in_time(part: str, way: str, before: float | None, after: float | None, n: int) -> dict[str, tuple]:
    """Names of the three numbers of a part, with value and n."""
    change = None if before is None else after - before
    return {f"{part}/before{way}": (before, n), f"{part}/after{way}": (after, n), f"{part}/change{way}": (change, n)}


def test_the_original_test_and_the_challenge_may_come_from_different_rows(rows_of):
    flip = {("values", "v"): (C, E)}
    tests = {"a": Case("T1", E, E, {}), "b": Case("T2", E, C, {})}
    hard = {"x": Case("T2", E, E, flip), "y": Case("T3", E, E, flip)}
    solved = {uid: replace(case, changes={("values", "v"): (C, C)}) for uid, case in hard.items()}
    runs = [tuple(rows_from(rows_of, some) for some in pair) for pair in ((tests, tests), (hard, solved))]
    found = {str(name): m for name, m in inoculation(*runs, "d", INTERVENTIONS).items()}
    expected = {"original/before": 0.5, "challenge/change": 1, "gap/before": 1, "gap/change": -1, "original/change": 0}
    for name, value in expected.items():
        assert found[f"inoculation/d/{name}"].value == pytest.approx(value)
    changes = [Entry("T2", 1), Entry("T3", 1)]
    assert found["inoculation/d/challenge/change"].ci95 == pytest.approx(change_interval(changes))
    half = change_interval([Entry("T2", -1, 2), Entry("T3", -1, 2)])  # mean over originals and challenge examples
    assert found["inoculation/d/gap/change"].ci95 == pytest.approx((2 * half[0], 2 * half[1]))


# --- the outcome


def test_a_number_without_an_interval_decides_nothing():
    found = intervals((0.0, 0.01), (0.1, 0.2), (-0.2, -0.1)) | {"gap/before": Measurement(0.4, 100)}
    assert str(outcome_of(found)) == "undecided (the gap has no interval)"
    assert "by -6.0 points (-8.0 to -4.0)" in str(outcome_of(intervals((-0.08, -0.04), (0.1, 0.2), (-0.2, -0.1))))


def intervals(original: tuple, challenge: tuple, closing: tuple, gap: tuple = (0.3, 0.5)) -> dict[str, Measurement]:
    ends = {"original/change": original, "challenge/change": challenge, "gap/change": closing, "gap/before": gap}
    return {name: Measurement(sum(ci95) / 2, 100, ci95=ci95) for name, ci95 in ends.items()}


spans = st.tuples(st.integers(-10, 10), st.integers(-10, 10)).map(lambda ends: tuple(x / 100 for x in sorted(ends)))


@given(spans, spans, spans, spans, st.sampled_from((0.0, 0.02, 0.05)))
def test_the_rule_written_out(original, challenge, closing, gap, margin):
    stays, can_close = original[0] > -margin, gap[0] > 0
    holds = {
        1: stays and can_close and challenge[0] > margin and closing[1] < 0,
        2: stays and can_close and challenge[1] < margin,
        3: original[1] < -margin,
    }
    assert sum(holds.values()) <= 1
    expected = next((number for number, here in holds.items() if here), None)
    assert outcome_of(intervals(original, challenge, closing, gap), margin).number == expected

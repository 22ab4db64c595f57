"""Accuracy on challenge examples, against loops."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.number import measured
from heedful.metrics.tables.challenge import (
    METRIC,
    challenge,
    challenge_counts,
    challenge_pairs,
    perturbations,
    subsampled,
)
from heedful.records import Context, DataError, MetricName

from challenge_rows import INTERVENTIONS, LABELS, C, Case, E, N, cases, rows_from, sliced
from clustered_shares import Entry, change_interval, share_interval
from refusals import refused
from tiers import costly

KINDS = ("preserved", "flipped")
OF = MetricName("challenge", "d")


def changes_of(case: Case, kind: str) -> list[tuple[str, str]]:
    """Pairs (new gold label, prediction) of the changes of a kind, without neutral labels."""
    if case.gold == N:
        return []
    kept = [(gold, y2) for gold, y2 in case.changes.values() if gold != N]
    return [pair for pair in kept if (pair[0] == case.gold) == (kind == "preserved")]


def compute(rows_of, of_uid, **settings):
    found = challenge(rows_from(rows_of, of_uid, **settings), OF, INTERVENTIONS)
    return {name.statistic: m for name, m in measured(found).items()}


@costly
@given(cases())
def test_equals_the_reference_where_each_original_has_one_change_of_a_kind(rows_of, of_uid):
    for uid, case in of_uid.items():  # keep the first change of each kind
        kept = {}
        for change, (gold, y2) in case.changes.items():
            kept.setdefault(gold == case.gold, (change, (gold, y2)))
        of_uid[uid] = replace(case, changes=dict(kept.values()))
    found = compute(rows_of, of_uid)
    names = {"original", "original/subsamples"}
    names |= {f"{kind}{end}" for kind in KINDS for end in ("", "/subsamples", "/every", "/drop")}
    names |= {f"flipped/from_{label}" for label in (E, C)} | {"flipped/both_ways"}
    assert set(found) == names
    challenged = [case for case in of_uid.values() if any(changes_of(case, kind) for kind in KINDS)]
    check(found["original"], [Entry(case.table, case.y == case.gold) for case in challenged])
    for kind in KINDS:
        kept = [(case, changes_of(case, kind)[0]) for case in of_uid.values() if changes_of(case, kind)]
        scored = [Entry(case.table, gold == y2) for case, (gold, y2) in kept]
        check(found[kind], scored)
        check(found[f"{kind}/every"], scored)
        drops = [Entry(c.table, (c.y == c.gold) - e.hits) for (c, _), e in zip(kept, scored, strict=True)]
        check(found[f"{kind}/drop"], drops, change_interval)
        one_sided = kind == "flipped" and len({case.gold for case, _ in kept}) == 1
        for name in (kind, f"{kind}/every"):
            assert ("one_sided" in found[name].flags) == one_sided
    ways = {
        label: [Entry(case.table, gold == y2, cell=label) for case, (gold, y2) in kept if case.gold == label]
        for label in (E, C)
    }
    for label, scored in ways.items():
        check(found[f"flipped/from_{label}"], scored)
    both, missing = found["flipped/both_ways"], [label for label, scored in ways.items() if not scored]
    assert both.n == len(kept)
    if missing:
        assert both.value is None
        assert both.reason == f"no example was changed from {missing[0]} to the other label"
    else:
        assert both.value == pytest.approx(sum(sum(e.hits for e in s) / len(s) for s in ways.values()) / 2, abs=1e-12)
        assert both.ci95 == pytest.approx(share_interval([*ways[E], *ways[C]]))
    flagged = {name for name, m in found.items() if "one_sided" in m.flags}
    assert flagged <= {"flipped", "flipped/every"}


def check(m, entries: list[Entry], interval=share_interval) -> None:
    assert m.n == len(entries)
    if not entries:
        assert (m.value, m.ci95, bool(m.reason)) == (None, None, True)
        return
    assert m.value == pytest.approx(sum(e.hits for e in entries) / len(entries), abs=1e-12)
    assert m.ci95 == pytest.approx(interval(entries))


@costly
@given(cases())
def test_one_change_of_each_kind_is_scored_and_every_counts_them_all(rows_of, of_uid):
    rows = rows_from(rows_of, of_uid)
    pairs, found = challenge_pairs(rows, INTERVENTIONS), compute(rows_of, of_uid)
    for kind in KINDS:
        expected = {uid: changes_of(case, kind) for uid, case in of_uid.items() if changes_of(case, kind)}
        assert [pair.uid for pair in pairs[kind]] == sorted(expected)
        for pair in pairs[kind]:
            name, part, variant, draw = pair.which
            gold, y2 = of_uid[pair.uid].changes[name, variant]
            assert (gold, y2) in expected[pair.uid]
            assert pair.changed[pair.scored] == (gold == y2)
            assert sorted(pair.changed) == sorted(gold == y2 for gold, y2 in expected[pair.uid])
            assert (part, draw, pair.table) == ("hypothesis", 0, of_uid[pair.uid].table)
        if expected:
            shares = [sum(gold == y2 for gold, y2 in some) / len(some) for some in expected.values()]
            assert found[f"{kind}/every"].value == pytest.approx(sum(shares) / len(shares), abs=1e-12)


@costly
@given(cases(), st.randoms(use_true_random=False))
def test_which_change_is_scored_does_not_depend_on_the_model_or_on_other_examples(rows_of, of_uid, random):
    first = challenge_pairs(rows_from(rows_of, of_uid), INTERVENTIONS)
    other = {}
    for uid, case in of_uid.items():
        if random.random() < 0.7:
            changes = {change: (gold, random.choice(LABELS)) for change, (gold, _) in case.changes.items()}
            other[uid] = replace(case, y=random.choice(LABELS), changes=changes)
    second = challenge_pairs(rows_from(rows_of, other), INTERVENTIONS)
    for kind in KINDS:
        which = {pair.uid: pair.which for pair in first[kind]}
        assert all(which[pair.uid] == pair.which for pair in second[kind])


def test_all_changes_are_scored_about_as_often_and_the_seed_decides(rows_of):
    changes = {("values", f"v{i}"): (C, C) for i in range(3)}
    rows = rows_from(rows_of, {f"u{i}": Case("A", E, E, changes) for i in range(300)})
    chosen = [pair.which[2] for pair in challenge_pairs(rows, INTERVENTIONS)["flipped"]]
    assert all(70 < chosen.count(f"v{i}") < 130 for i in range(3))
    assert chosen != [pair.which[2] for pair in challenge_pairs(rows, INTERVENTIONS, 1)["flipped"]]


@costly
@given(cases())
def test_what_counts_and_what_does_not_is_counted(rows_of, of_uid):
    counts = challenge_counts(rows_from(rows_of, of_uid), INTERVENTIONS)
    having = {kind: [case for case in of_uid.values() if changes_of(case, kind)] for kind in KINDS}
    either = [case for case in of_uid.values() if changes_of(case, "preserved") or changes_of(case, "flipped")]
    neutral = sum(case.gold == N for case in of_uid.values())
    expected = {kind: len(having[kind]) for kind in KINDS}
    expected |= {f"flipped_from_{label}": sum(case.gold == label for case in having["flipped"]) for label in (E, C)}
    expected |= {f"{kind}_changes": sum(len(changes_of(c, kind)) for c in of_uid.values()) for kind in KINDS}
    expected |= {"originals": len(either), "tables": len({case.table for case in either})}
    assert counts == expected | {"neutral": neutral, "unchanged": len(of_uid) - len(either) - neutral}


def test_an_example_without_gold_label_is_refused(rows_of):
    with refused(DataError, "a,"):
        compute(rows_of, {"a": Case("T1", None, E, {("values", "v"): (E, E)})})


# --- subsamples of 80 %


@pytest.mark.parametrize("n", [1, 2, 5, 9, 400])
def test_subsamples_are_means_over_four_fifths_without_replacement(n):
    hits = np.arange(n) % 3 == 0
    m, size = subsampled(hits, ("x",), ""), max(1, math.floor(0.8 * n))
    assert (m.n, m.draws, len(m.per_draw), m.ci95) == (n, 100, 100, None)
    assert m.flags == ("std_is_half_a_standard_error",)
    low, high = max(0, size - int((~hits).sum())), min(size, int(hits.sum()))  # without replacement
    for value in m.per_draw:
        assert value * size == pytest.approx(round(value * size), abs=1e-9)
        assert low <= round(value * size) <= high
    assert m.value == pytest.approx(sum(m.per_draw) / 100, abs=1e-12)
    assert m.std == pytest.approx(math.sqrt(sum((v - m.value) ** 2 for v in m.per_draw) / 99), abs=1e-12)


# --- splits

OWN = {"kinds": ["numbers", "nominal_modifiers"], "title": True}
SPLITS = ("b", "a_1")


def made(rows_of, seed: int = 0):
    """Rows of three splits, one of which is not evaluated, and the split of each uid."""
    rng, of_uid = np.random.default_rng(seed), {}
    for i in range(40):
        gold, y, after, other = (LABELS[n] for n in rng.choice([0, 2], size=4))
        changes = {(name, str(i)): (other, after) for name in rng.choice(perturbations(OWN["kinds"]), size=2)}
        changes |= {("title", "x"): (gold, LABELS[rng.integers(3)])} if rng.random() < 0.7 else {}
        of_uid[f"u{i:02}"] = Case(f"T{i % 7}", gold, y, changes)
    split = {uid: (*SPLITS, "c")[i % 3] for i, uid in enumerate(of_uid)}
    return sliced(rows_from(rows_of, of_uid), {uid: [f"split={name}"] for uid, name in split.items()}), split


def test_each_split_has_the_numbers_that_it_has_alone(rows_of):
    rows, split = made(rows_of)
    context = Context("d", seed=3, splits=SPLITS, own=OWN)
    found = METRIC.score(rows, context)
    for name in SPLITS:
        mine = rows.filter(pa.array([split[uid] == name for uid in rows["uid"].to_pylist()]))
        alone = METRIC.score(mine, replace(context, splits=()))
        of_split = {text: m for text, m in alone.items() if not text.slice}
        assert {n._replace(slice=""): m for n, m in found.items() if n.slice == f"split={name}"} == of_split
        assert len({m.value for m in of_split.values()}) > 3

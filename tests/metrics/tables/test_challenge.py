"""Accuracy on challenge examples and the eight cells, against plain loops."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.tables.challenge import challenge, challenge_counts, challenge_pairs, eight_cells, subsampled
from records import HeedError

from challenge_rows import INTERVENTIONS, LABELS, Case, cases, rows_from

KINDS = ("preserved", "flipped")
NAME = "challenge/d/"


def changes_of(case: Case, kind: str) -> list[tuple[str, str]]:
    """(new gold label, prediction) of the changes of a kind; none where a label is neutral."""
    if case.gold == "N":
        return []
    kept = [(gold, y2) for gold, y2 in case.changes.values() if gold != "N"]
    return [pair for pair in kept if (pair[0] == case.gold) == (kind == "preserved")]


def compute(rows_of, of_uid, **settings):
    found = challenge(rows_from(rows_of, of_uid, **settings), "d", INTERVENTIONS, "N")
    return {name.removeprefix(NAME): m for name, m in found.items()}


@given(cases())
def test_equals_the_reference_where_each_original_has_one_change_of_a_kind(rows_of, of_uid):
    for uid, case in of_uid.items():  # of each kind, the first is kept
        kept = {}
        for change, (gold, y2) in case.changes.items():
            kept.setdefault(gold == case.gold, (change, (gold, y2)))
        of_uid[uid] = replace(case, changes=dict(kept.values()))
    found = compute(rows_of, of_uid)
    names = {"original", "original/subsamples"}
    names |= {f"{kind}{end}" for kind in KINDS for end in ("", "/subsamples", "/every", "/drop")}
    assert set(found) == names
    challenged = [case for case in of_uid.values() if any(changes_of(case, kind) for kind in KINDS)]
    check(found["original"], [case.y == case.gold for case in challenged])
    for kind in KINDS:
        kept = [(case, changes_of(case, kind)[0]) for case in of_uid.values() if changes_of(case, kind)]
        scored = [gold == y2 for _, (gold, y2) in kept]
        check(found[kind], scored)
        check(found[f"{kind}/every"], scored)
        check(found[f"{kind}/drop"], [(c.y == c.gold) - right for (c, _), right in zip(kept, scored, strict=True)])


def check(m, values: list) -> None:
    assert m.n == len(values)
    if not values:
        assert (m.value, m.ci95, bool(m.reason)) == (None, None, True)
        return
    assert m.value == pytest.approx(sum(values) / len(values), abs=1e-12)
    assert m.ci95[0] - 1e-12 <= m.value <= m.ci95[1] + 1e-12
    assert "few_tables" in m.flags


@given(cases())
def test_one_change_of_each_kind_is_scored_and_every_counts_them_all(rows_of, of_uid):
    rows = rows_from(rows_of, of_uid)
    pairs, found = challenge_pairs(rows, INTERVENTIONS, "N"), compute(rows_of, of_uid)
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


@given(cases(), st.randoms(use_true_random=False))
def test_which_change_is_scored_does_not_depend_on_the_model_or_on_other_examples(rows_of, of_uid, random):
    first = challenge_pairs(rows_from(rows_of, of_uid), INTERVENTIONS, "N")
    other = {}
    for uid, case in of_uid.items():
        if random.random() < 0.7:
            changes = {change: (gold, random.choice(LABELS)) for change, (gold, _) in case.changes.items()}
            other[uid] = replace(case, y=random.choice(LABELS), changes=changes)
    second = challenge_pairs(rows_from(rows_of, other), INTERVENTIONS, "N")
    for kind in KINDS:
        which = {pair.uid: pair.which for pair in first[kind]}
        assert all(which[pair.uid] == pair.which for pair in second[kind])


def test_all_changes_are_scored_about_as_often_and_the_seed_decides(rows_of):
    changes = {("values", f"v{i}"): ("C", "C") for i in range(3)}
    rows = rows_from(rows_of, {f"u{i}": Case("A", "E", "E", changes) for i in range(300)})
    chosen = [pair.which[2] for pair in challenge_pairs(rows, INTERVENTIONS, "N")["flipped"]]
    assert all(70 < chosen.count(f"v{i}") < 130 for i in range(3))
    assert chosen != [pair.which[2] for pair in challenge_pairs(rows, INTERVENTIONS, "N", 1)["flipped"]]


@given(cases())
def test_what_counts_and_what_does_not_is_counted(rows_of, of_uid):
    counts = challenge_counts(rows_from(rows_of, of_uid), INTERVENTIONS, "N")
    having = {kind: [case for case in of_uid.values() if changes_of(case, kind)] for kind in KINDS}
    either = [case for case in of_uid.values() if changes_of(case, "preserved") or changes_of(case, "flipped")]
    neutral = sum(case.gold == "N" for case in of_uid.values())
    expected = {kind: len(having[kind]) for kind in KINDS}
    expected |= {f"{kind}_changes": sum(len(changes_of(c, kind)) for c in of_uid.values()) for kind in KINDS}
    expected |= {"originals": len(either), "tables": len({case.table for case in either})}
    assert counts == expected | {"neutral": neutral, "unchanged": len(of_uid) - len(either) - neutral}


@given(cases())
def test_predictions_without_probabilities_are_enough(rows_of, of_uid):
    assert compute(rows_of, of_uid, p=None, p2=None) == compute(rows_of, of_uid)


def by_hand() -> dict[str, Case]:
    """Two tables. T1: right, right when preserved, wrong when flipped; T2: right; wrong twice; neutral."""
    preserved, flipped = ("values", "p"), ("values", "f")
    return {
        "a": Case("T1", "E", "E", {preserved: ("E", "E"), flipped: ("C", "E")}),
        "b": Case("T2", "C", "C", {flipped: ("E", "E")}),
        "c": Case("T2", "C", "N", {flipped: ("E", "C")}),
        "d": Case("T2", "N", "N", {preserved: ("N", "N")}),
        "e": Case("T2", "E", "E", {}),
    }


def test_a_case_done_by_hand(rows_of):
    found = compute(rows_of, by_hand())
    assert (found["original"].value, found["original"].n) == (pytest.approx(2 / 3), 3)
    assert (found["preserved"].value, found["preserved"].n) == (1, 1)
    assert (found["flipped"].value, found["flipped"].n) == (pytest.approx(1 / 3), 3)
    assert found["flipped/drop"].value == pytest.approx(1 / 3)
    assert found["preserved/drop"].value == 0
    assert found["flipped"].ci95 == pytest.approx((0, 0.5))  # T1 alone, T2 alone
    assert found["flipped/drop"].ci95 == pytest.approx((0, 1))
    assert found["preserved"].flags == ("few_tables", "interval_without_width")


def test_without_any_pair_every_number_is_undefined(rows_of):
    found = compute(rows_of, {"e": by_hand()["e"]})
    assert all((m.value, m.n, m.ci95) == (None, 0, None) for m in found.values())
    assert found["original"].reason == found["original/subsamples"].reason == "no example has a challenge example"
    assert found["flipped/drop"].reason == "no example was changed with its label flipped"
    assert compute(rows_of, {})["preserved"].reason == "no example was changed with its label preserved"


def test_an_example_without_gold_label_is_refused(rows_of):
    with pytest.raises(HeedError, match="^a or an example changed from it has no gold label"):
        compute(rows_of, {"a": Case("T1", None, "E", {("values", "v"): ("E", "E")})})


# --- the paper's samples of 80 %


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


def test_the_standard_deviation_of_subsamples_is_half_a_standard_error():
    """0.4 of 967 examples, as many as the paper samples from alpha1."""
    hits = np.arange(967) < 387
    stds = [subsampled(hits, ("x", i), "").std for i in range(20)]
    assert np.mean(stds) == pytest.approx(math.sqrt(0.4 * 0.6 / 967) / 2, rel=0.05)


def test_each_subsample_is_another():
    m = subsampled(np.arange(50) < 25, ("x",), "")
    assert len(set(m.per_draw)) > 5
    assert subsampled(np.arange(50) < 25, ("x",), "") == m != subsampled(np.arange(50) < 25, ("y",), "")


# --- table 8


def cells(rows_of, full: dict[str, Case], partial: dict[str, Case], kind: str = "flipped"):
    rows = rows_from(rows_of, full), rows_from(rows_of, partial)
    found = eight_cells(*rows, "d", INTERVENTIONS, "N", kind)
    return {name.removeprefix(f"challenge/d/{kind}/cells/"): m for name, m in found.items()}


@given(cases(), st.data())
def test_the_cells_equal_the_reference_and_add_up(rows_of, of_uid, data):
    kind = data.draw(st.sampled_from(KINDS))
    partial = {uid: replace(case, y=data.draw(st.sampled_from(LABELS)), changes={}) for uid, case in of_uid.items()}
    found = cells(rows_of, of_uid, partial, kind)
    counted = dict.fromkeys(product(("right", "wrong"), repeat=3), 0)
    pairs = challenge_pairs(rows_from(rows_of, of_uid), INTERVENTIONS, "N")[kind]
    for pair in pairs:
        case, (name, _, variant, _) = of_uid[pair.uid], pair.which
        gold, y2 = case.changes[name, variant]
        sides = case.y == case.gold, y2 == gold, partial[pair.uid].y == case.gold
        counted[tuple("right" if side else "wrong" for side in sides)] += 1
    assert list(found) == ["_".join(cell) for cell in counted]
    for cell, count in counted.items():
        m = found["_".join(cell)]
        assert (m.n, m.value) == (len(pairs), pytest.approx(count / len(pairs), abs=1e-12) if pairs else None)
    if pairs:
        accuracy = compute(rows_of, of_uid)[kind].value
        assert sum(m.value for m in found.values()) == pytest.approx(1)
        assert sum(m.value for name, m in found.items() if name.split("_")[1] == "right") == pytest.approx(accuracy)


def test_the_cells_of_a_case_done_by_hand(rows_of):
    full = by_hand()
    partial = {uid: replace(case, y={"a": "C", "b": "C", "c": "C"}.get(uid, "N")) for uid, case in full.items()}
    found = cells(rows_of, full, partial)
    assert {name for name, m in found.items() if m.value} == {
        "right_wrong_wrong",
        "right_right_right",
        "wrong_wrong_right",
    }
    assert found["right_wrong_wrong"].value == pytest.approx(1 / 3)  # a: what the paper puts down to knowledge
    assert found["right_wrong_wrong"].ci95 == pytest.approx((0, 1))
    assert found["right_right_right"].ci95 == pytest.approx((0, 0.5))


def test_both_models_need_the_same_originals(rows_of):
    full, partial = by_hand(), by_hand()
    del partial["b"], partial["e"]
    with pytest.raises(HeedError, match="^The hypothesis-only model did not predict b: evaluate both on the same"):
        cells(rows_of, full, partial)

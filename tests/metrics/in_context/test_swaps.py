"""Swaps with one prompt: the numbers of the attentiveness metric, by clusters."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attentiveness import METRIC, kept_answers, span_attentiveness
from heedful.metrics.in_context.answers import scored
from heedful.metrics.in_context.swaps import ATTENTIVENESS, KEPT, TO_DEFAULT, WITH_INVALID, swaps
from heedful.records import NO_LABEL, SPAN

from made_rows import by_text, make
from prompted_runs import CONTEXT, LABELS, rows_of

NAME = "attentiveness/nli/premise"


def value(found):
    hits, count = found.sums.sum(axis=0)
    return hits / count


@given(st.integers(0, 1000), st.integers(1, 4), st.floats(0, 0.5), st.booleans())
def test_numbers_are_those_of_the_metric(seed, draws, invalid, as_scored):
    rows = rows_of(20, draws, seed, invalid=invalid)
    rows = scored(rows, LABELS) if as_scored else rows
    found = swaps(rows, "premise", CONTEXT)
    metric = by_text(METRIC.score)(rows, CONTEXT)
    texts = {ATTENTIVENESS: NAME, WITH_INVALID: f"{NAME}/with_invalid", TO_DEFAULT: f"{NAME}/to_default"}
    for name, text in texts.items():
        if text in metric and metric[text].value is not None:
            assert value(found[name]) == pytest.approx(metric[text].value, abs=1e-12)
            assert found[name].n == metric[text].n
            assert found[name].std == (None if draws == 1 else pytest.approx(metric[text].std, abs=1e-12))
    if as_scored:
        np.testing.assert_array_equal(found[WITH_INVALID].sums, found[ATTENTIVENESS].sums)
    elif metric[NAME].value is None:
        assert not found[ATTENTIVENESS].n


@pytest.mark.parametrize("group", [1, 4])
def test_sums_are_those_of_loops(group):
    rows = rows_of(24, draws=1, group=group, seed=5)
    found, sums = swaps(rows, "premise", CONTEXT), {}
    for row in rows.to_pylist():
        hits = sums.setdefault(row["group"] or row["uid"], [0, 0])
        if row["intervention"] == "swap" and row["y"] not in ("neutral", NO_LABEL) and row["y2"] != NO_LABEL:
            hits[0] += row["y2"] != row["y"]
            hits[1] += 1
    assert found[ATTENTIVENESS].sums.tolist() == list(sums.values())


def test_of_texts_a_hit_is_no_answer():
    base = {"a": ('["x"]', "x"), "b": ('["x"]', ""), "c": ("[]", "y")}
    after = {"a": ("", "x"), "c": ("", "z"), "b": ("x", "")}
    changed = [{"uid": uid, "draw": d, "y2": y2} for uid, answers in after.items() for d, y2 in enumerate(answers)]
    rows = make(base, changed, labels=1)
    found = swaps(rows, "premise", replace(CONTEXT, kind=SPAN, labels=(), default_label=None))
    metric = by_text(span_attentiveness)(rows, "nli", "premise")[NAME]
    assert found.keys() == {ATTENTIVENESS}
    assert value(found[ATTENTIVENESS]) == metric.value == 0.5
    assert found[ATTENTIVENESS].std == pytest.approx(metric.std)


def test_what_stays_where_a_part_must_not_matter_is_that_of_the_metric():
    base = {"a": ('["x"]', "x"), "b": ('["x"]', ""), "c": ("[]", "The y")}
    after = {"a": ("", "x"), "b": ("", "x"), "c": ("y!", "z")}
    changed = [
        {"uid": uid, "draw": d, "y2": y2, "part": "distractor"} for uid in after for d, y2 in enumerate(after[uid])
    ]
    rows = make(base, changed, labels=1)
    own = {"swap": ["premise"], "distractors": ["distractor"]}
    found = swaps(rows, "distractor", replace(CONTEXT, kind=SPAN, labels=(), default_label=None, own=own))
    metric = by_text(kept_answers)(rows, "nli", "distractor")["attentiveness/nli/distractor/kept"]
    assert found.keys() == {KEPT}
    assert value(found[KEPT]) == metric.value == 0.5
    assert (found[KEPT].n, found[KEPT].std) == (metric.n, pytest.approx(metric.std))


def test_without_a_default_label_every_label_counts():
    rows = make({"a": ("neutral", "neutral")}, [{"uid": "a", "y2": "entailment"}])
    found = swaps(rows, "premise", replace(CONTEXT, default_label=None))
    assert value(found[ATTENTIVENESS]) == 1
    assert TO_DEFAULT not in found

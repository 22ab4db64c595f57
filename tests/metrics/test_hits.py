"""Which swaps count and which are hits, against plain loops, for every kind of task."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.hits import alike, eligible, hits
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, SPAN, Context

from made_rows import make

LABELS = ("entailment", "neutral", "contradiction")
TEXTS = ("", "Rome", "the rome!", "the", "Paris", NO_LABEL)


class Case(NamedTuple):
    """Base answers, and the answers to three draws of swaps of two parts, one of which must not matter."""

    context: Context
    base: dict[str, str]
    after: dict[tuple[str, str, int], str]


@st.composite
def cases(draw):
    kind = draw(st.sampled_from([CLASSIFICATION, SOFT, SPAN]))
    answers = st.sampled_from(TEXTS if kind is SPAN else (*LABELS, NO_LABEL))
    default = None if kind is SPAN else draw(st.none() | st.sampled_from(LABELS))
    labels = () if kind is SPAN else LABELS
    own = {"swap": ["premise"], "distractors": ["other"]}
    base = {f"u{i}": draw(answers) for i in range(draw(st.integers(1, 6)))}
    keys = [(uid, part, d) for uid in base for part in ("premise", "other") for d in range(3)]
    after = {key: draw(answers) for key in keys if draw(st.booleans())}
    return Case(Context("d", kind=kind, labels=labels, default_label=default, own=own), base, after)


def rows_of(case):
    gold = {CLASSIFICATION: "neutral", SOFT: '{"neutral": 1.0}', SPAN: "[]"}[case.context.kind]
    swaps = [{"uid": uid, "part": part, "draw": d, "y2": y2} for (uid, part, d), y2 in case.after.items()]
    null = [{"uid": uid, "intervention": "null", "part": "", "draw": -1, "y2": "x"} for uid in case.base]
    return make({uid: (gold, y) for uid, y in case.base.items()}, [*swaps, *null])


def is_same(kind, y, y2):
    if kind is not SPAN:
        return y == y2
    words = [text.lower().strip("!").removeprefix("the").strip() for text in (y, y2)]
    return words[0] == words[1] and (y == "") == (y2 == "")


@given(cases(), st.sampled_from(["premise", "other"]))
def test_swaps_count_and_hit_as_defined(case, part):
    kind = case.context.kind
    default = "" if kind is SPAN else case.context.default_label
    rows = rows_of(case)
    found = hits(rows, part, case.context)
    same = alike(rows, found.swapped, kind)
    counts = eligible(rows, part, case.context)
    for i, row in enumerate(rows.to_pylist()):
        y, y2 = row["y"], row["y2"]
        is_other = part == "other" or y != default
        swapped = row["intervention"] == "swap" and row["part"] == part and is_other
        assert counts[i] == (is_other and y != NO_LABEL)
        assert found.swapped[i] == swapped
        assert found.base_answered[i] == (swapped and y != NO_LABEL)
        assert found.counted[i] == (swapped and NO_LABEL not in (y, y2))
        if not swapped:
            assert not found.hit[i]
            assert not same[i]
            continue
        assert same[i] == is_same(kind, y, y2)
        wanted = y2 == "" if kind is SPAN else y != y2
        assert found.hit[i] == (is_same(kind, y, y2) if part == "other" else wanted)


@pytest.mark.parametrize(("kind", "y", "y2", "expected"), [
    (CLASSIFICATION, "a", "a", (True, False)), (CLASSIFICATION, "a", "b", (False, True)),
    (SPAN, "The Rome", "rome!", (True, False)), (SPAN, "Rome", "Paris", (False, False)),
    (SPAN, "Rome", "", (False, True)), (SPAN, "the", "", (False, True)), (SPAN, "", "the", (False, False)),
])  # fmt: skip
def test_each_kind_says_which_answers_are_alike_and_which_heed(kind, y, y2, expected):
    assert (kind.alike(y, y2), kind.heeds(y, y2)) == expected

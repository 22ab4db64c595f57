"""Whether expectations are met, and verdicts, against loops over rows that are written down independently."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heedful.metrics.hits import alike, met, verdicts
from heedful.records import KINDS, NO_LABEL

from made_rows import make

LABELS = ("entailment", "neutral", "contradiction")
SPANS = ("", "Rome", "the rome!", "Paris")
ANSWERS = {"classification": LABELS, "soft": LABELS, "span": SPANS, "text": ("", "Rome", "rome", "entailment")}
ANSWERS["contained"] = (*SPANS, "in Rome")
GOLDS = {
    "classification": LABELS,
    "soft": ("{}", '{"neutral": 0.3}', '{"entailment": 0.5, "neutral": 0.6}', '{"contradiction": 1.0}'),
    "span": ("[]", '["Rome"]', '["Paris", "the Rome"]'),
    "text": ("Rome", "rome", ""),
}
GOLDS["contained"] = GOLDS["span"]
OF_SPANS = "span", "contained"
PAPER = {  # allowed by each rule, from E, from N, from C
    "delete/relevant": dict.fromkeys(("union", "composed"), ("N", "N", "N")),
    "insert/any": dict.fromkeys(("union", "composed"), ("E", "ENC", "C")),
    "delete+insert/unknown": {"union": ("EN", "ENC", "NC"), "composed": ("ENC", "ENC", "ENC")},
    "delete+insert/relevant": {"union": ("EN", "ENC", "NC"), "composed": ("ENC", "ENC", "ENC")},
    "delete+permute/irrelevant": dict.fromkeys(("union", "composed"), ("E", "N", "C")),
}
OTHERS = ("stays", "leaves", "gold2", "judged/yes", "judged/no", "")
rules = st.sampled_from(["union", "composed"])


def same(kind, y, y2):
    if kind not in OF_SPANS:
        return y == y2
    bare = [text.lower().strip("!").removeprefix("the ") for text in (y, y2)]
    return bare[0] == bare[1]


def score(kind, answer, gold):
    if answer == NO_LABEL:
        return 0
    if kind == "contained" and answer and gold != "[]":
        bare = answer.lower().replace("!", "").split()
        return any({*right.lower().split()} - {"the"} <= {*bare} for right in json.loads(gold))
    if kind in OF_SPANS:
        return max(same(kind, answer, right) for right in json.loads(gold) or [""])
    return json.loads(gold).get(answer, 0) if kind == "soft" else answer == gold


def is_met(kind, rule, expects, y, y2, gold2):
    match expects.split("/", 1):
        case ["stays"]:
            return same(kind, y, y2)
        case ["leaves"] if kind in OF_SPANS and y != "":
            return y2 == ""
        case ["leaves"]:
            return not same(kind, y, y2)
        case ["gold2"]:
            return gold2 is not None and score(kind, y2, gold2) >= 0.5
        case ["transitions", key]:
            return NO_LABEL not in (y, y2) and y2[0].upper() in PAPER[key][rule][LABELS.index(y)]
    return expects == "judged/yes"


@st.composite
def cases(draw):
    """A kind of task; the gold label and the prediction of each base example; and the changes."""
    kind = draw(st.sampled_from([*KINDS]))
    answers, golds = st.sampled_from([*ANSWERS[kind], NO_LABEL]), st.sampled_from(GOLDS[kind])
    uids = [f"u{i}" for i in range(draw(st.integers(1, 4)))]
    base = {uid: (draw(st.none() | golds), draw(answers)) for uid in uids}
    expectations = st.sampled_from(OTHERS)
    if ANSWERS[kind] is LABELS:
        expectations |= st.sampled_from([f"transitions/{key}" for key in PAPER])
    drawn = st.tuples(st.sampled_from(uids), expectations, answers, st.none() | golds)
    changed = [
        {"uid": uid, "draw": draw, "expects": expects, "y2": y2, "gold2": gold2}
        for draw, (uid, expects, y2, gold2) in enumerate(draw(st.lists(drawn, max_size=12)))
    ]
    return kind, base, changed


def columns(row):
    return row["y"], row["y2"], row["gold2"]


@given(cases(), rules)
@example(("classification", {"u": ("neutral", "neutral")}, []), "union")
def test_what_is_met_is_what_a_loop_finds(case, rule):
    """A missing answer counts as one more label, and base rows meet nothing."""
    kind, base, changed = case
    rows = make(base, changed)
    listed = rows.to_pylist()
    is_changed = [row["intervention"] != "base" for row in listed]
    pairs = list(zip(listed, is_changed, strict=True))
    found = met(rows, KINDS[kind], rule)
    assert found.dtype == bool
    assert found.tolist() == [here and is_met(kind, rule, row["expects"], *columns(row)) for row, here in pairs]
    for expects in ("stays", "leaves", "gold2"):  # in place of the column
        expected = [here and is_met(kind, rule, expects, *columns(row)) for row, here in pairs]
        assert met(rows, KINDS[kind], rule, expects).tolist() == expected
        if expects == "stays":
            assert alike(rows, KINDS[kind]).tolist() == expected
    nothing = rows.slice(0, 0)
    assert met(nothing, KINDS[kind], rule).tolist() == alike(nothing, KINDS[kind]).tolist() == []


@given(cases())
def test_verdicts_are_scores_of_base_examples_and_whether_changes_meet_what_is_expected(case):
    kind, base, changed = case
    rows = make(base, changed)
    expected = []
    for row in rows.to_pylist():
        if row["intervention"] == "base":
            expected.append(np.nan if row["gold"] is None else score(kind, row["y"], row["gold"]))
        elif row["expects"] == "" or NO_LABEL in (row["y"], row["y2"]):
            expected.append(np.nan)
        else:
            expected.append(is_met(kind, "union", row["expects"], *columns(row)))
    np.testing.assert_array_equal(verdicts(rows, KINDS[kind]), np.array(expected, dtype=float))


@pytest.mark.parametrize(("first", "second"), [("union", "composed"), ("composed", "union")])
def test_only_transitions_depend_on_the_rule(first, second):
    """Deletion allows neutral, and from there insertion allows contradiction."""
    change = {"uid": "u", "y2": "contradiction", "expects": "transitions/delete+insert/unknown"}
    rows = make({"u": ("entailment", "entailment")}, [change])
    assert met(rows, KINDS["classification"], first).any() == (first == "composed")
    assert met(rows, KINDS["classification"], second).any() == (second == "composed")

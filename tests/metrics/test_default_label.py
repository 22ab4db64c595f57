"""Effects of changes on predictions of the default label, against loops."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.default_label import default_label
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records.rows import NO_DRAW

from made_rows import by_text, make

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context(
    "d", labels=LABELS, default_label="neutral", own={"swap": ["premise"], "siblings": {"premise": "hypothesis"}}
)
measure = by_text(default_label)
answer = st.sampled_from([*LABELS, NO_LABEL])
sibling = st.tuples(answer, st.sampled_from(LABELS))
example = st.tuples(answer, st.lists(answer, min_size=2, max_size=2), st.lists(sibling, max_size=2))
NAMES = ("premise", "premise/total_variation", "premise/default_probability", "premise/siblings")
NAMES += ("premise/siblings_gold", "null_total_variation", "null_default_probability")


def changes(uid, y, swaps, siblings):
    yield {"uid": uid, "intervention": "null", "part": "", "draw": NO_DRAW, "y2": y}
    yield from ({"uid": uid, "draw": draw, "y2": y2, "expects": "stays"} for draw, y2 in enumerate(swaps))
    about = {"uid": uid, "intervention": "sibling", "part": "hypothesis"}
    yield from (about | {"draw": draw, "y2": y2, "gold2": gold} for draw, (y2, gold) in enumerate(siblings))


@given(st.lists(example, max_size=8))
def test_the_numbers_are_those_of_loops(examples):
    """Predictions of other labels, and missing answers, do not count."""
    base = {f"u{i}": ("entailment", y) for i, (y, _, _) in enumerate(examples)}
    rows = make(base, [change for uid, e in zip(base, examples, strict=True) for change in changes(uid, *e)])
    values = {name: defaultdict(list) for name in NAMES}  # by draw
    uids = set()
    for row in rows.to_pylist():
        kind, y2 = row["intervention"], row["y2"]
        if row["y"] != "neutral" or y2 in (None, NO_LABEL):
            continue
        moved = abs(np.array(row["p2"]) - row["p"])
        distances = moved.sum() / 2, moved[1]
        of_row = (y2 == "neutral", *distances, y2 != "neutral", y2 == row["gold2"], *distances)
        counted = {"swap": NAMES[:3], "sibling": NAMES[3:5], "null": NAMES[5:]}[kind]
        uids |= {row["uid"]} if kind == "swap" else set()
        for name, value in zip(NAMES, of_row, strict=True):
            if name in counted:
                values[name][row["draw"] if kind == "swap" else 0].append(value)
    found = measure(rows, CONTEXT)
    assert found["default_label/d/premise"].n == len(uids)
    is_default = [y == "neutral" for y, _, _ in examples]
    assert found.pop("default_label/d/eligible").value == (pytest.approx(np.mean(is_default)) if examples else None)
    expected = {name: [np.mean(of_draw) for of_draw in draws.values()] for name, draws in values.items()}
    expected = {name: pytest.approx(np.mean(means)) if means else None for name, means in expected.items()}
    assert {name.removeprefix("default_label/d/"): m.value for name, m in found.items()} == expected
    assert all(m.reason for m in found.values() if m.value is None)
    is_constant = len(examples) > 1 and len({y for y, *_ in examples}) == 1
    of_change = {f"default_label/d/premise{suffix}" for suffix in ("", "/siblings", "/siblings_gold")} & found.keys()
    assert {name for name, m in found.items() if "constant_predictions" in m.flags} == (
        of_change if is_constant else set()
    )


def test_answers_without_probabilities_have_no_distances():
    context = Context("d", kind=SPAN, default_label="", own={"swap": ["premise"], "siblings": {"premise": "question"}})
    sibling = {"intervention": "sibling", "part": "question", "gold2": '["Rhine"]'}
    swap = {"uid": "u0", "y2": "the", "expects": "stays"}
    rows = make({"u0": ("[]", "")}, [swap, {"uid": "u0", "y2": "the Rhine", **sibling}], labels=1)
    found = {name: m.value for name, m in measure(rows, context).items()}
    assert found == {
        "default_label/d/eligible": 1,
        "default_label/d/premise": 0,
        "default_label/d/premise/siblings": 1,
        "default_label/d/premise/siblings_gold": 1,
    }

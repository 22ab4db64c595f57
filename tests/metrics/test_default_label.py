"""What becomes of default predictions: against plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.default_label import default_label
from heedful.records import SPAN, Context
from heedful.records.rows import NO_DRAW

from made_rows import by_text, make

LABELS = ("entailment", "neutral", "contradiction")
CONTEXT = Context(
    "d", labels=LABELS, default_label="neutral", own={"swap": ["premise"], "siblings": {"premise": "hypothesis"}}
)
measure = by_text(default_label)
answer = st.sampled_from(LABELS)
example = st.tuples(answer, st.lists(answer, min_size=2, max_size=2), st.lists(st.tuples(answer, answer), max_size=2))


def changes(i, y, swaps, siblings):
    if y != "neutral":
        return
    yield {"uid": f"u{i}", "intervention": "null", "part": "", "draw": NO_DRAW, "y2": y}
    for draw, y2 in enumerate(swaps):
        yield {"uid": f"u{i}", "draw": draw, "y2": y2}
    for draw, (y2, gold) in enumerate(siblings):
        sibling = {"intervention": "sibling", "part": "hypothesis", "draw": draw, "y2": y2, "gold": gold}
        yield {"uid": f"u{i}", **sibling}


@given(st.lists(example, max_size=8))
def test_the_numbers_are_those_of_plain_python(examples):
    base = {f"u{i}": ("entailment", y) for i, (y, _, _) in enumerate(examples)}
    rows = make(base, [change for i, e in enumerate(examples) for change in changes(i, *e)])
    found, entries = measure(rows, CONTEXT), rows.to_pylist()
    mine = [e for e in examples if e[0] == "neutral"]

    def mean(values):
        return None if not values else pytest.approx(float(np.mean(values)))

    def distance(intervention, of):
        pairs = [(np.array(r["p"]), np.array(r["p2"])) for r in entries if r["intervention"] == intervention]
        return mean([of(p2 - p) for p, p2 in pairs])

    followed = [pair for _, _, siblings in mine for pair in siblings]
    expected = {
        "d/premise": mean([y2 == "neutral" for _, swaps, _ in mine for y2 in swaps]),
        "d/premise/siblings": mean([y2 != "neutral" for y2, _ in followed]),
        "d/premise/siblings_gold": mean([y2 == gold for y2, gold in followed]),
        "d/eligible": mean([y == "neutral" for y, _, _ in examples]),
    }
    for name, of in {"total_variation": lambda d: abs(d).sum() / 2, "default_probability": lambda d: abs(d[1])}.items():
        expected[f"d/premise/{name}"] = distance("swap", of)
        expected[f"d/null_{name}"] = distance("null", of)
    assert {name: m.value for name, m in found.items()} == {f"default_label/{k}": v for k, v in expected.items()}
    assert found["default_label/d/premise"].n == len(mine)
    assert all(m.reason for m in found.values() if m.value is None)


def test_answers_without_probabilities_have_no_distances():
    context = Context("d", kind=SPAN, default_label="", own={"swap": ["premise"], "siblings": {"premise": "question"}})
    sibling = {"intervention": "sibling", "part": "question", "gold": '["Rhine"]'}
    rows = make({"u0": ("[]", "")}, [{"uid": "u0", "y2": "the"}, {"uid": "u0", "y2": "the Rhine", **sibling}], labels=1)
    found = {name: m.value for name, m in measure(rows, context).items()}
    assert found == {
        "default_label/d/eligible": 1,
        "default_label/d/premise": 0,
        "default_label/d/premise/siblings": 1,
        "default_label/d/premise/siblings_gold": 1,
    }

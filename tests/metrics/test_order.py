"""The numbers of the evaluation "order", against loops over examples and draws."""

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, Context

from made_rows import by_text, make

LABELS = tuple("ABC")
OWN = {"part": "", "perturbation": True}
METRIC = METRICS["order"]


def moves(places: list[int]) -> dict[str, list[str]]:
    """Where each option goes, for option ``places[i]`` at position ``i``."""
    return {LABELS[place]: [LABELS[i]] for i, place in enumerate(places)}


@st.composite
def cases(draw):
    """Base answers, and changes with an answer, a new order, and whether the model reads the change."""
    answer = st.sampled_from([*LABELS, NO_LABEL])
    base = {f"u{i}": (draw(st.sampled_from(LABELS)), draw(answer)) for i in range(draw(st.integers(1, 5)))}
    changed = []
    for uid, (gold, _) in base.items():
        for d in range(draw(st.integers(0, 3))):
            moved = moves(draw(st.permutations([0, 1, 2]).filter(lambda places: places != [0, 1, 2])))
            change = {
                "intervention": "order",
                "part": "options",
                "draw": d,
                "y2": draw(answer),
                "gold2": moved[gold][0],
            }
            changed.append(
                change | {"uid": uid, "expects": f"moves/{json.dumps(moved)}", "unread": draw(st.booleans())}
            )
    return base, changed


def by_loops(base, changed):
    """Every number as a mean over examples of the mean over the draws of an example."""
    values = defaultdict(lambda: defaultdict(list))
    for change in changed:
        uid, (gold, y), y2, gold2 = change["uid"], base[change["uid"]], change["y2"], change["gold2"]
        if NO_LABEL in (y, y2) or change["unread"]:
            continue
        values[""][uid].append(json.loads(change["expects"].removeprefix("moves/"))[y] == [y2])
        for when, answer, right in (("before", y, gold), ("after", y2, gold2)):
            values[f"/accuracy/{when}"][uid].append(answer == right)
            if when == "after":
                values[f"/accuracy/{when}/gold_{right}"][uid].append(answer == right)
            for label in LABELS:
                values[f"/chosen/{when}/{label}"][uid].append(answer == label)
                values[f"/gold/{when}/{label}"][uid].append(right == label)
    return {
        f"order/d{name}": (np.mean([np.mean(draws) for draws in of.values()]), len(of)) for name, of in values.items()
    }


@given(cases())
def test_numbers_are_means_over_examples_of_means_over_draws(case):
    base, changed = case
    found = by_text(METRIC.numbers)(make(base, changed), Context("d", labels=LABELS, own=OWN))
    expected = by_loops(base, changed)
    assert {name for name, m in found.items() if m.value is not None} == set(expected)
    for name, (value, n) in expected.items():
        assert (found[name].value, found[name].n) == (pytest.approx(value), n)


def test_a_missing_answer_is_no_behaviour():
    """With 60 % failures after the change, nothing is known; with a few, the others count."""
    base = {f"u{i}": ("A", "A") for i in range(20)}
    moved = json.dumps(moves([1, 0, 2]))

    def numbers(failures: int):
        change = {"intervention": "order", "part": "options", "gold2": "B", "expects": f"moves/{moved}"}
        changed = [change | {"uid": uid, "y2": NO_LABEL if i < failures else "B"} for i, uid in enumerate(base)]
        return {str(k): m for k, m in METRIC.score(make(base, changed), Context("d", labels=LABELS, own=OWN)).items()}

    assert (numbers(2)["order/d"].value, numbers(2)["order/d"].n, numbers(2)["order/d"].flags) == (
        1.0, 18, ("constant_predictions", "no_answers"),
    )  # fmt: skip
    for name in ("order/d", "order/d/accuracy/after", "order/d/chosen/after/A"):
        assert numbers(12)[name].value is None
        assert numbers(12)[name].reason == "more than half of the answers are none"


@pytest.mark.parametrize("about", [{"kind": SOFT}, {"unlabelled": True}], ids=["several right labels", "unlabelled"])
def test_without_one_right_label_only_choices_are_counted(about):
    gold = '{"A": 1.0}' if "kind" in about else None
    base = {f"u{i}": (gold, "A") for i in range(12)}
    moved = json.dumps(moves([2, 0, 1]))
    change = {"intervention": "order", "part": "options", "gold2": None, "expects": f"moves/{moved}", "y2": "A"}
    context = Context("d", **{"kind": CLASSIFICATION, "labels": LABELS, "own": OWN} | about)
    found = METRIC.score(make(base, [change | {"uid": uid} for uid in base]), context)
    named = {str(name): m.value for name, m in found.items() if m.value is not None}
    assert named == {
        "order/d": 0.0,
        **{f"order/d/chosen/{when}/{x}": float(x == "A") for when in ("before", "after") for x in LABELS},
    }

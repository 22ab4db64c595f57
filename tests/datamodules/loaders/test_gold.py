"""Gold labels as sources write them."""

import math

import pytest

from heedful.datamodules.loaders.gold import Gold
from heedful.records import DataError, HeedfulError

from refusals import refused

LABELS = {"entailment": [0], "neutral": [1, "n"], "contradiction": [2]}
SPELLINGS = {str(s): name for name, others in LABELS.items() for s in (name, *others)}


@pytest.mark.parametrize(
    ("value", "gold"),
    [
        *((neutral, "neutral") for neutral in ("neutral", " neutral ", 1, "1", "1 ", 1.0, "1.0")),
        (0, "entailment"),
        (2.0, "contradiction"),
        *((nothing, None) for nothing in (None, "", " ", "-", -1, "-1", "None", "null", -1.0, math.nan)),
    ],
)
def test_one_label_is_right(value: object, gold: str | None) -> None:
    assert Gold(LABELS, SPELLINGS, None)(value) == gold


@pytest.mark.parametrize(
    ("several", "value", "gold"),
    [
        ("list", ["neutral", "entailment"], '{"entailment": 1.0, "neutral": 1.0}'),
        ("list", [0, 2], '{"contradiction": 1.0, "entailment": 1.0}'),
        ("list", ["n"], '{"neutral": 1.0}'),
        ("list", "n", '{"neutral": 1.0}'),
        ("list", [], None),
        ("list", None, None),
        (", ", "neutral, entailment", '{"entailment": 1.0, "neutral": 1.0}'),
        ("|", "0|n|", '{"entailment": 1.0, "neutral": 1.0}'),
        ("|", "", None),
    ],
)
def test_several_labels_are_right_each_worth_one(several: str, value: object, gold: str | None) -> None:
    assert Gold(LABELS, SPELLINGS, several)(value) == gold


@pytest.mark.parametrize(
    ("several", "value", "error", "facts"),
    [
        (None, ["neutral"], DataError, ["['neutral']", "several list"]),
        (None, {"a": 1}, DataError, ["{'a': 1}"]),
        (None, "maybe", DataError, ["'maybe'", *SPELLINGS, "labels '{LABEL: [SPELLING]}'"]),
        ("list", ["neutral", "maybe"], DataError, ["'maybe'", *SPELLINGS]),
        (", ", "neutral,entailment", DataError, ["'neutral,entailment'"]),
        ("list", [0, 1, 0], DataError, ["[0, 1, 0]", "one number per label"]),  # one-hot
        ("list", [False, True, False], DataError, ["[False, True, False]", "one number per label"]),
        ("list", [0.2, 0.5, 0.3], DataError, ["[0.2, 0.5, 0.3]", "one number per label"]),
        ("list", ["neutral", "entailment", "n"], DataError, ["'entailment'", "repeats a value"]),
        (", ", "neutral, neutral", DataError, ["'neutral, neutral'", "repeats a value"]),
        (None, [0, 1, 0], DataError, ["[0, 1, 0]", "the name of the right label"]),
    ],
)
def test_what_is_not_a_label_is_refused(
    several: str | None, value: object, error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, *facts):
        Gold(LABELS, SPELLINGS, several)(value)


@pytest.mark.parametrize("name", ["none", "None", "null", "NaN", "NA", "n/a"])
def test_a_label_that_tools_take_for_missing_is_never_lost(name: str) -> None:
    """Most tools write such a label as nothing, or in other letters, and its rows would count as unlabelled."""
    for labels in ({"some": [], name: []}, {"some": [], "other": [name]}):
        gold = Gold(
            labels, {spelling: label for label, others in labels.items() for spelling in (label, *others)}, None
        )
        assert gold(name) == list(labels)[1]
        assert gold("-") is gold(-1) is None
        for value in {None, "", " ", math.nan, "None", "null", "NONE", "nan"} - {name}:
            with refused(DataError, list(labels)[1]):
                gold(value)


def test_a_label_of_other_letters_is_not_nothing() -> None:
    with refused(DataError, "'na'"):
        Gold({"NA": [], "some": []}, {"NA": "NA", "some": "some"}, None)("na")


@pytest.mark.parametrize(
    ("text", "label"), [("YES", "yes"), (" Yes ", "yes"), ("B", "b"), ("a", "A"), ("X", "x"), ("NONE", None)]
)
def test_other_capitals_are_read_where_they_leave_one_label(text: str, label: str | None) -> None:
    labels = {"yes": ["y"], "b": [], "A": [], "x": ["z"], "w": ["Z"]}
    spellings = {spelling: name for name, others in labels.items() for spelling in (name, *others)}
    gold = Gold(labels, spellings, None)
    assert gold(text) == label
    assert (gold("z"), gold("Z")) == ("x", "w")
    two = Gold({"up": [], "UP": []}, {"up": "up", "UP": "UP"}, None)
    with refused(DataError, "'Up'"):
        two("Up")

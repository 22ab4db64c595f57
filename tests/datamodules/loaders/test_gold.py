"""Gold labels as sources write them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from heedful.datamodules.loaders.gold import Gold
from heedful.records import DataError

from refusals import refused

LABELS = {"entailment": [0], "neutral": [1, "n"], "contradiction": [2]}
BOTH = '{"entailment": 1.0, "neutral": 1.0}'


def gold(labels: Mapping[str, Sequence[Any]] = LABELS, several: str | None = None) -> Gold:
    spellings = {str(spelling): name for name, others in labels.items() for spelling in (name, *others)}
    return Gold(labels, spellings, several)


@pytest.mark.parametrize(
    ("several", "value", "expected"),
    [
        *((None, neutral, "neutral") for neutral in ("neutral", " neutral ", 1, "1", "1 ", 1.0, "1.0", "NEUTRAL")),
        (None, 2.0, "contradiction"),
        *((None, nothing, None) for nothing in (None, "", " ", "-", -1, "-1", "None", "null", -1.0, math.nan)),
        ("list", ["neutral", "entailment"], BOTH),
        ("list", [0, 2], '{"contradiction": 1.0, "entailment": 1.0}'),
        ("list", ["n"], '{"neutral": 1.0}'),
        ("list", "n", '{"neutral": 1.0}'),
        *(("list", nothing, None) for nothing in ([], None)),
        (", ", "neutral, entailment", BOTH),
        ("|", "0|n|", BOTH),
        ("|", "", None),
    ],
)
def test_gold_is_one_label_or_several_each_worth_one(several: str | None, value: Any, expected: str | None) -> None:
    assert gold(several=several)(value) == expected


@pytest.mark.parametrize(
    ("several", "value", "facts"),
    [
        (None, ["neutral"], ["['neutral']", "several list"]),
        (None, {"a": 1}, ["{'a': 1}"]),
        (None, "maybe", ["'maybe'", *LABELS, "labels '{LABEL: [SPELLING]}'"]),
        ("list", ["neutral", "maybe"], ["'maybe'", *LABELS]),
        (", ", "neutral,entailment", ["'neutral,entailment'"]),
        ("list", [0, 1, 0], ["[0, 1, 0]", "one number per label"]),  # one-hot
        ("list", [False, True, False], ["[False, True, False]", "one number per label"]),
        ("list", [0.2, 0.5, 0.3], ["[0.2, 0.5, 0.3]", "one number per label"]),
        ("list", ["neutral", "entailment", "n"], ["'entailment'", "repeats a value"]),
        (", ", "neutral, neutral", ["'neutral, neutral'", "repeats a value"]),
        (None, [0, 1, 0], ["[0, 1, 0]", "the name of the right label"]),
    ],
)
def test_what_is_not_a_label_is_refused(several: str | None, value: Any, facts: list[str]) -> None:
    with refused(DataError, *facts):
        gold(several=several)(value)


@pytest.mark.parametrize("name", ["none", "None", "null", "NaN", "NA", "n/a"])
def test_a_label_that_tools_take_for_missing_is_never_lost(name: str) -> None:
    """Most tools write such a label as nothing, or in other letters, and its rows would count as unlabelled."""
    for labels in ({"some": [], name: []}, {"some": [], "other": [name]}):
        read = gold(labels)
        assert read(name) == [*labels][1]
        assert read("-") is read(-1) is None
        for value in {None, "", " ", math.nan, "None", "null", "NONE", "nan"} - {name}:
            with refused(DataError, [*labels][1]):
                read(value)
    with refused(DataError, "'na'"):
        gold({"NA": [], "some": []})("na")


@pytest.mark.parametrize(
    ("text", "label"),
    [("YES", "yes"), (" Yes ", "yes"), ("B", "b"), ("a", "A"), ("X", "x"), ("z", "x"), ("Z", "w"), ("NONE", None)],
)
def test_other_capitals_are_read_where_they_leave_one_label(text: str, label: str | None) -> None:
    assert gold({"yes": ["y"], "b": [], "A": [], "x": ["z"], "w": ["Z"]})(text) == label
    with refused(DataError, "'Up'"):
        gold({"up": [], "UP": []})("Up")

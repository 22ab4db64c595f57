"""Rows become examples by the columns that settings name, or an error with file and row; some may lack gold labels."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from heedful.datamodules import Columns, Split, to_examples
from heedful.datamodules.loaders.gold import Gold
from heedful.records import DataError, Examples

from own_data import NLI, content_uid, own, uids
from refusals import refused

PAIRS = Columns(NLI["parts"], "label", NLI["labels"])
BARE = [
    {"premise": p, "hypothesis": h} for p, h in (("It rains.", "Rain."), ("A dog.", "A cat."), ("It rains.", "Rain."))
]


def pair(label: Any = 0, **others: Any) -> dict[str, Any]:
    return {"premise": "A dog runs.", "hypothesis": "A cat sits.", "label": label} | others


def columns(**others: Any) -> Columns:
    return Columns(**{"parts": PAIRS.parts, "label": "label", "labels": PAIRS.labels} | others)


def examples(rows: Sequence[Mapping[str, Any]], columns: Columns = PAIRS, training: bool = True) -> Examples:
    return to_examples(iter(enumerate(rows, 1)), "file.csv", columns, Split("", "nli/train", training=training))


def test_parts_labels_groups_and_meta_come_from_the_named_columns() -> None:
    named = columns(parts={"text": "b", "claim": "a"}, label="gold", uid="id", groups=("doc",), meta=("topic", "n"))
    row = {"a": "A", "b": ' B\u2028b\x85c\r\n"NA"\U0001f642 ', "gold": 1.0, "id": 7, "doc": 12, "more": None}
    (example,) = examples([row | {"topic": " a ", "n": math.nan}], named)
    assert (example.uid, example.label) == ("nli/train/7", "neutral")
    assert list(example.parts.items()) == [("text", row["b"]), ("claim", "A")]  # to the letter
    assert (list(example.groups), example.groups["doc"]) == (["text", "claim", "doc"], "12")
    assert dict(example.meta) == {"topic": " a ", "n": ""}


def test_rows_without_an_id_are_named_by_their_label_and_texts() -> None:
    """Whatever their order; blanks and how letters are composed do not count, and repeats are numbered."""
    texts = [("It  is caf\u00e9.", 0), ("It is cafe\u0301. ", 0), ("It is caf\u00e9.", 1), ("It is Caf\u00e9.", 0)]
    rows = [pair(label) | {"premise": text, "hypothesis": "h"} for text, label in texts]
    labels = ["entailment", "entailment", "neutral", "entailment"]
    expected = {
        content_uid("nli/train", label, {"premise": text, "hypothesis": "h"}, repeat)
        for (text, _), label, repeat in zip(texts, labels, (1, 2, 1, 1), strict=True)
    }
    found = [[(e.uid, e.parts["premise"]) for e in examples(order)] for order in itertools.permutations(rows)]
    assert {uid for uid, _ in found[0]} == expected
    assert all(one == found[0] for one in found)
    assert found[0] == sorted(found[0])


MISTAKES = [  # rows, settings, facts
    ([pair(), {"premise": "x", "gold": "0"}], {}, ["row 2", "'hypothesis'", "premise, gold"]),
    *(
        ([{name: value for name, value in pair(id=1, doc="d").items() if name != column}], {}, ["row 1", repr(column)])
        for column in ("label", "id", "doc")
    ),
    *(
        ([{name: "p", "hypothesis": "h", "gold": "0"}], {}, ["row 1", "'premise'", f"{name}, hypothesis, gold", fact])
        for name, fact in (("Premise", "mean Premise?"), ("premises", "mean premises?"), ("x", "data.parts"))
    ),
    *(
        ([{f"premise{mark}hypothesis{mark}gold": f"p{mark}h{mark}0"}], {}, [repr(f"premise{mark}hypothesis{mark}gold")])
        for mark in "\t;|,"
    ),
    *(([pair(), pair(label)], {}, ["row 2", repr(label), *NLI["labels"]]) for label in ("Neutral?", 3, "entail", 1.5)),
    *(
        ([pair(), pair(), pair(**{column: empty})], {}, ["row 3", repr(column)])
        for empty in ("", "  \n", None)
        for column in PAIRS.parts
    ),
    *(([pair(id=7), pair(id=8), pair(id=again)], {"uid": "id"}, ["row 3", "row 1", "'7'"]) for again in (7, "7")),
]


@pytest.mark.parametrize(("rows", "settings", "facts"), MISTAKES)
def test_a_row_that_does_not_fit_is_named(rows: list[dict[str, Any]], settings: dict, facts: list[str]) -> None:
    settings = settings or ({"uid": "id", "groups": ("doc",)} if {"id", "doc"} & {*rows[0]} else {})
    with refused(DataError, "file.csv", *facts):
        examples(rows, columns(**settings))


# rows without gold labels


def test_a_missing_column_of_the_default_name_makes_evaluated_examples_unlabelled() -> None:
    found = examples(BARE, training=False)
    assert (list(found.column("label")), found.no_gold, found.is_unlabelled) == ([None] * 3, 0, True)
    assert len([uid for uid in uids(found) if uid.endswith("#2")]) == 1
    assert all(examples(order, training=False).table.equals(found.table) for order in itertools.permutations(BARE))
    assert examples([{**row, "label": 1} for row in BARE], columns(label=None)).table.equals(found.table)
    assert {*uids(examples([{**row, "label": 1} for row in BARE]))}.isdisjoint(uids(found))
    by_source = examples([{**row, "label_source": "me"} for row in BARE], columns(meta=("label_source",)), False)
    assert by_source.is_unlabelled  # a column that the settings name is not meant by the label
    called_none = columns(labels={"None": [], "no": []})
    assert examples([pair("None")], called_none).uid(0) != examples(
        [pair() | {"label": None}], columns(label=None)
    ).uid(0)


@pytest.mark.parametrize("name", ["labels", "Label", "lable", "gold_label", "label_2"])
def test_a_name_that_is_nearly_the_same_is_not_overlooked(name: str) -> None:
    for order in (BARE, BARE[::-1]):
        with refused(DataError, "'label'", f"Do you mean {name}?"):
            examples([{**row, name: "neutral"} for row in order], training=False)


def test_rows_of_which_some_have_the_label_are_refused_in_any_order() -> None:
    rows = [BARE[0], {**BARE[1], "label": 1}, BARE[2], pair("-")]
    for order in itertools.permutations(rows):
        lacking = next(i for i, row in enumerate(order, 1) if "label" not in row)
        with refused(DataError, "'label'", f"row {lacking}"):
            examples(order, training=False)


def test_data_say_once_that_they_are_unlabelled_and_are_so_in_all_splits(caplog: pytest.LogCaptureFixture) -> None:
    labelled = [{**row, "label": "neutral"} for row in BARE]
    splits = {"splits": {"validation": ["a", "b"]}}
    with caplog.at_level("INFO"):
        assert own({"a": BARE, "b": BARE[:2]}, "validate", **splits).pool.is_unlabelled
        assert own(labelled, "validate", label=None).pool.is_unlabelled
        own(labelled, "validate")
    without_column, ignored = [message for message in caplog.messages if "unlabelled" in message]
    assert "no column 'label'" in without_column
    assert "column" not in ignored
    with refused(DataError, "splits", "b has no gold labels"):
        own({"a": labelled, "b": BARE}, "validate", **splits)
    assert own({"a": labelled, "b": BARE}, "validate", label=None, **splits).pool.is_unlabelled
    with refused(DataError, "'gold'"):
        own(BARE, "validate", label="gold")


@pytest.mark.parametrize("more", [{}, {"hold_out": 1}, {"folds": 2, "fold": 0}, {"augment": "counterfactual"}])
@pytest.mark.parametrize("label", [None, "label"])
def test_what_is_read_to_train_needs_gold(more: dict[str, Any], label: str | None) -> None:
    with refused(DataError, "label"):
        own({"train": BARE, "validation": [{"premise": "c", "hypothesis": "d"}]}, label=label, **more)


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
        (None, "maybe", ["'maybe'", *LABELS, "data.labels"]),
        (", ", "neutral,entailment", ["'neutral,entailment'"]),
        ("list", [0, 1, 0], ["[0, 1, 0]", "one number per label"]),  # one-hot
        ("list", ["neutral", "entailment", "n"], ["'entailment'", "repeats a value"]),
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
    for mark in ("-1", "-"):
        assert gold({"some": [], "other": [mark]})(mark) == "other"
    with refused(DataError, "'na'"):
        gold({"NA": [], "some": []})("na")


def test_texts_that_count_as_no_label_are_counted_by_spelling(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        found = examples([*map(pair, ["neutral", "None", "null", " ", None, "-", "None", math.nan, "nan"])])
    assert (len(found), found.no_gold) == (1, 8)
    messages = [message for message in caplog.messages if "labels=[...]" in message]
    facts = zip(messages, ["2 rows with 'None'", "1 row with 'null'", "1 row with 'nan'"], strict=True)
    assert all(fact in message and "file.csv" in message for message, fact in facts)


@pytest.mark.parametrize(
    ("text", "label"),
    [("YES", "yes"), (" Yes ", "yes"), ("B", "b"), ("a", "A"), ("X", "x"), ("z", "x"), ("Z", "w"), ("NONE", None)],
)
def test_other_capitals_are_read_where_they_leave_one_label(text: str, label: str | None) -> None:
    assert gold({"yes": ["y"], "b": [], "A": [], "x": ["z"], "w": ["Z"]})(text) == label
    with refused(DataError, "'Up'"):
        gold({"up": [], "UP": []})("Up")

"""The table of allowed transitions against the paper, written down once more."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.tables.allowed_transitions import (
    ALLOWED,
    LABELS,
    OPERATIONS,
    allowed,
    key_of,
    steps,
    transitions,
)
from heedful.records import SettingError

from refusals import refused

PAPER = {  # allowed, from E, from N, from C
    "delete/relevant": ("N", "N", "N"),
    "delete/irrelevant": ("E", "N", "C"),
    "delete/unknown": ("EN", "N", "NC"),
    "insert/any": ("E", "ENC", "C"),
    "update/any": ("ENC", "ENC", "NC"),
    "permute/any": ("E", "N", "C"),
    "identity/any": ("E", "N", "C"),
    "delete+insert/unknown": ("EN", "ENC", "NC"),
    "delete+insert/relevant": ("EN", "ENC", "NC"),
    "delete+insert/irrelevant": ("E", "ENC", "C"),
    "delete+permute/relevant": ("N", "N", "N"),
}
names = st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4).map("+".join)
relevance = st.sampled_from(["relevant", "irrelevant", "unknown"])


def short(found):
    return tuple("".join(label[0].upper() for label in LABELS if label in found[before]) for before in LABELS)


@pytest.mark.parametrize("key", PAPER)
def test_the_table_of_the_paper(key):
    assert short(transitions(key)) == PAPER[key]
    for before, after in itertools.product(LABELS, LABELS):
        assert allowed(key, before, after) == (after[0].upper() in PAPER[key][LABELS.index(before)])


def test_deletion_and_insertion_composed_allow_everything():
    assert short(transitions("delete+insert/unknown", "composed")) == ("ENC", "ENC", "ENC")
    assert short(transitions("delete+insert/irrelevant", "composed")) == ("E", "ENC", "C")
    assert short(transitions("insert+delete/relevant", "composed")) == ("N", "N", "N")


@given(names, relevance, st.sampled_from(["union", "composed"]))
def test_the_same_twice_is_as_once_and_the_identity_changes_nothing(name, known, rule):
    once = transitions(key_of(name, known), rule)
    last = name.split("+")[-1]
    for other in (f"{name}+{last}", f"identity+{name}", f"{name}+identity", f"permute+{name}"):
        assert transitions(key_of(other, known), rule) == once


@given(names, relevance)
def test_the_union_is_that_of_the_operations_that_change_a_table(name, known):
    changing = [op for op in name.split("+") if op not in ("permute", "identity")] or ["identity"]
    for before in LABELS:
        expected = {new for op in changing for new in ALLOWED[key_of(op, known)][before]}
        assert transitions(key_of(name, known))[before] == expected


@given(names, relevance)
def test_one_operation_is_the_same_under_both_rules_and_a_label_never_leads_nowhere(name, known):
    key = key_of(name, known)
    assert all(transitions(key, rule)[label] for label in LABELS for rule in ("union", "composed"))
    if len(set(steps(name)) - {"permute"}) < 2:
        assert transitions(key) == transitions(key, "composed")


@pytest.mark.parametrize("name", ["", "delete+remove"])
def test_an_unknown_operation_is_named(name):
    with refused(SettingError, "table_rows.operations", f"'{name.removeprefix('delete+')}'", ", ".join(OPERATIONS)):
        steps(name)


@pytest.mark.parametrize("key", ["delete/any", "delete/half", "update+delete/any"])
def test_a_row_that_is_deleted_is_relevant_or_not(key):
    with pytest.raises(KeyError):
        transitions(key)

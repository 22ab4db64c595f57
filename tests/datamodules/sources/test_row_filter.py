"""Rows chosen by their columns: against a plain loop, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.sources.row_filter import ANY_SPLIT, MOST_NAMED, conditions_of, filtered
from heedful.records import DataError, HeedfulError, SettingError

from refusals import refused

VALUES = st.sampled_from(["a", "b", 1, 2.0, None])
SHOWN = {"a": "a", "b": "b", 1: "1", 2.0: "2", None: ""}


def kept(rows, where, split=ANY_SPLIT):
    """The rows that are kept."""
    return list(filtered(iter(enumerate(rows, 1)), "FILE", conditions_of(where, split)))


@given(
    st.lists(st.fixed_dictionaries({"x": VALUES, "y": VALUES}), min_size=1),
    st.dictionaries(st.sampled_from(["x", "y"]), st.lists(VALUES, min_size=1, max_size=3)),
)
def test_rows_are_those_of_a_plain_loop(rows, where):
    wanted = {column: {SHOWN[value] for value in values} for column, values in where.items()}
    expected = []
    for number, row in enumerate(rows, 1):
        if all(SHOWN[row[column]] in wanted[column] for column in wanted):
            expected.append((number, row))
    occur = all(wanted[column] <= {SHOWN[row[column]] for row in rows} for column in wanted)
    if not expected or not occur:
        with refused(DataError if occur else SettingError, "where", "FILE"):
            kept(rows, where)
    else:
        assert kept(rows, where) == expected


def test_a_value_is_one_or_a_list_and_a_split_has_conditions_of_its_own():
    where = {"x": "a", "y": ["a", 1, 1.0], "validation": {"x": "b"}}
    assert conditions_of(where, "train") == {"x": ("a",), "y": ("a", "1")}
    assert conditions_of(where, "validation") == {"x": ("b",), "y": ("a", "1")}


@pytest.mark.parametrize(
    ("where", "error", "facts"),
    [
        ({"z": 1}, DataError, ["FILE, row 1", "'z'", "x, y"]),
        ({"x": "c"}, SettingError, ["'x'", "FILE", "'c'", "b, a"]),
        ({"x": "a", "y": 2}, DataError, ["FILE", "x is a; y is 2"]),
    ],
)
def test_what_does_not_occur_is_refused(where, error: type[HeedfulError], facts):
    with refused(error, *facts):
        kept([{"x": "b", "y": 2}, {"x": "a", "y": 1}, {"x": "b", "y": 1}], where)


def test_of_many_values_the_message_names_a_few():
    with refused(SettingError, "'other'", "others") as error:
        kept([{"x": f"value-{i}"} for i in range(3000)], {"x": "other"})
    assert str(error.value).count("value-") == MOST_NAMED

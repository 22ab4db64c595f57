"""Tables, and how they are put into words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import Example, Examples, SettingError, Table, TableForm

from refusals import refused

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
tables = st.builds(
    lambda title, rows: Table(title, tuple((key, tuple(values)) for key, values in rows.items())),
    words,
    st.dictionaries(words, st.lists(words, min_size=1, max_size=3), max_size=5),
)
PLAIN = Table("In Rainbows", (("Length", ("42:39",)), ("Genre", ("art rock", "art pop")), ("Label", ("XL",))))


@given(tables, tables)
def test_text_and_back_and_equal_text_for_equal_tables_only(first, second):
    assert Table.decode(first.encode()) == first
    assert (first.encode() == second.encode()) == (first == second)


@given(st.lists(tables, min_size=1, max_size=5))
def test_tables_survive_a_pool(found):
    pool = Examples.of([Example(f"u{i}", {"premise": table, "hypothesis": "h"}) for i, table in enumerate(found)])
    assert [e.parts["premise"] for e in pool] == list(pool.column("parts.premise")) == found
    assert [pool.value("parts.premise", i) for i in range(len(pool))] == found
    assert list(pool.column("parts.hypothesis")) == ["h"] * len(found)
    same = {
        (a.groups["premise"] == b.groups["premise"]) == (a.parts["premise"] == b.parts["premise"])
        for a in pool
        for b in pool
    }
    assert same == {True}
    for other in (
        pool.take([0]),
        pool.rename_parts(["t", "s"]),
        pool.keep_parts(["premise"]),
        Examples.concatenate([pool]),
    ):
        assert other[0].parts[other.parts[0]] == found[0]


def test_a_key_stands_once():
    with refused(SettingError, "'T'", "'k'"):
        Table("T", (("k", ("a",)), ("k", ("b",))))


def test_three_ways_to_say_a_table():
    assert TableForm().text(PLAIN) == (
        "The Length of In Rainbows is 42:39. The Genre of In Rainbows are art rock, art pop. "
        "The Label of In Rainbows is XL."
    )
    assert (
        TableForm("structure").text(PLAIN) == "Title: In Rainbows; Length: 42:39; Genre: art rock, art pop; Label: XL"
    )
    assert TableForm("cells").text(PLAIN) == "In Rainbows | Length | 42:39 | Genre | art rock | art pop | Label | XL"


@pytest.mark.parametrize("style", ["paragraph", "structure", "cells"])
def test_a_table_without_rows_still_has_its_title(style):
    assert "In Rainbows" in TableForm(style).text(Table("In Rainbows", ()))


def test_rows_are_kept_by_what_they_share_with_the_hypothesis():
    form = TableForm("structure", keep=1)
    assert [TableForm("structure", keep).shortens(PLAIN) for keep in (1, 3, None)] == [True, False, False]
    assert form.text(PLAIN, ["Its genre is pop."]) == "Title: In Rainbows; Genre: art rock, art pop"
    assert form.text(PLAIN, ["Its label was small."]) == "Title: In Rainbows; Label: XL"
    assert form.text(PLAIN, ["Nothing in common."]) == "Title: In Rainbows; Length: 42:39"  # of equals the first
    two = TableForm("structure", keep=2).text(PLAIN, ["Its label was small."])
    assert two == "Title: In Rainbows; Length: 42:39; Label: XL"  # in the order of the table

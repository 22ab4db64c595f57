"""Rows and titles that go to another table together with their hypotheses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.hypotheses.text_edits import apply_edits
from interventions.tables.statements import (
    SCORED,
    Statement,
    exchange,
    move_title,
    move_values,
    sharing,
    swap_titles,
    swap_values,
    why_not,
)
from interventions.tables.title_expressions import replace_title, title_mentions
from records import HeedError, Table

from infobox import BREAKFAST, BRIDESMAIDS, H1, H2, H3, H5, PERSON, TOWN

names = st.sampled_from(["Length", "Genre", "Label", "Born", "Died", "Producer"])
values = st.lists(st.text("abc 123", min_size=1, max_size=6), min_size=1, max_size=3).map(tuple)
titles = st.sampled_from(["Alpha", "Beta (film)", "Gamma, Ohio", "Jane Doe", "John Roe Jr."])


@st.composite
def tables(draw, title=titles):
    return Table(draw(title), tuple(draw(st.dictionaries(names, values, min_size=1, max_size=6)).items()))


@st.composite
def statements(draw):
    table = draw(tables())
    keys = draw(st.lists(st.sampled_from(table.keys), unique=True, max_size=3))
    text = draw(st.sampled_from(["{} is long.", "Of all, {} is longer than {}.", "It is long.", "The {} was made."]))
    label = draw(st.sampled_from([*SCORED, "neutral"]))
    return Statement("u", table, text.replace("{}", table.title), label, tuple(keys))


@given(statements(), tables())
def test_only_the_relevant_values_change_and_come_from_the_own_table(statement, other):
    moved = move_values(statement, other)
    assert (moved is None) == bool(why_not(statement, other, "values"))
    if moved is None:
        return
    new = moved.statement.table
    assert (new.title, new.keys) == (other.title, other.keys)
    for key, found in new.rows:
        assert found == (statement.table if key in statement.keys else other).values[key]
    assert (moved.statement.label, moved.statement.keys) == (statement.label, statement.keys)
    assert statement.label in SCORED
    assert apply_edits(statement.hypothesis, moved.edits) == moved.statement.hypothesis
    assert title_mentions(new, moved.statement.hypothesis)


@given(statements(), tables())
def test_moving_back_gives_the_original(statement, other):
    moved = move_values(statement, other)
    if moved:
        rest, _ = swap_values(statement.table, other, statement.keys)  # the own table, with the other's rows
        assert move_values(moved.statement, rest).statement == statement
    under = move_title(statement, other)
    if under:
        assert under.statement.table.rows == statement.table.rows
        assert move_title(under.statement, statement.table).statement == statement


@given(tables(), tables())
def test_swapping_twice_gives_both_tables_again(table, other):
    shared = [key for key in table.keys if key in other.values]
    for k in range(len(shared) + 1):
        first, second = swap_values(table, other, shared[:k])
        assert swap_values(first, second, shared[:k]) == (table, other)
        assert swap_values(table, other, []) == (table, other)
        for before, after, lender in ((table, first, other), (other, second, table)):
            assert (after.title, after.keys) == (before.title, before.keys)
            for key, found in after.rows:
                assert found == (lender if key in shared[:k] else before).values[key]
    assert swap_titles(*swap_titles(table, other)) == (table, other)


def test_a_key_that_one_table_lacks_is_refused():
    with pytest.raises(HeedError, match="no key 'Studio'"):
        swap_values(BREAKFAST, BRIDESMAIDS, ["Length", "Studio"])


def test_figure_5():
    """The Length rows are exchanged, and the hypotheses with them."""
    moved = move_values(Statement("h5", BRIDESMAIDS, H5, "entailment", ("Length",)), BREAKFAST)
    new = moved.statement
    assert new.hypothesis == "Breakfast in America has a length of over 2 hours."
    assert new.table.values["Length"] == ("125 minutes",)
    assert [row for row in new.table.rows if row[0] != "Length"] == [r for r in BREAKFAST.rows if r[0] != "Length"]
    rest = swap_values(BRIDESMAIDS, BREAKFAST, ["Length"])[0]
    assert rest.values["Length"] == ("46:06",)
    assert move_values(new, rest).statement == Statement("h5", BRIDESMAIDS, H5, "entailment", ("Length",))


def test_figure_6():
    """The title is exchanged, and its expression in all hypotheses, whatever their labels."""
    texts = [H1, H2, H3, "Breakfast in America sold over 20 million copies."]
    labels = ["entailment", "contradiction", "neutral", "neutral"]
    made = [move_title(Statement("u", BREAKFAST, *pair), BRIDESMAIDS) for pair in zip(texts, labels, strict=True)]
    assert [m.statement.hypothesis for m in made] == [t.replace("Breakfast in America", "Bridesmaids") for t in texts]
    assert {m.statement.table for m in made} == {Table("Bridesmaids", BREAKFAST.rows)}
    assert [m.statement.label for m in made] == labels


def test_every_relevant_row_of_a_hypothesis_moves():
    two = Statement("u", BREAKFAST, H1, "entailment", ("Length", "Label"))
    new = move_values(two, BRIDESMAIDS).statement.table
    assert (new.values["Length"], new.values["Label"]) == (("46:06",), ("A&M",))
    assert (
        why_not(Statement("u", BREAKFAST, H1, "entailment", ("Genre", "Length")), BRIDESMAIDS, "values")
        == "key_missing"
    )


def test_an_exchange_moves_what_rests_on_its_rows_and_counts_the_rest():
    length = ("Length",)
    mine = [
        Statement("1", BREAKFAST, H1, "entailment", length),
        Statement("2", BREAKFAST, H1, "entailment", ("Genre", "Length")),
        Statement("3", BREAKFAST, H3, "neutral", length),
        Statement("4", BREAKFAST, "The album is long.", "contradiction", length),
        Statement("5", BREAKFAST, H2, "contradiction"),
    ]
    moved, left_out = exchange(mine, [Statement("6", BRIDESMAIDS, H5, "entailment", length)], length)
    assert [m.statement.uid for m in moved] == ["1", "6"]
    assert [m.statement.table.title for m in moved] == ["Bridesmaids", "Breakfast in America"]
    assert left_out == {"other_keys": 1, "neutral": 1, "no_title_expression": 1, "no_relevant_keys": 1}


def test_where_a_statement_can_go():
    pool = {table.title: table for table in (BREAKFAST, BRIDESMAIDS, PERSON, TOWN)}
    assert list(sharing(Statement("u", BREAKFAST, H1, "entailment", ("Length",)), pool)) == ["Bridesmaids"]
    assert list(sharing(Statement("u", BREAKFAST, H1, "entailment", ("Genre",)), pool)) == []
    assert list(sharing(Statement("u", BRIDESMAIDS, H5, "entailment"), pool, "title")) == ["Breakfast in America"]


@pytest.mark.parametrize(
    ("table", "other", "text", "new"),
    [
        (PERSON, TOWN, "Doe died in 1999.", "Riverton died in 1999."),
        (PERSON, TOWN, "Mary Jane B. Doe died in 1999.", "Mary Jane B. Doe died in 1999."),
        (PERSON, TOWN, "Jane Doe (painter) died, and Doe was born.", "Riverton, Ohio died, and Riverton was born."),
        (PERSON, Table("Al Roe", (("Born", ("1900",)), ("Died", ("1950",)))), "Doe was 49.", "Roe was 49."),
        (TOWN, PERSON, "In Riverton there are Rivertonians.", "In Jane Doe there are Rivertonians."),
        (TOWN, PERSON, "Ohio is a state.", "Ohio is a state."),
        (BREAKFAST, BRIDESMAIDS, "The album is long.", "The album is long."),
    ],
)
def test_title_expressions(table, other, text, new):
    assert apply_edits(text, replace_title(text, table, other)) == new

"""Rows and titles that go to another table together with their hypotheses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.hypotheses.text_edits import apply_edits
from heedful.interventions.tables.statements import (
    SCORED,
    Statement,
    move_title,
    move_values,
    why_not,
)
from heedful.interventions.tables.title_expressions import replace_title, title_mentions
from heedful.records import Table

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


def lent(table, lender, keys):
    """The table with the values of another one under these keys."""
    return Table(table.title, tuple((key, (lender if key in keys else table).values[key]) for key in table.keys))


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
        rest = lent(statement.table, other, statement.keys)  # the own table, with the other's rows
        assert move_values(moved.statement, rest).statement == statement
    under = move_title(statement, other)
    if under:
        assert under.statement.table.rows == statement.table.rows
        assert move_title(under.statement, statement.table).statement == statement


def test_figure_5():
    """The Length rows are exchanged, and the hypotheses with them."""
    moved = move_values(Statement("h5", BRIDESMAIDS, H5, "entailment", ("Length",)), BREAKFAST)
    new = moved.statement
    assert new.hypothesis == "Breakfast in America has a length of over 2 hours."
    assert new.table.values["Length"] == ("125 minutes",)
    assert [row for row in new.table.rows if row[0] != "Length"] == [r for r in BREAKFAST.rows if r[0] != "Length"]
    rest = lent(BRIDESMAIDS, BREAKFAST, ["Length"])
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

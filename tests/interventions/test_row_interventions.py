"""Row operations: nothing else is touched, and no table becomes inconsistent."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chisquare

from heedful.interventions.tables.operations import Donors, delete, insert, permute, same_key, update
from heedful.records import Example, Examples, Table, generator

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
tables = st.builds(
    lambda title, rows: Table(title, tuple((key, tuple(values)) for key, values in rows.items())),
    words,
    st.dictionaries(words, st.lists(words, min_size=1, max_size=3), min_size=1, max_size=5),
)


def pool_of(found: dict[str, Table], category: dict[str, str] | None = None) -> Examples:
    """One example for each table id."""
    meta = [{"table": t} | ({"category": category[t]} if category else {}) for t in found]
    return Examples.of(
        [
            Example(f"d/validation/{t}", {"premise": table, "hypothesis": "h"}, "neutral", {}, m)
            for (t, table), m in zip(found.items(), meta, strict=True)
        ]
    )


@given(tables, st.data())
def test_a_deletion_takes_one_row(table, data):
    key = data.draw(st.sampled_from(table.keys))
    after = delete(table, key)
    assert (after.title, after.rows) == (table.title, tuple(row for row in table.rows if row[0] != key))
    assert len(after.rows) == len(table.rows) - 1


@given(tables, words, st.data())
def test_an_insertion_adds_one_row_and_no_second_key(table, key, data):
    row, position = (key, ("v",)), data.draw(st.integers(0, len(table.rows)))
    assume(key not in table.keys)
    after = insert(table, row, position)
    assert after.rows[position] == row
    assert delete(after, key) == table


@given(tables, words, st.data())
def test_an_update_changes_one_value_and_makes_no_second_one(table, new, data):
    key = data.draw(st.sampled_from(table.keys))
    old = data.draw(st.sampled_from(table.values[key]))
    assume(new != old)
    after = update(table, key, old, new)
    assert (after.title, after.keys) == (table.title, table.keys)
    assert all(after.values[k] == table.values[k] for k in table.keys if k != key)
    assert Counter(after.values[key]) == Counter(table.values[key]) - Counter([old]) + Counter([new])
    assert sum(a != b for a, b in zip(after.values[key], table.values[key], strict=True)) == 1


@given(tables, st.data())
def test_a_permutation_keeps_all_rows(table, data):
    order = data.draw(st.permutations(range(len(table.rows))))
    after = permute(table, order)
    assert (after.title, set(after.rows), len(after.rows)) == (table.title, set(table.rows), len(table.rows))
    assert permute(after, [order.index(i) for i in range(len(order))]) == table


@pytest.mark.parametrize(
    ("first", "second"),
    [("Genre", "Genres"), ("Spouse", "Spouse(s)"), ("Birth name", "Birth Name"), ("Born", "Born:"), ("a ", "a")],
)
def test_keys_that_say_the_same(first, second):
    assert same_key(first) == same_key(second)


# a table of each kind: B and C can lend to A
A = Table("A", (("Genre", ("rock", "pop")), ("Length", ("1:00",))))
B = Table("B", (("Genres", ("Pop", "jazz")), ("Label", ("XL",)), ("Length", ("2:00",))))
C = Table("C", (("Genre", ("folk",)), ("Labels", ("EMI", "XL")), ("Singles", ("x", "y"))))
D = Table("D", (("Population", ("9",)), ("Genre", ("opera",))))


@pytest.fixture
def donors():
    return Donors(
        pool_of({"a": A, "b": B, "c": C, "d": D}, {"a": "album", "b": "album", "c": "album", "d": "city"}), "premise"
    )


def drawn(draw, n=3000):
    return Counter(draw(generator("test", i)) for i in range(n))


def test_rows_come_from_tables_of_the_category_uniformly(donors):
    found = drawn(lambda rng: donors.row("a", A.keys, rng))
    assert {(loan.lent, loan.uid[-1]) for loan in found} == {
        (("Label", ("XL",)), "b"), (("Labels", ("EMI", "XL")), "c"), (("Singles", ("x", "y")), "c"),
    }  # fmt: skip
    assert chisquare(list(found.values())).pvalue > 0.001
    assert {loan.lent[0] for loan in drawn(lambda rng: donors.row("a", (*A.keys, "label"), rng), 50)} == {"Singles"}
    assert donors.row("a", (*A.keys, "label", "single"), generator(0)) is None
    assert donors.row("d", D.keys, generator(0)) is None


def test_values_come_from_any_table_with_the_key(donors):
    found = drawn(lambda rng: donors.value("a", "Genre", ("rock", "pop"), rng))
    assert {(loan.lent, loan.uid[-1]) for loan in found} == {("jazz", "b"), ("folk", "c"), ("opera", "d")}
    assert chisquare(list(found.values())).pvalue > 0.001
    assert donors.value("c", "Singles", ("x", "y"), generator(0)) is None


def test_without_a_known_category_any_table_lends():
    for category in (None, {"a": "", "b": "album", "c": "", "d": "city"}):
        donors = Donors(pool_of({"a": A, "b": B, "c": C, "d": D}, category), "premise")
        found = drawn(lambda rng, donors=donors: donors.row("a", A.keys, rng), 200)
        assert {loan.lent[0] for loan in found} == {"Label", "Labels", "Singles", "Population"}


def test_another_version_of_the_same_table_does_not_lend():
    whole, part = Table("A", (("Length", ("1:00",)), ("Genre", ("rock", "pop")))), Table("A", (("Length", ("9:00",)),))
    examples = [
        Example(f"d/validation/{i}", {"premise": t, "hypothesis": "h"}, "neutral", {"table": "a"})
        for i, t in enumerate((whole, part))
    ]
    donors = Donors(Examples.of(examples), "premise")
    assert donors.row("a", part.keys, generator(0)) is None
    assert donors.value("a", "Genre", ("x", "y"), generator(0)) is None

"""Which rows and values the tables of a pool lend to each other."""

from collections import Counter

import pytest
from scipy.stats import chisquare

from heedful.interventions.tables.donors import Donors
from heedful.records import Example, Examples, Table, generator


def pool_of(found: dict[str, Table], category: dict[str, str] | None = None) -> Examples:
    """One example for each table id."""
    meta = [{"table": t} | ({"category": category[t]} if category else {}) for t in found]
    return Examples.of(
        [
            Example(f"d/validation/{t}", {"premise": table, "hypothesis": "h"}, "neutral", {}, m)
            for (t, table), m in zip(found.items(), meta, strict=True)
        ]
    )


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

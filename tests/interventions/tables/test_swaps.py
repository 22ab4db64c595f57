"""Values and titles that move to another table together with their hypotheses, against a plain search."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import RuleAnalyser, Source, SwapTitle, SwapValues
from heedful.interventions.hypotheses.analysis import apply_edits
from heedful.interventions.tables.swaps import SCORED
from heedful.interventions.tables.title_expressions import replace_title
from heedful.records import Example, Examples, Table

from infobox import BREAKFAST, BRIDESMAIDS, H5, PERSON, TOWN, make_pool

TITLES = ["Boston", "Boston (band)", "Journey (band)", "Journey", "New York", "New York City", "Paris, Texas", "Paris"]
TITLES += ["Jane Doe", "John Doe Jr.", "Mary Ann Roe (singer)", "C++ (language)", "U.S. Route 1"]
KEYS = ["Length", "Genre", "Label", "Born", "Died", "Occupation"]
TEXTS = ["{title} is old.", "It is old.", "Of {name} they say that {name} is old.", "{last} is old, not {title}."]
seeds = st.integers(0, 2**32)


def forms(title: str, keys) -> list[str]:
    """The title expressions of a table, independent of the code."""
    name = re.sub(r" \(.*\)", "", title).split(", ")[0]
    person = "Born" in keys and ("Died" in keys or "Occupation" in keys)
    words = [word for word in name.split(" ") if word != "Jr."]
    return [title, name, *(words[-1:] if person and len(words) > 1 and len(words[-1]) > 2 else [])]


def pattern(table: Table) -> str:
    names = sorted(forms(table.title, table.keys), key=len, reverse=True)
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)"


@st.composite
def pools(draw) -> Examples:
    examples = []
    for title in draw(st.lists(st.sampled_from(TITLES), min_size=1, max_size=7)):
        keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=5, unique=True))
        table = Table(title, tuple((key, (f"{key} {draw(st.integers(0, 3))}",)) for key in keys))
        for _ in range(draw(st.integers(1, 2))):
            _, name, *last = forms(title, keys)
            text = draw(st.sampled_from(TEXTS)).format(title=title, name=name, last=(last or [name])[0])
            label = draw(st.sampled_from([*SCORED, "neutral"]))
            parts = {"premise": table, "hypothesis": text}
            examples.append(Example(f"u{len(examples)}", parts, label, {}, {"table": f"T{title}"}))
    return Examples.of(examples)


def swap(pool: Examples, **settings) -> SwapTitle:
    return SwapTitle(Source(pool, RuleAnalyser()), ("premise", "hypothesis"), **settings)


def lenders(pool: Examples, table: Table) -> list[Table]:
    """The tables that may lend their titles."""
    found = []
    for other in dict.fromkeys(example.parts["premise"] for example in pool):
        shared = sum(key in other.keys for key in table.keys)
        holds = any(re.search(pattern(table), name) for name in forms(other.title, other.keys))
        if shared >= len(table.keys) / 2 and not holds:
            found.append(other)
    return found


def assert_only_table_and_title_change(base: Example, changed, partner: Table, table: Table) -> None:
    new, text = changed.example, base.parts["hypothesis"]
    assert new.parts["premise"] == table
    assert (new.uid, new.label, new.meta, list(new.parts)) == (base.uid, base.label, base.meta, list(base.parts))
    assert all(new.groups[part] != base.groups[part] for part in base.parts)
    assert changed.clusters == (base.uid, f"table {base.meta['table']}")
    new_text = new.parts["hypothesis"]
    assert re.split(pattern(base.parts["premise"]), text) == re.split(pattern(partner), new_text)


@given(pools(), seeds, st.integers(0, 3))
def test_swapped_titles(pool, seed, draw):
    change = swap(pool)
    tables = {example.uid: example.parts["premise"] for example in pool}
    for base in pool:
        table = base.parts["premise"]
        expected = "" if re.search(pattern(table), base.parts["hypothesis"]) else "no_title_expression"
        expected = "no_other_table" if not lenders(pool, table) else expected
        assert change.why_not(base.uid) == ("neutral" if base.label == "neutral" else expected)
        found = change.apply(pool, base.uid, draw, seed)
        assert bool(found) == (not change.why_not(base.uid))
        for changed in found:
            partner = tables[changed.partner]
            assert partner in lenders(pool, table)
            assert changed.partner == min(uid for uid, t in tables.items() if t == partner)
            assert_only_table_and_title_change(base, changed, partner, Table(partner.title, table.rows))
            assert not re.search(pattern(table), changed.example.parts["hypothesis"])


@given(pools(), st.data(), seeds)
def test_swapped_values(pool, data, seed):
    relevant = {e.uid: data.draw(st.lists(st.sampled_from(e.parts["premise"].keys), unique=True)) for e in pool}
    change = SwapValues(relevant, pool, "premise", "hypothesis")
    for base in pool:
        table, keys = base.parts["premise"], relevant[base.uid]
        possible = [
            other
            for other in set(pool.column("parts.premise"))
            if base.label in SCORED and keys and set(keys) <= set(other.keys) and table.title != other.title
            and any(table.values[key] != other.values[key] for key in keys)
            and re.search(pattern(table), base.parts["hypothesis"])
        ]  # fmt: skip
        found = change.apply(pool, base.uid, 0, seed)
        assert len(found) == bool(possible)
        assert bool(possible) == (not change.why_not(pool, base.uid))
        for changed in found:
            partner = pool[changed.partner].parts["premise"]
            assert partner in possible
            rows = tuple((key, (table if key in keys else partner).values[key]) for key in partner.keys)
            assert_only_table_and_title_change(base, changed, partner, Table(partner.title, rows))


def test_values_move_as_in_figure_5():
    pool = make_pool()
    (changed,) = SwapValues({"t/dev/5": ["Length"]}, pool, "premise", "hypothesis").apply(pool, "t/dev/5", 0, 0)
    assert changed.example.parts["hypothesis"] == H5.replace("Bridesmaids", "Breakfast in America")
    moved = Table(BREAKFAST.title, tuple((k, ("125 minutes",) if k == "Length" else v) for k, v in BREAKFAST.rows))
    assert changed.example.parts["premise"] == moved
    two = SwapValues({"t/dev/0": ["Genre", "Length"]}, pool, "premise", "hypothesis")  # no other table has both keys
    assert two.apply(pool, "t/dev/0", 0, 0) == []
    assert (two.covers("t/dev/0"), two.covers("t/dev/1")) == (True, False)


def test_figure_6():
    """The film gets the title of the album, which shares three of its five keys; nothing lends to the album."""
    pool, change = make_pool(), swap(make_pool())
    (changed,) = change.apply(pool, "t/dev/5", 0, 0)
    assert changed.example.parts["hypothesis"] == "Breakfast in America has a length of over 2 hours."
    assert changed.example.parts["premise"].title == "Breakfast in America"
    assert changed.example.parts["premise"].values["Length"] == ("125 minutes",)
    assert changed.variant == "title 0:11 'Bridesmaids' -> 'Breakfast in America'"
    assert change.why_not("t/dev/0") == "no_other_table"


def test_titles_are_uniform_over_lenders():
    titles = [f"Album{i}" for i in range(5)]
    examples = [
        Example(f"u{i}", {"premise": Table(title, (("Genre", ("x",)),)), "hypothesis": f"{title} is x."}, "entailment")
        for i, title in enumerate(titles)
    ]
    pool = Examples.of(examples)
    counted = Counter(swap(pool).apply(pool, "u0", draw, 0)[0].partner for draw in range(400))
    assert counted.keys() == {"u1", "u2", "u3", "u4"}
    assert all(60 < n < 140 for n in counted.values())


def test_a_model_of_the_hypothesis_alone_gets_the_same_hypotheses():
    pool = make_pool()
    alone, source = pool.keep_parts(["hypothesis"]), Source(pool, RuleAnalyser())
    full, part = (SwapTitle(source, p.parts) for p in (pool, alone))
    for uid in (example.uid for example in pool):
        for a, b in zip(full.apply(pool, uid, 0, 0), part.apply(alone, uid, 0, 0), strict=True):
            assert list(b.example.parts) == ["hypothesis"]
            assert a.example.parts["hypothesis"] == b.example.parts["hypothesis"]
            assert (a.variant, a.partner, a.clusters) == (b.variant, b.partner, b.clusters)
            assert b.example.groups["premise"] == pool[uid].groups["premise"]


@pytest.mark.parametrize(
    ("table", "lender", "text", "new"),
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
def test_title_expressions(table, lender, text, new):
    assert apply_edits(text, replace_title(text, table, lender)) == new

"""Titles that go to another table: nothing else changes, and the hypothesis forgets the old one."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.interventions import RuleAnalyser, Source, SwapTitle
from heedful.interventions.tables.statements import Statement, alike, why_not
from heedful.records import Example, Examples, Table

from infobox import make_pool

SCORED = ("entailment", "contradiction")
TITLES = ["Boston", "Boston (band)", "Journey (band)", "Journey", "New York", "New York City", "Paris, Texas", "Paris"]
TITLES += ["Jane Doe", "John Doe Jr.", "Mary Ann Roe (singer)", "C++ (language)", "U.S. Route 1"]
KEYS = ["Length", "Genre", "Label", "Born", "Died", "Occupation"]
TEXTS = ["{title} is old.", "It is old.", "Of {name} they say that {name} is old.", "{last} is old, not {title}."]
seeds = st.integers(0, 2**32)


def forms(title: str, keys) -> list[str]:
    """How a hypothesis may call a table, told independently of the code."""
    name = re.sub(r" \(.*\)", "", title).split(", ")[0]
    person = "Born" in keys and ("Died" in keys or "Occupation" in keys)
    words = [word for word in name.split(" ") if word != "Jr."]
    return [title, name, *(words[-1:] if person and len(words) > 1 and len(words[-1]) > 2 else [])]


@st.composite
def pools(draw) -> Examples:
    examples = []
    for title in draw(st.lists(st.sampled_from(TITLES), min_size=1, max_size=7)):
        keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=5, unique=True))
        table = Table(title, tuple((key, (f"{key} {len(examples)}",)) for key in keys))
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
    """The tables that may lend their titles, one by one."""
    own, found = forms(table.title, table.keys), []
    for other in dict.fromkeys(example.parts["premise"] for example in pool):
        shared = sum(key in other.keys for key in table.keys)
        holds = (re.search(rf"(?<!\w){re.escape(o)}(?!\w)", n) for o in own for n in forms(other.title, other.keys))
        if shared >= len(table.keys) / 2 and not any(holds):
            found.append(other)
    return found


@given(pools(), seeds, st.integers(0, 3))
def test_nothing_but_the_title_and_its_expressions_changes(pool, seed, draw):
    change = swap(pool)
    for base in pool:
        found, table, text = change.apply(pool, base.uid, draw, seed), base.parts["premise"], base.parts["hypothesis"]
        assert bool(found) == (not change.why_not(base.uid))
        for changed in found:
            new, partner = changed.example, pool[changed.partner].parts["premise"]
            assert base.label in SCORED
            assert partner in lenders(pool, table)
            assert new.parts["premise"] == Table(partner.title, table.rows)
            assert (new.uid, new.label, new.meta) == (base.uid, base.label, base.meta)
            assert list(new.parts) == list(base.parts)
            assert new.groups.keys() == base.groups.keys()
            assert all(new.groups[part] != base.groups[part] for part in base.parts)
            assert changed.clusters == (base.uid, f"table {base.meta['table']}")
            old = forms(table.title, table.keys)
            assert not any(re.search(rf"(?<!\w){re.escape(o)}(?!\w)", new.parts["hypothesis"]) for o in old)
            mention = "|".join(map(re.escape, sorted(old, key=len, reverse=True)))
            assert re.split(rf"(?<!\w)(?:{mention})(?!\w)", text) == re.split(
                "|".join(map(re.escape, sorted(forms(partner.title, partner.keys), key=len, reverse=True))),
                new.parts["hypothesis"],
            )


@given(pools())
def test_why_an_example_gets_no_title(pool):
    change = swap(pool)
    for base in pool:
        table, text = base.parts["premise"], base.parts["hypothesis"]
        expected = "" if any(form in text for form in forms(table.title, table.keys)) else "no_title_expression"
        if base.label == "neutral":
            expected = "neutral"
        elif not lenders(pool, table):
            expected = "no_other_table"
        assert change.why_not(base.uid) == expected


@settings(max_examples=20)
@given(pools(), seeds)
def test_every_lender_is_among_those_that_share_keys(pool, seed):
    change = swap(pool)
    tables = {example.uid: example.parts["premise"] for example in pool}
    for base in pool:
        for changed in change.apply(pool, base.uid, 0, seed):
            statement = Statement(base.uid, base.parts["premise"], base.parts["hypothesis"], base.label)
            assert alike(statement.table, tables[changed.partner])
            assert not why_not(statement, tables[changed.partner], "title")
            assert changed.partner == min(uid for uid, t in tables.items() if t == tables[changed.partner])


@settings(max_examples=20)
@given(pools(), seeds, st.randoms(use_true_random=False))
def test_the_result_depends_on_seed_uid_and_draw_and_not_on_the_order_of_calls(pool, seed, random):
    calls = [(example.uid, draw) for example in pool for draw in range(2)]
    first = swap(pool)
    expected = {call: first.apply(pool, *call, seed) for call in calls}
    random.shuffle(calls)
    second = swap(Examples.of(sorted(pool, key=lambda e: random.random())))
    assert {call: second.apply(pool, *call, seed) for call in calls} == expected


def test_all_titles_are_lent_about_as_often():
    albums = [
        Example(f"u{i}", {"premise": Table(f"Album{i}", (("Genre", ("x",)),)), "hypothesis": f"Album{i} is x."}, label)
        for i, label in enumerate(["entailment"] * 5)
    ]
    pool = Examples.of(albums)
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


def test_figure_6():
    """The film gets the title of the album, which shares three of its five keys; the album has no such neighbour."""
    pool, change = make_pool(), swap(make_pool())
    (changed,) = change.apply(pool, "t/dev/5", 0, 0)
    assert changed.example.parts["hypothesis"] == "Breakfast in America has a length of over 2 hours."
    assert changed.example.parts["premise"].title == "Breakfast in America"
    assert changed.example.parts["premise"].values["Length"] == ("125 minutes",)
    assert changed.variant == "title 0:11 'Bridesmaids' -> 'Breakfast in America'"
    assert change.why_not("t/dev/0") == "no_other_table"
    assert (change.parts, change.expectation) == (("premise", "hypothesis"), "stay")
    assert change.covers("t/dev/0")


@pytest.mark.parametrize(("table", "other"), [("Journey (band)", "Journey"), ("Paris", "Paris, Texas")])
def test_a_title_that_holds_the_own_one_is_not_lent(table, other):
    tables = [Table(title, (("Genre", (title,)),)) for title in (table, other)]
    examples = [Example(t.title, {"premise": t, "hypothesis": f"{t.title} is old."}, "entailment") for t in tables]
    assert swap(Examples.of(examples)).why_not(table) == "no_other_table"

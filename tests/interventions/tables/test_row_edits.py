"""Row edits as interventions: what they may touch, what they depend on, and how they compose."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import Donors, RowEdits, manifest_hash
from heedful.interventions.tables.allowed_transitions import steps, transitions
from heedful.interventions.tables.donors import same_key, same_value
from heedful.records import Example, Examples, Table
from heedful.records.example import content_id

from tiers import costly

# few keys and values, so that tables have much in common; some say the same
KEYS = ("Genre", "Genres", "Length", "Label(s)", "Label", "Born", "•")
VALUES = ("rock", "Rock", "pop", "jazz", "folk", "")
rows = st.dictionaries(st.sampled_from(KEYS), st.lists(st.sampled_from(VALUES), min_size=1, max_size=4), max_size=6)
NAMES = ("delete", "insert", "update", "permute", "identity", "delete+insert", "delete+delete", "update+permute",
         "insert+delete", "permute+delete", "insert+insert", "update+update", "delete+update+insert")  # fmt: skip
names = st.sampled_from(NAMES)
seeds = st.integers(0, 2**32)


@st.composite
def pools(draw):
    """Up to five tables, with one or two hypotheses each; categories known, unknown, or not there at all."""
    found = draw(st.lists(rows, min_size=1, max_size=5))
    known = draw(st.sampled_from([None, ("a",), ("a", "b", "")]))
    examples = []
    for t, by_key in enumerate(found):
        table = Table(f"T{t}", tuple((key, tuple(values)) for key, values in by_key.items()))
        meta = {"line": "7"} | ({"category": draw(st.sampled_from(known))} if known else {})
        for k in range(draw(st.integers(1, 2))):
            parts = {"premise": table, "hypothesis": f"h{k}"}
            examples.append(Example(f"d/validation/{t}.{k}", parts, "neutral", {"table": f"t{t}"}, meta))
    return Examples.of(examples)


def edits(name, pool, **settings):
    return RowEdits(name, "premise", Donors(pool, "premise"), **settings)


def apply_all(edit, pool, seed):
    return {e.uid: edit.apply(pool, e.uid, 0, seed) for e in pool}


@given(pools(), names, seeds)
def test_nothing_but_rows_is_touched_and_no_table_becomes_inconsistent(pool, name, seed):
    edit = edits(name, pool)
    lent = {(same_key(k), v) for e in pool for k, vs in e.parts["premise"].rows for v in vs}
    for base in pool:
        before = base.parts["premise"]
        found = edit.apply(pool, base.uid, 0, seed)
        assert len({c.variant for c in found}) == len({c.example.parts["premise"] for c in found}) == len(found)
        for changed in found:
            example, after = changed.example, changed.example.parts["premise"]
            assert (example.uid, example.meta, list(example.parts)) == (base.uid, base.meta, list(base.parts))
            assert example.parts["hypothesis"] == base.parts["hypothesis"]
            assert example.groups == {**base.groups, "premise": content_id(after)}
            assert example.label == ("neutral" if name in ("permute", "identity") else None)
            assert after.title == before.title
            assert len(after.rows) or name == "identity"
            assert changed.clusters == (base.uid, f"table {base.groups['table']}")
            assert transitions(changed.expects.removeprefix("transitions/"))
            new_keys = [k for k in after.keys if k not in before.keys]
            touched = json.loads(changed.variant) if changed.variant.startswith("[") else [changed.variant]
            assert set(new_keys) <= set(touched)
            assert not {same_key(k) for k in new_keys} & {same_key(k) for k in before.keys}
            assert len({same_key(k) for k in new_keys}) == len(new_keys)
            for key, values in after.rows:
                assert all((same_key(key), v) in lent for v in values)  # nothing is invented
                if key in before.keys and key not in touched:
                    assert values == before.values[key]
                fresh = [v for v in values if v not in before.values.get(key, values)]
                assert len(fresh) <= 1
                assert not {same_value(v) for v in fresh} & {same_value(v) for v in before.values.get(key, ())}
            if changed.partner:
                assert pool[changed.partner].groups["table"] != base.groups["table"]
            else:
                assert "insert" not in name
                assert "update" not in name


@given(pools(), names, seeds)
def test_each_operation_does_what_it_says(pool, name, seed):
    """How many rows come, go and change."""
    operations = steps(name)
    for uid, found in apply_all(edits(name, pool), pool, seed).items():
        before = pool[uid].parts["premise"]
        for changed in found:
            after = changed.example.parts["premise"]
            assert len(set(before.keys) - set(after.keys)) == operations.count("delete")
            assert len(set(after.keys) - set(before.keys)) == operations.count("insert")
            kept = [k for k in after.keys if k in before.keys]
            assert sum(before.values[k] != after.values[k] for k in kept) == operations.count("update")
            for k in kept:
                different = sum(a != b for a, b in zip(before.values[k], after.values[k], strict=True))
                assert different == (before.values[k] != after.values[k])
            if "permute" not in operations:
                assert kept == [k for k in before.keys if k in after.keys]
            assert (after == before) == (name == "identity")


@costly
@given(pools(), seeds)
def test_every_row_that_can_be_edited_is(pool, seed):
    """Brute force over the pool: one deletion for each row, one update for each key with several values and a donor."""
    for base in pool:
        table = base.parts["premise"]
        others = [e for e in pool if e.groups["table"] != base.groups["table"]]
        found = {n: edits(n, pool).apply(pool, base.uid, 0, seed) for n in ("delete", "insert", "update", "permute")}
        keys = {n: [c.variant for c in changed] for n, changed in found.items()}
        assert keys["delete"] == (list(table.keys) if len(table.keys) > 1 else [])
        values = [(same_key(k), same_value(v)) for e in others for k, vs in e.parts["premise"].rows for v in vs if v]
        mine = {(same_key(k), same_value(v)) for k, vs in table.rows for v in vs}
        lent = {k for k, v in values if (k, v) not in mine}
        assert keys["update"] == [k for k, vs in table.rows if len(vs) > 1 and same_key(k) in lent]
        kind = base.meta.get("category")
        near = [e for e in others if not kind or e.meta["category"] == kind]
        new = {same_key(k) for e in near for k in e.parts["premise"].keys} - {same_key(k) for k in table.keys}
        assert len(keys["insert"]) == min(len(new), max(1, len(table.rows)))
        assert {same_key(k) for k in keys["insert"]} <= new
        assert keys["permute"] == ([""] if len(table.rows) > 1 else [])


@costly
@given(pools(), names, st.integers(1, 3), seeds)
def test_a_sample_of_rows_is_a_sample(pool, name, n, seed):
    every, some = (apply_all(edits(name, pool, rows_per_table=k), pool, seed) for k in (None, n))
    for uid, found in some.items():
        assert len(found) == min(n, len(every[uid])) or "delete+delete" in name or "insert" in name
        assert len(found) <= n
        if name in ("delete", "update", "permute"):  # what is done to a row does not hang on which rows are taken
            assert [c for c in every[uid] if c in found] == found


@costly
@given(pools(), seeds)
def test_relevance_says_what_is_allowed_and_nothing_else(pool, seed):
    uid = pool.uid(0)
    table = pool[0].parts["premise"]
    for relevant in ((), table.keys[:1], table.keys):
        for name in ("delete", "delete+delete", "delete+insert", "insert"):
            plain = edits(name, pool).apply(pool, uid, 0, seed)
            found = edits(name, pool, relevant={uid: relevant}).apply(pool, uid, 0, seed)
            assert [c.example for c in found] == [c.example for c in plain]
            for p, c in zip(plain, found, strict=True):
                gone = set(table.keys) - set(c.example.parts["premise"].keys)
                known = "relevant" if gone & set(relevant) else "irrelevant"
                suffix = ("any", "any") if name == "insert" else ("unknown", known)
                assert (p.expects, c.expects) == tuple(f"transitions/{name}/{s}" for s in suffix)


def test_what_is_inserted_lies_anywhere_and_orders_are_never_the_old_one():
    tables = [Table("A", (("a", ("1",)), ("b", ("2",)))), Table("B", (("c", ("3",)),))]
    pool = Examples.of([Example(f"u{i}", {"premise": t, "hypothesis": "h"}) for i, t in enumerate(tables)])
    places = {
        c.example.parts["premise"].keys.index("c")
        for draw in range(30)
        for c in edits("insert", pool).apply(pool, "u0", draw, 0)
    }
    assert places == {0, 1, 2}
    for draw in range(30):
        (changed,) = edits("permute", pool).apply(pool, "u0", draw, 0)
        assert changed.example.parts["premise"].keys == ("b", "a")


@pytest.mark.parametrize("first", ["u", "v"])
def test_a_deleted_row_does_not_come_back_with_another_content(first):
    """Whichever version of the table the index holds."""
    found = {
        "u": ("t", Table("A", (("a", ("1",)), ("b", ("2",))))),
        ("0" if first == "u" else "v"): ("t", Table("A", (("a", ("1",)),))),
        "w": ("other", Table("B", (("a", ("3",)), ("b", ("4",)), ("c", ("5",))))),
    }
    pool = Examples.of(
        [Example(u, {"premise": t, "hypothesis": "h"}, "x", {"table": i}) for u, (i, t) in found.items()]
    )
    for seed in range(20):
        changed = edits("delete+insert", pool).apply(pool, "u", 0, seed)
        assert [json.loads(c.variant) for c in changed] == [["a", "c"], ["b", "c"]]
        assert {c.partner for c in changed} == {"w"}


def test_draws_where_there_is_chance_and_another_manifest_for_other_settings():
    pool = Examples.of([Example("u", {"premise": Table("A", (("a", ("1",)),)), "hypothesis": "h"})])
    assert [edits(n, pool, draws=3).draws for n in ("delete", "identity", "insert", "delete+delete")] == [0, 0, 3, 3]
    assert edits("delete", pool, rows_per_table=2).draws == 1
    found = [[edits("delete", pool, rows_per_table=n)] for n in (None, 1, 2)] + [[edits("insert", pool)]]
    found += [[edits("delete", pool, limit=0)]]
    found += [[edits("delete", pool, only=frozenset(uids))] for uids in ("", "u", "uv")]
    assert len({manifest_hash(f, pool, 0) for f in found}) == 8
    assert [edits("delete", pool, only=only).covers(u) for only in (None, frozenset("uv")) for u in "uw"] == [
        True,
        True,
        True,
        False,
    ]

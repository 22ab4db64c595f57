"""Rows of blocks, compared with rows that a loop makes one by one."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from heedful.callbacks.engine.blocks import Block
from heedful.callbacks.engine.predictions import Predictions
from heedful.interventions import Changes
from heedful.records import Example, Examples, RunError
from heedful.records.rows import BASE, NO_DRAW, schema

from python_rows import make_rows, sort_rows
from refusals import refused

LABELS = ("no", "yes")


@dataclass(frozen=True)
class Made:
    """A change."""

    position: int
    draw: int
    variant: str
    other: int


changes = st.lists(
    st.tuples(st.integers(0, 5), st.integers(-1, 3), st.sampled_from(["", "row 10", "row 9", "é"]), st.integers(0, 5)),
    max_size=8,
    unique_by=lambda change: change[:3],
)
plans = st.lists(
    st.tuples(
        st.sampled_from(["swap", "null", "é", "a"]),
        st.sampled_from(["a", "b", "a+b"]),
        st.sampled_from(["lent", "known", "new"]),
        changes,
    ),
    max_size=3,
    unique_by=lambda one: one[:2],
)


def pool_of(uids, labels, meta):
    groups = bool(meta)  # without meta columns, no group is shared
    return Examples.of(
        Example(
            uid,
            {"a": f"a {i}", "b": f"b {i}"},
            label,
            {"g": f"g{i % 2}"} if groups else {},
            dict.fromkeys(meta, f"m{i % 3}"),
        )
        for i, (uid, label) in enumerate(zip(uids, labels, strict=True))
    )


def columns_of(pool, kind, made):
    """Convert changes to columns."""
    others = np.array([m.other for m in made], dtype=np.int64)
    uids = pool.uids.take(others)
    kinds = {
        "lent": {"lenders": {"a": others}, "partner": uids},
        "known": {"known": others, "partner": uids},
        "new": {"examples": [Example(pool.uid(m.position), {"a": "new", "b": ""}, f"l{m.other}") for m in made]},
    }
    return Changes(
        np.array([m.position for m in made], dtype=np.int64),
        np.array([m.draw for m in made], dtype=np.int16),
        pa.array([[pool.uid(m.position), f"c{m.other}"][: 1 + m.other % 2] for m in made], pa.list_(pa.string())),
        variant=pa.array([m.variant for m in made], pa.string()),
        allowed="x" if kind == "new" else "",
        **kinds[kind],
    )


def rows_of(pool, kept, base, plan, labels):
    """Make the rows one by one."""
    entries = []
    contents = pool.contents(("a", "b")).to_pylist()

    def entry(i, **values):
        slices = [f"{name}={pool[i].meta[name]}" for name in pool.meta]
        common = {"uid": pool.uid(i), "y": base[i][0], "p": base[i][1], "slices": slices, "content": ""}
        common["group"] = pool[i].groups.get("g")
        entries.append(dict.fromkeys(("part", "variant", "partner", "allowed", "expectation"), "") | common | values)

    for i in kept:
        own = {"gold": pool[i].label, "content": contents[i], "clusters": [pool.uid(i)]}
        own |= dict.fromkeys(("y2", "p2", "unread"))
        entry(i, intervention=BASE, version=0, draw=NO_DRAW, **own)
    for name, part, kind, made, after, unread in plan:
        for m, (y2, p2), is_unread in zip(made, after, unread, strict=True):
            golds = {"lent": pool[m.position].label, "known": pool[m.other].label, "new": f"l{m.other}"}
            entry(
                m.position,
                intervention=name,
                part=part,
                variant=m.variant,
                gold=golds[kind],
                partner="" if kind == "new" else pool.uid(m.other),
                allowed="x" if kind == "new" else "",
                expectation="change",
                version=3,
                draw=m.draw,
                y2=y2,
                p2=p2,
                unread=is_unread,
                clusters=[pool.uid(m.position), f"c{m.other}"][: 1 + m.other % 2],
            )
    names = entries[0] if entries else ()
    return sort_rows(make_rows({name: [e[name] for e in entries] for name in names}, labels)) if entries else None


def predictions(positions, rng, has_probs):
    names = ("no", "yes", "(no label)")
    answers = rng.integers(3, size=len(positions)).astype(np.int32)
    probs = rng.random((len(positions), 2), dtype=np.float32) if has_probs else None
    listed = [(names[a], None if probs is None else probs[k]) for k, a in enumerate(answers)]
    return Predictions(np.asarray(positions, dtype=np.int64), answers, pa.array(names), probs), listed


@given(
    st.permutations([f"u{i}" for i in range(6)]),
    st.lists(st.sampled_from([*LABELS, None]), min_size=6, max_size=6),
    st.sampled_from([(), ("one",), ("one", "two")]),
    plans,
    st.lists(st.booleans(), min_size=6, max_size=6).filter(any),
    st.booleans(),
    st.integers(0, 99),
)
def test_rows_are_those_of_a_loop(uids, labels, meta, drawn, taking_part, has_probs, seed):
    pool, rng = pool_of(uids, labels, meta), np.random.default_rng(seed)
    kept = sorted(np.flatnonzero(taking_part).tolist(), key=lambda i: uids[i])
    base, listed = predictions(range(6), rng, has_probs)  # more examples than in the block
    plan, made, predicted, unread, expected = [], [], [], [], []
    for name, part, kind, several in drawn:
        mine = [Made(*change) for change in several if change[0] in kept]
        mine.sort(key=lambda m: kept.index(m.position))
        plan.append(SimpleNamespace(name=name, parts=tuple(part.split("+")), version=3, expectation="change"))
        made.append(columns_of(pool, kind, mine))
        one, after = predictions(range(len(mine)), rng, has_probs)
        predicted.append(one)
        seen = [(None, True, False)[k] for k in rng.integers(3, size=len(mine))]
        unread.append(pa.array(seen, pa.bool_()))
        expected.append((name, part, kind, mine, after, seen))
    block = Block(pool, np.array(kept, dtype=np.int64), made)
    block.unread = unread
    labels = 2 if has_probs else 0
    rows = block.rows(plan, slice(None), base, predicted, ("a", "b"), schema(labels))
    reference = rows_of(pool, kept, listed, expected, labels)
    assert rows.schema.equals(reference.schema)
    assert rows.to_pylist() == reference.to_pylist()


def test_two_rows_with_one_key_are_an_error():
    pool = pool_of(["u0", "u1"], ["no", "no"], ())
    twice = columns_of(pool, "lent", [Made(1, 2, "v", 0), Made(1, 2, "v", 0)])
    base, _ = predictions(range(2), np.random.default_rng(0), True)
    after, _ = predictions(range(2), np.random.default_rng(0), True)
    plan = [SimpleNamespace(name="swap", parts=("a",), version=1, expectation="change")]
    block = Block(pool, np.arange(2), [twice])
    with refused(RunError, "uid u1, intervention swap, part a, variant v, draw 2"):
        block.rows(plan, slice(None), base, [after], ("a", "b"), schema(2))

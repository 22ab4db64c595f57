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

from python_rows import sort_rows
from refusals import refused

LABELS = ("no", "yes")


@dataclass(frozen=True)
class Made:
    """A change."""

    position: int
    draw: int
    variant: str
    other: int

    @property
    def expects(self):
        return ("stays", "transitions/delete/any")[self.other % 2]

    def part(self, part):
        return f"{part}, some" if self.other % 3 else part


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
        st.tuples(st.booleans(), st.booleans()),  # whether each change has an expectation, and the names of its parts
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


def columns_of(pool, kind, made, part, has_expects=False, has_parts=False):
    """Convert changes of a part to columns."""
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
        expects=pa.array([m.expects for m in made], pa.string()) if has_expects else None,
        part=pa.array([m.part(part) for m in made], pa.string()) if has_parts else None,
        **kinds[kind],
    )


def rows_of(pool, kept, base, plan, schema):
    """Make the rows one by one."""
    entries = []
    contents = pool.contents(("a", "b")).to_pylist()

    def entry(i, **values):
        slices = [f"{name}={pool[i].meta[name]}" for name in pool.meta]
        common = {"uid": pool.uid(i), "gold": pool[i].label, "slices": slices, "content": ""}
        common |= {"y": base[i][0], "p": base[i][1], "score": base[i][2], "group": pool[i].groups.get("g")}
        entries.append(dict.fromkeys(("part", "variant", "partner", "expects"), "") | common | values)

    for i in kept:
        own = {"content": contents[i], "clusters": [pool.uid(i)]}
        own |= dict.fromkeys(("gold2", "y2", "p2", "score2", "unread"))
        entry(i, intervention=BASE, version=0, draw=NO_DRAW, **own)
    for name, part, kind, (has_expects, has_parts), without, made, after, unread in plan:
        for m, (y2, p2, score2), is_unread in zip(made, after, unread, strict=True):
            golds = {"lent": None, "known": pool[m.other].label, "new": f"l{m.other}"}
            entry(
                m.position,
                intervention=name,
                part=m.part(part) if has_parts else part,
                variant=m.variant,
                gold2=golds[kind],
                partner="" if kind == "new" else pool.uid(m.other),
                expects="" if m.position in without else m.expects if has_expects else "leaves",
                version=3,
                draw=m.draw,
                y2=y2,
                p2=p2,
                score2=score2,
                unread=is_unread,
                clusters=[pool.uid(m.position), f"c{m.other}"][: 1 + m.other % 2],
            )
    return sort_rows(pa.Table.from_pylist(entries, schema=schema))


def predictions(positions, rng, has_probs, has_scores=False):
    names = ("no", "yes", "(no label)")
    answers = rng.integers(3, size=len(positions)).astype(np.int32)
    probs = rng.random((len(positions), 2), dtype=np.float32) if has_probs else None
    scores = rng.normal(size=len(positions)) if has_scores else None
    columns = ([None] * len(positions) if column is None else list(column) for column in (probs, scores))
    listed = list(zip([names[a] for a in answers], *columns, strict=True))
    return Predictions(np.asarray(positions, dtype=np.int64), answers, pa.array(names), probs, scores), listed


@given(
    st.permutations([f"u{i}" for i in range(6)]),
    st.lists(st.sampled_from([*LABELS, None]), min_size=6, max_size=6),
    st.sampled_from([(), ("one",), ("one", "two")]),
    plans,
    st.lists(st.booleans(), min_size=6, max_size=6).filter(any),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_rows_are_those_of_a_loop(uids, labels, meta, drawn, taking_part, has_probs, has_scores, with_masks, seed):
    pool, rng = pool_of(uids, labels, meta), np.random.default_rng(seed)
    kept = sorted(np.flatnonzero(taking_part).tolist(), key=lambda i: uids[i])
    base, listed = predictions(range(6), rng, has_probs, has_scores)  # more examples than in the block
    plan, made, predicted, unread, ineligible, expected = [], [], [], [], [], []
    for name, part, kind, own_columns, several in drawn:
        mine = [Made(*change) for change in several if change[0] in kept]
        mine.sort(key=lambda m: kept.index(m.position))
        plan.append(SimpleNamespace(name=name, parts=tuple(part.split("+")), version=3, expects="leaves"))
        made.append(columns_of(pool, kind, mine, part, *own_columns))
        one, after = predictions(range(len(mine)), rng, has_probs, has_scores)
        predicted.append(one)
        seen = [(None, True, False)[k] for k in rng.integers(3, size=len(mine))]
        unread.append(pa.array(seen, pa.bool_()))
        ineligible.append((rng.random(6) < 0.3) & with_masks)
        without = np.flatnonzero(ineligible[-1])
        expected.append((name, part, kind, own_columns, without, mine, after, seen))
    block = Block(pool, np.array(kept, dtype=np.int64), made)
    block.unread = unread
    columns = schema(2 if has_probs else 0, has_scores)
    masks = ineligible if with_masks else ()
    rows = block.rows(plan, slice(None), base, predicted, ("a", "b"), columns, masks)
    reference = rows_of(pool, kept, listed, expected, columns)
    assert rows.schema.equals(reference.schema)
    assert rows.to_pylist() == reference.to_pylist()


def test_two_rows_with_one_key_are_an_error():
    pool = pool_of(["u0", "u1"], ["no", "no"], ())
    twice = columns_of(pool, "lent", [Made(1, 2, "v", 0), Made(1, 2, "v", 0)], "a")
    base, _ = predictions(range(2), np.random.default_rng(0), True)
    after, _ = predictions(range(2), np.random.default_rng(0), True)
    plan = [SimpleNamespace(name="swap", parts=("a",), version=1, expects="leaves")]
    block = Block(pool, np.arange(2), [twice])
    with refused(RunError, "uid u1, intervention swap, part a, variant v, draw 2"):
        block.rows(plan, slice(None), base, [after], ("a", "b"), schema(2))

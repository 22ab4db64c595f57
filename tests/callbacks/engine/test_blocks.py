"""Blocks of changes: what ends one, and the order of the examples within it."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.callbacks.engine import blocks as b
from heedful.callbacks.engine.predictions import Predictions
from heedful.interventions import Changes, KeepPart, Null, Swap
from heedful.records import EMPTIED, Composed, Example, Examples


@dataclass(frozen=True)
class Repeat:
    """So many changes of each example, of one kind."""

    counts: tuple[int, ...]  # by position
    kind: str

    def changes(self, pool, positions, seed):
        bases = np.repeat(positions, [self.counts[i] for i in positions])
        draws = np.concatenate([np.zeros(0, int), *(np.arange(self.counts[i]) for i in positions)]).astype(np.int16)
        clusters = pa.array([[pool.uid(i)] for i in bases], pa.list_(pa.string()))
        lent = (bases + draws + 1) % len(pool)
        kinds = {
            "lent": {"lenders": {"b": lent}},
            "emptied": {"lenders": {"a": np.full(len(bases), EMPTIED)}},
            "same": {},
            "known": {"known": lent},
            "new": {
                "examples": [
                    Example(pool.uid(i), {"a": f"new {i}", "b": f"{d}"}, "no")
                    for i, d in zip(bases, draws, strict=True)
                ]
            },
        }
        return Changes(bases, draws, clusters, **kinds[self.kind])


def pool_of(uids):
    return Examples.of([Example(uid, {"a": f"a {uid}", "b": f"b {uid}"}, "yes") for uid in uids])


plans = st.integers(2, 9).flatmap(  # a single example lends to itself, which changes nothing
    lambda n: st.tuples(
        st.permutations([f"u{i}" for i in range(n)]),
        st.lists(
            st.tuples(
                st.lists(st.integers(0, 4), min_size=n, max_size=n).map(tuple),
                st.sampled_from(["lent", "emptied", "same", "known", "new"]),
            ),
            max_size=3,
        ),
        st.lists(st.booleans(), min_size=n, max_size=n),
    )
)


@given(plans, st.integers(1, 7), st.integers(1, 4))
def test_blocks_are_those_of_a_loop_over_examples(planned, chunk, step):
    uids, repeats, taking_part = planned
    pool, plan = pool_of(uids), [Repeat(*repeat) for repeat in repeats]
    predicted = np.flatnonzero(taking_part)
    expected, held, changed, n = [], [], 0, len(pool)

    def leads_somewhere(repeat, i, draw):
        """A change that leads to an example without a prediction is left out."""
        return repeat.kind != "known" or (i + draw + 1) % n in predicted

    for i in sorted(predicted.tolist(), key=lambda i: uids[i]):
        held.append(i)
        changed += sum(leads_somewhere(repeat, i, draw) for repeat in plan for draw in range(repeat.counts[i]))
        if max(changed, len(held)) >= chunk:
            expected.append(held)
            held, changed = [], 0
    expected += [held] if held or not expected else []
    everyone = [np.ones(len(pool), dtype=bool)] * len(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(b, "CHUNK", chunk)
        patch.setattr(b, "STEP", step)
        made = list(b.blocks(pool, predicted, plan, everyone, seed=0))
    assert [block.positions.tolist() for block in made] == expected
    for block in made:
        whole = [repeat.changes(pool, block.positions, 0) for repeat in plan]
        for repeat, one, other in zip(plan, block.changes, whole, strict=True):
            pairs = zip(other.positions.tolist(), other.draws.tolist(), strict=True)
            kept = [leads_somewhere(repeat, i, draw) for i, draw in pairs]
            assert one.positions.tolist() == other.positions[kept].tolist()
            assert one.draws.tolist() == other.draws[kept].tolist()
            assert one.clusters.to_pylist() == other.clusters.filter(pa.array(kept, pa.bool_())).to_pylist()
            assert one.known is None or one.known.tolist() == other.known[kept].tolist()
        _assert_in_order(block, plan, pool)


def _assert_in_order(block, plan, pool):
    """By example, then by intervention, then as the intervention made them; and apart again."""
    expected = []
    for i in block.positions.tolist():
        for k, repeat in enumerate(plan):
            for draw in range(repeat.counts[i]) if repeat.kind != "known" else ():
                base, lender = pool[i], pool[(i + draw + 1) % len(pool)]
                parts = {
                    "lent": {**base.parts, "b": lender.parts["b"]},
                    "emptied": {**base.parts, "a": ""},
                    "same": base.parts,
                    "new": {"a": f"new {i}", "b": f"{draw}"},
                }[repeat.kind]
                expected.append((k, base.uid, draw, dict(parts)))
    found = [(e.uid, dict(e.parts)) for e in block.examples]
    assert found == [(uid, parts) for _, uid, _, parts in expected]
    assert block.interventions.tolist() == [k for k, *_ in expected]
    n = len(expected)
    answers = pa.array([f"answer {j}" for j in range(max(n, len(pool)))])
    predicted = Predictions(np.arange(n), np.arange(n, dtype=np.int32), answers, None)
    base = Predictions(np.arange(len(pool)), np.arange(len(pool), dtype=np.int32), answers, None)
    for k, (repeat, one) in enumerate(zip(plan, block.predictions(predicted, base), strict=True)):
        if repeat.kind == "known":
            assert one.positions.tolist() == block.changes[k].known.tolist()
        else:
            mine = [(uid, draw, j) for j, (place, uid, draw, _) in enumerate(expected) if place == k]
            uids = [pool.uid(i) for i in block.changes[k].positions]
            draws, places = block.changes[k].draws.tolist(), one.positions.tolist()
            assert list(zip(uids, draws, places, strict=True)) == mine
    _assert_unread(block, plan, pool, [tuple(parts.values()) for _, _, _, parts in expected])


def _assert_unread(block, plan, pool, inputs):
    """To a model that reads whether the last digit of a part is even."""

    def fingerprint(parts):
        return sum((1 + int(text[-1:] or 1) % 2) * 4**k for k, text in enumerate(parts))

    of_pool = np.array([fingerprint(example.parts.values()) for example in pool], dtype=np.uint64)
    of_inputs = np.array([fingerprint(parts) for parts in inputs], dtype=np.uint64)
    block.compare(of_pool, of_inputs)
    for k, (repeat, changes) in enumerate(zip(plan, block.changes, strict=True)):
        after = of_pool[changes.known] if repeat.kind == "known" else of_inputs[block.interventions == k]
        bases = [fingerprint(pool[i].parts.values()) for i in changes.positions]
        expected = [int(a) == base for a, base in zip(after, bases, strict=True)]
        assert block.unread[k].to_pylist() == ([None] * len(changes) if repeat.kind == "same" else expected)
    first, sources, bases = {}, [], [fingerprint(pool[pool.position(e.uid)].parts.values()) for e in block.examples]
    for j, (k, parts, base) in enumerate(zip(block.interventions.tolist(), inputs, bases, strict=True)):
        is_null = plan[k].kind == "same"
        same = first.setdefault(fingerprint(parts), j) if fingerprint(parts) != base else -1
        sources.append(j if is_null else same)
    assert block.source.tolist() == sources
    assert block.is_copied.tolist() == [j != source for j, source in enumerate(sources)]
    _assert_copied(block, pool)


def _assert_copied(block, pool):
    """Each example has the answer of its source: its own, another one's, or that of its base example."""
    predicted = np.flatnonzero(~block.is_copied)
    names = pa.array([f"new {j}" for j in range(len(block.source))], pa.string())
    answered = Predictions(predicted, predicted.astype(np.int32), names, None)
    n = len(pool)
    base = Predictions(np.arange(n), np.arange(n, dtype=np.int32), pa.array([f"u {e.uid}" for e in pool]), None)
    expected = [
        f"u {example.uid}" if source < 0 else f"new {source}"
        for example, source in zip(block.examples, block.source, strict=True)
    ]
    for k, (changes, one) in enumerate(zip(block.changes, block.predictions(answered, base), strict=True)):
        if changes.known is None:
            here = np.flatnonzero(block.interventions == k)
            assert one.texts.to_pylist() == [expected[j] for j in here]


def test_an_example_that_was_not_chosen_is_not_changed():
    pool = pool_of(["u0", "u1", "u2"])
    chosen = np.array([True, False, True])
    (block,) = b.blocks(pool, np.arange(3), [Repeat((1, 1, 1), "lent")], [chosen], seed=0)
    assert block.positions.tolist() == [0, 1, 2]
    assert block.changes[0].positions.tolist() == [0, 2]


def test_only_the_null_control_repeats_what_was_predicted():
    pool = Examples.of([Example(f"u{i}", {"premise": f"p{i}", "hypothesis": f"h{i}"}, "neutral", {}) for i in range(7)])
    plan = [Null(), Swap("premise", None, draws=2), KeepPart("premise", ("hypothesis",))]
    chosen = [np.ones(len(pool), dtype=bool)] * len(plan)
    (block,) = b.blocks(pool, np.arange(len(pool)), plan, chosen, seed=0)
    assert (block.examples.repeated == (block.interventions == 0)).all()
    half = np.arange(0, len(block.examples), 2)
    assert (block.examples.take(half).repeated == (block.interventions == 0)[half]).all()
    assert not Composed.whole(pool).repeated.any()

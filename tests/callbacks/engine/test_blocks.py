"""Blocks of changes, compared with a loop over examples."""

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
    """Makes ``counts[i]`` changes of the example at position i."""

    counts: tuple[int, ...]
    kind: str

    def changes(self, pool, positions, seed):
        bases = np.repeat(positions, [self.counts[i] for i in positions])
        draws = np.concatenate([np.zeros(0, int), *(np.arange(self.counts[i]) for i in positions)]).astype(np.int16)
        clusters = pa.array([[pool.uid(i)] for i in bases], pa.list_(pa.string()))
        lent = partner(bases, draws, len(pool))
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


def partner(positions, draws, n):
    """The position of another one of n examples, which differs between the first n - 1 draws."""
    return (positions + 1 + draws % (n - 1)) % n


def pool_of(uids):
    return Examples.of([Example(uid, {"a": f"a {uid}", "b": f"b {uid}"}, "yes") for uid in uids])


plans = st.integers(2, 9).flatmap(  # a single example would lend to itself
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
        st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=3, max_size=3),
    )
)


@given(plans, st.integers(1, 7), st.integers(1, 4))
def test_blocks_are_those_of_a_loop_over_examples(planned, chunk, step):
    uids, repeats, is_predicted, is_chosen = planned
    pool, n = pool_of(uids), len(uids)
    masks = [np.array(mask) for mask, _ in zip(is_chosen, repeats, strict=False)]
    predicted = np.flatnonzero(is_predicted)

    def draws_of(repeat, mask, i):
        """The changes of an example, except changes into examples without a prediction."""
        counts, kind = repeat
        return [d for d in range(counts[i] if mask[i] else 0) if kind != "known" or partner(i, d, n) in predicted]

    expected, held, changed = [], [], 0
    for i in sorted(predicted.tolist(), key=lambda i: uids[i]):
        held.append(i)
        changed += sum(len(draws_of(repeat, mask, i)) for repeat, mask in zip(repeats, masks, strict=True))
        if max(changed, len(held)) >= chunk:
            expected.append(held)
            held, changed = [], 0
    expected += [held] if held or not expected else []
    plan = [Repeat(*repeat) for repeat in repeats]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(b, "CHUNK", chunk)
        patch.setattr(b, "STEP", step)
        blocks = list(b.blocks(pool, predicted, plan, masks, seed=0))
    assert [block.positions.tolist() for block in blocks] == expected
    for block in blocks:
        rows = []
        for k, (repeat, mask, changes) in enumerate(zip(repeats, masks, block.changes, strict=True)):
            mine = [(i, draw) for i in block.positions.tolist() for draw in draws_of(repeat, mask, i)]
            assert list(zip(changes.positions.tolist(), changes.draws.tolist(), strict=True)) == mine
            assert changes.clusters.to_pylist() == [[uids[i]] for i, _ in mine]
            assert changes.known is None or changes.known.tolist() == [partner(i, d, n) for i, d in mine]
            rows += [(block.positions.tolist().index(i), k, d) for i, d in mine if repeat[1] != "known"]
        _assert_in_order(block, plan, pool, [(k, int(block.positions[i]), d) for i, k, d in sorted(rows)])


def _assert_in_order(block, plan, pool, changes):
    """The changed examples are sorted by base example, then by intervention; predictions are split again."""
    expected = []
    for k, i, draw in changes:
        base, lender = pool[i], pool[partner(i, draw, len(pool))]
        parts = {
            "lent": {**base.parts, "b": lender.parts["b"]},
            "emptied": {**base.parts, "a": ""},
            "same": base.parts,
            "new": {"a": f"new {i}", "b": f"{draw}"},
        }[plan[k].kind]
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
    """Unread and copied changes for a model that reads whether the last digit of a part is even."""

    def fingerprint(parts):
        return sum((1 + int(text[-1:] or 1) % 2) * 4**k for k, text in enumerate(parts))

    of_pool = np.array([fingerprint(example.parts.values()) for example in pool], dtype=np.uint64)
    of_inputs = np.array([fingerprint(parts) for parts in inputs], dtype=np.uint64)
    block.compare(of_pool, of_inputs, block.examples.repeated)
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
    """Each changed example has the prediction of its source, which may be its base example."""
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


def test_only_the_null_control_repeats_examples():
    pool = Examples.of([Example(f"u{i}", {"premise": f"p{i}", "hypothesis": f"h{i}"}, "neutral", {}) for i in range(7)])
    plan = [Null(), Swap("premise", None, draws=2), KeepPart("premise", ("hypothesis",))]
    chosen = [np.ones(len(pool), dtype=bool)] * len(plan)
    (block,) = b.blocks(pool, np.arange(len(pool)), plan, chosen, seed=0)
    assert (block.examples.repeated == (block.interventions == 0)).all()
    half = np.arange(0, len(block.examples), 2)
    assert (block.examples.take(half).repeated == (block.interventions == 0)[half]).all()
    assert not Composed.whole(pool).repeated.any()

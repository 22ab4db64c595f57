"""The sets of table 4 against nested loops over every pair of examples."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import Design, intervention_sets
from heedful.interventions.natural_logic import without_unneeded
from heedful.records import DataError, Example, Examples

from changed_examples import made
from refusals import refused

# written out from the paper's equations: which of (c, m, w, r, g) are equal in a pair
EQUAL = {
    "I0": {"c": False, "m": False, "w": True, "r": True, "g": False},
    "I1": {"c": True, "m": True, "w": False, "r": False, "g": False},
    "I2": {"c": False, "m": True, "w": True, "r": True, "g": True},
    "I3": {"c": True, "m": True, "w": False, "r": True, "g": True},
}
TABLE_1 = {("up", "leq"): True, ("down", "geq"): True}


def example(uid, context, monotonicity, words, relation):
    """words: (first, second)."""
    entailed = relation == "eq" or TABLE_1.get((monotonicity, relation), False)
    meta = {"context": context, "monotonicity": monotonicity, "relation": relation, "operator": ""}
    meta |= {"insertion": "|".join(words), "pair": "/".join(sorted(words))}
    parts = {"premise": context.replace("x", words[0]), "hypothesis": context.replace("x", words[1])}
    return Example(uid, parts, "entailment" if entailed else "non-entailment", meta=meta)


def variables(e):
    m = e.meta
    return {"c": m["context"], "m": m["monotonicity"], "w": m["insertion"], "r": m["relation"], "g": e.label}


def brute_force(examples, name, seed_uids):
    """Every pair of the set, as {(uid, uid)}, by comparing each seed with each example."""
    usable, seen = [], set()
    for e in examples:
        v = variables(e)
        if v["m"] in ("up", "down") and v["r"] != "eq" and (v["c"], v["w"]) not in seen:
            usable.append((e.uid, v))
            seen.add((v["c"], v["w"]))
    return {
        (uid, other)
        for uid, v in usable
        if uid in seed_uids
        for other, u in usable
        if all((v[k] == u[k]) == equal for k, equal in EQUAL[name].items())
    }


def members(sets, pool, seed=0):
    """(seed example, match) of each set."""
    found = {}
    for s in sets:
        changes = s.changes(pool, seed_positions(s, pool), seed)
        assert [pool.uid(j) for j in changes.known] == changes.partner.to_pylist()
        found[s.name] = [(pool.uid(i), pool.uid(j)) for i, j in zip(changes.positions, changes.known, strict=True)]
    return found


def seed_positions(set_, pool):
    """Those of the pool that are eligible, whatever was predicted."""
    masks = [set_.eligible(pool, np.arange(len(pool)), pa.repeat(a, len(pool))).tolist() for a in ("a", "b")]
    assert masks[0] == masks[1] == [uid in set_.seeds for uid in pool.column("uid")]
    return np.flatnonzero(masks[0])


@st.composite
def pools(draw):
    contexts = draw(st.lists(st.sampled_from(["up", "down", "neither"]), min_size=2, max_size=6))
    pairs = draw(st.lists(st.sampled_from(["leq", "none", "eq"]), min_size=1, max_size=4))
    backwards = {"leq": "geq", "none": "none", "eq": "eq"}
    examples = []
    for i, monotonicity in enumerate(contexts):
        for j, relation in enumerate(pairs):
            a, b = f"a{j}", f"b{j}"
            examples.append(example(f"{i}/{a}|{b}", f"c{i} x", monotonicity, (a, b), relation))
            examples.append(example(f"{i}/{b}|{a}", f"c{i} x", monotonicity, (b, a), backwards[relation]))
    repeated = draw(st.lists(st.sampled_from(examples), max_size=3, unique_by=lambda e: e.uid))
    examples += [Example(f"again/{e.uid}", e.parts, e.label, meta=e.meta) for e in repeated]
    return draw(st.permutations(examples))


@given(pools(), st.integers(1, 30), st.integers(0, 3), st.booleans())
def test_each_set_has_the_members_that_nested_loops_find(examples, n, seed, paired):
    pool = Examples.of(examples)
    sets = intervention_sets(Design(pool), n, seed, paired)
    found = members(sets, pool)
    for s in sets:
        assert len(found[s.name]) == len(set(found[s.name]))
        assert set(found[s.name]) == brute_force(examples, s.name, s.seeds)


@given(pools(), st.integers(1, 30), st.integers(0, 3), st.booleans())
def test_a_pool_without_unneeded_examples_has_the_same_members(examples, n, seed, paired):
    pool = Examples.of(examples)
    sets = intervention_sets(Design(pool), n, seed, paired)
    found = members(sets, pool)
    design, smaller = without_unneeded(Design(pool), sets)
    assert members(smaller, design.pool) == found
    needed = {uid for one_set in sets for uid in one_set.seeds} | {uid for pairs in found.values() for _, uid in pairs}
    assert list(design.pool.column("uid")) == [uid for uid in pool.column("uid") if uid in needed]


@given(pools(), st.integers(1, 30), st.integers(0, 3))
def test_paired_sets_share_their_seeds_and_each_has_a_match(examples, n, seed):
    pool = Examples.of(examples)
    sets = {s.name: s for s in intervention_sets(Design(pool), n, seed, paired=True)}
    everybody = {e.uid for e in examples}
    for total, direct in (("I0", "I2"), ("I1", "I3")):
        assert sets[total].seeds == sets[direct].seeds
        matched = [{uid for uid, _ in brute_force(examples, name, everybody)} for name in (total, direct)]
        assert sets[total].seeds <= matched[0] & matched[1]
        assert len(sets[total].seeds) == min(n, len(matched[0] & matched[1]))


@given(pools())
def test_what_is_left_out_is_counted(examples):
    left_out = Design(Examples.of(examples)).left_out
    of = [variables(e) for e in examples]
    assert left_out["neither"] == sum(v["m"] == "neither" for v in of)
    assert left_out["eq"] == sum(v["m"] != "neither" and v["r"] == "eq" for v in of)
    usable = Counter((v["c"], v["w"]) for v in of if v["m"] != "neither" and v["r"] != "eq")
    assert left_out["repeated"] == sum(n - 1 for n in usable.values())


@pytest.fixture
def pool():
    contexts = [(f"c{i} x", "up" if i % 2 else "down") for i in range(8)]
    words = [((f"a{j}", f"b{j}"), "leq") for j in range(4)] + [(("a", "z"), "none")]
    return Examples.of(
        [example(f"{i}/{j}", c, m, w, r) for i, (c, m) in enumerate(contexts) for j, (w, r) in enumerate(words)]
    )


def test_a_change_leads_to_another_example_of_the_pool_and_says_what_is_shared(pool):
    for s in intervention_sets(Design(pool), 5, seed=0):
        positions = seed_positions(s, pool).tolist()[::-1]
        found = made(s, pool, positions)
        assert [i for i in positions if i in {one.position for one in found}] == list(
            dict.fromkeys(one.position for one in found)
        )
        for one in found:
            uid, partner = pool.uid(one.position), one.example
            assert (one.partner, one.draw, one.expects) == (partner.uid, -1, None)
            assert one.variant == partner.meta[s.parts[0]]
            context, words = (f"context {partner.meta['context']}", f"insertion {partner.meta['pair']}")
            assert one.clusters == (uid, *((words, context) if s.name in ("I0", "I2") else (context, words)))
            assert context != f"context {pool[uid].meta['context']}" or s.name in ("I1", "I3")


def test_seeds_are_nested_independent_of_each_other_and_of_the_base_prediction(pool):
    few, many = (intervention_sets(Design(pool), n, seed=0) for n in (5, 20))
    assert all(a.seeds < b.seeds for a, b in zip(few, many, strict=True))
    assert len({s.seeds for s in few}) == 4
    assert [s.seeds for s in few] != [s.seeds for s in intervention_sets(Design(pool), 5, seed=1)]
    assert [len(seed_positions(s, pool)) for s in few] == [5] * 4


def test_examples_that_are_not_composed_are_named():
    with refused(DataError, "'context'"):
        Design(Examples.of([Example("a", {"premise": "p", "hypothesis": "h"}, "neutral")]))

"""Siblings against a plain search, and interventions on the examples of one prediction."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions import Families, Null, Siblings, Swap, manifest_hash
from heedful.records import SOFT, Example, Examples

LABELS = ("entailment", "neutral", "contradiction")


def pool_of(triples):
    return Examples.of(
        Example(f"d/v/{i}", {"premise": p, "hypothesis": h}, gold) for i, (p, h, gold) in enumerate(triples)
    )


triples = st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abcd"), st.sampled_from(LABELS)), min_size=1)


@given(triples, st.integers(1, 3), st.integers(0, 3))
def test_siblings_are_all_that_a_plain_search_finds_or_as_many_as_there_are_draws(triples, draws, seed):
    pool = pool_of(triples)
    siblings = Siblings("premise", Families(pool, "premise", "neutral"), draws=draws)
    made = siblings.changes(pool, np.arange(len(pool)), seed)
    found = defaultdict(list)
    for base, other, draw in zip(made.positions.tolist(), made.known.tolist(), made.draws.tolist(), strict=True):
        assert draw == len(found[base])
        found[base].append(other)
    for i, (premise, hypothesis, gold) in enumerate(triples):
        wanted = {
            j for j, (p, h, g) in enumerate(triples) if p == premise and h != hypothesis and g not in (gold, "neutral")
        }
        assert set(found[i]) <= wanted
        assert len(set(found[i])) == len(found[i]) == min(draws, len(wanted))
    assert made.partner.to_pylist() == [pool.uid(j) for j in made.known.tolist()]
    assert siblings.parts == ("hypothesis",)
    assert Families(pool, "premise", "neutral").count() == sum(1 for i in range(len(pool)) if found[i])


def test_without_gold_nobody_is_a_sibling_and_without_other_parts_neither():
    pool = pool_of([("p", "a", "neutral"), ("p", "b", None), ("p", "c", "entailment")])
    assert Families(pool, "premise", "neutral").siblings(0).tolist() == [2]
    assert Families(pool, "premise+hypothesis", "neutral").count() == 0


@pytest.mark.parametrize("of", [Swap("premise", None, draws=3), Null()])
def test_only_examples_of_one_prediction_are_changed_and_as_ever(of):
    pool = pool_of([(c, c, "neutral") for c in "abcdef"])
    answers, everyone = pa.array(["neutral", "x", "neutral", "", "x", "neutral"]), np.arange(6)
    some = replace(of, predicted_as="neutral")
    assert some.eligible(pool, everyone, answers).tolist() == [True, False, True, False, False, True]
    made, same = (i.changes(pool, np.array([0, 2, 5]), 7) for i in (some, of))
    assert made.positions.tolist() == same.positions.tolist()
    assert {k: v.tolist() for k, v in made.lenders.items()} == {k: v.tolist() for k, v in same.lenders.items()}
    assert (some.name, some.version, some.parts, some.draws) == (of.name, of.version, of.parts, of.draws)
    assert manifest_hash([some], pool, 0) != manifest_hash([of], pool, 0)


def test_siblings_stay_in_their_split_where_there_are_several():
    labels = ("neutral", "entailment", "contradiction")
    pool = Examples.of(
        Example(f"d/v/{i}", {"premise": "p", "hypothesis": "abc"[i]}, label, meta={"split": "xxy"[i]})
        for i, label in enumerate(labels)
    )
    assert Families(pool, "premise", "neutral").siblings(0).tolist() == [1, 2]
    assert Families(pool, "premise", "neutral", within="split").siblings(0).tolist() == [1]


def test_examples_that_are_known_keep_their_columns_together():
    pool = pool_of([("p", h, LABELS[2 * (i > 1)]) for i, h in enumerate("abcd")])
    made = Siblings("premise", Families(pool, "premise", "neutral"), draws=5).changes(pool, np.arange(4), 0)
    kept = made.take(made.known == 3)
    assert kept.positions.tolist() == [0, 1]
    assert kept.partner.to_pylist() == ["d/v/3"] * 2
    assert [c[0] for c in kept.clusters.to_pylist()] == ["d/v/0", "d/v/1"]
    assert made.take(np.ones(len(made), dtype=bool)) is made


def test_where_several_labels_are_right_the_default_label_is_none_of_those_of_a_sibling():
    """A model may then say the default label of both, and be right."""
    golds = {"a": ["neutral"], "b": ["entailment", "neutral"], "c": ["entailment"]}
    pool = Examples.of(
        [
            Example(uid, {"premise": "p", "hypothesis": uid}, SOFT.write_gold(dict.fromkeys(gold, 1.0)))
            for uid, gold in golds.items()
        ]
    )
    assert Families(pool, "premise", "neutral", kind=SOFT).siblings(0).tolist() == [2]

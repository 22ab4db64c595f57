"""The swap: who may be a partner, what changes, and by which random numbers."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from interventions import Swap
from records import Example, Examples, Prediction

few = st.sampled_from("abcde")
contents = st.lists(st.tuples(few, few, few), min_size=1, max_size=12)
seeds = st.integers(0, 2**32)
part_names = st.sampled_from(["premise", "hypothesis"])


def make(rows: list[tuple[str, str, str]]) -> Examples:
    """A pool from (premise, hypothesis, topic) tuples. No premise is spelled like a hypothesis."""
    return Examples.of(
        [
            Example(
                f"d/validation/{i}",
                {"premise": f"p-{premise}", "hypothesis": f"h-{hypothesis}"},
                "yes" if i % 2 else "no",
                {"topic": topic},
                {"line": str(i)},
            )
            for i, (premise, hypothesis, topic) in enumerate(rows)
        ]
    )


def candidates(rows: list[tuple[str, str, str]], i: int) -> list[int]:
    """Brute force: every position that shares neither part nor topic with ``i``."""
    return [j for j in range(len(rows)) if all(mine != theirs for mine, theirs in zip(rows[i], rows[j], strict=True))]


@given(contents, part_names, seeds)
def test_a_partner_is_unrelated_and_only_the_part_changes(rows, part, seed):
    pool, swap = make(rows), Swap(part, "no")
    for i, base in enumerate(pool):
        for draw in range(3):
            found = swap.apply(pool, base.uid, draw, seed)
            if not candidates(rows, i):
                assert found == []
                continue
            (changed,) = found
            partner = pool[changed.partner]
            assert partner.uid != base.uid
            for name in ("premise", "hypothesis"):
                assert partner.parts[name] != base.parts[name]
            assert partner.groups["topic"] != base.groups["topic"]
            assert pool.position(changed.partner) in candidates(rows, i)
            assert changed.example.parts == {**base.parts, part: partner.parts[part]}
            assert list(changed.example.parts) == ["premise", "hypothesis"]
            assert (changed.example.uid, changed.example.label, changed.example.meta) == (
                base.uid,
                base.label,
                base.meta,
            )
            assert changed.example.groups == {**base.groups, part: partner.groups[part]}
            assert changed.clusters == (base.uid, partner.uid)
            assert (changed.variant, changed.allowed) == ("", "")


@given(contents, part_names, seeds)
def test_the_pool_is_left_as_it_was(rows, part, seed):
    pool = make(rows)
    before = list(pool)
    for example in before:
        Swap(part, None).apply(pool, example.uid, 0, seed)
    assert list(pool) == before


@given(contents, seeds, st.data())
def test_the_result_depends_on_seed_uid_and_draw_and_not_on_the_order_of_calls(rows, seed, data):
    swap, pool = Swap("premise", "no"), make(rows)
    calls = [(e.uid, draw) for e in pool for draw in range(3)]
    expected = {call: swap.apply(pool, *call, seed) for call in calls}
    shuffled = data.draw(st.permutations(calls))
    again, fresh = pickle.loads(pickle.dumps(swap)), make(rows)
    assert {call: again.apply(fresh, *call, seed) for call in shuffled} == expected


@given(contents, part_names)
def test_every_candidate_can_be_the_partner(rows, part):
    pool, swap = make(rows), Swap(part, "no")
    for i in range(min(len(rows), 3)):
        seen = {swap.partner(pool, i, draw, 0) for draw in range(12 * len(rows))}
        assert seen == (set(candidates(rows, i)) or {None})


# Position 0 is related to 1 (premise), 4 (hypothesis), 5 (topic), 9 (premise and topic).
RELATED = [
    ("a", "a", "a"), ("a", "b", "b"), ("b", "c", "c"), ("c", "d", "d"), ("d", "a", "e"),
    ("e", "e", "a"), ("b", "b", "b"), ("b", "c", "c"), ("c", "e", "d"), ("a", "d", "a"),
]  # fmt: skip


def test_partners_are_uniform_over_the_candidates():
    pool, swap = make(RELATED), Swap("premise", "no")
    assert candidates(RELATED, 0) == [2, 3, 6, 7, 8]
    for by in ("draw", "seed"):
        drawn = Counter(swap.partner(pool, 0, **{"draw": 0, "seed": 0, by: k}) for k in range(3000))
        assert sorted(drawn) == candidates(RELATED, 0)
        assert chisquare(list(drawn.values())).pvalue > 0.001


def joint(first: dict, second: dict) -> np.ndarray:
    """How often each pair of partners comes up over 2,000 seeds; a call is (swap, uid, draw)."""
    pool, table = make(RELATED), np.zeros((10, 10), dtype=int)
    for seed in range(2000):
        a, b = (
            c["swap"].partner(pool, pool.position(f"d/validation/{c['uid']}"), c["draw"], seed) for c in (first, second)
        )
        table[a, b] += 1
    return table[table.any(axis=1)][:, table.any(axis=0)]


FIRST = {"swap": Swap("premise", "no"), "uid": 0, "draw": 0}


@pytest.mark.parametrize(
    "other",
    [
        {"draw": 1},
        {"draw": 4},
        {"uid": 3},
        {"swap": Swap("hypothesis", "no")},
        {"swap": Swap("premise", "no", version=99)},
    ],
    ids=["the next draw", "the last draw", "another uid", "another part", "another version"],
)
def test_draws_are_independent_of(other):
    assert chi2_contingency(joint(FIRST, FIRST | other)).pvalue > 0.001


def test_a_partner_may_come_again_in_another_draw():
    """Drawn with replacement: two draws agree once in as many times as there are candidates."""
    table = joint(FIRST, FIRST | {"draw": 1})
    agree = np.trace(table) / table.sum()
    assert abs(agree - 1 / 5) < 4 * np.sqrt(0.2 * 0.8 / table.sum())


def test_neither_the_default_label_nor_the_number_of_draws_changes_a_draw():
    pool = make(RELATED)
    made = {
        repr(s.apply(pool, "d/validation/0", 1, 3)) for s in (Swap("premise", "no"), Swap("premise", None, draws=2))
    }
    assert len(made) == 1


def test_no_partner_no_change():
    alone, related = make([("a", "b", "c")]), make([("a", "b", "c"), ("a", "d", "e"), ("f", "b", "g"), ("h", "i", "c")])
    for pool in (alone, related):
        assert Swap("premise", "no").partner(pool, 0, 0, 0) is None
        assert Swap("premise", "no").apply(pool, "d/validation/0", 0, 0) == []
    assert Swap("premise", "no").apply(related, "d/validation/1", 0, 0)[0].partner in (
        "d/validation/2",
        "d/validation/3",
    )


def test_no_partner_makes_a_pair_of_twice_the_same_text():
    """Where both parts are of one kind (two questions), the partner's must not be the very one that is kept."""
    pool = Examples.of(
        [
            Example("u", {"question1": "How old is Rome?", "question2": "When was Rome founded?"}, "paraphrase"),
            Example("v", {"question1": "When was Rome founded?", "question2": "Who founded Rome?"}, "other"),
            Example("w", {"question1": "Is it late?", "question2": "What time is it?"}, "paraphrase"),
        ]
    )
    drawn = {Swap("question1", "other").apply(pool, "u", draw, 0)[0].partner for draw in range(20)}
    assert drawn == {"w"}


@pytest.mark.parametrize(
    ("default", "eligible"),
    [("neutral", ["entailment", "contradiction"]), ("entailment", ["neutral", "contradiction"])],
)
def test_predictions_of_the_default_label_are_left_alone(default, eligible):
    labels = ["entailment", "neutral", "contradiction"]
    swap = Swap("premise", default)
    assert [y for y in labels if swap.eligible("u", Prediction(y))] == [y for y in labels if y in eligible]


def test_without_a_default_label_every_prediction_is_eligible():
    assert all(Swap("premise", None).eligible("u", Prediction(y)) for y in ("yes", "no", "", "None"))


def test_it_says_what_it_is():
    swap = Swap("hypothesis", "no")
    assert (swap.name, swap.parts, swap.draws, swap.expectation) == ("swap", ("hypothesis",), 5, "change")

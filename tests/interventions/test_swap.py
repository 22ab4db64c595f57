"""The swap: who may be a partner, what changes, and by which random numbers."""

import functools
import hashlib
import itertools
import pickle
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, chisquare

from heedful.interventions import Swap
from heedful.interventions import swap as swapping
from heedful.records import Example, Examples, ExamplesBuilder, integers
from heedful.records.pool import partners as partnering

from changed_examples import made

few = st.sampled_from("abcde")
contents = st.lists(st.tuples(few, few, few), min_size=1, max_size=12)
seeds = st.integers(0, 2**32)
part_names = st.sampled_from(["premise", "hypothesis", "premise+hypothesis"])
Rows = list[tuple[str, str, str]]  # premise, hypothesis, topic


def make(rows: Rows) -> Examples:
    """A pool from (premise, hypothesis, topic) tuples. A premise may be spelled like a hypothesis."""
    return Examples.of(
        [
            Example(
                f"d/validation/{i}",
                {"premise": premise, "hypothesis": hypothesis},
                "yes" if i % 2 else "no",
                {"topic": topic},
                {"line": str(i)},
            )
            for i, (premise, hypothesis, topic) in enumerate(rows)
        ]
    )


def candidates(rows: Rows, i: int, part: str = "premise") -> list[int]:
    """Brute force: every position that shares no content, wherever it stands, and no topic with ``i``.

    Nor may the pair that comes of it, where a part stays, be one that stands in the pool.
    """
    unrelated = [j for j, row in enumerate(rows) if not {*row[:2]} & {*rows[i][:2]} and row[2] != rows[i][2]]
    pairs = {row[:2] for row in rows}
    if part == "premise":
        return [j for j in unrelated if (rows[j][0], rows[i][1]) not in pairs]
    if part == "hypothesis":
        return [j for j in unrelated if (rows[i][0], rows[j][1]) not in pairs]
    return unrelated


def drawn(swap: Swap, pool: Examples, draws: int, seed: int = 0, positions: list[int] | None = None) -> np.ndarray:
    """Partners, [positions, draws]."""
    of = np.arange(len(pool)) if positions is None else np.array(positions, dtype=np.int64)
    found = swap.partners(pool, np.repeat(of, draws), np.tile(np.arange(draws), len(of)), seed)
    assert found.dtype == np.int64
    return found.reshape(len(of), draws)


def test_examples_that_lend_the_same_content_are_one_cluster():
    rows = [("a", "b"), ("a", "c"), ("d", "e"), ("f", "g")]
    pool = Examples.of([Example(str(i), {"premise": p, "hypothesis": h}, "no") for i, (p, h) in enumerate(rows)])
    cluster = {changed.partner: changed.clusters[1] for changed in made(Swap("premise", None, draws=40), pool, seed=0)}
    assert cluster["0"] == cluster["1"]
    assert (cluster["2"], cluster["3"]) == ("2", "3")
    assert all(c.clusters[1] == c.partner for c in made(Swap("hypothesis", None, draws=5), pool, seed=0))


@given(contents, part_names, seeds)
def test_a_partner_is_unrelated_and_only_the_part_changes(rows, part, seed):
    if part == "premise+hypothesis":  # what all examples share is no reason to refuse a partner
        assume(all(len({row[k] for row in rows}) > 1 for k in (0, 1)))
    pool, swap = make(rows), Swap(part, "no", draws=3)
    found = iter(made(swap, pool, seed=seed))
    for i, base in enumerate(pool):
        for draw in range(3 if candidates(rows, i, part) else 0):
            changed = next(found)
            partner = pool[changed.partner]
            assert (changed.position, changed.draw) == (i, draw)
            assert pool.position(changed.partner) in candidates(rows, i, part)
            new = {name: partner.parts[name] for name in swap.parts}
            assert changed.example.parts == {**base.parts, **new}
            assert list(changed.example.parts) == ["premise", "hypothesis"]
            assert (changed.example.uid, changed.example.label, changed.example.meta) == (
                base.uid,
                base.label,
                base.meta,
            )
            assert changed.example.groups == {**base.groups, **{name: partner.groups[name] for name in swap.parts}}
            assert changed.clusters == (base.uid, rows[pool.position(changed.partner)][2])
            assert (changed.variant, changed.allowed) == ("", "")
    assert next(found, None) is None


@given(contents, part_names, seeds, st.sampled_from([1, 32]), st.data())
def test_there_is_none_exactly_where_everyone_is_related(rows, part, seed, blocks, data):
    """Whether partners are met by chance, or most of them listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swapping, "BLOCKS", blocks)
        positions = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30))
        for i, partners in zip(positions, drawn(Swap(part, None), make(rows), 4, seed, positions), strict=True):
            assert set(partners.tolist()) <= (set(candidates(rows, i, part)) or {-1})


@given(contents, seeds, st.data())
def test_a_partner_depends_on_seed_uid_and_draw_and_not_on_the_company(rows, seed, data):
    swap, pool = Swap("premise", "no"), make(rows)
    expected = drawn(swap, pool, 5, seed)
    again, fresh = pickle.loads(pickle.dumps(swap)), make(rows)
    calls = data.draw(st.lists(st.tuples(st.integers(0, len(rows) - 1), st.integers(0, 4)), max_size=20))
    positions, draws = np.array(calls, dtype=np.int64).reshape(-1, 2).T
    np.testing.assert_array_equal(again.partners(fresh, positions, draws, seed), expected[positions, draws])
    for draw in range(5):
        np.testing.assert_array_equal(swap.partners(pool, np.arange(len(rows)), draw, seed), expected[:, draw])


@given(contents, seeds, st.data())
def test_the_changes_of_some_examples_are_those_among_all(rows, seed, data):
    pool = make(rows)
    positions = data.draw(st.permutations(range(len(rows))))[: data.draw(st.integers(0, len(rows)))]
    everything = made(Swap("premise", "no"), pool, seed=seed)
    assert made(Swap("premise", "no"), pool, positions, seed) == [
        one for i in positions for one in everything if one.position == i
    ]


def test_another_order_of_the_pool_gives_other_partners_by_the_same_rule():
    """A draw is a position in the pool: who stands where is part of it."""
    rows = [(f"p{i}", f"h{i}", f"t{i}") for i in range(50)]
    pool = make(rows)
    turned = pool.take(range(49, -1, -1))
    partners, others = drawn(Swap("premise", "no"), pool, 5), drawn(Swap("premise", "no"), turned, 5)[::-1]
    assert (partners == others).mean() > 0.9  # the same words; only who is itself proposed draws again


# Position 0 is related to 1 (premise), 4 (hypothesis), 5 (topic), 9 (premise and topic).
RELATED = [
    ("a", "1", "a"), ("a", "2", "b"), ("b", "3", "c"), ("c", "4", "d"), ("d", "1", "e"),
    ("e", "5", "a"), ("b", "2", "b"), ("b", "3", "c"), ("c", "5", "d"), ("a", "4", "a"),
]  # fmt: skip
DUPLICATES = [(f"p{i % 12}", f"h{i % 4}", f"t{i // 2}") for i in range(24)]  # of 48 pairs, 12 are real
EITHER_SIDE = [(f"x{i % 9}", f"x{(i * i + 1) % 11}", f"t{i % 6}") for i in range(20)]  # a text may stand on both sides
HALF = [(f"p{i // 3}", f"h{i}", "half" if i % 2 else f"t{i}") for i in range(30)]
ALMOST_ALL = [(f"p{i}", f"h{i}", "most" if i < 38 else "other") for i in range(40)]
POOLS = {
    "groups": RELATED, "duplicates": DUPLICATES, "either side": EITHER_SIDE, "half": HALF, "almost all": ALMOST_ALL,
}  # fmt: skip
DRAWS = 400


def are_uniform(rows: Rows, *samples: np.ndarray) -> bool:
    """Whether the candidates of each example come up equally often among its partners, in each and in all of them."""
    of_each, total, free = [], 0.0, 0
    for partners in samples:
        for i, of_example in enumerate(partners):
            counts = np.bincount(of_example, minlength=len(rows))[candidates(rows, i)]
            assert counts.sum() == of_example.size
            if len(counts) > 1:
                statistic, p_value = chisquare(counts)
                of_each.append(p_value)
                total, free = total + statistic, free + len(counts) - 1
    return min(of_each) > 1e-3 / len(of_each) and 1e-3 < chi2.cdf(total, free) < 1 - 1e-3


@pytest.mark.parametrize("blocks", [1, 32], ids=["most from a list", "by chance"])
@pytest.mark.parametrize("rows", POOLS.values(), ids=POOLS)
def test_partners_are_uniform_over_all_candidates(rows, blocks, monkeypatch):
    monkeypatch.setattr(swapping, "BLOCKS", blocks)
    pool, swap = make(rows), Swap("premise", "no")
    by_draw = drawn(swap, pool, DRAWS)
    by_seed = np.hstack([drawn(swap, pool, 4, seed) for seed in range(DRAWS // 4)])
    assert are_uniform(rows, by_draw, by_seed)


def weighted(rows: Rows, sampler: Callable[[Rows, int], list[float]]) -> np.ndarray:
    """Partners by a sampler that gives each candidate a weight."""
    rng = np.random.default_rng(0)
    partners = []
    for i in range(len(rows)):
        weights = np.array(sampler(rows, i))
        partners.append(rng.choice(candidates(rows, i), size=2 * DRAWS, p=weights / weights.sum()))
    return np.array(partners)


def next_unrelated(rows: Rows, i: int) -> list[float]:
    """A random position, or the first unrelated one behind it."""
    mine, n = candidates(rows, i), len(rows)
    return [(j - mine[k - 1]) % n or n for k, j in enumerate(mine)]


def a_premise_first(rows: Rows, i: int) -> list[float]:
    """A random content, and then one of its examples: content that comes often is drawn too rarely."""
    premises = [rows[j][0] for j in candidates(rows, i)]
    return [1 / premises.count(premise) for premise in premises]


@pytest.mark.parametrize("rows", POOLS.values(), ids=POOLS)
def test_a_sampler_that_favours_some_candidates_would_be_seen(rows):
    assert are_uniform(rows, weighted(rows, lambda rows, i: [1.0] * len(candidates(rows, i))))
    assert not are_uniform(rows, weighted(rows, lambda rows, i: [1.5, *[1.0] * (len(candidates(rows, i)) - 1)]))
    assert not are_uniform(rows, weighted(rows, next_unrelated))
    if any([row[0] for row in rows].count(premise) > 1 for premise, *_ in rows):
        assert not are_uniform(rows, weighted(rows, a_premise_first))


def test_partners_are_uniform_in_a_large_pool_of_which_one_group_holds_half():
    """By remainders: a word is scaled, not divided."""
    n = 3001
    spool = ExamplesBuilder(("premise", "hypothesis"), ("topic",))
    for i in range(n):
        spool.add(f"d/validation/{i}", (f"p{i // 3}", f"h{i}"), None, ("half" if i % 2 else f"t{i}",))
    partners = drawn(Swap("premise", None), spool.finish(), 20)
    odd, even = partners[1::2], partners[::2]
    assert not (odd % 2).any()
    for of, last in ((odd // 2, n // 2), (even, n - 1)):
        counts = np.histogram(of, bins=50, range=(0, last + 1))[0]
        width = np.diff(np.ceil(np.linspace(0, last + 1, 51)))  # whole numbers in each bin
        assert chisquare(counts, counts.sum() * width / width.sum()).pvalue > 0.001


@functools.cache
def over_seeds(swap: Swap, uid: int, draw: int) -> np.ndarray:
    """A partner for each of 800 seeds."""
    pool = make(RELATED)
    return np.array([swap.partners(pool, np.array([uid]), draw, seed)[0] for seed in range(800)])


def joint(first: dict, second: dict) -> np.ndarray:
    """How often each pair of partners comes up over 800 seeds; a call is (swap, uid, draw)."""
    table = np.zeros((10, 10), dtype=int)
    np.add.at(table, (over_seeds(**first), over_seeds(**second)), 1)
    return table[table.any(axis=1)][:, table.any(axis=0)]


FIRST = {"swap": Swap("premise", "no"), "uid": 0, "draw": 0}


@pytest.mark.parametrize(
    "other",
    [
        {"draw": 1},
        {"draw": 4},
        {"uid": 3},
        {"swap": Swap("hypothesis", "no")},
        {"swap": Swap("premise", "no", name="partial")},
    ],
    ids=["the next draw", "the last draw", "another uid", "another part", "another name"],
)
def test_draws_are_independent_of(other):
    assert chi2_contingency(joint(FIRST, FIRST | other)).pvalue > 0.001


def test_all_pairs_of_draws_are_independent():
    """Of one example, over all pairs of five draws and many seeds."""
    pool = make(RELATED)
    found = np.array([drawn(Swap("premise", "no"), pool, 5, seed, [0])[0] for seed in range(1500)])
    for a in range(5):
        for b in range(a):
            table = np.zeros((10, 10), dtype=int)
            np.add.at(table, (found[:, a], found[:, b]), 1)
            table = table[table.any(axis=1)][:, table.any(axis=0)]
            assert table.shape == (5, 5)
            assert chi2_contingency(table).pvalue > 0.001


def test_a_partner_may_come_again_in_another_draw():
    """Drawn with replacement: two draws agree once in as many times as there are candidates."""
    table = joint(FIRST, FIRST | {"draw": 1})
    agree = np.trace(table) / table.sum()
    assert abs(agree - 1 / 5) < 4 * np.sqrt(0.2 * 0.8 / table.sum())


def test_neither_the_default_label_nor_the_number_of_draws_changes_a_draw():
    pool, few_draws, many = make(RELATED), Swap("premise", None, draws=2), Swap("premise", "no")
    assert made(few_draws, pool) == [one for one in made(many, pool) if one.draw < 2]


def test_the_partners_are_those_of_every_earlier_run():
    """Published rows can be made again only as long as these stand; the version says so."""
    assert Swap("premise", "no").version == 3
    found = drawn(Swap("premise", "no"), make(RELATED), 5, 0).tolist()
    assert (found[0], found[2]) == ([6, 8, 8, 2, 8], [4, 0, 5, 0, 5])
    assert found == [[by_hand(RELATED, i, draw) for draw in range(5)] for i in range(10)]


def by_hand(rows: Rows, i: int, draw: int) -> int:
    """A partner for seed 0 by Python's own numbers: word after word until one names an unrelated example."""
    text = "\x1f".join(["int:0", "str:swap", "int:2", "str:premise"])
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    uid = int.from_bytes(hashlib.blake2b(f"d/validation/{i}".encode(), digest_size=8).digest(), "little")
    for attempt in itertools.count():
        a, b, c, d = uid % 2**32, uid >> 32, draw, attempt // 4
        k, m = key % 2**32, key >> 32
        for _ in range(10):
            p, q = a * 0xD2511F53, c * 0xCD9E8D57
            a, b, c, d = (q >> 32) ^ b ^ k, q % 2**32, (p >> 32) ^ d ^ m, p % 2**32
            k, m = (k + 0x9E3779B9) % 2**32, (m + 0xBB67AE85) % 2**32
        partner, rest = divmod((a, b, c, d)[attempt % 4] * len(rows), 2**32)
        if rest >= 2**32 % len(rows) and partner in candidates(rows, i):
            return partner
    raise AssertionError


def test_no_partner_no_change():
    alone, related = make([("a", "b", "c")]), make([("a", "b", "c"), ("a", "d", "e"), ("f", "b", "g"), ("h", "i", "c")])
    for pool in (alone, related):
        assert Swap("premise", "no").partners(pool, np.array([0, 0]), 0, 0).tolist() == [-1, -1]
        assert made(Swap("premise", "no"), pool, [0]) == []
    assert {one.partner for one in made(Swap("premise", "no"), related, [1])} <= {"d/validation/2", "d/validation/3"}
    nothing = Swap("premise", "no").changes(alone, np.zeros(0, dtype=np.int64), 0)
    assert (len(nothing), len(nothing.clusters), len(nothing.partner)) == (0, 0, 0)


def test_nobody_is_proposed_again_and_again_where_few_are_admissible(monkeypatch):
    """After 128 attempts a partner comes from a list; it is drawn by other words."""
    asked = []

    def spy(key, uid_keys, draws, bounds, blocks, accepts=None):
        asked.append((blocks, len(uid_keys)))
        return integers(key, uid_keys, draws, bounds, blocks, accepts)

    monkeypatch.setattr(swapping, "integers", spy)
    n = 2000
    pool = make([("all" if i < n - 2 else f"p{i}", f"h{i}", f"t{i}") for i in range(n)])
    partners = drawn(Swap("premise", "no"), pool, 3, positions=list(range(0, n - 2, 10)))
    assert set(np.unique(partners)) == {n - 2, n - 1}
    assert [blocks for blocks, _ in asked] == [range(32), range(32, 2**32)]
    assert asked[0][1] == partners.size > asked[1][1] > 0.8 * partners.size


def test_no_partner_makes_a_pair_of_twice_the_same_text():
    """Where both parts are of one kind (two questions), the partner's must not be the very one that is kept."""
    pool = Examples.of(
        [
            Example("u", {"question1": "How old is Rome?", "question2": "When was Rome founded?"}, "paraphrase"),
            Example("v", {"question1": "When was Rome founded?", "question2": "Who founded Rome?"}, "other"),
            Example("w", {"question1": "Is it late?", "question2": "What time is it?"}, "paraphrase"),
        ]
    )
    assert {one.partner for one in made(Swap("question1", "other", draws=20), pool, [0])} == {"w"}


@pytest.mark.parametrize(
    ("default", "expected"),
    [("neutral", [True, False, True]), ("entailment", [False, True, True]), (None, [True, True, True])],
)
def test_predictions_of_the_default_label_are_left_alone(default, expected):
    answers = pa.array(["entailment", "neutral", "contradiction"])
    mask = Swap("premise", default).eligible(make(RELATED), np.array([4, 0, 2]), answers)
    assert (mask.tolist(), mask.dtype) == (expected, bool)


def test_without_a_default_label_every_prediction_is_eligible():
    assert Swap("premise", None).eligible(make(RELATED), np.arange(4), pa.array(["yes", "no", "", "None"])).all()


def test_it_says_what_it_is():
    swap = Swap("hypothesis", "no")
    assert (swap.name, swap.parts, swap.draws, swap.expectation) == ("swap", ("hypothesis",), 5, "change")


def test_a_pair_that_somebody_wrote_is_not_made_and_is_counted():
    """Of the questions that three pictures share, a swap of the picture would make another real question."""
    asked = {"p1": "abc", "p2": "ab", "p3": "ad", "p4": "e"}
    rows = [
        (picture, question, f"t{picture}{question}") for picture, questions in asked.items() for question in questions
    ]
    pool = make(rows)
    lenders = pool.partners(["premise"])
    real = [
        [j for j, row in enumerate(rows) if not {*row[:2]} & {*rows[i][:2]} and (row[0], rows[i][1], "") in
         {(p, q, "") for p, q, _ in rows}]
        for i in range(len(rows))
    ]  # fmt: skip
    assert lenders.real.tolist() == [len(of) for of in real]
    assert sum(map(len, real)) > 5
    assert lenders.counts.tolist() == [len(candidates(rows, i)) for i in range(len(rows))]
    assert [lenders.all_of(i).tolist() for i in range(len(rows))] == [candidates(rows, i) for i in range(len(rows))]


@given(contents, part_names, st.integers(1, 40))
def test_partners_are_counted_as_one_by_one(rows, part, pairs):
    """However few pairs are looked at together, and with both parts lent: then no pair is made."""
    assume(all(len({row[k] for row in rows}) > 1 for k in (0, 1)))  # what all examples share is no reason to refuse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partnering, "PAIRS", pairs)
        lenders = make(rows).partners(part.split("+"))
        assert lenders.counts.tolist() == [len(candidates(rows, i, part)) for i in range(len(rows))]
        assert lenders.real.tolist() == [
            len(candidates(rows, i, "both")) - len(candidates(rows, i, part)) for i in range(len(rows))
        ]


@given(contents, st.lists(few, min_size=12, max_size=12), seeds)
def test_partners_stay_in_their_split(rows, splits, seed):
    splits = splits[: len(rows)]
    pool = make(rows)
    pool = Examples(pool.table.append_column("meta.split", pa.array(splits)))
    swap = Swap("premise", None, within="split")
    for i, partners in enumerate(drawn(swap, pool, 6, seed)):
        alone = [j for j in range(len(rows)) if splits[j] == splits[i]]
        of_split = [rows[j] for j in alone]
        unrelated = [alone[k] for k in candidates(of_split, alone.index(i), "both")]
        pairs = {row[:2] for row in rows}
        allowed = {j for j in unrelated if (rows[j][0], rows[i][1]) not in pairs} or {-1}
        assert set(partners.tolist()) <= allowed
        assert pool.partners(["premise"], "split").counts[i] == len(allowed - {-1})
    assert swap.settings != Swap("premise", None).settings  # another manifest

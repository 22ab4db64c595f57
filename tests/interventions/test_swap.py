"""The swap: who may be a partner, what changes, and by which random numbers."""

import hashlib
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from heedful.interventions import Swap
from heedful.interventions import swap as swapping
from heedful.records import Example, Examples
from heedful.records import partners as partnering

from changed_examples import made
from tiers import costly

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
            assert (changed.variant, changed.expects) == ("", None)
    assert next(found, None) is None


@given(contents, part_names, seeds, st.sampled_from([1, 32]), st.data())
def test_there_is_none_exactly_where_everyone_is_related(rows, part, seed, blocks, data):
    """Whether partners are met by chance, or most of them listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swapping, "BLOCKS", blocks)
        positions = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30))
        for i, partners in zip(positions, drawn(Swap(part, None), make(rows), 4, seed, positions), strict=True):
            assert set(partners.tolist()) <= (set(candidates(rows, i, part)) or {-1})


@costly
@given(contents, seeds, st.sampled_from([1, 32]))
def test_the_swaps_of_a_pair_have_the_same_partner_who_is_one_for_each_of_them(rows, seed, blocks):
    assume(all(len({row[k] for row in rows}) > 1 for k in (0, 1)))  # what all examples share is no reason to refuse
    pair = "premise", "hypothesis"
    pool, swaps = make(rows), [Swap(part, None, pair=pair, draws=3) for part in (*pair, "premise+hypothesis")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swapping, "BLOCKS", blocks)
        partners = [drawn(swap, pool, 3, seed) for swap in swaps]
        changed = [made(swap, pool, seed=seed) for swap in swaps]
    assert partners[0].tolist() == partners[1].tolist() == partners[2].tolist()
    for i, of_example in enumerate(partners[0]):
        allowed = set(candidates(rows, i, "premise")) & set(candidates(rows, i, "hypothesis"))
        assert set(of_example.tolist()) <= (allowed or {-1})
    for premise, hypothesis, both in zip(*changed, strict=True):
        base, partner = pool[both.position], pool[both.partner]
        assert (premise.partner, hypothesis.partner) == (both.partner, both.partner)
        assert premise.example.parts == base.parts | {"premise": partner.parts["premise"]}
        assert hypothesis.example.parts == base.parts | {"hypothesis": partner.parts["hypothesis"]}
        assert both.example.parts == partner.parts
        assert {each.variant for each in (premise, hypothesis, both)} == {"premise+hypothesis"}


@pytest.mark.parametrize("blocks", [1, 32], ids=["most from a list", "by chance"])
def test_partners_of_a_pair_are_uniform_over_the_candidates_of_both(blocks, monkeypatch):
    monkeypatch.setattr(swapping, "BLOCKS", blocks)
    rows = [(f"p{i % 5}", f"h{i % 7}", f"t{i}") for i in range(20)]  # of 35 pairs, 20 are real
    partners = drawn(Swap("premise", None, pair=("premise", "hypothesis")), make(rows), DRAWS)
    p_values = []
    for i, of_example in enumerate(partners):
        allowed = [set(candidates(rows, i, part)) for part in ("premise", "hypothesis")]
        assert 1 < len(both := allowed[0] & allowed[1]) < min(map(len, allowed))
        counts = np.bincount(of_example, minlength=len(rows))[sorted(both)]
        assert counts.sum() == DRAWS
        p_values.append(chisquare(counts).pvalue)
    assert min(p_values) > 1e-3 / len(p_values)


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


@pytest.mark.parametrize(
    ("default", "expected"),
    [("neutral", [True, False, True]), ("entailment", [False, True, True]), (None, [True, True, True])],
)
def test_predictions_of_the_default_label_are_left_alone(default, expected):
    answers = pa.array(["entailment", "neutral", "contradiction"])
    mask = Swap("premise", default).eligible(make(RELATED), np.array([4, 0, 2]), answers)
    assert (mask.tolist(), mask.dtype) == (expected, bool)


@given(contents, part_names, st.integers(1, 40))
def test_partners_are_counted_as_one_by_one(rows, part, pairs):
    """However few pairs are looked at together, and with both parts lent: then no pair is made."""
    assume(all(len({row[k] for row in rows}) > 1 for k in (0, 1)))  # what all examples share is no reason to refuse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partnering, "PAIRS", pairs)
        lenders = make(rows).partners(part.split("+"))
        assert lenders.counts.tolist() == [len(candidates(rows, i, part)) for i in range(len(rows))]
        assert lenders.excluded_as_real.tolist() == [
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

"""The pigeonhole bootstrap against one that draws clusters one by one, and what its intervals cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.statistics.bootstrap import BLOCK, interval, share
from heedful.metrics.statistics.multiway import PER_BASE, Crossed, resample


def random_set(pairs: int, bases: int, partners: int, seed: int, each: int = 1) -> Crossed:
    """Random pairs; the first two make sure that the last base and the last partner occur.

    ``each`` bases hold the same, and may be of different groups.
    """
    rng = np.random.default_rng(seed)
    base, partner = rng.integers(bases, size=pairs), rng.integers(partners, size=pairs)
    base[0], partner[1] = bases - 1, partners - 1
    hit = (rng.random(pairs) < 0.2 + 0.6 * (base % 2)).astype(float)
    return Crossed(base, base // each, partner, {"hit": hit, "size": rng.normal(size=pairs)}, {"even": base % 2 == 0})


def literal(sets: list[Crossed], held: int, partners: int, resamples: int, seed: int) -> list[dict[str, list]]:
    """Draw what is held and partners one by one, and go through all pairs: the bootstrap as it is defined."""
    rng = np.random.default_rng(seed)
    found = [{name: [] for name in (*s.values, *s.groups, PER_BASE)} for s in sets]
    for _ in range(resamples):
        w, v = [0] * held, [0] * partners
        for _ in range(held):
            w[rng.integers(held)] += 1
        for _ in range(partners):
            v[rng.integers(partners)] += 1
        for s, kept in zip(sets, found, strict=True):
            main = next(iter(s.values))
            groups = {name: list(s.groups[name]) for name in s.groups}
            for name in kept:
                values = s.values.get(name, s.values[main])
                inside = groups.get(name, [True] * len(values))
                if name == PER_BASE:
                    kept[name].append(literal_per_base(s, values, w, v))
                    continue
                total = weight = 0.0
                for b, c, value, chosen in zip(s.held, s.partner, values, inside, strict=True):
                    if chosen:
                        total += w[b] * v[c] * value
                        weight += w[b] * v[c]
                kept[name].append(total / weight if weight else np.nan)
    return found


def literal_per_base(s: Crossed, values, w: list[int], v: list[int]) -> float:
    shares, weights = [], []
    for b in set(s.base.tolist()):
        own = [(v[c], value) for other, c, value in zip(s.base, s.partner, values, strict=True) if other == b]
        weight, drawn = sum(count for count, _ in own), w[s.held[s.base == b][0]]
        if weight and drawn:
            shares.append(drawn * sum(count * value for count, value in own) / weight)
            weights.append(drawn)
    return sum(shares) / sum(weights) if weights else np.nan


@pytest.fixture(scope="module", params=[1, 2, 3])
def both(request):
    """Two sets that share what they hold and partners, each resampled both ways; one to three bases hold the same."""
    each = request.param
    sets = [random_set(30, 9 * each, 7, 0, each), random_set(25, 9 * each, 7, 1, each)]
    return resample(sets, ("test",), resamples=20_000), literal(sets, 9, 7, 4000, 2)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", ["hit", "size", "even", PER_BASE])
def test_resamples_are_those_of_the_literal_bootstrap(both, which, name):
    ours, theirs = (found[which][name] for found in both)
    low, high = np.nanquantile(theirs, [0.025, 0.975])
    assert interval(ours) == pytest.approx((low, high), abs=0.07 * (high - low))
    assert np.nanmedian(ours) == pytest.approx(np.nanmedian(theirs), abs=0.05 * (high - low))


def test_sets_are_resampled_together(both):
    (first, second), (theirs, others) = both
    low, high = np.nanquantile(np.array(theirs["hit"]) - np.array(others["hit"]), [0.025, 0.975])
    assert interval(first["hit"] - second["hit"]) == pytest.approx((low, high), abs=0.07 * (high - low))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 20), st.integers(0, 1000))
def test_resamples_stay_among_the_values_and_most_have_one(bases, partners, more, seed):
    s = random_set(2 + more, bases, partners, seed)
    base, partner = (np.unique(side, return_inverse=True)[1] for side in (s.base, s.partner))
    s = Crossed(base, base, partner, s.values)
    (found,) = resample([s], ("test", seed), resamples=300)
    for name, values in (("hit", s.values["hit"]), ("size", s.values["size"]), (PER_BASE, s.values["hit"])):
        drawn = found[name][~np.isnan(found[name])]
        assert len(drawn) > 60
        assert drawn.min() >= values.min() - 1e-12
        assert drawn.max() <= values.max() + 1e-12


def test_with_one_partner_for_all_it_is_the_bootstrap_over_bases():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 6, 40)
    base = np.repeat(np.arange(40), counts)
    hit = (rng.random(len(base)) < 0.2 + 0.6 * (base % 2)).astype(float)
    (found,) = resample([Crossed(base, base, np.zeros(len(base), dtype=int), {"hit": hit})], ("test",))
    low, high = share(hit, ("test",), base).ci95
    assert interval(found["hit"]) == pytest.approx((low, high), abs=0.04 * (high - low))


def test_bases_that_hold_the_same_come_and_go_together():
    """With one partner for all it is the bootstrap over what is held, whatever numbers the bases have."""
    rng = np.random.default_rng(0)
    base, partner = rng.permutation(60).repeat(2), np.zeros(120, dtype=int)
    held = base % 20
    hit = (rng.random(120) < 0.2 + 0.6 * (held % 2)).astype(float)
    (found,) = resample([Crossed(base, held, partner, {"hit": hit})], ("test",))
    low, high = share(hit, ("test",), held).ci95
    assert interval(found["hit"]) == pytest.approx((low, high), abs=0.04 * (high - low))
    assert np.allclose(found["hit"], found[PER_BASE])  # each has two pairs with the one partner


def test_an_empty_set_has_no_resamples_and_does_not_disturb_the_other():
    nothing = np.zeros(0, dtype=int)
    empty, some = Crossed(nothing, nothing, nothing, {"hit": np.zeros(0)}), random_set(20, 5, 4, 0)
    alone, (none, beside) = resample([some], ("test",), 50), resample([empty, some], ("test",), 50)
    assert none == {}
    assert all(np.array_equal(alone[0][name], beside[name], equal_nan=True) for name in beside)
    assert resample([empty, empty], ("test",)) == [{}, {}]


def test_blocks_only_bound_the_memory(monkeypatch):
    sets, found = [random_set(40, 9, 7, 0)], []
    for block in (BLOCK, 25 * 7):
        monkeypatch.setattr("heedful.metrics.statistics.multiway.BLOCK", block)
        (resampled,) = resample(sets, ("test",), 3000)
        found.append(interval(resampled["hit"]))
        assert all(len(values) == 3000 for values in resampled.values())
    assert found[0] == pytest.approx(found[1], abs=0.05)


def test_the_key_gives_the_numbers():
    sets = [random_set(20, 5, 4, 0)]
    first, again, other = (resample(sets, key, 100)[0]["size"] for key in ((0, "a"), (0, "a"), (1, "a")))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)


def simulate(seed: int, bases: int = 30, partners: int = 20) -> Crossed:
    """Six of ten pairs, each changed with a chance that depends on its base, on its partner and on luck."""
    rng = np.random.default_rng(seed)
    base, partner = (grid.ravel() for grid in np.meshgrid(np.arange(bases), np.arange(partners), indexing="ij"))
    latent = rng.normal(size=bases)[base] + rng.normal(size=partners)[partner] + rng.logistic(size=len(base))
    kept = rng.random(len(base)) < 0.6
    return Crossed(base[kept], base[kept], partner[kept], {"hit": (latent > 0).astype(float)[kept]})


def test_the_interval_covers_the_truth_as_often_as_it_says_and_the_naive_one_does_not():
    """By symmetry half of all pairs change."""
    tries, covered, naive = 300, 0, 0
    for k in range(tries):
        s = simulate(k)
        low, high = interval(resample([s], ("coverage", k), 1000)[0]["hit"])
        covered += low <= 0.5 <= high
        low, high = share(s.values["hit"], ("coverage", k)).ci95
        naive += low <= 0.5 <= high
    assert 0.91 < covered / tries < 0.99
    assert naive / tries < 0.7


def simulate_seeds(seed: int, contexts: int, words: int, seeds: int) -> Crossed:
    """Seeds, each a context with one word pair, against all other word pairs in that context.

    The answer to an example depends on its context, on its word pair (half as much) and on itself (a quarter).
    """
    rng = np.random.default_rng(seed)
    latent = 2 * rng.normal(size=(contexts, 1)) + rng.normal(size=words) + 0.5 * rng.normal(size=(contexts, words))
    context, word = np.divmod(rng.choice(contexts * words, seeds, replace=False), words)
    partner = np.concatenate([np.delete(np.arange(words), w) for w in word])
    base = np.repeat(np.arange(seeds), words - 1)
    held, answer = context[base], latent > 0
    changed = answer[held, word[base]] != answer[held, partner]
    return Crossed(base, np.unique(held, return_inverse=True)[1], partner, {"hit": changed.astype(float)})


def test_seeds_of_the_same_context_are_not_taken_as_independent():
    """Seeds share few contexts: resampling seeds covers the truth too seldom, resampling contexts nearly enough."""
    truth = np.mean([simulate_seeds(10_000 + k, 200, 100, 200).values["hit"].mean() for k in range(100)])
    tries, covered = 100, {"context": 0, "seed": 0}
    for k in range(tries):
        s = simulate_seeds(k, contexts=30, words=40, seeds=300)
        for name, held in (("context", s.held), ("seed", s.base)):
            (found,) = resample([Crossed(s.base, held, s.partner, s.values)], ("seeds", k), 300)
            low, high = interval(found["hit"])
            covered[name] += low <= truth <= high
    assert 0.85 < covered["context"] / tries < 0.97
    assert covered["seed"] / tries < covered["context"] / tries - 0.15

"""Numbers over several choices of demonstrations, with intervals that cross examples and choices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import LEVEL, Bounds, between, interval, shares
from heedful.metrics.statistics.paired import Share
from heedful.records import Measurement

ONE_SIDED = 0.9  # the level of an interval of which each end is outside of the truth in 5 %
ONE_SEED = "one_seed"  # flags a number of several seeds of which one alone has it


@dataclass(frozen=True)
class OverSeeds:
    """A number that was measured with several choices of demonstrations, each the outcome of a seed.

    Attributes:
        value: The mean over seeds, or None where no seed has a number; then ``reason`` says why.
        n: The mean number of examples that it rests on.
        per_seed: The number of each seed that has one.
        undefined: How many seeds have none.
        std_seeds: Sample standard deviation over seeds (ddof 1); None for fewer than two.
        std_draws: The mean over seeds of the standard deviation over draws of counterfactuals; None without draws.
        ci95: 95 % interval [low, high], of :func:`crossed`.
        flags: What a reader must know before quoting the number.
        reason: Why the number is undefined.
    """

    value: float | None
    n: float
    per_seed: tuple[float, ...] = ()
    undefined: int = 0
    std_seeds: float | None = None
    std_draws: float | None = None
    ci95: tuple[float, float] | None = None
    flags: tuple[str, ...] = ()
    reason: str | None = None


def numbers_of(sums: np.ndarray) -> np.ndarray:
    """The number of each seed, float64 [seeds]; nan where it is undefined.

    Args:
        sums: float64 [seeds, clusters, columns]: hits, and of how many; of a difference then the same of what is
            subtracted.
    """
    hits = sums[..., 0::2].sum(axis=1)
    of = sums[..., 1::2].sum(axis=1)
    shares_of = np.divide(hits, of, out=np.full(of.shape, np.nan), where=of != 0)
    return shares_of[:, 0] - shares_of[:, 1] if shares_of.shape[1] == 2 else shares_of[:, 0]


def crossed(sums: np.ndarray, level: float = LEVEL) -> Bounds:
    """The interval of a mean over seeds, over clusters of examples and over seeds at once.

    How far an end is from the mean of S seeds is the root of the sum of two squares: how far that of the interval over
    clusters is, with all seeds on the same examples, and

        t std / sqrt(S)

    std is the sample standard deviation over seeds, and t the quantile of Student's distribution with S - 1 degrees of
    freedom: it is what another S seeds could have given. Draws of counterfactuals do not count apart: each example has
    its own, so that they come and go with its cluster. With one seed it is the interval over clusters alone, the same
    as that of any evaluation, and says nothing of other demonstrations. Two seeds give wide intervals, as they should.

    Args:
        sums: As for :func:`numbers_of`, of seeds that each have a number; the same clusters for each.
        level: How often the interval holds the truth.
    """
    seeds, clusters, _ = sums.shape
    hits, of, *subtracted = sums.reshape(seeds * clusters, -1).T
    cells = np.repeat(np.arange(seeds), clusters)
    ways = [np.tile(np.arange(clusters), seeds)]
    if subtracted:
        low, high = between((hits, of), (subtracted[0], subtracted[1]), cells, ways, level)
    else:
        low, high = interval(shares(hits, of, cells, ways), level)
    if seeds == 1:
        return low, high
    numbers = numbers_of(sums)
    value = float(numbers.mean())
    away = float(stdtrit(seeds - 1, (1 + level) / 2) * numbers.std(ddof=1) / np.sqrt(seeds))
    low, high = value - np.hypot(value - low, away), value + np.hypot(high - value, away)
    return max(-1.0 if subtracted else 0.0, float(low)), min(1.0, float(high))


def sums_of(measured: Sequence[Measurement]) -> np.ndarray:
    """The sums of shares that were made under :func:`.paired.recording`, one or more: as for :func:`numbers_of`."""
    entries = [m.entries for m in measured if isinstance(m, Share)]
    names, clusters = np.unique(np.concatenate([e.ways[0] for e in entries]), return_inverse=True)
    sums = np.zeros((len(entries), len(names), 2))
    ends = np.cumsum([len(e.of) for e in entries])
    for k, (e, at) in enumerate(zip(entries, np.split(clusters, ends[:-1]), strict=True)):
        sums[k] = np.stack([np.bincount(at, values, len(names)) for values in (e.hits, e.of)], axis=1)
    return sums


def over_seeds(
    measured: Sequence[Measurement], reason: str = "no example counts", has_interval: bool = True
) -> OverSeeds:
    """The mean over seeds of a number, its standard deviations and its interval.

    Args:
        measured: The number of each seed, made under :func:`.paired.recording` if it has an interval.
        reason: Why the number is undefined, if it is for all seeds. Seeds without a number do not count.
        has_interval: Whether it has an interval. With one seed that is its own.
    """
    defined = [m for m in measured if m.value is not None]
    stds = [m.std for m in defined if m.std is not None]
    mean = _mean([m.value for m in measured], [m.n for m in measured], reason)
    if not defined or not has_interval:
        bounds = None
    else:
        bounds = crossed(sums_of(defined)) if len(defined) > 1 else defined[0].ci95
    return replace(mean, std_draws=float(np.mean(stds)) if stds else None, ci95=bounds)


def less_over_seeds(pairs: Sequence[tuple[Measurement, Measurement]], reason: str) -> OverSeeds:
    """The mean over seeds of one number less another, with its interval.

    Args:
        pairs: Both numbers of each seed, made under :func:`.paired.recording` of the same examples.
        reason: As for :func:`over_seeds`.
    """
    changes = [None if one.value is None or other.value is None else one.value - other.value for one, other in pairs]
    mean = _mean(changes, [one.n for one, _ in pairs], reason)
    if mean.value is None:
        return mean
    sums = sums_of([m for pair, change in zip(pairs, changes, strict=True) if change is not None for m in pair])
    return replace(mean, ci95=crossed(np.concatenate([sums[0::2], sums[1::2]], axis=2)))


def _mean(values: Sequence[float | None], examples: Sequence[float], reason: str) -> OverSeeds:
    """The mean of those that are defined."""
    numbers = [value for value in values if value is not None]
    undefined = len(values) - len(numbers)
    if not numbers:
        return OverSeeds(None, 0.0, undefined=undefined, reason=reason)
    return OverSeeds(
        value=float(np.mean(numbers)),
        n=float(np.mean([n for value, n in zip(values, examples, strict=True) if value is not None])),
        per_seed=tuple(numbers),
        undefined=undefined,
        std_seeds=float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None,
        flags=(ONE_SEED,) if undefined and len(numbers) == 1 else (),
    )


def is_above(pairs: Sequence[tuple[Measurement, Measurement]]) -> bool:
    """Whether one number is above another over seeds and examples (p < 0.05, one-sided).

    Args:
        pairs: Both numbers of each seed, of the same entries, made under :func:`.paired.recording`.
    """
    sums = sums_of([m for pair in pairs for m in pair])
    won = sums[0::2, :, 0] - sums[1::2, :, 0]
    return is_above_zero(np.stack([won, sums[0::2, :, 1]], axis=2))


def is_above_zero(sums: np.ndarray) -> bool:
    """Whether what is won less what is lost is above 0 over seeds and examples: by a one-sided test, p < 0.05.

    Args:
        sums: float64 [seeds, clusters, 2], the sum over a cluster of what is won, negative if it is lost, and of how
            many examples.
    """
    others = np.stack([np.zeros_like(sums[..., 0]), sums[..., 1]], axis=-1)
    return crossed(np.concatenate([sums, others], axis=-1), ONE_SIDED)[0] > 0

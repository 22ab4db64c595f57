"""Numbers over several choices of demonstrations, with intervals that cross examples and choices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import LEVEL, Bounds, between, interval, shares

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


def over_seeds(
    sums: np.ndarray,
    examples: Sequence[int],
    draws: Sequence[float | None] = (),
    reason: str = "no example counts",
    has_interval: bool = True,
) -> OverSeeds:
    """The mean over seeds of a share or of a difference of two, its standard deviations and its interval.

    Args:
        sums: As for :func:`numbers_of`.
        examples: How many examples the number of each seed rests on.
        draws: The standard deviation over draws of each seed, where there are draws.
        reason: Why the number is undefined, if it is for all seeds. Seeds without a number do not count.
        has_interval: Whether it has an interval.
    """
    numbers = numbers_of(sums)
    defined = ~np.isnan(numbers)
    undefined = int((~defined).sum())
    if not defined.any():
        return OverSeeds(None, 0.0, undefined=undefined, reason=reason)
    numbers = numbers[defined]
    stds = [std for std, counts in zip(draws, defined, strict=False) if counts and std is not None]
    return OverSeeds(
        value=float(numbers.mean()),
        n=float(np.mean(np.asarray(examples)[defined])),
        per_seed=tuple(numbers.tolist()),
        undefined=undefined,
        std_seeds=float(numbers.std(ddof=1)) if len(numbers) > 1 else None,
        std_draws=float(np.mean(stds)) if stds else None,
        ci95=crossed(sums[defined]) if has_interval else None,
        flags=(ONE_SEED,) if undefined and len(numbers) == 1 else (),
    )


def is_above_zero(sums: np.ndarray) -> bool:
    """Whether what is won less what is lost is above 0 over seeds and examples: by a one-sided test, p < 0.05.

    Args:
        sums: float64 [seeds, clusters, 2], the sum over a cluster of what is won, negative if it is lost, and of how
            many examples.
    """
    others = np.stack([np.zeros_like(sums[..., 0]), sums[..., 1]], axis=-1)
    return crossed(np.concatenate([sums, others], axis=-1), ONE_SIDED)[0] > 0

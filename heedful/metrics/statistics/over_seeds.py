"""Means over seeds with intervals over examples and seeds; a seed chooses the demonstrations of a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import LEVEL, Bounds, Entries, interval, paired_interval, share_of
from heedful.metrics.statistics.paired import RecordedShare, aligned, joined, number_ways
from heedful.records import Measurement

ONE_SIDED = 0.9  # level of a two-sided interval with a one-sided coverage of 95 %
ONE_SEED = "one_seed"  # flag of a number that is undefined for all seeds but one


@dataclass(frozen=True)
class OverSeeds:
    """Mean of a number over several seeds.

    Attributes:
        value: The mean over seeds; None if the number is undefined for all seeds.
        n: Mean number of examples.
        per_seed: The number for each seed for which it is defined.
        undefined: Number of seeds for which the number is undefined.
        std_seeds: Sample standard deviation over seeds (ddof 1); None for fewer than two.
        std_draws: Mean over seeds of the standard deviation over draws; None without draws.
        ci95: 95 % interval [low, high] by :func:`crossed`.
        flags: Flags of the number.
        reason: Reason why the number is undefined.
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


def crossed(bounds: Bounds, numbers: Sequence[float], least: float, level: float = LEVEL) -> Bounds:
    """Return the interval of a mean over seeds, widened to cover the choice of the seeds.

    A seed chooses the demonstrations (example inputs with answers) in a prompt. For one seed, ``bounds`` is returned
    unchanged, and does not cover other demonstrations.

    Args:
        bounds: Interval of the mean for the given seeds. It covers the choice of the examples and of the lenders, which
            are the examples that new parts come from.
        numbers: The number for each seed.
        least: Lowest possible value of the mean: 0, or -1 for a difference.
        level: Coverage of the interval.
    """
    # An end is away from the mean by the root of a sum of two squares: the distance of that end of ``bounds``, and half
    # the width of Student's interval over seeds. Draws need no term of their own: each example has its own draws, so
    # their variance is part of the variance between examples.
    if len(numbers) == 1:
        return bounds
    value = float(np.mean(numbers))
    away = float(stdtrit(len(numbers) - 1, (1 + level) / 2) * np.std(numbers, ddof=1) / np.sqrt(len(numbers)))
    low, high = value - np.hypot(value - bounds[0], away), value + np.hypot(bounds[1] - value, away)
    return max(least, float(low)), min(1.0, float(high))


def entries_of_seeds(measured: Sequence[Measurement]) -> Entries:
    """Concatenate the entries of a share for several seeds, so that :func:`share_of` computes the mean over seeds.

    A share is the sum of hits divided by the sum of counts over entries. An entry is the data of one observation, such
    as a changed example.

    Args:
        measured: The share for each seed, computed within :func:`.paired.recording`, so that it is a
            :class:`.paired.RecordedShare` with entries. Other measurements are skipped.

    Returns:
        All entries. Their field ``cells`` holds the index of the seed, counted from 0 among the measurements that are
        not skipped. It replaces the cells that the entries had before, such as labels.
    """
    entries = [m.entries for m in measured if isinstance(m, RecordedShare)]
    return joined([e._replace(cells=np.full(len(e.counts), seed)) for seed, e in enumerate(entries)])


def over_seeds(
    measured: Sequence[Measurement], reason: str = "no example counts", has_interval: bool = True
) -> OverSeeds:
    """Compute the mean of a number over the seeds for which it is defined, with standard deviations and interval.

    Args:
        measured: The number for each seed, computed within :func:`.paired.recording` if it has an interval.
        reason: Reason why the mean is undefined, if the number is undefined for all seeds.
        has_interval: Whether to compute an interval. For one seed it is the interval of the number.
    """
    defined = [m for m in measured if m.value is not None]
    stds = [m.std for m in defined if m.std is not None]
    mean = _mean([m.value for m in measured], [m.n for m in measured], reason)
    if not defined or not has_interval:
        bounds = None
    else:
        bounds = _interval(defined) if len(defined) > 1 else defined[0].ci95
    return replace(mean, std_draws=float(np.mean(stds)) if stds else None, ci95=bounds)


def less_over_seeds(pairs: Sequence[tuple[Measurement, Measurement]], reason: str) -> OverSeeds:
    """Compute the mean over seeds of the difference of two numbers, the first minus the second, with its interval.

    Args:
        pairs: Both numbers for each seed, computed within :func:`.paired.recording` from the same examples.
        reason: Reason why the mean is undefined, if there is no seed for which both numbers are defined.
    """
    changes = [None if None in (a.value, b.value) else (a.value or 0.0) - (b.value or 0.0) for a, b in pairs]
    mean = _mean(changes, [first.n for first, _ in pairs], reason)
    if mean.value is None:
        return mean
    defined = [pair for pair, change in zip(pairs, changes, strict=True) if change is not None]
    return replace(mean, ci95=_interval_of_difference(defined))


def _mean(values: Sequence[float | None], examples: Sequence[float], reason: str) -> OverSeeds:
    """Compute the mean of a number over the seeds for which it is defined, without an interval.

    ``values`` are the numbers for each seed, None if undefined; ``examples`` are the numbers of examples.
    """
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
    """Whether the mean over seeds of the first number is above the mean of the second number (p < 0.05, one-sided).

    Args:
        pairs: Both numbers for each seed, computed within :func:`.paired.recording` from the same examples.
    """
    return _interval_of_difference(pairs, ONE_SIDED)[0] > 0


def _interval(measured: Sequence[Measurement]) -> Bounds:
    """Return the interval of the mean over seeds of a share, given the share for each seed."""
    bounds = interval(share_of(number_ways(entries_of_seeds(measured))))
    return crossed(bounds, [m.value for m in measured if m.value is not None], 0.0)


def _interval_of_difference(pairs: Sequence[tuple[Measurement, Measurement]], level: float = LEVEL) -> Bounds:
    """Return the interval of the mean over seeds of the first share minus the second, both given for each seed."""
    first, second = (entries_of_seeds(measured) for measured in zip(*pairs, strict=True))
    bounds = paired_interval(*aligned(first, second), level)
    changes = [(first.value or 0.0) - (second.value or 0.0) for first, second in pairs]
    return crossed(bounds, changes, -1.0, level)

"""Means over runs that differ in a seed alone, with intervals over examples and seeds.

A seed is the seed of a training, or chooses the demonstrations (example inputs with answers) of a prompt.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from heedful.metrics.statistics.draws import LEAST, is_known
from heedful.metrics.statistics.intervals import LEVEL, Bounds, Entries, interval, paired_interval, share_of
from heedful.metrics.statistics.paired import RecordedShare, aligned, change, joined, number_ways
from heedful.records import Measurement


def crossed(bounds: Bounds, numbers: Sequence[float], least: float, level: float = LEVEL) -> Bounds:
    """Return the interval of a mean over seeds, widened to cover the choice of the seeds.

    For one seed, ``bounds`` is returned unchanged, and does not cover other seeds.

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


def entries_of_seeds(measured: Sequence[Measurement]) -> Entries | None:
    """Concatenate the entries of a share for several seeds, so that :func:`share_of` computes the mean over seeds.

    A share is the sum of hits divided by the sum of counts over entries. An entry is the data of one observation, such
    as a changed example.

    Args:
        measured: The share for each seed, computed within :func:`.paired.recording`.

    Returns:
        All entries; the cells of the first seed come first, then the cells of the second. None if a number is not a
        recorded share, or if the seeds have other cells, such as labels, so that no share is their mean.
    """
    entries = [m.entries for m in measured if isinstance(m, RecordedShare)]
    shapes = {(int(e.cells.max()) + 1, len(e.ways), e.are_pairs) for e in entries}
    if len(entries) < len(measured) or len(shapes) != 1:
        return None
    ((cells, _, _),) = shapes
    return joined([e._replace(cells=e.cells + seed * cells) for seed, e in enumerate(entries)])


def over_seeds(measured: Sequence[Measurement]) -> Measurement:
    """Compute the mean of a number over seeds.

    Args:
        measured: The number for each seed, computed within :func:`.paired.recording`; else the mean has no interval.

    Returns:
        The mean: ``n`` is the mean number of examples, ``draws`` the number of seeds, ``per_draw`` the numbers,
        ``std`` their sample standard deviation (ddof 1). It has each flag that a seed has. It is undefined if a
        seed has no value, or too few examples for one. A single number is returned as it is.
    """
    first, *more = measured
    if not more:
        return first
    n = round(np.mean([m.n for m in measured]))
    flags = tuple(dict.fromkeys(flag for m in measured for flag in m.flags))
    if unknown := [m for m in measured if not is_known(m)]:
        why = next((m.reason for m in unknown if m.reason), f"fewer than {LEAST} examples count")
        reason = f"in {len(unknown)} of {len(measured)} runs: {why}"
        return Measurement(None, n, flags=flags, reason=reason, unit=first.unit)
    values = tuple(m.value for m in measured if m.value is not None)
    mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
    entries = entries_of_seeds(measured)
    bounds = entries and crossed(interval(share_of(number_ways(entries))), values, 0.0)
    return Measurement(mean, n, len(values), std, bounds, values, flags, unit=first.unit)


def change_over_seeds(first: Sequence[Measurement], second: Sequence[Measurement]) -> Measurement | None:
    """Compute the mean over seeds of the change of a number, second minus first, with its paired interval.

    Args:
        first: A number for each seed, computed within :func:`.paired.recording`.
        second: The same number of other runs on the same examples, for the same seeds.

    Returns:
        The change; None if a number is undefined or no recorded share, or if the shares have different cells (labels).
    """
    changes = [change(*pair) for pair in zip(first, second, strict=True)]
    differences = [m for m in changes if m is not None]
    entries = [entries_of_seeds(numbers) for numbers in (second, first)]
    if len(changes) == 1 or len(differences) < len(changes) or None in entries:
        return changes[0] if len(changes) == 1 else None
    values = tuple(m.value for m in differences if m.value is not None)
    bounds = crossed(paired_interval(*aligned(*entries)), values, -1.0)  # type: ignore[arg-type]
    std = float(np.std(values, ddof=1))
    return Measurement(float(np.mean(values)), min(m.n for m in differences), len(values), std, bounds, values)

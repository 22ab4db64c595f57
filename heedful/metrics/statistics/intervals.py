"""Closed-form intervals of shares, of differences and of ratios of shares, over clusters of entries.

A share is a sum of hits divided by a sum of counts over entries, such as one entry per changed example. The entries of
a cluster, such as the examples of one article, depend on each other.

The interval of a share is the Clopper-Pearson interval (1934) for the effective number of entries: the number of
independent entries with the same variance as the clusters (Korn and Graubard 1998, "Confidence intervals for
proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24). If each
entry is a cluster, the result is the Clopper-Pearson interval. If all entries are hits, or none is, the effective
number of entries is the number of clusters.

That interval is too narrow if a few large clusters contain all hits. So the interval is computed as if the data had one
more cluster of typical size. For the upper end, all entries of this cluster are hits; for the lower end, none is.
Clopper and Pearson add one hit in the same way, and Fay and Feuer one event (1997, "Confidence intervals for directly
standardized rates", Statistics in Medicine 16).

A swap is a pair of an example and a lender, the example that lends the new part. Two swaps depend on each other if an
example of one swap, in either role, occurs in the other swap. :func:`covariances` computes three variances: of dyads
(Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation for dyadic data", Political Analysis 23), between
examples, and between lenders. The interval uses the largest.

Intervals of differences and ratios combine, like standard errors, the distances of each share to the ends of its
interval (MOVER: Zou and Donner 2008, Statistics in Medicine 27; ratios: Donner and Zou 2012, Statistical Methods in
Medical Research 21). Nothing is drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

LEVEL = 0.95
ENOUGH = 20  # clusters for a reliable variance; in simulations, one large cluster dominated fewer
ROUNDING = 1e-12  # smaller distances from the mean are rounding errors
Bounds = tuple[float, float]


class Entries(NamedTuple):
    """The data of a share: one entry per observation, such as a changed example.

    A cell is a group of entries that has a share of its own, such as the entries of one label. The share of all entries
    is the unweighted mean of the shares of the cells. A cluster is a group of entries that depend on each other. There
    may be several groupings into clusters, called ways, such as by the example and by the article.

    Attributes:
        hits: Hits or score per entry, between 0 and ``counts``: float64 [entries].
        counts: Weight per entry, with a positive sum in each cell: float64 [entries].
        cells: Id of the cell of each entry, from 0 without gaps: int [entries].
        ways: For each way, the id of the cluster of each entry, from 0: int [entries] each.
        are_pairs: Whether each entry is a swap, a pair of an example and the lender of its new part. There are then two
            ways: the first holds the cluster of the example, the second the cluster of the lender. An id means the same
            cluster in both ways.
    """

    hits: np.ndarray
    counts: np.ndarray
    cells: np.ndarray
    ways: Sequence[np.ndarray]
    are_pairs: bool = False


@dataclass(frozen=True)
class Share:
    """A share of hits among entries (such as predictions), and the numbers from which its interval is computed.

    Hits are counted events, such as changed predictions; a score such as 0.5 is half a hit. Entries are grouped into
    clusters, such as all predictions for examples of one article. There may be several ways of grouping: swaps are
    grouped by the swapped example, and by the lender (the example that lends the new part).

    Attributes:
        value: The share, or the unweighted mean of several shares, between 0 and 1.
        influence: For each way of grouping, the excess hits of each cluster: float64 [clusters], with sum 0. The excess
            is (hits - value * counts) of the cluster, divided by the counts of all clusters.
        clusters: For each way of grouping, the number of clusters.
        down: Decrease of the value if one more cluster of typical size is added, in which no entry is a hit.
        up: Increase of the value if one more cluster of typical size is added, in which all entries are hits.
        least: Variance of the value if all entries were independent, a lower bound of the variance; 0 if hits or counts
            are not whole numbers.
        entries: Number of entries: the sum over clusters of the largest count in any cell, since cells such as seeds
            have the same entries; inf if hits or counts are not whole numbers. The largest number over the ways.
        dyads: For swaps, two sums of excess hits: of the swaps whose example or lender is in a cluster, float64
            [clusters], and of the swaps between two different clusters in either direction, float64 [pairs of
            clusters]. Empty if entries are not swaps.
    """

    value: float
    influence: tuple[np.ndarray, ...]
    clusters: tuple[int, ...]
    down: float
    up: float
    least: float = 0.0
    entries: float = np.inf
    dyads: tuple[np.ndarray, ...] = ()

    @property
    def misses(self) -> "Share":
        """The share of misses: 1 minus the share of hits, with the same variance."""
        influence, dyads = (tuple(-z for z in column) for column in (self.influence, self.dyads))
        return replace(self, value=1 - self.value, influence=influence, down=self.up, up=self.down, dyads=dyads)

    @property
    def fewest(self) -> int:
        """The smallest number of clusters among the groupings of the entries: the minimum of ``clusters``.

        If entries are pairs of a swapped example and a lender (the example that lends the new part), a grouping with
        one cluster is ignored, since one cluster is no sample. The result is 1 if all groupings have only one cluster.
        """
        if not self.dyads:
            return min(self.clusters)
        return min((n for n in self.clusters if n > 1), default=1)

    @property
    def more(self) -> float:
        """Weight of the imaginary cluster that widens the interval: 1, or 20 / k for k > 20 effective clusters.

        The interval is computed as if one more cluster were in the data: all hits for the upper end, all misses for the
        lower end. The effective number of clusters is the number of clusters if all influence the value equally, and
        smaller if a few clusters have most of the influence. If entries are grouped in several ways, the smallest k
        decides.
        """
        squares = [z**2 for z in self.influence]
        effective = [z.sum() ** 2 / (z @ z) if z.any() else 0.0 for z in squares]  # effective numbers of clusters
        return min(1.0, ENOUGH / max(min(effective), ENOUGH))


def share_of(entries: Entries) -> Share:
    """Compute a share from its entries: for each cell (such as a label or a seed), hits divided by counts; then the
    mean over cells.
    """
    hits, counts, cells, ways, are_pairs = entries
    size = np.bincount(cells, counts)
    value = np.bincount(cells, hits) / size
    most = max(int(way.max()) for way in ways) + 1
    influence, clusters, reach, numbers, factors = [], [], [], [], []
    for way in ways:
        shape = most if are_pairs else int(way.max()) + 1, len(size)
        at = way * len(size) + cells
        count, hit = (np.bincount(at, column, shape[0] * shape[1]).reshape(shape) for column in (counts, hits))
        weight = count / size
        away = hit / size - value * weight
        away[np.abs(away) < ROUNDING * weight] = 0.0
        influence.append(away.mean(axis=1))
        clusters.append(int(weight.any(axis=1).sum()))
        # a typical cluster: the expected weight of the cluster of a random entry is the sum of squared weights
        usual = weight * np.sqrt((weight**2).sum(axis=0))
        reach.append([np.linalg.norm((usual * side).mean(axis=1)) for side in (value, 1 - value)])
        numbers.append(float(count.max(axis=1).sum()))
        # cells with the same entries, such as seeds, may be correlated, which increases the variance by a factor
        squares = (away**2).sum()
        factors.append(float((away.sum(axis=1) ** 2).sum() / squares if squares else size.sum() / numbers[-1]))
    down, up = np.max(reach, axis=0).tolist()
    result = Share(float(np.clip(value.mean(), 0, 1)), tuple(influence), tuple(clusters), down, up)
    if are_pairs:
        excess = (hits - value[cells] * counts) / size[cells] / len(size)
        is_within = ways[0] == ways[1]
        touching = np.sum(influence, axis=0) - np.bincount(ways[0], excess * is_within, most)
        _, pair = np.unique(np.minimum(*ways) * most + np.maximum(*ways), return_inverse=True)
        between = np.bincount(pair, np.where(is_within, 0, excess))
        result = replace(result, dyads=(touching, between))
    if (hits != np.rint(hits)).any() or (counts != np.rint(counts)).any():
        return result
    least = float((value * (1 - value) / size).sum()) / len(size) ** 2
    return replace(result, least=least * max(1.0, min(factors)), entries=max(numbers))


def turns(*columns: np.ndarray) -> np.ndarray:
    """Return, for each entry, the number of earlier entries with the same values in all columns: int [entries]."""
    order = np.lexsort(columns)
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    turn = np.empty_like(order)
    turn[order] = np.arange(len(order)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    return turn


def gains_and_losses(entries: Entries) -> tuple[Share, Share]:
    """Return the share of gains (positive changes) and the share of losses (negative changes) among entries.

    The share of gains minus the share of losses is the mean change.

    Args:
        entries: Entries in which ``hits`` holds changes between ``-counts`` and ``counts``.
    """
    # With one way of clustering, the changes of a cluster are summed, so that each cluster is a gain or a loss.
    # With several ways, each entry is a change; for pairs in several cells, the sum of the entries of a pair, one per
    # cell.
    changes, counts, cells, ways, are_pairs = entries
    size = np.bincount(cells, counts) * (cells.max() + 1)
    changes = changes / size[cells]
    counts = counts / size[cells]
    is_one_way = len(ways) == 1
    if is_one_way:
        changes = np.bincount(ways[0], changes)
        counts = np.bincount(ways[0], counts)
        ways = [np.arange(len(counts))]
    elif are_pairs and cells.any():
        (*ways, _), at = np.unique([*ways, turns(*ways, cells)], axis=1, return_inverse=True)
        changes, counts = (np.bincount(at.ravel(), column) for column in (changes, counts))
    together = np.zeros(len(counts), dtype=np.int64)
    parts = np.maximum(changes, 0), np.maximum(-changes, 0)
    gained, lost = (share_of(Entries(part, counts, together, ways, are_pairs)) for part in parts)
    if not is_one_way:
        return gained, lost
    # the cluster that an interval adds is as mixed as the clusters of the other sign
    part_gained, part_lost = (_cautious_hit_share(part, counts) for part in parts)
    return replace(gained, up=gained.up * part_lost), replace(lost, up=lost.up * part_gained)


def _cautious_hit_share(hits: np.ndarray, counts: np.ndarray) -> float:
    """Estimate the share of hits within a cluster that has hits, from sums per cluster: float64 [clusters] each."""
    # The estimate is the mean of hits / counts, weighted by hits. Since a mean over few clusters is unreliable, 20
    # clusters with the share 1 are added; a larger share gives a wider interval.
    total = hits.sum()
    if not total:
        return 1.0
    effective = total**2 / (hits @ hits)  # effective number of clusters with hits
    part = (hits**2 / np.where(counts, counts, 1)).sum() / total
    return float((effective * part + ENOUGH) / (effective + ENOUGH))


def covariances(first: Share, second: Share) -> np.ndarray:
    """Estimate the covariance of two shares over the same clusters: float64 [estimates].

    The variance of a share is the largest estimate of the covariance of the share with itself.

    Returns:
        For entries that are not swaps, one estimate: the covariance between clusters. If entries are grouped into
        clusters in several ways, such as by context and by word pair, the covariances of all groupings are added.

        For swaps (pairs of an example and its lender, the example that lends the new part), three estimates. Two swaps
        count as dependent in the first estimate if they have any cluster in common (dyads); in the second, only if
        their examples are in the same cluster; in the third, only if their lenders are in the same cluster.
    """
    # n / (n - 1) as for any sample variance: influences sum to 0 by construction
    counts = [max(pair) for pair in zip(first.clusters, second.clusters, strict=True)]
    influences = zip(first.influence, second.influence, counts, strict=True)
    ways = [float(z @ w) * n / max(1, n - 1) for z, w, n in influences]
    if not (first.dyads and second.dyads):
        return np.array([sum(ways)])
    # the product of two swaps between the same two clusters is part of both clusters, and is subtracted once
    touching, between = (z @ w for z, w in zip(first.dyads, second.dyads, strict=True))
    fewer = min(counts)
    return np.array([(touching - between) * fewer / max(1, fewer - 1), *ways])


def interval(share: Share, level: float = LEVEL) -> Bounds:
    """Return the interval of a share with the coverage ``level``; it contains the value and has a positive width."""
    tail = (1 - level) / 2
    p = share.value
    q = 1 - p
    for_low = _effective_entries(share.misses, tail)
    for_high = _effective_entries(share, tail)
    low = float(betaincinv(p * for_low, q * for_low + 1, tail)) if p > 0 else 0.0
    high = float(betaincinv(p * for_high + 1, q * for_high, 1 - tail)) if q > 0 else 1.0
    return low, high


def _effective_entries(share: Share, tail: float) -> float:
    """Return the number of independent entries with the variance of a share (of misses for the lower end)."""
    q = 1 - share.value
    one_more = share.more * share.up
    variance = _variance(share, tail) + one_more * share.up
    if q > 0 and variance == 0:  # no cluster has an influence, as in a correlation with all labels permuted
        return float(share.fewest)
    return q * (share.value + one_more) / variance if q > 0 else np.inf


def _variance(share: Share, tail: float) -> float:
    """Return the variance of a share, corrected for few clusters, for an interval with ``tail`` beyond each end."""
    few = share.fewest - 1
    n = share.entries
    if not few:
        return share.least
    # The correction is a squared ratio of quantiles of Student's t. If each entry is a cluster, the factors cancel, and
    # the variance is p * q / n.
    entries = -ndtri(tail) if np.isinf(n) else -stdtrit(n - 1, tail) * np.sqrt(n / (n - 1))
    return max(covariances(share, share).max() * float(stdtrit(few, tail) / entries) ** 2, share.least)


def difference_interval(first: Share, second: Share, level: float = LEVEL, widening: float = 1.0) -> Bounds:
    """Return the interval of the first share minus the second, over the same clusters.

    Args:
        first: The first share.
        second: The second share.
        level: Coverage of the interval.
        widening: Factor of the distances between the difference and the ends of the interval.
    """
    value = first.value - second.value
    squares = [near**2 + far**2 - 2 * cross for near, far, cross in _distances(first, second, level)]
    low, high = (widening * np.sqrt(np.maximum(squares, 0))).tolist()
    return max(-1.0, value - low), min(1.0, value + high)


def paired_interval(first: Entries, second: Entries, level: float = LEVEL) -> Bounds:
    """Return the interval of the first share minus the second share, from the gains and losses of all entries.

    An entry that one share lacks gets the value of this share, which decreases the variance of this share. So both
    ends move away from the difference by the factor n / sqrt(a b), where n counts all entries, and a and b count the
    entries that the first and the second share have.

    Args:
        first: The entries (such as predictions) of the first share.
        second: The entries of the second share, in the same order and with the same clusters. A missing entry has hits
            0 and count 0.
        level: Coverage of the interval.
    """
    counts, cells = np.maximum(first.counts, second.counts), first.cells
    size, *sizes = (np.bincount(cells, column) for column in (counts, first.counts, second.counts))
    hits, other_hits = (
        e.hits + (np.bincount(cells, e.hits) / n)[cells] * (counts - e.counts)
        for e, n in zip((first, second), sizes, strict=True)
    )
    widening = float(np.sqrt((size**2 / np.prod(sizes, axis=0)).mean()))
    gained, lost = gains_and_losses(first._replace(hits=hits - other_hits, counts=counts))
    return difference_interval(gained, lost, level, widening)


def ratio_interval(first: Share, second: Share, level: float = LEVEL) -> Bounds:
    """Return the interval of the first share divided by the second, over the same clusters.

    The second share must not be 0. The upper end may be inf.
    """
    (low_first, high_second, cross_low), (high_first, low_second, cross_high) = _distances(first, second, level)
    product = first.value * second.value
    low = 0.0
    if low_first < first.value:
        square = first.value**2 - low_first**2
        root = np.sqrt(max(0.0, (product - cross_low) ** 2 - square * (second.value**2 - high_second**2)))
        low = float(square / (product - cross_low + root))
    high = np.inf
    if low_second < second.value:
        square = second.value**2 - low_second**2
        root = np.sqrt(max(0.0, (product - cross_high) ** 2 - square * (first.value**2 - high_first**2)))
        high = float((product - cross_high + root) / square)
    return low, high


def _distances(first: Share, second: Share, level: float) -> list[tuple[float, float, float]]:
    """Return the terms of the method MOVER (Zou and Donner, 2008) for the low and for the high end of a difference."""
    # The low end has the distance of the first share to its low end, the distance of the second share to its high end,
    # and the product of both distances and the correlation; the high end has the same with the ends exchanged
    (low, high), (least, most) = (interval(share, level) for share in (first, second))
    distances = []
    for one_end, opposite, near, far in (
        (first.misses, second, first.value - low, most - second.value),
        (first, second.misses, high - first.value, second.value - least),
    ):
        spread = [covariances(share, share).max() + share.more * share.up**2 for share in (one_end, opposite)]
        # the lowest correlation gives the widest interval
        correlation = (-covariances(one_end, opposite)).min() / np.sqrt(np.prod(spread)) if all(spread) else 0.0
        distances.append((near, far, near * far * float(np.clip(correlation, -1, 1))))
    return distances

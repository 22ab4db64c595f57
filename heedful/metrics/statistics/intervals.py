"""Intervals of shares, of their differences and of their ratios, in closed form, where entries come in clusters.

A share has the interval of Clopper and Pearson (1934), as if it were of so many independent entries as would have its
variance between clusters: Korn and Graubard (1998, "Confidence intervals for proportions with small expected number of
positive counts estimated from survey data", Survey Methodology 24). Theirs is too narrow where a few clusters of
unequal size hold all hits, since these decide the variance, too. So each end counts one more cluster, of a usual size,
all hits (for the upper end) or all misses (for the lower), as Clopper and Pearson count one more hit, and Fay and Feuer
(1997, "Confidence intervals for directly standardized rates", Statistics in Medicine 16) one more event. Where all
entries are hits, or none, these are the ends for as many entries as there are clusters; where each entry is a cluster,
those of Clopper and Pearson.

A swap is a pair of an example and a lender. Both are samples, and an example may appear in either role; so its
influences in both roles are summed before squaring, and the squared influence of every pair, which is then counted
twice, is subtracted once: the variance of dyads (Aronow, Samii and Assenova 2015, "Cluster-robust variance estimation
for dyadic data", Political Analysis 23). The variance is at least the variance between examples and the variance
between lenders.

Differences and ratios combine the distances of the ends from both shares as standard errors are combined (MOVER: Zou
and Donner 2008, Statistics in Medicine 27; of ratios Donner and Zou 2012, Statistical Methods in Medical Research 21).
Nothing is drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

LEVEL = 0.95
ENOUGH = 20  # clusters that tell the variance; simulated: of fewer, one that is larger than others decides it
ROUNDING = 1e-12  # what is nearer to the mean differs from it by rounding alone
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Share:
    """A share, or an unweighted mean of shares, and how sure it is.

    Attributes:
        value: Between 0 and 1.
        influence: For each way of clustering, by how much each cluster moves the value: float64 [clusters], sum 0.
        clusters: For each way, how many clusters have entries.
        down: By how much one more cluster of misses would lower the value.
        up: By how much one more cluster of hits would raise it.
        least: The variance if entries were independent; 0 where these are not hits and misses.
        entries: How many these are; inf where they are not hits and misses.
        pairs: Where the two ways are an example and its lender, by how much each row moves the value, or of several
            cells, such as seeds, each pair with its rows in all cells: float64 [rows or pairs].
    """

    value: float
    influence: tuple[np.ndarray, ...]
    clusters: tuple[int, ...]
    down: float
    up: float
    least: float = 0.0
    entries: float = np.inf
    pairs: np.ndarray | None = None

    @property
    def misses(self) -> "Share":
        """The share of all that is not a hit."""
        influence = tuple(-z for z in self.influence)
        pairs = None if self.pairs is None else -self.pairs
        return replace(self, value=1 - self.value, influence=influence, down=self.up, up=self.down, pairs=pairs)

    @property
    def fewest(self) -> int:
        """How many clusters tell the variance: the fewest of a way. A single lender is no sample of lenders."""
        if self.pairs is None:
            return min(self.clusters)
        return min((n for n in self.clusters if n > 1), default=1)

    @property
    def more(self) -> float:
        """How much of one more cluster counts: all of it, unless more than twenty clusters tell the variance."""
        squares = [z**2 for z in self.influence]
        told = [z.sum() ** 2 / (z @ z) if z.any() else 0.0 for z in squares]  # as many of equal influence
        return min(1.0, ENOUGH / max(min(told), ENOUGH))


def shares(
    hits: np.ndarray, of: np.ndarray, cells: np.ndarray, ways: Sequence[np.ndarray], are_pairs: bool = False
) -> Share:
    """The mean over cells of the sum of hits by the sum of entries.

    Args:
        hits: float64 [rows], between 0 and ``of``.
        of: float64 [rows], of how many entries, or their weight; each cell has some.
        cells: int [rows], from 0 without gaps.
        ways: For each way of clustering, the number of each row's cluster, from 0: int [rows].
        are_pairs: Whether the ways are two, an example and its lender, numbered alike.
    """
    size = np.bincount(cells, of)
    value = np.bincount(cells, hits) / size
    most = max(int(way.max()) for way in ways) + 1
    influence = []
    clusters = []
    reach = []
    for way in ways:
        shape = most if are_pairs else int(way.max()) + 1, len(size)
        at = way * len(size) + cells
        weight = np.bincount(at, of, shape[0] * shape[1]).reshape(shape) / size
        hit = np.bincount(at, hits, shape[0] * shape[1]).reshape(shape) / size
        away = hit - value * weight
        away[np.abs(away) < ROUNDING * weight] = 0.0
        influence.append(away.mean(axis=1))
        clusters.append(int(weight.any(axis=1).sum()))
        # the cluster of a random entry has, on average, the sum of the squared weights as its part of a cell
        usual = weight * np.sqrt((weight**2).sum(axis=0))
        reach.append([np.linalg.norm((usual * side).mean(axis=1)) for side in (value, 1 - value)])
    down, up = np.max(reach, axis=0).tolist()
    pairs = (hits - value[cells] * of) / size[cells] / len(size) if are_pairs else None
    if pairs is not None and len(size) > 1:
        pairs = np.bincount(_dyads(ways), pairs)
    result = Share(float(np.clip(value.mean(), 0, 1)), tuple(influence), tuple(clusters), down, up, pairs=pairs)
    if (hits != np.rint(hits)).any() or (of != np.rint(of)).any():
        return result
    least = float((value * (1 - value) / size).sum()) / len(size) ** 2
    return replace(result, least=least, entries=float(size.sum()))


def _dyads(ways: Sequence[np.ndarray]) -> np.ndarray:
    """The number of each row's pair of an example and a lender, from 0: int [rows]."""
    example, lender = ways
    return np.unique(example * (int(lender.max()) + 1) + lender, return_inverse=True)[1]


def gains_and_losses(
    changes: np.ndarray, of: np.ndarray, cells: np.ndarray, ways: Sequence[np.ndarray], are_pairs: bool = False
) -> tuple[Share, Share]:
    """What changes upwards, and what downwards: the mean over cells of the sum of changes by that of entries is one
    less the other.

    Of one way of clustering, a cluster is what changes, and one more cluster of losses is not all losses, but lost in
    part, where many clusters are gained in part; and the other way round. Of several ways, each row is what changes; of
    pairs in several cells, such as seeds, each pair.

    Args:
        changes: float64 [rows], between ``-of`` and ``of``.
        of: As for :func:`shares`; and so are the others.
    """
    size = np.bincount(cells, of) * (cells.max() + 1)
    changes = changes / size[cells]
    of = of / size[cells]
    is_one_way = len(ways) == 1
    if is_one_way:
        changes = np.bincount(ways[0], changes)
        of = np.bincount(ways[0], of)
        ways = [np.arange(len(of))]
    elif are_pairs and cells.any():
        dyads = _dyads(ways)
        _, first = np.unique(dyads, return_index=True)
        changes, of, ways = np.bincount(dyads, changes), np.bincount(dyads, of), [way[first] for way in ways]
    together = np.zeros(len(of), dtype=np.int64)
    parts = np.maximum(changes, 0), np.maximum(-changes, 0)
    gained, lost = (shares(part, of, together, ways, are_pairs) for part in parts)
    if not is_one_way:
        return gained, lost
    of_gains, of_losses = (_part_of_a_cluster(part, of) for part in parts)
    return replace(gained, up=gained.up * of_losses), replace(lost, up=lost.up * of_gains)


def _part_of_a_cluster(hits: np.ndarray, of: np.ndarray) -> float:
    """Which part of the entries of a cluster are hits where any is; all of them, as far as few clusters tell."""
    total = hits.sum()
    if not total:
        return 1.0
    told = total**2 / (hits @ hits)  # as many of equal hits
    part = (hits**2 / np.where(of, of, 1)).sum() / total
    return float((told * part + ENOUGH) / (told + ENOUGH))


def covariances(one: Share, other: Share) -> np.ndarray:
    """Estimates of the covariance of two shares over the same clusters; a share's variance is the largest.

    Several ways of clustering give one estimate, the sum over ways. Pairs give three: over nodes, which may be example
    or lender; over examples; and over lenders.
    """
    # n / (n - 1) as for any sample variance: influences sum to 0 by construction
    counts = [max(both) for both in zip(one.clusters, other.clusters, strict=True)]
    influences = zip(one.influence, other.influence, counts, strict=True)
    ways = [float(z @ w) * n / max(1, n - 1) for z, w, n in influences]
    if one.pairs is None or other.pairs is None:
        return np.array([sum(ways)])
    nodes = np.sum(one.influence, axis=0) @ np.sum(other.influence, axis=0) - one.pairs @ other.pairs
    fewer = min(counts)
    return np.array([nodes * fewer / max(1, fewer - 1), *ways])


def interval(share: Share, level: float = LEVEL) -> Bounds:
    """The interval of a share; it holds the value, and has a width."""
    tail = (1 - level) / 2
    p = share.value
    q = 1 - p
    for_low = _entries(share.misses, tail)
    for_high = _entries(share, tail)
    low = float(betaincinv(p * for_low, q * for_low + 1, tail)) if p > 0 else 0.0
    high = float(betaincinv(p * for_high + 1, q * for_high, 1 - tail)) if q > 0 else 1.0
    return low, high


def _entries(share: Share, tail: float) -> float:
    """The number of independent entries for the upper end of an interval."""
    q = 1 - share.value
    one_more = share.more * share.up
    variance = _variance(share, tail) + one_more * share.up
    if q > 0 and variance == 0:  # of what no cluster moves, as a correlation of labels that are all one off
        return float(share.fewest)
    return q * (share.value + one_more) / variance if q > 0 else np.inf


def _variance(share: Share, tail: float) -> float:
    """The variance between clusters, larger where few tell it, and not below that of independent entries."""
    few = share.fewest - 1
    n = share.entries
    if not few:
        return share.least
    # so that the variance is p q / n where each entry is a cluster of its own: there, all factors cancel
    entries = -ndtri(tail) if np.isinf(n) else -stdtrit(n - 1, tail) * np.sqrt(n / (n - 1))
    return max(covariances(share, share).max() * float(stdtrit(few, tail) / entries) ** 2, share.least)


def less(one: Share, other: Share, level: float = LEVEL) -> Bounds:
    """The interval of one share less another, over the same clusters."""
    value = one.value - other.value
    squares = [b**2 + a**2 - 2 * both for b, a, both in _distances(one, other, level)]
    low, high = np.sqrt(np.maximum(squares, 0)).tolist()
    return max(-1.0, value - low), min(1.0, value + high)


def between(
    one: tuple[np.ndarray, np.ndarray],
    other: tuple[np.ndarray, np.ndarray],
    cells: np.ndarray,
    ways: Sequence[np.ndarray],
    level: float = LEVEL,
    are_pairs: bool = False,
) -> Bounds:
    """The interval of one share less another.

    Where both are of the same entries, it is what is gained less what is lost (:func:`gains_and_losses`), which says
    more of them than two shares of much the same value do.

    Args:
        one: Hits of the first, and of how many, as for :func:`shares`; ``cells`` and ``ways`` are those, too.
        other: The same of the other.
        level: How often the interval holds the truth.
        are_pairs: As for :func:`shares`.
    """
    if np.array_equal(one[1], other[1]):
        return less(*gains_and_losses(one[0] - other[0], one[1], cells, ways, are_pairs), level)
    return less(shares(*one, cells, ways, are_pairs), shares(*other, cells, ways, are_pairs), level)


def over(one: Share, other: Share, level: float = LEVEL) -> Bounds:
    """The interval of one share by another, which is not 0, over the same clusters; the high end may be inf."""
    (below, above, both), (beyond, beneath, too) = _distances(one, other, level)
    product = one.value * other.value
    low = 0.0
    if below < one.value:
        rest = one.value**2 - below**2
        root = np.sqrt(max(0.0, (product - both) ** 2 - rest * (other.value**2 - above**2)))
        low = float(rest / (product - both + root))
    high = np.inf
    if beneath < other.value:
        rest = other.value**2 - beneath**2
        root = np.sqrt(max(0.0, (product - too) ** 2 - rest * (one.value**2 - beyond**2)))
        high = float((product - too + root) / rest)
    return low, high


def _distances(one: Share, other: Share, level: float) -> list[tuple[float, float, float]]:
    """For the low and for the high end of a difference: how far the end of one share is, and that of the other in the
    other direction, and the product of both and their correlation.

    The correlation counts one more cluster for each share, and not the same one.
    """
    (low, high), (least, most) = (interval(share, level) for share in (one, other))
    distances = []
    for first, second, near, far in (
        (one.misses, other, one.value - low, most - other.value),
        (one, other.misses, high - one.value, other.value - least),
    ):
        spread = [covariances(share, share).max() + share.more * share.up**2 for share in (first, second)]
        # the lowest correlation gives the widest interval
        correlation = (-covariances(first, second)).min() / np.sqrt(np.prod(spread)) if all(spread) else 0.0
        distances.append((near, far, near * far * float(np.clip(correlation, -1, 1))))
    return distances

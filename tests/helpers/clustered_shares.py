"""Reference for heedful.metrics.statistics.intervals, in loops over entries and clusters."""

from math import sqrt
from typing import NamedTuple

from scipy.stats import beta, norm, t


class Entry(NamedTuple):
    """Hits among ``of`` entries of a cluster, in a cell."""

    cluster: object
    hits: float
    of: float = 1
    cell: object = 0
    lender: object = None


class Share:
    """A mean of shares over cells: its value, and the influence of each cluster."""

    def __init__(self, entries: list[Entry], clusters: list) -> None:
        cells = sorted({entry.cell for entry in entries if entry.of}, key=str)
        self.k = len(cells)
        self.size = {c: sum(e.of for e in entries if e.cell == c) for c in cells}
        self.share = {c: sum(e.hits for e in entries if e.cell == c) / self.size[c] for c in cells}
        self.value = sum(self.share.values()) / self.k
        self.weight = {(g, c): 0.0 for g in clusters for c in cells}
        self.hit = dict(self.weight)
        for e in entries:
            if e.of:
                self.weight[e.cluster, e.cell] += e.of / self.size[e.cell]
                self.hit[e.cluster, e.cell] += e.hits / self.size[e.cell]
        self.cells, self.names = cells, clusters
        self.z = [sum(self.hit[g, c] - self.share[c] * self.weight[g, c] for c in cells) / self.k for g in clusters]
        self.clusters = sum(any(self.weight[g, c] for c in cells) for g in clusters)
        self.are_whole = all(float(e.hits).is_integer() and float(e.of).is_integer() for e in entries)
        count = {(g, c): self.weight[g, c] * self.size[c] for g in clusters for c in cells}
        self.entries = round(sum(max(count[g, c] for c in cells) for g in clusters), 9)
        self.part = 1.0  # share of hits in the added cluster
        self.independent = sum(p * (1 - p) / self.size[c] for c, p in self.share.items()) / self.k**2
        away = {key: self.hit[key] - self.share[key[1]] * weight for key, weight in self.weight.items()}
        apart = sum(x**2 for x in away.values() if abs(x) > 1e-12)
        both = sum(sum(away[g, c] for c in cells) ** 2 for g in clusters)
        self.factor = both / apart if apart else sum(self.size.values()) / self.entries
        self.least = self.independent * max(1.0, self.factor)

    def variance(self, tail: float) -> float:
        """Variance between clusters, increased for few clusters."""
        if self.clusters == 1:
            return self.least if self.are_whole else 0.0
        found = covariance(self, self) * (t.isf(tail, self.clusters - 1) / self._plain(tail)) ** 2
        return max(found, self.least) if self.are_whole else found

    def _plain(self, tail: float) -> float:
        n = self.entries
        return t.isf(tail, n - 1) * sqrt(n / (n - 1)) if self.are_whole else norm.isf(tail)

    def one_more(self, hits: bool) -> tuple[float, float]:
        """Change of the value by one more cluster, and the weight of this cluster."""
        total = 0.0
        for g in self.names:
            of_cells = 0.0
            for c in self.cells:
                usual = sqrt(sum(self.weight[other, c] ** 2 for other in self.names)) * self.weight[g, c]
                of_cells += usual * (1 - self.share[c] if hits else self.share[c]) / self.k
            total += of_cells**2
        fourth = sum(z**4 for z in self.z)
        told = sum(z**2 for z in self.z) ** 2 / fourth if fourth else 0
        return sqrt(total) * (self.part if hits else 1), min(1, 20 / told) if told else 1

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of Clopper and Pearson for the effective number of entries."""
        tail, p = (1 - level) / 2, self.value
        low, high = 0.0, 1.0
        if p > 0:
            n = self.effective(False, tail)
            low = beta.ppf(tail, p * n, (1 - p) * n + 1)
        if p < 1:
            n = self.effective(True, tail)
            high = beta.isf(tail, p * n + 1, (1 - p) * n)
        return low, high

    def effective(self, hits: bool, tail: float) -> float:
        """Number of independent entries with the same variance, with one more cluster."""
        move, part = self.one_more(hits)
        p = self.value if hits else 1 - self.value
        return (1 - p) * (p + part * move) / (self.variance(tail) + part * move**2)


def covariance(one: Share, other: Share) -> float:
    n = max(one.clusters, other.clusters)
    return sum(a * b for a, b in zip(one.z, other.z, strict=True)) * n / max(1, n - 1)


class Pairs(Share):
    """A share of pairs of an example (``cluster``) and its lender."""

    def __init__(self, entries: list[Entry]) -> None:
        nodes = sorted({node for e in entries for node in (e.cluster, e.lender)}, key=str)
        super().__init__(entries, nodes)
        self.of_lenders = Share([e._replace(cluster=e.lender) for e in entries], nodes)
        self.entries = max(self.entries, self.of_lenders.entries)
        self.least = self.independent * max(1.0, min(self.factor, self.of_lenders.factor))
        self.rows = [(e.hits - self.share[e.cell] * e.of) / self.size[e.cell] / self.k for e in entries]
        self.nodes = [{e.cluster, e.lender} for e in entries]
        self.bases, both = self.clusters, (self.clusters, self.of_lenders.clusters)
        self.clusters = min((n for n in both if n > 1), default=1)

    def variance(self, tail: float) -> float:
        if self.clusters == 1:
            return self.least if self.are_whole else 0.0
        found = max(estimates(self, self)) * (t.isf(tail, self.clusters - 1) / self._plain(tail)) ** 2
        return max(found, self.least) if self.are_whole else found

    def one_more(self, hits: bool) -> tuple[float, float]:
        both = [super().one_more(hits), self.of_lenders.one_more(hits)]
        return max(move for move, _ in both), max(part for _, part in both)


def estimates(one: Pairs, other: Pairs) -> list[float]:
    """Estimates of a covariance: over pairs of rows with a common cluster in any role, over examples, over lenders."""
    dyads = 0.0
    for i, nodes in enumerate(one.nodes):
        for j, others in enumerate(other.nodes):
            dyads += bool(nodes & others) * one.rows[i] * other.rows[j]
    counts = max(one.bases, other.bases), max(one.of_lenders.clusters, other.of_lenders.clusters)
    bases, lenders = (n / max(1, n - 1) for n in counts)
    first = sum(a * b for a, b in zip(one.z, other.z, strict=True)) * bases
    second = sum(a * b for a, b in zip(one.of_lenders.z, other.of_lenders.z, strict=True)) * lenders
    return [dyads * max(bases, lenders), first, second]


def share_interval(entries: list[Entry], level: float = 0.95) -> tuple[float, float]:
    """Interval of a share, or of a mean of shares over cells."""
    return Share(entries, sorted({entry.cluster for entry in entries}, key=str)).interval(level)


def distances(one: Share, other: Share, level: float) -> list[tuple[float, float, float]]:
    """For the low and the high end of a difference: the distances of both shares to their ends, and the correlation."""
    first, second = one.interval(level), other.interval(level)
    found = []
    for end in (0, 1):
        near, far = abs(one.value - first[end]), abs(other.value - second[1 - end])
        (move, part), (moved, of_it) = one.one_more(end == 1), other.one_more(end == 0)
        spread = (covariance(one, one) + part * move**2) * (covariance(other, other) + of_it * moved**2)
        r = covariance(one, other) / sqrt(spread) if spread else 0.0
        found.append((near, far, min(1.0, max(-1.0, r))))
    return found


def less_interval(one: Share, other: Share, level: float = 0.95, widening: float = 1.0) -> tuple[float, float]:
    """Interval of the difference of two shares."""
    low, high = (widening * sqrt(max(0.0, a**2 + b**2 - 2 * r * a * b)) for a, b, r in distances(one, other, level))
    d = one.value - other.value
    return max(-1.0, d - low), min(1.0, d + high)


def paired_interval(one: list[Entry], other: list[Entry], level: float = 0.95) -> tuple[float, float]:
    """Interval of the difference of two shares over the same entries; a share lacks entries with ``of`` 0."""
    shares = [Share(entries, sorted({e.cluster for e in entries}, key=str)) for entries in (one, other)]
    changes, size = [], {}
    for pair in zip(one, other, strict=True):
        of = max(e.of for e in pair)
        a, b = (e.hits + s.share[e.cell] * (of - e.of) for e, s in zip(pair, shares, strict=True))
        changes.append(pair[0]._replace(hits=a - b, of=of))
        size[pair[0].cell] = size.get(pair[0].cell, 0) + of
    ratios = [n**2 / shares[0].size[c] / shares[1].size[c] for c, n in size.items()]
    return change_interval(changes, level, sqrt(sum(ratios) / len(ratios)))


def change_interval(entries: list[Entry], level: float = 0.95, widening: float = 1.0) -> tuple[float, float]:
    """Interval of the mean of changes (``hits``, between -1 and 1): gains minus losses of clusters."""
    whole = Share([e._replace(hits=0) for e in entries], sorted({e.cluster for e in entries}, key=str))
    sums = {g: [0.0, 0.0] for g in whole.names}
    for e in entries:
        sums[e.cluster][0] += e.hits / whole.size[e.cell] / whole.k
        sums[e.cluster][1] += e.of / whole.size[e.cell] / whole.k
    parts = [{g: max(0.0, sign * d) for g, (d, _) in sums.items()} for sign in (1, -1)]
    gained, lost = (Share([Entry(g, part[g], sums[g][1]) for g in sums], whole.names) for part in parts)
    gained.part, lost.part = (part_of_a_cluster(part, sums) for part in parts[::-1])
    return less_interval(gained, lost, level, widening)


def part_of_a_cluster(hits: dict, sums: dict) -> float:
    """Mean share of hits in clusters with hits, and in twenty more clusters of hits only."""
    total = sum(hits.values())
    if not total:
        return 1.0
    told = total**2 / sum(h**2 for h in hits.values())
    part = sum(h * h / sums[g][1] for g, h in hits.items() if h) / total
    return (told * part + 20) / (told + 20)

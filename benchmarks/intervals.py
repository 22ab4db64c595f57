"""What intervals of shares and of paired differences cover, and how wide they are: ``python -m benchmarks.intervals``.

Hits are drawn with a known share and a known correlation between the entries of a cluster, in two ways: "beta", each
cluster has a rate of its own (beta-binomial), and "alike", the correlation is the chance that a cluster is all the
same, and else it is independent. An interval should hold the share in 95 % of tries; the bar is 94 % in every cell.
Beside it stands the interval that Heedful had before, the percentile bootstrap over clusters.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from heedful.metrics.statistics.bootstrap import interval as quantiles
from heedful.metrics.statistics.bootstrap import resample
from heedful.metrics.statistics.intervals import between, interval, shares

VALUES = (0, 0.003, 0.01, 0.05, 0.5, 0.95, 0.99, 0.997, 1)
CLUSTERS = (20, 50, 300, 2000)
SIZES = ("1", "3", "unequal")
CORRELATIONS = (0, 0.2, 0.8)
WAYS = ("beta", "alike")
KINDS = (
    "share",
    "one way",
    "both ways",
)  # a share; a difference of two runs whose answers differ one way, or both ways
RESAMPLES = 1000


class Cell(NamedTuple):
    """What is simulated: the share of hits (of two runs, of entries that differ), and how they come."""

    kind: str
    value: float
    clusters: int
    size: str
    correlation: float
    way: str

    @property
    def truth(self) -> float:
        """What the interval should hold."""
        return 0.0 if self.kind == "both ways" else self.value


class Found(NamedTuple):
    """Of a cell: how often the interval held the truth, its mean width, and both of the bootstrap."""

    covered: float
    width: float
    before: float
    width_before: float


def sizes_of(clusters: int, size: str) -> np.ndarray:
    """Entries of each cluster: int [clusters]. Unequal ones are spread as an exponential distribution of mean 5."""
    if size != "unequal":
        return np.full(clusters, int(size))
    return np.ceil(-5 * np.log1p(-(np.arange(clusters) + 0.5) / clusters)).astype(np.int64)


def drawn(cell: Cell, tries: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How many entries of each cluster are hits, and of these how many are losses: two int [tries, clusters]."""
    size = sizes_of(cell.clusters, cell.size)
    shape = tries, cell.clusters
    rate = np.full(shape, float(cell.value))
    lost = np.full(shape, 0.5 if cell.kind == "both ways" else 0.0)
    if cell.correlation and 0 < cell.value < 1:
        rate = _rates(cell, cell.value, shape, rng)
    if cell.correlation and cell.kind == "both ways":
        lost = _rates(cell, 0.5, shape, rng)
    hits = rng.binomial(size, rate)
    return hits, rng.binomial(hits, lost)


def _rates(cell: Cell, value: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """The rate of hits of each cluster."""
    if cell.way == "alike":
        return np.where(rng.random(shape) < cell.correlation, rng.random(shape) < value, value)
    spread = 1 / cell.correlation - 1
    return np.nan_to_num(rng.beta(value * spread, (1 - value) * spread, shape))


def measured(cell: Cell, tries: int, before: int) -> Found:
    """Simulate a cell."""
    seed = [round(1000 * float(x)) for x in (cell.value, cell.correlation)]
    rng = np.random.default_rng([*seed, cell.clusters, *map(ord, cell.size + cell.way + cell.kind)])
    hits, losses = drawn(cell, tries, rng)
    of = sizes_of(cell.clusters, cell.size).astype(np.float64)
    one = np.zeros(cell.clusters, dtype=np.int64)
    ways = [np.arange(cell.clusters)]
    bounds = []
    for gained, lost in zip((hits - losses).astype(np.float64), losses.astype(np.float64), strict=True):
        if cell.kind == "share":
            bounds.append(interval(shares(gained, of, one, ways)))
        else:
            bounds.append(between((gained, of), (lost, of), one, ways))
    old = []
    for i in range(before):
        sums = resample(np.stack([hits[i] - 2.0 * losses[i], of], axis=1), (i, *map(str, cell)), RESAMPLES)
        old.append(quantiles(sums[:, 0] / sums[:, 1]))
    return Found(*_of(bounds, cell.truth), *_of(old, cell.truth))


def _of(bounds: list[tuple[float, float]], truth: float) -> tuple[float, float]:
    low, high = np.array(bounds).reshape(-1, 2).T
    if not len(low):
        return float("nan"), float("nan")
    return float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean()), float((high - low).mean())


def cells(kind: str) -> Iterator[Cell]:
    """All cells of a kind; of clusters of one entry, and of entries that are independent, only one."""
    for clusters in CLUSTERS:
        for size in SIZES:
            for correlation in CORRELATIONS if size != "1" else (0,):
                for way in WAYS if correlation else WAYS[:1]:
                    for value in VALUES:
                        yield Cell(kind, value, clusters, size, correlation, way)


def rows(kind: str, tries: int, before: int) -> Iterator[list[str]]:
    """A row of the table for each number of clusters and size: at each value the least coverage, and how wide."""
    found = {cell: measured(cell, tries, before) for cell in cells(kind)}
    for clusters in CLUSTERS:
        for size in SIZES:
            row = [f"{clusters:,}", size]
            for value in VALUES:
                here = [
                    f for cell, f in found.items() if (cell.clusters, cell.size, cell.value) == (clusters, size, value)
                ]
                covered = min(f.covered for f in here)
                least = min(f.before for f in here)
                width = np.mean([f.width for f in here])
                wide = np.mean([f.width_before for f in here])
                row.append(f"{100 * covered:.1f} ({100 * least:.0f}), {100 * width:.1f} ({100 * wide:.1f})")
            yield row


def main() -> None:
    """Print a table for each kind."""
    parser = ArgumentParser("python -m benchmarks.intervals", description=__doc__.partition("\n\n")[2])
    parser.add_argument("--tries", type=int, default=2000, help="of each cell")
    parser.add_argument("--before", type=int, default=200, help="tries of the percentile bootstrap")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    chosen = parser.parse_args()
    for kind in chosen.kinds:
        print(f"\n{kind}\n")
        print("| clusters | size | " + " | ".join(f"{100 * value:g} %" for value in VALUES) + " |")
        print("|---" * (2 + len(VALUES)) + "|")
        for row in rows(kind, chosen.tries, chosen.before):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

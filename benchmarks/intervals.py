"""What intervals of shares and of paired differences cover, and how wide they are: ``python -m benchmarks.intervals``.

Hits are drawn with a known share and a known correlation between the entries of a cluster, in two ways: "beta", each
cluster has a rate of its own (beta-binomial), and "alike", the correlation is the chance that a cluster is all the
same, and else it is independent. An interval should hold the share in 95 % of tries; the bar is 94 % in every cell.
Beside it stands the interval that Heedful had before, the percentile bootstrap over clusters.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
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
BAR = 0.94


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
    """All cells of a kind; of clusters of one entry, and of entries that are independent, only one way."""
    for clusters in CLUSTERS:
        for size in SIZES:
            for correlation in CORRELATIONS if size != "1" else (0,):
                for way in WAYS if correlation else WAYS[:1]:
                    for value in VALUES:
                        yield Cell(kind, value, clusters, size, correlation, way)


def simulated(kind: str, tries: int, before: int) -> dict[Cell, Found]:
    """Each cell; one that is below the bar, as 2 % of those at 95 % are by chance, is tried ten times as often."""
    found = {}
    for cell in cells(kind):
        one = measured(cell, tries, before)
        if one.covered < BAR:
            again = measured(cell, 10 * tries, 0).covered
            print(f"{100 * one.covered:.2f} %, of ten times as many tries {100 * again:.2f} %: {cell}", flush=True)
            one = one._replace(covered=again)
        found[cell] = one
    return found


def columns(kind: str) -> dict[str, tuple[float, ...]]:
    """The values of each column; a share and what it leaves to 100 % are mirror images."""
    if kind != "share":
        return {f"{100 * value:g}": (value,) for value in VALUES}
    half = [value for value in VALUES if value <= 0.5]
    return {f"{100 * value:g} and {100 * (1 - value):g}" if value < 0.5 else "50": (value, 1 - value) for value in half}


def rows(kind: str, found: Mapping[Cell, Found]) -> Iterator[list[str]]:
    """A row for each number of clusters and size: for each value the least coverage and the mean width in points, now
    and before."""
    for clusters in CLUSTERS:
        for size in SIZES:
            row = [f"{clusters:,}", size]
            for values in columns(kind).values():
                here = [
                    f
                    for cell, f in found.items()
                    if (cell.clusters, cell.size) == (clusters, size)
                    and any(abs(cell.value - v) < 1e-9 for v in values)
                ]
                least, before = (100 * min(getattr(f, name) for f in here) for name in ("covered", "before"))
                wide, formerly = (100 * np.mean([getattr(f, name) for f in here]) for name in ("width", "width_before"))
                row.append(f"{least:.1f} / {before:.0f}; {wide:.2g} / {formerly:.2g}")
            yield row


def main() -> None:
    """Print a table for each kind."""
    parser = ArgumentParser("python -m benchmarks.intervals", description=__doc__.partition("\n\n")[2])
    parser.add_argument("--tries", type=int, default=2000, help="of each cell")
    parser.add_argument("--before", type=int, default=100, help="tries of the percentile bootstrap")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    chosen = parser.parse_args()
    for kind in chosen.kinds:
        print(f"\n{kind}\n", flush=True)
        found = simulated(kind, chosen.tries, chosen.before)
        lowest = min(found, key=lambda cell: found[cell].covered)
        print(f"least: {100 * found[lowest].covered:.2f} %, {lowest}\n")
        print("| clusters | size | " + " | ".join(columns(kind)) + " |")
        print("|---" * (2 + len(columns(kind))) + "|")
        for row in rows(kind, found):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

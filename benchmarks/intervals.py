"""How often intervals hold the truth, and how wide they are: ``python -m benchmarks.intervals``.

Shares and paired differences: hits are drawn with a known share and a known correlation between the entries of a
cluster, in two ways: "beta", each cluster has a rate of its own (beta-binomial), and "alike", the correlation is the
chance that a cluster is all the same, and else it is independent. The bar is 94 % in every cell.

Swaps: whether a prediction changes is decided by the example, by the text that another example lends, by the pair, or
by two normal traits, one as example and one as lent text, with a given correlation. The bar is 93 %. Widths are
relative to the interval over examples alone, and its coverage is in brackets.

Precision: of 20,000 examples as many are changed as a pilot says that are needed for a half width of 2 points. The
half width is met if it is at most a tenth more.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import binomtest

from heedful.callbacks.evaluations.attentiveness import PILOT, examples_needed
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
BAR = 0.94
SWAPS = "swaps"
EXAMPLES = (50, 200, 1000)
CHANGED = (0.02, 0.1, 0.5, 0.9, 0.98)
DECIDED_BY = ("example", "lent text", "pair", -1.0, -0.5, 0.0, 0.5, 1.0)  # a number: the correlation of the traits
SWAPS_BAR = 0.93
PRECISION = "precision"
WANTED, MET = 0.02, 1.1
PRECISE = (0.0, 0.005, 0.01, 0.05, 0.5, 0.95, 0.99)


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


class Swapped(NamedTuple):
    """A simulated set of swaps.

    Attributes:
        decided_by: What decides whether a prediction changes, of :data:`DECIDED_BY`.
        value: The share of changes among all pairs.
        examples: How many the data have.
        eligible: The share of them that is changed. All may lend.
        draws: Lenders per example.
    """

    decided_by: str | float
    value: float
    examples: int
    eligible: float
    draws: int


class Found(NamedTuple):
    """How often the interval of a cell held the truth, and its mean width."""

    covered: float
    width: float


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


def measured(cell: Cell, tries: int) -> Found:
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
    return _found(bounds, cell.truth)


def _found(bounds: list[tuple[float, float]], truth: float) -> Found:
    low, high = np.array(bounds).T
    return Found(float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean()), float((high - low).mean()))


def swaps(cell: Swapped, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One data set: whether each swap changes the prediction, its example and its lender; three [swaps]."""
    n = cell.examples
    base = np.repeat(rng.permutation(n)[: round(cell.eligible * n)], cell.draws)
    lender = (base + rng.integers(1, n, len(base))) % n
    if cell.decided_by == "pair":
        pairs, pair = np.unique(base * n + lender, return_inverse=True)
        return rng.random(len(pairs))[pair] < cell.value, base, lender
    if isinstance(cell.decided_by, str):
        decides = base if cell.decided_by == "example" else lender
        return rng.random(n)[decides] < cell.value, base, lender
    of_example, noise = rng.standard_normal((2, n))
    of_text = cell.decided_by * of_example + np.sqrt(1 - cell.decided_by**2) * noise
    return of_example[base] + of_text[lender] < np.sqrt(2) * ndtri(cell.value), base, lender


def measured_swaps(cell: Swapped, tries: int) -> tuple[Found, Found]:
    """Simulate a cell: the interval over examples and lenders, and the interval over examples alone."""
    name = ",".join(map(str, cell))
    over_both, over_examples = [], []
    for k in range(tries):
        hits, base, lender = swaps(cell, np.random.default_rng([k, *map(ord, name)]))
        each = hits.astype(np.float64), np.ones(len(hits)), np.zeros(len(hits), dtype=np.int64)
        over_both.append(interval(shares(*each, [base, lender], are_pairs=True)))
        over_examples.append(interval(shares(*each, [np.unique(base, return_inverse=True)[1]])))
    return _found(over_both, cell.value), _found(over_examples, cell.value)


def measured_precision(cell: Swapped, tries: int) -> tuple[Found, float, float]:
    """Simulate a pilot and what follows: the interval, how often its half width is met, and examples changed."""
    name = ",".join(map(str, cell))
    bounds, sizes = [], []
    for k in range(tries):
        hits, base, lender = swaps(cell, np.random.default_rng([k, *map(ord, name)]))

        def first(examples: int, columns: tuple[np.ndarray, ...] = (hits, base, lender)) -> tuple[float, float]:
            some, *pairs = (column[: examples * cell.draws] for column in columns)
            one = np.zeros(len(some), dtype=np.int64)
            return interval(shares(some.astype(np.float64), np.ones(len(some)), one, pairs, are_pairs=True))

        low, high = first(PILOT)
        sizes.append(min(examples_needed((high - low) / 2, WANTED), cell.examples))
        bounds.append(first(sizes[-1]))
    precise = np.mean([(high - low) / 2 <= MET * WANTED for low, high in bounds])
    return _found(bounds, cell.value), float(precise), float(np.mean(sizes))


def print_precision(tries: int) -> None:
    """Print the table of precision: coverage, how often it is met, and examples."""
    print("| decided by | draws | " + " | ".join(f"{100 * p:g} %" for p in PRECISE) + " |")
    print("|---" * (2 + len(PRECISE)) + "|")
    for decided_by, draws in product(("example", "lent text", "pair", 0.0, 1.0), (1, 5)):
        row = []
        for value in PRECISE:
            interval_found, precise, size = measured_precision(Swapped(decided_by, value, 20_000, 1.0, draws), tries)
            row.append(f"{100 * interval_found.covered:.1f}; {100 * precise:.0f}; {size:,.0f}")
        trait = decided_by if isinstance(decided_by, str) else f"traits, {decided_by:g}"
        print("| " + " | ".join([trait, str(draws), *row]) + " |", flush=True)


def cells_of_swaps() -> Iterator[Swapped]:
    """All cells of swaps."""
    for examples, eligible, draws in product(EXAMPLES, (1.0, 0.4), (1, 5)):
        for decided_by, value in product(DECIDED_BY, CHANGED):
            yield Swapped(decided_by, value, examples, eligible, draws)


def is_below(covered: float, tries: int, bar: float = SWAPS_BAR) -> bool:
    """Whether the coverage lies below a bar beyond doubt: the bar is above its 99 % interval."""
    return bool(binomtest(round(covered * tries), tries).proportion_ci(0.99).high < bar)


def print_swaps(tries: int) -> None:
    """Print the table of swaps: coverage, coverage given the lenders, and relative width."""
    print("| examples | eligible | draws | decided by | " + " | ".join(f"{100 * p:g} %" for p in CHANGED) + " |")
    print("|---" * (4 + len(CHANGED)) + "|")
    low = []
    row: list[str] = []
    for cell in cells_of_swaps():
        new, conditional = measured_swaps(cell, tries)
        low += [cell] if is_below(new.covered, tries) else []
        row.append(f"{100 * new.covered:.1f} ({100 * conditional.covered:.0f}); {new.width / conditional.width:.2f}")
        if len(row) == len(CHANGED):
            trait = cell.decided_by if isinstance(cell.decided_by, str) else f"traits, {cell.decided_by:g}"
            first = f"{cell.examples:,}", f"{100 * cell.eligible:g} %", str(cell.draws), trait
            print("| " + " | ".join([*first, *row]) + " |", flush=True)
            row = []
    print(f"\nbelow {100 * SWAPS_BAR:g} %: {low}")


def cells(kind: str) -> Iterator[Cell]:
    """All cells of a kind; of clusters of one entry, and of entries that are independent, only one way."""
    for clusters in CLUSTERS:
        for size in SIZES:
            for correlation in CORRELATIONS if size != "1" else (0,):
                for way in WAYS if correlation else WAYS[:1]:
                    for value in VALUES:
                        yield Cell(kind, value, clusters, size, correlation, way)


def simulated(kind: str, tries: int) -> dict[Cell, Found]:
    """Each cell; one that is below the bar, as 2 % of those at 95 % are by chance, is tried ten times as often."""
    found = {}
    for cell in cells(kind):
        one = measured(cell, tries)
        if one.covered < BAR:
            again = measured(cell, 10 * tries).covered
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
    """A row for each number of clusters and size: for each value the least coverage and the mean width in points."""
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
                least = 100 * min(f.covered for f in here)
                row.append(f"{least:.1f}; {100 * np.mean([f.width for f in here]):.2g}")
            yield row


TABLES = {SWAPS: print_swaps, PRECISION: print_precision}


def main() -> None:
    """Print a table for each kind."""
    parser = ArgumentParser("python -m benchmarks.intervals", description=__doc__.partition("\n\n")[2])
    parser.add_argument("--tries", type=int, default=2000, help="of each cell")
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, *TABLES), default=[*KINDS, *TABLES])
    chosen = parser.parse_args()
    for kind in chosen.kinds:
        print(f"\n{kind}\n", flush=True)
        if kind in TABLES:
            TABLES[kind](chosen.tries)
            continue
        found = simulated(kind, chosen.tries)
        lowest = min(found, key=lambda cell: found[cell].covered)
        print(f"least: {100 * found[lowest].covered:.2f} %, {lowest}\n")
        print("| clusters | size | " + " | ".join(columns(kind)) + " |")
        print("|---" * (2 + len(columns(kind))) + "|")
        for row in rows(kind, found):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()

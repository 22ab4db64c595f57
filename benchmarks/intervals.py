"""Measure by simulation how often confidence intervals contain the true value (coverage), and how wide they are.

``python -m benchmarks.intervals`` prints a table for each of five kinds of simulation. A cell is a combination of
settings. The bar is the coverage that every cell should reach.

- "share": The interval of a share of hits (predictions that count as 1), in clusters (groups of related predictions).
- "one way", "both ways": The interval of the difference of two runs that differ in one direction, or in both. For these
  and for "share", :class:`Cell` describes the settings, and the bar is 94 %.
- "swaps": The interval of attentiveness, the share of swaps that change the prediction. :class:`Swapped` describes the
  settings. The bar is 93 %. :func:`of_swaps` compares this interval with an interval over examples alone.
- "precision": As "swaps", but the number of examples is chosen. A pilot (a first measurement of 300 of 20,000 examples)
  estimates how many examples give a half width of 2 points. The table shows how often the half width is at most 2.2.
"""

from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import binomtest

from heedful.callbacks.evaluations.attentiveness import PILOT, examples_needed
from heedful.metrics.statistics.intervals import Entries, interval, paired_interval, share_of

VALUES = (0, 0.003, 0.01, 0.05, 0.5, 0.95, 0.99, 0.997, 1)
CLUSTERS = (20, 50, 300, 2000)
SIZES = ("1", "3", "unequal")
CORRELATIONS = (0, 0.2, 0.8)
WAYS = ("beta", "alike")
KINDS = ("share", "one way", "both ways")
BAR, SWAPS_BAR = 0.94, 0.93
EXAMPLES = (50, 200, 1000)
CHANGED = (0.02, 0.1, 0.5, 0.9, 0.98)
DECIDED_BY = ("example", "lent text", "pair", -1.0, -0.5, 0.0, 0.5, 1.0)  # a number: the correlation of the traits
HALF_WIDTH, TOLERANCE = 0.02, 1.1
PRECISE = (0.0, 0.005, 0.01, 0.05, 0.5, 0.95, 0.99)


class Cell(NamedTuple):
    """Settings of a simulation of hits. An entry (a simulated prediction) is a hit or not.

    Attributes:
        kind: What is measured: "share", the share of hits in one run; or "one way" or "both ways", the difference of
            two runs, where a hit is an entry on which the runs differ, in one direction or in both.
        value: True share of hits.
        clusters: Number of clusters (groups of related entries).
        size: Number of entries per cluster, or "unequal".
        correlation: Correlation between the hits of a cluster.
        way: How the hits of a cluster depend on each other. "beta": each cluster has its own rate of hits, drawn from a
            beta distribution. "alike": a cluster is of one of two sorts. With a probability equal to ``correlation``,
            all entries are hits or none is; otherwise the entries are independent.
    """

    kind: str
    value: float
    clusters: int
    size: str
    correlation: float
    way: str


class Swapped(NamedTuple):
    """Settings of a simulation of swaps.

    Attributes:
        decided_by: What determines whether a swap changes the prediction: "example", the example alone; "lent text",
            the text from the lender alone; "pair", the combination of both; or a number, the sum of a random trait of
            the example and a random trait of the text. The number is the correlation of both traits of one example.
        value: The true share of swaps that change the prediction.
        examples: Number of examples.
        eligible: Share of examples whose part is swapped; the other examples only lend their part.
        draws: Number of swaps per example.
    """

    decided_by: str | float
    value: float
    examples: int
    eligible: float
    draws: int


class Found(NamedTuple):
    """Coverage of simulated intervals (the share that contains the true value), and their mean width."""

    covered: float
    width: float


def cells(kind: str) -> Iterator[Cell]:
    """Yield the settings of all simulations of a kind, one of :data:`KINDS`.

    The setting ``way``, "beta" or "alike", is how the hits of a cluster depend on each other (:class:`Cell`). Hits are
    independent if each cluster has one entry, or if the correlation is 0. Only "beta" is then yielded.
    """
    for clusters, size in product(CLUSTERS, SIZES):
        for correlation in CORRELATIONS if size != "1" else (0,):
            for way, value in product(WAYS if correlation else WAYS[:1], VALUES):
                yield Cell(kind, value, clusters, size, correlation, way)


def cells_of_swaps() -> Iterator[Swapped]:
    for examples, eligible, draws in product(EXAMPLES, (1.0, 0.4), (1, 5)):
        for decided_by, value in product(DECIDED_BY, CHANGED):
            yield Swapped(decided_by, value, examples, eligible, draws)


def entries(cell: Cell) -> np.ndarray:
    """Return the number of entries per cluster, int [clusters]; unequal sizes are exponential with mean 5."""
    if cell.size != "unequal":
        return np.full(cell.clusters, int(cell.size))
    return np.ceil(-5 * np.log1p(-(np.arange(cell.clusters) + 0.5) / cell.clusters)).astype(np.int64)


def rates(cell: Cell, value: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw each cluster's rate of hits, with the mean ``value``: float [tries, clusters], of the given ``shape``."""
    if not cell.correlation or not 0 < value < 1:
        return np.full(shape, float(value))
    if cell.way == "alike":
        return np.where(rng.random(shape) < cell.correlation, rng.random(shape) < value, value)
    scale = 1 / cell.correlation - 1
    return np.nan_to_num(rng.beta(value * scale, (1 - value) * scale, shape))


def measured(cell: Cell, tries: int) -> Found:
    """Simulate ``tries`` data sets, and return the coverage and the mean width of their intervals."""
    seed = [round(1000 * float(x)) for x in (cell.value, cell.correlation)]
    rng = np.random.default_rng([*seed, cell.clusters, *map(ord, cell.size + cell.way + cell.kind)])
    size, shape = entries(cell), (tries, cell.clusters)
    rate = rates(cell, cell.value, shape, rng)
    losing = rates(cell, 0.5, shape, rng) if cell.kind == "both ways" else np.zeros(shape)
    hits = rng.binomial(size, rate)
    losses = rng.binomial(hits, losing)
    counts, zeros, ways = size.astype(float), np.zeros(cell.clusters, dtype=np.int64), [np.arange(cell.clusters)]
    bounds = []
    for gained, lost in zip((hits - losses).astype(float), losses.astype(float), strict=True):
        if cell.kind == "share":
            bounds.append(interval(share_of(Entries(gained, counts, zeros, ways))))
        else:
            bounds.append(paired_interval(Entries(gained, counts, zeros, ways), Entries(lost, counts, zeros, ways)))
    return coverage_and_width(bounds, 0.0 if cell.kind == "both ways" else cell.value)


def coverage_and_width(bounds: list[tuple[float, float]], truth: float) -> Found:
    """Return the share of intervals, given as (low, high), that contain the true value, and their mean width."""
    low, high = np.array(bounds).T
    return Found(float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean()), float((high - low).mean()))


def swaps(cell: Swapped, attempt: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate a data set; ``attempt`` seeds its random numbers.

    Returns:
        For each swap, whether it changes the prediction, the position of its example, and the position of its lender:
        three arrays [swaps].
    """
    rng = np.random.default_rng([attempt, *map(ord, ",".join(map(str, cell)))])
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


def over_both(hits: np.ndarray, base: np.ndarray, lender: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of attentiveness, the share of swaps that change the prediction: (low, high).

    The interval treats two things as random samples: the examples, and the lenders (the examples that lend the new
    part). The arguments are the three arrays of :func:`swaps`.
    """
    ones, zeros = np.ones(len(hits)), np.zeros(len(hits), dtype=np.int64)
    return interval(share_of(Entries(hits.astype(float), ones, zeros, [base, lender], are_pairs=True)))


def measured_swaps(cell: Swapped, tries: int) -> tuple[Found, Found]:
    """Measure two intervals of attentiveness, the share of swaps that change the prediction, on simulated data sets.

    ``cell`` holds the settings of the data sets, and ``tries`` is their number.

    Returns:
        Coverage and mean width of two intervals, numbers between 0 and 1: of the interval over swapped examples and
        lenders (the examples that lend the new part), and of the interval over swapped examples alone.
    """
    crossed, alone = [], []
    for attempt in range(tries):
        hits, base, lender = swaps(cell, attempt)
        crossed.append(over_both(hits, base, lender))
        examples, zeros = np.unique(base, return_inverse=True)[1], np.zeros(len(hits), dtype=np.int64)
        alone.append(interval(share_of(Entries(hits.astype(float), np.ones(len(hits)), zeros, [examples]))))
    return coverage_and_width(crossed, cell.value), coverage_and_width(alone, cell.value)


def measured_precision(cell: Swapped, tries: int) -> tuple[Found, float, float]:
    """Simulate ``tries`` measurements of attentiveness (the share of swaps that change the prediction) in two stages.

    The first stage, the pilot, measures on 300 examples. From its interval follows how many examples are needed for an
    interval of half width 2 points, the target. The second stage measures on that many examples, at most all.

    Returns:
        Coverage and mean width of the intervals of the second stage; the share of these intervals whose half width is
        at most 2.2 points; and the mean number of examples of the second stage.
    """
    bounds, sizes = [], []
    for attempt in range(tries):
        columns = swaps(cell, attempt)
        low, high = over_both(*(column[: PILOT * cell.draws] for column in columns))
        sizes.append(min(examples_needed((high - low) / 2, HALF_WIDTH), cell.examples))
        bounds.append(over_both(*(column[: sizes[-1] * cell.draws] for column in columns)))
    precise = np.mean([(high - low) / 2 <= TOLERANCE * HALF_WIDTH for low, high in bounds])
    return coverage_and_width(bounds, cell.value), float(precise), float(np.mean(sizes))


def is_below(covered: float, tries: int, bar: float = SWAPS_BAR) -> bool:
    """Whether a coverage is significantly below a bar: the 99 % interval of the coverage lies below the bar."""
    return bool(binomtest(round(covered * tries), tries).proportion_ci(0.99).high < bar)


def simulated(kind: str, tries: int) -> dict[Cell, Found]:
    """Simulate each cell (combination of settings) of a kind, and return the coverage and mean width of its intervals.

    Cells with a coverage below the bar are simulated again with ten times the tries, since 2 % of correct cells are
    below the bar by chance.
    """
    results = {cell: measured(cell, tries) for cell in cells(kind)}
    low = [cell for cell, result in results.items() if result.covered < BAR]
    return results | {cell: measured(cell, 10 * tries) for cell in low}


def of_shares(kind: str, tries: int) -> pd.DataFrame:
    """Simulate confidence intervals, and return a table of their lowest coverage in % and mean width in points.

    ``kind``, one of :data:`KINDS`, selects the intervals: of a share of hits, or of a difference of two runs. A row is
    a number and a size of clusters. The columns are the true shares of hits. For the kind "share", a true share and
    its complement, such as 0.01 and 0.99, are one column.

    Each number of the table summarises all simulations with the same clusters and true share. These simulations
    differ in the correlation of the hits and in the way ("beta" or "alike"): see :class:`Cell`.
    """
    frame = pd.DataFrame([cell._asdict() | result._asdict() for cell, result in simulated(kind, tries).items()])
    if kind == "share":  # a share and its complement are mirror images
        frame["value"] = np.minimum(frame["value"], 1 - frame["value"]).round(3)
    table = frame.groupby(["clusters", "size", "value"]).agg(covered=("covered", "min"), width=("width", "mean"))
    return (100 * table).unstack()


def of_swaps(tries: int) -> pd.DataFrame:
    """Simulate ``tries`` data sets for each combination of settings, and compare two intervals of attentiveness.

    The crossed interval treats the examples and their lenders (the examples that lend the new part) as random. The
    simple interval treats only the examples as random.

    Returns:
        A table. The index is "decided_by" (what determines whether a swap changes the prediction), "draws" (swaps per
        example) and "examples" (their number), as in :class:`Swapped`. A row sums up several combinations, which differ
        only in the true share and in the share of swapped examples. The columns are:

        - "covered": lowest coverage of the crossed interval, in %;
        - "conditional": lowest coverage of the simple interval, in %;
        - "narrowest", "widest": lowest and highest ratio of mean widths, crossed interval by simple interval;
        - "below": number of combinations with a coverage of the crossed interval significantly below 93 %.
    """
    rows: list[dict[str, Any]] = []
    for cell in cells_of_swaps():
        crossed, alone = measured_swaps(cell, tries)
        row = {"covered": 100 * crossed.covered, "conditional": 100 * alone.covered}
        row |= {"width": crossed.width / alone.width, "below": is_below(crossed.covered, tries)}
        rows.append(cell._asdict() | row)
    groups = pd.DataFrame(rows).astype({"decided_by": str}).groupby(["decided_by", "draws", "examples"])
    lows = {name: (name, "min") for name in ("covered", "conditional")}
    return groups.agg(**lows, narrowest=("width", "min"), widest=("width", "max"), below=("below", "sum"))


def of_precision(tries: int) -> pd.DataFrame:
    """Simulate measurements of attentiveness that choose their number of examples, and return a table of the results.

    :func:`measured_precision` simulates a measurement: a pilot (a first measurement on 300 examples) estimates how many
    examples give a half width of 2 points; then these examples are measured. A row of the table summarises ``tries``
    simulated measurements with the same settings "decided_by", "draws" and "value" (:class:`Swapped`).

    Columns: "covered", the coverage of the final intervals in %; "met", the % of final intervals with a half width of
    at most 2.2 points; "examples", the mean number of examples that the pilot chose, at most 20,000.
    """
    rows: list[dict[str, Any]] = []
    for decided_by, draws, value in product(("example", "lent text", "pair", 0.0, 1.0), (1, 5), PRECISE):
        result, precise, size = measured_precision(Swapped(decided_by, value, 20_000, 1.0, draws), tries)
        columns = {"covered": 100 * result.covered, "met": 100 * precise, "examples": size}
        rows.append({"decided_by": str(decided_by), "draws": draws, "value": value} | columns)
    return pd.DataFrame(rows).set_index(["decided_by", "draws", "value"])


def main() -> None:
    parser = ArgumentParser("python -m benchmarks.intervals")
    parser.add_argument("--tries", type=int, default=2000, help="tries per cell")
    kinds = (*KINDS, "swaps", "precision")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    options = parser.parse_args()
    tables = {"swaps": of_swaps, "precision": of_precision}
    for kind in options.kinds:
        table = tables[kind](options.tries) if kind in tables else of_shares(kind, options.tries)
        print(f"\n{kind}\n\n{table.to_string(float_format='{:,.2f}'.format)}", flush=True)


if __name__ == "__main__":
    main()

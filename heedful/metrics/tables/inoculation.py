"""Fine-tuning on a few challenge examples (Gupta et al. 2022, section 7, after Liu, Schwartz and Smith 2019,
"Inoculation by Fine-Tuning").

Outcome 1: the gap between the original and the challenge test closes. 2: the challenge stays hard. 3: the original test
suffers. Both papers read the outcome off accuracies; the rule of :func:`inoculation_outcome` is Heedful's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.metric import Numbers
from heedful.metrics.statistics.bootstrap import NO_WIDTH, Formula, difference, ratio
from heedful.metrics.statistics.clusters import FEW_CLUSTERS
from heedful.metrics.tables.by_table import by_table, tables_of
from heedful.metrics.tables.challenge import NEUTRAL, challenge_pairs
from heedful.records import HeedfulError, Measurement, MetricName
from heedful.records.rows import BASE, contents, same, select, strings
from heedful.records.rows import difference as difference_of

INOCULATION, MARGIN = "inoculation", 0.02
Runs = tuple[pa.Table, pa.Table]


@dataclass(frozen=True)
class Outcome:
    """The outcome of an inoculation.

    Attributes:
        number: 1, 2 or 3; None where it is undecided.
        reason: The numbers that say so, in one sentence.
    """

    number: Literal[1, 2, 3] | None
    reason: str

    def __str__(self) -> str:
        return f"{'undecided' if self.number is None else self.number} ({self.reason})"


def _different(what: str, how: str) -> HeedfulError:
    return HeedfulError(
        f"The {what} examples before and after inoculation are not the same ({how}): evaluate both runs on the same "
        "examples, with the same seed and settings."
    )


def _originals(runs: Runs) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Of each example of the original test: whether the predictions before and after are right [examples, 2], whether
    its gold label is not neutral [examples], and its table."""
    before, after = (select(rows, intervention=BASE) for rows in runs)
    if differ := difference_of(contents(before), contents(after)):
        raise _different("original", differ)
    right = [dict(zip(strings(rows, "uid"), same(rows, "gold", "y"), strict=True)) for rows in (before, after)]
    label = dict(zip(strings(before, "uid"), strings(before, "gold"), strict=True))
    uids = sorted(label)
    both = np.array([[r[uid] for r in right] for uid in uids], dtype=np.float64).reshape(-1, 2)
    return both, np.array([label[uid] != NEUTRAL for uid in uids], dtype=bool), tables_of(runs[0], uids)


def _challenges(runs: Runs, interventions: Sequence[str], kind: str, seed: int) -> tuple[np.ndarray, list[str]]:
    """The same of the challenge test."""
    before, after = (challenge_pairs(rows, interventions, seed)[kind] for rows in runs)
    first = [(pair.uid, pair.which, len(pair.changed)) for pair in before]
    second = [(pair.uid, pair.which, len(pair.changed)) for pair in after]
    if differ := difference_of(*map(contents, runs)):
        raise _different("challenge", differ)
    if first != second:
        lone = sorted({uid for uid, *_ in {*first} ^ {*second}})
        raise _different("challenge", f"{len(lone):,} were not changed alike, the first is {lone[0]}")
    right = [[pair.changed[pair.scored] for pair in both] for both in zip(before, after, strict=True)]
    return np.array(right, dtype=np.float64).reshape(-1, 2), [pair.table for pair in before]


def _narrowed(sums: np.ndarray) -> np.ndarray:
    """How much the gap between original and challenge test has become smaller, from all columns."""
    gap_before = difference(sums[..., [0, 2, 3, 5]])
    gap_after = difference(sums[..., [1, 2, 4, 5]])
    return gap_before - gap_after


def inoculation(
    original: Runs,
    challenge: Runs,
    data: str,
    interventions: Sequence[str],
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> Numbers:
    """Accuracy on the original and on the challenge test, before and after inoculation (tables 9 to 12).

    All numbers are about the same examples before and after. A challenge test has no neutral examples, so that the gap
    is between it and those of the original test that are not neutral either; otherwise a model that is good at neutral
    ones would show a gap where there is none. Intervals resample tables, those of both tests together where they share
    them.

    Args:
        original: Rows before and after; all base rows count, neutral ones as well (tables 9 and 11).
        challenge: Rows before and after: base rows and those of the interventions. One changed example of each original
            is scored (:func:`heedful.metrics.tables.challenge.challenge_pairs`). The same rows as ``original`` may
            serve.
        data: Name of the data set, for the metric names.
        interventions: Names of the interventions that make challenge examples.
        kind: Which changed examples are the challenge.
        seed: Keys the sample of changed examples and the bootstrap.

    Returns:
        Under ``inoculation/<data>/``: ``original/before``, ``/after`` and ``/change`` (after less before);
        ``not_neutral/...``, the same of the original examples with another label than neutral; ``challenge/...``, the
        same of the challenge test; ``gap/before`` and ``/after`` (``not_neutral`` less ``challenge``), and
        ``gap/narrowed`` (before less after). ``n`` is the number of examples, for a gap the smaller of two.

    Raises:
        HeedfulError: The examples are not the same before and after, or do not name their tables.
    """
    right, decided, table = _originals(original)
    other, others = _challenges(challenge, interventions, kind, seed)
    columns = np.zeros((len(right) + len(other), 9))  # of each test: right before, right after, 1
    columns[: len(right), :3] = np.column_stack([right, np.ones(len(right))])
    columns[: len(right), 3:6] = columns[: len(right), :3] * decided[:, None]
    columns[len(right) :, 6:] = np.column_stack([other, np.ones(len(other))])
    tables = np.array(table + others, dtype=str)
    found: Numbers = {}
    n = {"original": len(right), "not_neutral": int(decided.sum()), "challenge": len(other)}
    reasons = {
        "original": "no example was predicted",
        "challenge": f"no example was changed with its label {kind}",
        "not_neutral": "every example of the original test is neutral",
    }
    reason = next((why for test, why in reasons.items() if not n[test]), "")

    def measure(part: str, statistic: str, chosen: Sequence[int], n: int, formula: Formula) -> None:
        name = MetricName(INOCULATION, data, part, statistic)
        here = columns[:, chosen]
        kept = here.any(axis=1)  # the examples of the tests in question; their tables are resampled
        found[name] = by_table(list(here[kept].T), tables[kept].tolist(), (seed, str(name)), n, reason, formula)

    for i, test in enumerate(n):
        before, after, one = range(3 * i, 3 * i + 3)
        measure(test, "before", (before, one), n[test], ratio)
        measure(test, "after", (after, one), n[test], ratio)
        measure(test, "change", (after, one, before, one), n[test], difference)
    fewer = min(n["not_neutral"], n["challenge"])
    measure("gap", "before", (3, 5, 6, 8), fewer, difference)
    measure("gap", "after", (4, 5, 7, 8), fewer, difference)
    measure("gap", "narrowed", range(3, 9), fewer, _narrowed)
    return found


class _Interval(NamedTuple):
    """A change of accuracy with its 95 % interval, as fractions."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        value, low, high = (100 * x for x in self)
        return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"

    @classmethod
    def of(cls, m: Measurement) -> "_Interval | None":
        """That of a measurement that has one."""
        return None if m.value is None or m.ci95 is None else cls(m.value, *m.ci95)


def _decisive(m: Measurement, name: str) -> _Interval | str:
    """The interval of a measurement, or why it decides nothing."""
    interval = _Interval.of(m)
    if interval is None:
        return m.reason or f"{name} has no interval"
    if {NO_WIDTH, FEW_CLUSTERS} <= set(m.flags):
        return f"the interval of {name} over few tables has no width"
    return interval


def inoculation_outcome(found: Mapping[MetricName, Measurement], data: str, margin: float = MARGIN) -> Outcome:
    """Which of the three outcomes the intervals of :func:`inoculation` show; the rule is Heedful's own.

    That an accuracy stays cannot be shown, but that it changes by less than a margin can. With 95 % intervals:

    - outcome 3 if the change on the original test lies below -margin, whatever the challenge test does (the paper's
      definition has it improve as well; the reason says what it did);
    - otherwise undecided unless that change lies above -margin, and the gap before inoculation above 0 (the gap is to
      original examples that are not neutral, as those of the challenge are not);
    - then outcome 1 if the change on the challenge test lies above the margin, and the gap has narrowed: above 0;
    - outcome 2 if the change on the challenge test lies below the margin;
    - otherwise undecided, as where both tests improve alike.

    An interval without width over few tables decides nothing.

    Args:
        found: The measurements of :func:`inoculation`.
        data: The name of the data set that they were given.
        margin: The change of accuracy that counts as none, as a fraction.
    """
    original = _decisive(found[MetricName(INOCULATION, data, "original", "change")], "the original test")
    gap = _decisive(found[MetricName(INOCULATION, data, "gap", "before")], "the gap")
    of_challenge = found[MetricName(INOCULATION, data, "challenge", "change")]
    challenge = _decisive(of_challenge, "the challenge test")
    narrowed = _decisive(found[MetricName(INOCULATION, data, "gap", "narrowed")], "what the gap narrows by")
    small = f"{100 * margin:g} points"
    if isinstance(original, str):
        return Outcome(None, original)
    said = f"the original test changes by {original}"
    if original.high < -margin:
        other = _Interval.of(of_challenge)
        also = f"; the challenge test by {other}" if other else ""
        return Outcome(3, f"{said}, a loss of more than {small}{also}")
    if original.low <= -margin:
        return Outcome(None, f"{said}, which may or may not be a loss of more than {small}")
    if isinstance(gap, str):
        return Outcome(None, gap)
    if isinstance(challenge, str):
        return Outcome(None, challenge)
    if isinstance(narrowed, str):
        return Outcome(None, narrowed)
    if gap.low <= 0:
        return Outcome(None, f"{said}; there may have been no gap to close: {gap}")
    said += f", the challenge test by {challenge}"
    if challenge.high < margin:
        return Outcome(2, f"{said}, a gain of less than {small}")
    if challenge.low > margin and narrowed.low > 0:
        return Outcome(1, f"{said}, and the gap narrows by {narrowed}")
    return Outcome(None, f"{said}, and the gap narrows by {narrowed}")

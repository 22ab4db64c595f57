"""Fine-tuning on a few challenge examples (Gupta et al. 2022, section 7, after Liu, Schwartz and Smith 2019,
"Inoculation by Fine-Tuning").

Outcome 1: the gap between the original and the challenge test closes. 2: the challenge stays hard. 3: the original test
suffers. Both papers judge the outcome by accuracies; the rule of :func:`inoculation_outcome` was introduced by Heedful.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Numbers, measured
from heedful.metrics.tables.challenge import FLIPPED, Pair, Values, by_way, challenge_pairs, mean_of
from heedful.metrics.tables.which_table import tables_of
from heedful.records import HeedfulError, Measurement, MetricName, RunError
from heedful.records.rows import BASE, contents, same, select, strings
from heedful.records.rows import difference as difference_of

INOCULATION, MARGIN = "inoculation", 0.02
Runs = tuple[pa.Table, pa.Table]


@dataclass(frozen=True)
class Outcome:
    """The outcome of an inoculation: 1, 2, 3, or None if undecided, with the numbers as its reason."""

    number: Literal[1, 2, 3] | None
    reason: str

    def __str__(self) -> str:
        return f"{'undecided' if self.number is None else self.number} ({self.reason})"


def _different(what: str, how: str) -> HeedfulError:
    return RunError(
        f"The {what} examples before and after inoculation are not the same: {how}. Evaluate both on the same "
        "examples, with the same seed and settings."
    )


def _originals(runs: Runs) -> tuple[np.ndarray, list[str]]:
    """Whether predictions on the original test are right before and after, float64 [examples, 2]; and the tables."""
    before, after = (select(rows, intervention=BASE) for rows in runs)
    if differ := difference_of(contents(before), contents(after)):
        raise _different("original", differ)
    right = [dict(zip(strings(rows, "uid"), same(rows, "gold", "y"), strict=True)) for rows in (before, after)]
    uids = sorted(right[0])
    columns = np.array([[r[uid] for r in right] for uid in uids], dtype=np.float64).reshape(-1, 2)
    return columns, tables_of(runs[0], uids)


def _challenges(runs: Runs, interventions: Sequence[str], kind: str, seed: int) -> tuple[np.ndarray, list[Pair]]:
    """Whether predictions are right on the original before and after, and on the scored challenge example before and
    after: float64 [pairs, 4]; and the pairs before."""
    before, after = (challenge_pairs(rows, interventions, seed)[kind] for rows in runs)
    first = [(pair.uid, pair.which, len(pair.changed)) for pair in before]
    second = [(pair.uid, pair.which, len(pair.changed)) for pair in after]
    if differ := difference_of(*map(contents, runs)):
        raise _different("challenge", differ)
    if first != second:
        lone = sorted({uid for uid, *_ in {*first} ^ {*second}})
        raise _different("challenge", f"{len(lone):,} were changed differently, the first is {lone[0]}")
    right = [[old.original, new.original, old.is_right, new.is_right] for old, new in zip(before, after, strict=True)]
    return np.array(right, dtype=np.float64).reshape(-1, 4), before


def inoculation(
    original: Runs,
    challenge: Runs,
    data: str,
    interventions: Sequence[str],
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> Numbers:
    """Accuracy on the original and on the challenge test, before and after inoculation (tables 9 to 12).

    All numbers use the same examples before and after. A challenge test covers only those original examples that
    can be changed: never neutral ones, and perhaps easier ones. So the gap is between the challenge examples and their
    own originals. Tables are the clusters of intervals.

    Args:
        original: Rows before and after; all base rows count, also neutral ones (tables 9 and 11).
        challenge: Rows before and after: base rows and rows of the interventions, which may be the rows of
            ``original``. One changed example per original is scored
            (:func:`heedful.metrics.tables.challenge.challenge_pairs`).
        data: Name of the data set, for the metric names.
        interventions: Names of the interventions that make challenge examples.
        kind: Kind of changed examples in the challenge.
        seed: Keys the sample of changed examples.

    Returns:
        Under ``inoculation/<data>/``: ``original/before``, ``/after`` and ``/change`` (after minus before);
        ``paired/...``, the same for originals with a scored challenge example; ``challenge/...``, for these challenge
        examples; ``gap/...``, ``paired`` minus ``challenge``. If labels flip, all but the first also as
        ``<...>/from_entailment`` and ``<...>/from_contradiction``, by the label of the original, and
        ``<...>/both_ways``, the unweighted mean of both. ``n`` is the number of examples or pairs.

    Raises:
        HeedfulError: The examples before and after differ, or do not name their tables.
    """
    numbers: Numbers = {}

    def measure(part: str, statistics: Mapping[str, Values], tables: Sequence[str], reason: str) -> None:
        for statistic, values in statistics.items():
            name = MetricName(INOCULATION, data, part, statistic)
            numbers[name] = mean_of(values, tables, reason)
            if kind == FLIPPED and part != "original":
                numbers.update(measured(by_way(name, values, pairs)))

    originals, tables = _originals(original)
    right, pairs = _challenges(challenge, interventions, kind, seed)
    own_before, own_after, before, after = right.T
    gap = {  # change on the originals minus change on the challenge examples, as one difference
        "before": Values(own_before, before),
        "after": Values(own_after, after),
        "change": Values(own_after + before, own_before + after, scale=2),
    }
    measure("original", _times(*originals.T), tables, "no example was predicted")
    parts = {"paired": _times(own_before, own_after), "challenge": _times(before, after), "gap": gap}
    for part, statistics in parts.items():
        measure(part, statistics, [pair.table for pair in pairs], f"no example was changed with its label {kind}")
    return numbers


def _times(before: np.ndarray, after: np.ndarray) -> dict[str, Values]:
    return {"before": Values(before), "after": Values(after), "change": Values(after, before)}


def _points(m: Measurement) -> str:
    """A change with its interval, in points."""
    value, low, high = (100 * x for x in (m.value or 0.0, *(m.ci95 or (0.0, 0.0))))
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"


def inoculation_outcome(numbers: Mapping[MetricName, Measurement], data: str, margin: float = MARGIN) -> Outcome:
    """Determine which of the three outcomes the intervals of :func:`inoculation` show, by a rule of Heedful.

    The rule uses 95 % intervals and a margin, since no test can show that a change is exactly 0:

    - outcome 3 if the change on the original test lies below -margin, for any change on the challenge test (the paper's
      definition requires an improvement, which the reason names);
    - otherwise undecided unless that change lies above -margin, and the gap before inoculation above 0;
    - then outcome 1 if the change on the challenge test lies above the margin, and the change of the gap below 0;
    - outcome 2 if the change on the challenge test lies below the margin;
    - otherwise undecided, such as if both tests improve equally, or with few tables, whose intervals are wide.

    Args:
        numbers: The measurements of :func:`inoculation`.
        data: Name of the data set in these.
        margin: The largest change of accuracy that counts as no change.
    """
    original, gap, challenge, closing = (
        numbers[MetricName(INOCULATION, data, *name)]
        for name in (("original", "change"), ("gap", "before"), ("challenge", "change"), ("gap", "change"))
    )

    def undecided(m: Measurement, name: str) -> Outcome | None:
        return None if m.value is not None and m.ci95 else Outcome(None, m.reason or f"{name} has no interval")

    small = f"{100 * margin:g} points"
    if nothing := undecided(original, "the original test"):
        return nothing
    text = f"the original test changes by {_points(original)}"
    low, high = original.ci95 or (0.0, 0.0)
    if high < -margin:
        also = f"; the challenge test by {_points(challenge)}" if challenge.value is not None and challenge.ci95 else ""
        return Outcome(3, f"{text}, a loss of more than {small}{also}")
    if low <= -margin:
        return Outcome(None, f"{text}, which may or may not be a loss of more than {small}")
    for m, name in ((gap, "the gap"), (challenge, "the challenge test"), (closing, "the change of the gap")):
        if nothing := undecided(m, name):
            return nothing
    before, gained, closed = (m.ci95 or (0.0, 0.0) for m in (gap, challenge, closing))
    if before[0] <= 0:
        return Outcome(None, f"{text}; there may have been no gap to close: {_points(gap)}")
    text += f", the challenge test by {_points(challenge)}"
    if gained[1] < margin:
        return Outcome(2, f"{text}, a gain of less than {small}")
    text += f", and the gap by {_points(closing)}"
    return Outcome(1 if gained[0] > margin and closed[1] < 0 else None, text)

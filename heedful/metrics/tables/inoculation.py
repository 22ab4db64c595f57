"""Inoculation: accuracies before and after fine-tuning on a few challenge examples.

Source: Gupta et al. (2022), section 7, after Liu, Schwartz and Smith (2019), "Inoculation by Fine-Tuning". There are
three outcomes: 1, the gap between the original test and the challenge test closes; 2, the challenge test stays hard;
3, the accuracy on the original test drops. Both papers name the outcome without a rule; :func:`inoculation_outcome` is
Heedful's rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Numbers, measured
from heedful.metrics.tables.challenge import FLIPPED, Pair, Values, by_way, challenge_pairs, mean_of
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Measurement, MetricName
from heedful.records.rows import BASE, equal_columns, select, strings

INOCULATION, MARGIN = "inoculation", 0.02
Runs = tuple[pa.Table, pa.Table]  # rows before and after inoculation


@dataclass(frozen=True)
class Outcome:
    """Outcome of an inoculation: its number, None if undecided, and a reason with the deciding accuracies.

    Outcome 1: the gap between the original test and the challenge test closes. Outcome 2: the challenge test stays
    hard. Outcome 3: the accuracy on the original test drops.
    """

    number: Literal[1, 2, 3] | None
    reason: str

    def __str__(self) -> str:
        return f"{'undecided' if self.number is None else self.number} ({self.reason})"


def _originals(runs: Runs) -> tuple[np.ndarray, list[str]]:
    """Return whether predictions on the original test set are right, before and after inoculation: float64 [examples,
    2]; and the name of the table of each example.
    """
    bases = [select(rows, intervention=BASE) for rows in runs]
    before, after = (dict(zip(strings(base, "uid"), equal_columns(base, "gold", "y"), strict=True)) for base in bases)
    uids = sorted(before)
    right = np.array([[before[uid], after[uid]] for uid in uids], dtype=np.float64)
    return right.reshape(-1, 2), tables_of(runs[0], uids)


def _challenges(runs: Runs, interventions: Sequence[str], kind: str, seed: int) -> tuple[np.ndarray, list[Pair]]:
    """Compare predictions before and after inoculation (fine-tuning on a few challenge examples).

    Returns:
        - Whether predictions are right: float64 [originals, 4], 1 or 0. Columns 0 and 1: the original before and after
          inoculation. Columns 2 and 3: its challenge example, a changed version of the original, before and after. If
          an original has several, one drawn at random is scored.
        - The :class:`Pair` of each row, an original with its challenge examples, with the predictions before.
    """
    before, after = (challenge_pairs(rows, interventions, seed)[kind] for rows in runs)
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
    """Measure accuracy on originals and on challenge examples, before and after inoculation.

    Inoculation is fine-tuning on a few challenge examples (examples with an edited hypothesis or title). The gap is the
    accuracy on the originals of the challenge examples minus the accuracy on the challenge examples. All originals
    are no fair comparison: neutral originals have no challenge example, and originals with one may be easier. Examples
    must be the same before and after. For intervals, all examples about a table form one cluster. Source: Gupta et al.
    (2022), "Is My Model Using the Right Evidence?", tables 9 to 12.

    Args:
        original: Rows before and after. All base rows count, also with a neutral label (tables 9 and 11).
        challenge: Rows before and after, base rows and rows of the interventions; may be ``original``. One changed
            example per original is scored (:func:`~heedful.metrics.tables.challenge.challenge_pairs`).
        data: Name of the data set, for the metric names.
        interventions: Names of the interventions that make challenge examples.
        kind: Kind of challenge examples: "preserved" if the edit keeps the gold label, "flipped" if it changes it.
        seed: Seed of the sample of changed examples.

    Returns:
        Under ``inoculation/<data>/``:

        - ``original/before``, ``original/after``, ``original/change`` (after minus before): accuracy on the originals;
        - ``challenge/...``: accuracy on the scored challenge examples; ``paired/...``: accuracy on the originals that
          they were made from; ``gap/...``: ``paired`` minus ``challenge``;
        - if ``kind`` is "flipped", each number of ``challenge``, ``paired`` and ``gap`` also by the label of the
          original, ``<...>/from_entailment`` and ``<...>/from_contradiction``; and ``<...>/both_ways``, the unweighted
          mean of both.

    Raises:
        HeedfulError: An example does not name its table.
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
    gap = {  # its change is one difference, (own_after - own_before) - (after - before)
        "before": Values(own_before, before),
        "after": Values(own_after, after),
        "change": Values(own_after + before, own_before + after, scale=2),
    }
    measure("original", _change_between(*originals.T), tables, "no example was predicted")
    parts = {"paired": _change_between(own_before, own_after), "challenge": _change_between(before, after), "gap": gap}
    for part, statistics in parts.items():
        measure(part, statistics, [pair.table for pair in pairs], f"no example was changed with its label {kind}")
    return numbers


def _change_between(before: np.ndarray, after: np.ndarray) -> dict[str, Values]:
    return {"before": Values(before), "after": Values(after), "change": Values(after, before)}


def _format_points(m: Measurement) -> str:
    """Format a change and its interval in percentage points."""
    value, low, high = (100 * x for x in (m.value or 0.0, *(m.ci95 or (0.0, 0.0))))
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"


def inoculation_outcome(numbers: Mapping[MetricName, Measurement], data: str, margin: float = MARGIN) -> Outcome:
    """Determine the outcome of an inoculation, which is fine-tuning on a few challenge examples.

    The original test is the accuracy on all originals; the challenge test is the accuracy on challenge examples; the
    gap is the accuracy on the originals of the challenge examples minus the challenge test. Outcome 1: the gap closes.
    Outcome 2: the challenge test stays hard. Outcome 3: the original test drops.

    The first rule that applies decides. A number lies above or below a bound if its whole 95 % interval does.

    - the change of the original test lies below -margin: outcome 3, whether or not the challenge test improves (the
      paper requires that it improves; the text ``Outcome.reason`` reports its change);
    - the change of the original test does not lie above -margin: undecided;
    - the gap before inoculation does not lie above 0: undecided;
    - the change of the challenge test lies below the margin: outcome 2;
    - the change of the challenge test lies above the margin, and the change of the gap below 0: outcome 1;
    - else undecided, for instance if both tests improve equally, or if intervals are wide.

    Args:
        numbers: The measurements of :func:`inoculation`.
        data: Name of the data set in the metric names.
        margin: The largest change of accuracy that counts as no change, since no test can show a change of exactly 0.
    """
    original, gap, challenge, closing = (
        numbers[MetricName(INOCULATION, data, *name)]
        for name in (("original", "change"), ("gap", "before"), ("challenge", "change"), ("gap", "change"))
    )

    def undecided(m: Measurement, name: str) -> Outcome | None:
        return None if m.ci95 else Outcome(None, m.reason or f"{name} has no interval")

    small = f"{100 * margin:g} points"
    if nothing := undecided(original, "the original test"):
        return nothing
    text = f"the original test changes by {_format_points(original)}"
    low, high = original.ci95 or (0.0, 0.0)
    if high < -margin:
        also = f"; the challenge test by {_format_points(challenge)}" if challenge.ci95 else ""
        return Outcome(3, f"{text}, a loss of more than {small}{also}")
    if low <= -margin:
        return Outcome(None, f"{text}, which may or may not be a loss of more than {small}")
    for m, name in ((gap, "the gap"), (challenge, "the challenge test"), (closing, "the change of the gap")):
        if nothing := undecided(m, name):
            return nothing
    before, gained, closed = (m.ci95 or (0.0, 0.0) for m in (gap, challenge, closing))
    if before[0] <= 0:
        return Outcome(None, f"{text}; there may have been no gap to close: {_format_points(gap)}")
    text += f", the challenge test by {_format_points(challenge)}"
    if gained[1] < margin:
        return Outcome(2, f"{text}, a gain of less than {small}")
    text += f", and the gap by {_format_points(closing)}"
    return Outcome(1 if gained[0] > margin and closed[1] < 0 else None, text)

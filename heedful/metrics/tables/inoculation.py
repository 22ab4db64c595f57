"""Inoculation: accuracies before and after fine-tuning on a few challenge examples.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 7, tables 9 to 12, after "Inoculation by
Fine-Tuning" (Liu, Schwartz and Smith 2019). Challenge examples are examples with an edited hypothesis, title or table.

- The original test is the accuracy on all originals, also with a neutral label.
- The challenge test is the accuracy on one challenge example per original.
- The gap is the accuracy on the originals of the challenge examples minus the challenge test. All originals are no fair
  comparison: neutral originals have no challenge example, and originals with one may be easier.

There are three outcomes: 1, the gap closes; 2, the challenge test stays hard; 3, the accuracy on the original test
drops. Both papers name the outcome without a rule; :func:`inoculation_outcome` is Heedful's rule.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Numbers, measured
from heedful.metrics.tables.challenge import FLIPPED, by_way, challenge_pairs, mean_of
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Measurement, MetricName
from heedful.records.rows import BASE, equal_columns, select, strings

INOCULATION, MARGIN = "inoculation", 0.02
Runs = tuple[pa.Table, pa.Table]  # rows before and after inoculation
Terms = list[np.ndarray]  # of the means of metrics.tables.challenge.mean_of


class Outcome(NamedTuple):
    """Number of the outcome of an inoculation, None if undecided, and a reason with the deciding accuracies."""

    number: Literal[1, 2, 3] | None
    reason: str

    def __str__(self) -> str:
        return f"{'undecided' if self.number is None else self.number} ({self.reason})"


def inoculation(
    original: Runs,
    challenge: Runs,
    data: str,
    interventions: Sequence[str],
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> Numbers:
    """Measure accuracy on originals and on challenge examples, before and after inoculation.

    Examples must be the same before and after. For intervals, all examples about a table form one cluster.

    Args:
        original: Rows before and after. All base rows count.
        challenge: Rows before and after; may be ``original``. They are as for
            :func:`~heedful.metrics.tables.challenge.challenge_pairs`, like ``interventions`` and ``seed``.
        data: Name of the data set, for the metric names.
        kind: Kind of challenge examples: "preserved" if the edit keeps the gold label, "flipped" if it changes it.

    Returns:
        Under ``inoculation/<data>/``:

        - ``original/before``, ``original/after``, ``original/change`` (after minus before): the original test;
        - ``challenge/...``: the challenge test; ``paired/...``: accuracy on the originals of its examples;
          ``gap/...``: ``paired`` minus ``challenge``;
        - if ``kind`` is "flipped", the last three also as in :func:`~heedful.metrics.tables.challenge.by_way`.

    Raises:
        HeedfulError: An example does not name its table.
    """

    def over_time(before: Sequence[bool] | np.ndarray, after: Sequence[bool] | np.ndarray) -> dict[str, Terms]:
        then, now = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
        return {"before": [then], "after": [now], "change": [now, then]}

    bases = [select(rows, intervention=BASE) for rows in original]
    pairs, pairs_after = (challenge_pairs(rows, interventions, seed)[kind] for rows in challenge)
    own = over_time([pair.original for pair in pairs], [pair.original for pair in pairs_after])
    scores = over_time([pair.is_right for pair in pairs], [pair.is_right for pair in pairs_after])
    gap = {time: own[time] + scores[time][::-1] for time in own}  # the change: + now - then, + then - now
    tables, numbers = tables_of(original[0], strings(bases[0], "uid")), Numbers()
    for time, terms in over_time(*(equal_columns(base, "gold", "y") for base in bases)).items():
        numbers[MetricName(INOCULATION, data, "original", time)] = mean_of(terms, tables, "no example was predicted")
    tables, reason = [pair.table for pair in pairs], f"no example was changed with its label {kind}"
    for part, statistics in (("paired", own), ("challenge", scores), ("gap", gap)):
        for time, terms in statistics.items():
            name = MetricName(INOCULATION, data, part, time)
            numbers[name] = mean_of(terms, tables, reason)
            numbers |= measured(by_way(name, terms, pairs)) if kind == FLIPPED else {}
    return numbers


def _points(m: Measurement) -> str:
    """Format a change and its interval in percentage points."""
    value, low, high = (100 * x for x in (m.value or 0.0, *(m.ci95 or (0.0, 0.0))))
    return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"


def inoculation_outcome(numbers: Mapping[MetricName, Measurement], data: str, margin: float = MARGIN) -> Outcome:
    """Determine the outcome of an inoculation from the measurements of :func:`inoculation` for a data set.

    The first rule that applies decides. A number lies above or below a bound if its whole 95 % interval does.

    - the change of the original test lies below -margin: outcome 3, whether or not the challenge test improves (the
      paper requires that it improves; ``Outcome.reason`` reports its change);
    - the change of the original test does not lie above -margin: undecided;
    - the gap before inoculation does not lie above 0: undecided;
    - the change of the challenge test lies below the margin: outcome 2;
    - the change of the challenge test lies above the margin, and the change of the gap below 0: outcome 1;
    - else undecided, for instance if both tests improve equally, or if intervals are wide.

    ``margin`` is the largest change of accuracy that counts as no change, since no test can show a change of exactly 0.
    """
    names = ("original", "change"), ("gap", "before"), ("challenge", "change"), ("gap", "change")
    several = original, gap, challenge, closing = [numbers[MetricName(INOCULATION, data, *name)] for name in names]
    texts = "the original test", "the gap", "the challenge test", "the change of the gap"
    problems = (m.reason or f"{text} has no interval" for text, m in zip(texts, several, strict=True) if not m.ci95)
    small = f"{100 * margin:g} points"
    if original.ci95:
        text = f"the original test changes by {_points(original)}"
        if original.ci95[1] < -margin:
            also = f"; the challenge test by {_points(challenge)}" if challenge.ci95 else ""
            return Outcome(3, f"{text}, a loss of more than {small}{also}")
        if original.ci95[0] <= -margin:
            return Outcome(None, f"{text}, which may or may not be a loss of more than {small}")
    if not (original.ci95 and gap.ci95 and challenge.ci95 and closing.ci95):
        return Outcome(None, next(problems))
    if gap.ci95[0] <= 0:
        return Outcome(None, f"{text}; there may have been no gap to close: {_points(gap)}")
    text += f", the challenge test by {_points(challenge)}"
    if challenge.ci95[1] < margin:
        return Outcome(2, f"{text}, a gain of less than {small}")
    text += f", and the gap by {_points(closing)}"
    return Outcome(1 if challenge.ci95[0] > margin and closing.ci95[1] < 0 else None, text)

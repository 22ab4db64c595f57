"""A metric: one function from the rows of an evaluation to its numbers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.metrics.number import Counts, Number, Numbers, measured, merged_counts
from heedful.records import NO_LABEL, Context, Measurement, MetricName
from heedful.records.rows import BASE, UNREAD, require_canonical, rows_with

READ = "read"
UNREAD_CHANGES, MOST_UNREAD = "unread_changes", 0.05  # flag, and the largest share of unread changes without it
NO_ANSWERS, MOST_WITHOUT = "no_answers", 0.05  # flag, and the largest share of missing answers without it
TOO_MANY_WITHOUT = 0.5  # share of missing answers above which a number is undefined
WITHOUT_BASE, WITHOUT_CHANGED = "no_answer/base", "no_answer/changed"


def name_below(name: MetricName, statistic: str) -> MetricName:
    """Return the name of a statistic, such as "unread", of the number with the given name.

    Example:
        >>> str(name_below(MetricName("natural_logic", "nlixy", "context", "tce"), "read"))
        'natural_logic/nlixy/context/tce/read'
    """
    return name._replace(statistic="/".join(filter(None, (name.statistic, statistic))))


@dataclass(frozen=True)
class Metric:
    """Computes the numbers of an evaluation from its rows.

    A base row holds the prediction on an example of the data, ``y``. Another row holds the prediction on a changed
    example, ``y2``, and the prediction on its original, ``y``. A change is unread if it lies outside the tokens that
    the model reads, for instance after the end of a truncated text.

    Attributes:
        name: Name of the metric, and of its evaluation.
        numbers: Pure function from rows and context to numbers, in the order of tables, and to counts for results.json.
        headlines: Returns the names of the numbers that training shows as curves over epochs, before there are rows; by
            default one number, "<name>/<data>".
        families: Families of the numbers, the first component of their names; by default the name of the metric.
        words: Labels of numbers in tables. A key is family and statistic, as in "natural_logic/tce", followed by "/*"
            for the slices of the number. The placeholders {part} and {data} are filled; None hides the number. Numbers
            without a key have a label that is derived from their name.
        whole_examples: Whether the statistic "read" omits all changes of an example if one of them is unread.
        omits_unread: Whether the numbers omit unread changes themselves, so that there is no statistic "read".
        rows: Name of the evaluation whose rows the metric reads, ``rows/<rows>.parquet``; by default ``name``.
        in_classes: Replaces the answers in rows by the classes that the metric judges; None for no classes.
    """

    name: str
    numbers: Callable[[pa.Table, Context], Iterable[Number | Counts]]
    headlines: Callable[[Context], Iterable[MetricName]] | None = None
    families: tuple[str, ...] = ()
    words: Mapping[str, str | None] = field(default_factory=dict)
    whole_examples: bool = False
    omits_unread: bool = False
    rows: str = ""
    in_classes: Callable[[pa.Table, Context], pa.Table] | None = None

    @property
    def evaluation(self) -> str:
        """Name of the evaluation whose rows the metric reads: ``rows`` if given, else the name of the metric."""
        return self.rows or self.name

    def curves(self, context: Context) -> list[MetricName]:
        """Return the names of the numbers that training shows as curves over epochs."""
        return [MetricName(self.name, context.data)] if self.headlines is None else list(self.headlines(context))

    def may_have(self, metric: str, context: Context) -> bool:
        """Whether the metric may yield a number with the name ``metric``, so that training may monitor this number.

        The name must be the name of a curve, or begin with family, data and part of a curve, or with another family of
        the metric and the data, as in "loss/mnli".
        """
        curves = self.curves(context)
        prefixes = {str(name._replace(statistic="", slice="")) for name in curves}
        prefixes |= {f"{family}/{context.data}" for family in self.families[1:] if curves}
        return metric in map(str, curves) or any(f"{metric}/".startswith(f"{prefix}/") for prefix in prefixes)

    def score(self, rows: pa.Table, context: Context) -> Numbers:
        """Compute the numbers by :meth:`evaluate`; map the name of each number to its value and interval."""
        return measured(self.evaluate(rows, context)[0])

    def evaluate(self, rows: pa.Table, context: Context) -> tuple[list[Number], dict[str, Any]]:
        """Compute numbers and counts from rows. A number with ``changed`` rows is followed by statistics of these rows.

        A change is unread if it lies outside the tokens that the model reads, for instance behind the truncation. The
        statistics are ``unread``, the share of unread changes; ``read``, the number without unread changes, if any
        change is unread; ``no_answer/base`` and ``no_answer/changed``, the shares of missing answers among base rows
        and changed rows, if any answer is missing. A number is flagged if more than 5 % of its changes are unread or
        more than 5 % of its answers are missing; a number is undefined if more than half of its answers are missing.

        Raises:
            HeedfulError: The rows are not in their canonical order, in which the rows of an example are adjacent.
        """
        require_canonical(rows)
        yielded = list(self.numbers(rows, context))
        numbers = [number for number in yielded if isinstance(number, Number)]
        counts: dict[str, Any] = {}
        for item in yielded:
            counts = counts if isinstance(item, Number) else merged_counts(counts, item)
        changes = {number.name: number.changed for number in numbers if number.changed is not None}
        if not changes:
            return numbers, counts
        without = {name: shares_of_missing_answers(rows, changed) for name, changed in changes.items()}
        worst: dict[tuple[str, str], float] = {}  # largest share of missing answers by data and part
        for name, shares in without.items():
            share = max(m.value or 0.0 for m in shares.values())
            worst[name.data, name.part] = max(share, worst.get((name.data, name.part), 0.0))
        worst_of_all = max(worst.values()) if self.whole_examples else 0.0
        is_unread = rows_with(rows, **{UNREAD: True})
        of_read = cache(lambda: measured(self.numbers(self._read(rows, is_unread), context)))
        has_answer = is_answer(rows, "y2")
        result: list[Number] = []
        for number in numbers:
            name = number.name
            if name.statistic not in ("eligible", "accuracy"):  # these are over all examples, also without an answer
                number = _flag_missing(number, worst.get((name.data, name.part), worst_of_all))
            if name not in changes:
                result.append(number)
                continue
            number, statistics = _with_unread(
                number, rows, changes[name] & has_answer, is_unread, None if self.omits_unread else of_read
            )
            statistics |= without[name] if any(m.value for m in without[name].values()) else {}
            result += [number, *(Number(name_below(name, statistic), m) for statistic, m in statistics.items())]
        return result, counts

    def _read(self, rows: pa.Table, is_unread: np.ndarray) -> pa.Table:
        """Return the rows without unread changes, which lie outside the tokens that the model reads.

        If ``whole_examples`` is set, all changes of an example are omitted if at least one of them is unread.
        ``is_unread`` marks the unread changes: bool [rows].
        """
        if not self.whole_examples:
            return rows.filter(pa.array(~is_unread))
        uids = pc.unique(rows["uid"].filter(pa.array(is_unread)))
        is_base = rows_with(rows, intervention=BASE)
        return rows.filter(pa.array(is_base | ~pc.is_in(rows["uid"], value_set=uids).to_numpy()))


def _with_unread(
    number: Number, rows: pa.Table, changed: np.ndarray, is_unread: np.ndarray, of_read: Callable[[], Numbers] | None
) -> tuple[Number, dict[str, Measurement]]:
    """Measure how many changes behind a number are unread: they do not reach the model, for instance because they lie
    behind the truncation.

    Args:
        number: The number.
        rows: All rows.
        changed: Changed rows that the number is computed from, and that got an answer: bool [rows].
        is_unread: Whether the change of a row is unread: bool [rows].
        of_read: Computes the measurements, by name, from the rows without unread changes; None if they are these.

    Returns:
        The number, flagged if more than 5 % of ``changed`` are unread. And a dictionary: "unread" maps to this share,
        and "read", if the share is not 0, to the number without unread changes. The dictionary is empty if the tokens
        that the model reads are unknown, or if the number is undefined since too few inputs got an answer.
    """
    headline = number.measured
    has_too_few = headline.value is None and NO_ANSWERS in headline.flags
    if not changed.any() or rows[UNREAD].filter(pa.array(changed)).null_count or has_too_few:
        return number, {}
    share = float(is_unread[changed].mean())
    statistics = {UNREAD: Measurement(share, int(changed.sum()))}
    if of_read is None:
        return number, statistics
    if share:
        read = of_read()[number.name]
        if read.value is None and headline.value is not None:
            why = f"of what the model reads: {read.reason}" if share < 1 else "the model reads none of the changes"
            read = replace(read, reason=why)
        statistics[READ] = read
    flags = (UNREAD_CHANGES,) if share > MOST_UNREAD else ()
    return replace(number, measured=replace(headline, flags=(*headline.flags, *flags))), statistics


def shares_of_missing_answers(rows: pa.Table, changed: np.ndarray) -> dict[str, Measurement]:
    """Return two shares of missing answers: "no_answer/base" over base rows (unchanged examples), and
    "no_answer/changed" over the rows of the mask ``changed``, bool [rows].
    """
    without = {
        WITHOUT_BASE: rows_with(rows, y=NO_LABEL)[rows_with(rows, intervention=BASE)],
        WITHOUT_CHANGED: rows_with(rows, y2=NO_LABEL)[changed],
    }
    return {
        name: Measurement(float(mask.mean()), len(mask))
        if len(mask)
        else Measurement(None, 0, reason="no example was changed")
        for name, mask in without.items()
    }


def has_too_few_answers(rows: pa.Table, changed: np.ndarray) -> bool:
    """Whether more than half of the answers are missing, among the base rows or among the rows of the mask
    ``changed``, bool [rows].
    """
    return any((m.value or 0.0) > TOO_MANY_WITHOUT for m in shares_of_missing_answers(rows, changed).values())


def _flag_missing(number: Number, without: float) -> Number:
    """Return the number, flagged if more than 5 % of the answers are missing, and undefined if more than half are.

    ``without`` is the share of missing answers.
    """
    m = number.measured
    if without <= MOST_WITHOUT:
        return number
    flags = (*m.flags, NO_ANSWERS)
    if without <= TOO_MANY_WITHOUT:
        return replace(number, measured=replace(m, flags=flags))
    reason = "more than half of the answers are none"
    return replace(number, measured=Measurement(None, m.n, flags=flags, reason=reason, unit=m.unit))

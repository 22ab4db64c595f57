"""A metric: one function from the rows of an evaluation to its numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.metrics.number import Number, Numbers, charts, measured
from heedful.metrics.slices import slice_of_label
from heedful.records import NO_LABEL, Chart, Context, Measurement, MetricName
from heedful.records.numbers.display import Unit
from heedful.records.rows import BASE, UNREAD, require_canonical, schema, where

READ = "read"
UNREAD_CHANGES = "unread_changes"  # flags a number with more unread changes than
MOST_UNREAD = 0.05
NO_ANSWERS = "no_answers"  # flags a number with a higher share of missing answers than
MOST_WITHOUT = 0.05
TOO_MANY_WITHOUT = 0.5  # above this share the number is undefined
WITHOUT_BASE, WITHOUT_CHANGED = "no_answer/base", "no_answer/changed"
UNITS: dict[str, Unit | None] = {  # of the statistics beside a headline; None for the unit of the headline
    UNREAD: "percent",
    READ: None,
    WITHOUT_BASE: "percent",
    WITHOUT_CHANGED: "percent",
}


def beside(name: MetricName, statistic: str) -> MetricName:
    """The name of a statistic below a headline: "unread" (share of changes outside the tokens that the model reads) or
    "read" (the headline over all other changes).

    Example:
        >>> str(beside(MetricName("natural_logic", "nlixy", "context", "tce"), "read"))
        'natural_logic/nlixy/context/tce/read'
    """
    return name._replace(statistic="/".join(filter(None, (name.statistic, statistic))))


@dataclass(frozen=True)
class Metric:
    """The numbers of the rows of an evaluation.

    Attributes:
        name: Name of the metric; an evaluation has the name of its metric.
        numbers: Computes the numbers from the rows and the context, in the order of tables; a pure function. For empty
            rows it returns at least the numbers that have curves.
        statistics: Statistics without curves that may be monitored; None if any may be.
        whole_examples: Whether to omit an example entirely if one of its changes is unread.
        rows: The evaluation that provides the rows, ``rows/<rows>.parquet``; by default ``name``.
    """

    name: str
    numbers: Callable[[pa.Table, Context], Iterable[Number]]
    statistics: tuple[str, ...] | None = None
    whole_examples: bool = False
    rows: str = ""

    @property
    def evaluation(self) -> str:
        """The evaluation that provides the rows."""
        return self.rows or self.name

    def charts(self, context: Context) -> tuple[Chart, ...]:
        """The curves over epochs, known before any measurement."""
        return charts(self.numbers(schema(len(context.labels)).empty_table(), context))

    def may_have(self, metric: str, context: Context) -> bool:
        """Whether a number may have this name: the name of a curve, or a name with the same data and part."""
        curves = [name for chart in self.charts(context) for name in chart.curves.values()]
        without_ends = {str(name._replace(statistic="", slice="") if name.part else name) for name in curves}
        if metric in without_ends | set(map(str, curves)):
            return True
        if self.statistics is None:
            return any(metric.startswith(f"{name}/") for name in without_ends)
        labels = [slice_of_label(label) for label in context.labels]
        words = {*self.statistics, *UNITS, *labels, *(f"from_{label}" for label in labels)}
        headlines = [name._replace(statistic="", slice="") for name in curves if name.family == self.name]
        return any(metric == f"{name}/{word}" for name in headlines for word in words)

    def score(self, rows: pa.Table, context: Context) -> Numbers:
        """The measurements of :meth:`evaluate`, by name."""
        return measured(self.evaluate(rows, context))

    def evaluate(self, rows: pa.Table, context: Context) -> list[Number]:
        """Compute the numbers of rows; below each headline, the share of changes that the model never reads, and the
        shares of base and of changed inputs without an answer.

        Raises:
            HeedfulError: The rows are not in their canonical order, in which the rows of an example are adjacent.
        """
        require_canonical(rows)
        numbers = list(self.numbers(rows, context))
        changes = {number.name: number.changed for number in numbers if number.changed is not None}
        if not changes:
            return numbers
        without = {name: shares_without(rows, changed) for name, changed in changes.items()}
        worst: dict[tuple[str, str], float] = {}  # by data and part
        for name, shares in without.items():
            share = max(m.value or 0.0 for m in shares.values())
            worst[name.data, name.part] = max(share, worst.get((name.data, name.part), 0.0))
        worst_of_all = max(worst.values()) if self.whole_examples else 0.0
        is_unread = where(rows, **{UNREAD: True})
        of_read = cache(lambda: measured(self.numbers(self._read(rows, is_unread), context)))
        has_answer = is_answer(rows, "y2")
        result: list[Number] = []
        for number in numbers:
            name = number.name
            if name.statistic not in ("eligible", "accuracy"):  # wrong for accuracy, but not a change
                number = _judged(number, worst.get((name.data, name.part), worst_of_all))
            if name not in changes or number.measured is None:
                result.append(number)
                continue
            number, statistics = _with_unread(number, rows, changes[name] & has_answer, is_unread, of_read)
            statistics |= without[name] if any(m.value for m in without[name].values()) else {}
            result += [number, *(_below(number, statistic, m) for statistic, m in statistics.items())]
        return result

    def _read(self, rows: pa.Table, is_unread: np.ndarray) -> pa.Table:
        """The rows of inputs that the model reads."""
        if not self.whole_examples:
            return rows.filter(pa.array(~is_unread))
        uids = pc.unique(rows["uid"].filter(pa.array(is_unread)))
        is_base = where(rows, intervention=BASE)
        return rows.filter(pa.array(is_base | ~pc.is_in(rows["uid"], value_set=uids).to_numpy()))


def _with_unread(
    number: Number, rows: pa.Table, changed: np.ndarray, is_unread: np.ndarray, of_read: Callable[[], Numbers]
) -> tuple[Number, dict[str, Measurement]]:
    """A headline, flagged if many changes are unread, and the statistics below it: the share of unread changes and, if
    there are any, the number without these changes.

    There are no statistics if it is unknown which inputs the model reads, or if too few inputs got an answer.
    """
    headline = number.measured
    assert headline is not None
    has_too_few = headline.value is None and NO_ANSWERS in headline.flags
    if not changed.any() or rows[UNREAD].filter(pa.array(changed)).null_count or has_too_few:
        return number, {}
    share = float(is_unread[changed].mean())
    statistics = {UNREAD: Measurement(share, int(changed.sum()))}
    if share:
        read = of_read()[number.name]
        if read.value is None and headline.value is not None:
            why = f"of what the model reads: {read.reason}" if share < 1 else "the model reads none of the changes"
            read = replace(read, reason=why)
        statistics[READ] = read
    flags = (UNREAD_CHANGES,) if share > MOST_UNREAD else ()
    return replace(number, measured=replace(headline, flags=(*headline.flags, *flags))), statistics


def _below(number: Number, statistic: str, m: Measurement) -> Number:
    """A statistic below a headline; it has no line if the model reads all changes."""
    has_line = number.label != "" and (statistic != UNREAD or bool(m.value))
    return replace(
        number,
        name=beside(number.name, statistic),
        measured=m,
        label=statistic if has_line else "",
        level=(number.level or 0) + 1,
        unit=UNITS[statistic] or number.unit,
        headline=False,
        changed=None,
        curve=None,
    )


def shares_without(rows: pa.Table, changed: np.ndarray) -> dict[str, Measurement]:
    """The shares of unanswered base inputs and of unanswered changed inputs; ``changed``, bool [rows], selects the
    latter."""
    without = {
        WITHOUT_BASE: where(rows, y=NO_LABEL)[where(rows, intervention=BASE)],
        WITHOUT_CHANGED: where(rows, y2=NO_LABEL)[changed],
    }
    return {
        name: Measurement(float(mask.mean()), len(mask))
        if len(mask)
        else Measurement(None, 0, reason="no example was changed")
        for name, mask in without.items()
    }


def has_too_few_answers(rows: pa.Table, changed: np.ndarray) -> bool:
    """Whether too few base inputs, or too few of these changed inputs, got an answer to report a number."""
    return any((m.value or 0.0) > TOO_MANY_WITHOUT for m in shares_without(rows, changed).values())


def _judged(number: Number, without: float) -> Number:
    """A number, flagged or undefined if this share of the answers is missing."""
    m = number.measured
    if m is None or without <= MOST_WITHOUT:
        return number
    flags = (*m.flags, NO_ANSWERS)
    if without <= TOO_MANY_WITHOUT:
        return replace(number, measured=replace(m, flags=flags))
    reason = "more than half of the answers are none"
    return replace(number, measured=Measurement(None, m.n, flags=flags, reason=reason))

"""A metric makes numbers of the rows of an evaluation, and says how they are shown; from a rows file alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.metrics.slices import slice_of_label
from heedful.records import NO_LABEL, Chart, Context, Line, Measurement, MetricName, Shown
from heedful.records.numbers.display import Unit
from heedful.records.rows import BASE, UNREAD, require_canonical, where

Numbers = dict[MetricName, Measurement]
READ = "read"
UNREAD_CHANGES = "unread_changes"  # flags a number of which more changes are unread than
MOST_UNREAD = 0.05
NO_ANSWERS = "no_answers"  # flags a number of which more answers are none than
MOST_WITHOUT = 0.05
TOO_MANY_WITHOUT = 0.5  # of more there is no number
WITHOUT_BASE, WITHOUT_CHANGED = "no_answer/base", "no_answer/changed"
UNITS: dict[str, Unit | None] = {  # of what stands beside a headline; None where it is that of the headline
    UNREAD: "percent",
    READ: None,
    WITHOUT_BASE: "percent",
    WITHOUT_CHANGED: "percent",
}


def beside(name: MetricName, statistic: str) -> MetricName:
    """The name of what stands beside a headline: "unread", the share of its changes that the model never reads, or
    "read", the headline over the others.

    Example:
        >>> str(beside(MetricName("natural_logic", "nlixy", "context", "tce"), "read"))
        'natural_logic/nlixy/context/tce/read'
    """
    return name._replace(statistic="/".join(filter(None, (name.statistic, statistic))))


def lines(numbers: Numbers) -> list[Line]:
    """A line for each number; under a headline, which stands beside that of other runs, what belongs to it.

    Example:
        >>> name = MetricName("naive_partial", "mnli", "premise")
        >>> shown = lines({name: Measurement(0.5, 2), name._replace(slice="from_neutral"): Measurement(0.5, 2)})
        >>> [(line.level, line.label) for line in shown]
        [(0, 'naive partial premise'), (1, 'from_neutral')]
    """
    shown_lines = []
    for name in numbers:
        headline = name._replace(statistic="", slice="")
        last = [text for text in (name.statistic, name.slice) if text]
        below = bool(last) and headline in numbers
        label = " ".join(
            last if below else [text for text in (name.family.replace("_", " "), name.part, *last) if text]
        )
        shown_lines.append(Line(str(name), label, level=int(below), beside=not last))
    return shown_lines


def show_all(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show every number under its own name."""
    return Shown(lines(numbers))


def no_charts(context: Context) -> tuple[Chart, ...]:
    """Draw nothing."""
    return ()


def no_changes(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """No number rests on a change."""
    return {}


@dataclass(frozen=True)
class Metric:
    """The numbers that are made of the rows of an evaluation.

    Attributes:
        name: Its own; that of an evaluation is called as the evaluation is.
        numbers: Makes the numbers from the rows and the context; pure. In the order of reading.
        show: Says how these numbers are shown, from the numbers, the context and the counts of the evaluation.
        charts: The curves over epochs, from the context; called before anything is measured.
        statistics: What other numbers may be called, beside those of its curves: the last words of their names. None
            where nobody says.
        rests_on: The changed examples that each headline counts, bool [rows] each, from the rows and the context.
        whole: Whether an example counts with all of its changes, and is left out where one of them is unread.
        rows: The evaluation whose rows it is made of, ``rows/<rows>.parquet``; that of its name if not given.
    """

    name: str
    numbers: Callable[[pa.Table, Context], Numbers]
    show: Callable[[Numbers, Context, Mapping[str, Any]], Shown] = show_all
    charts: Callable[[Context], tuple[Chart, ...]] = no_charts
    statistics: tuple[str, ...] | None = None
    rests_on: Callable[[pa.Table, Context], dict[MetricName, np.ndarray]] = no_changes
    whole: bool = False
    rows: str = ""

    @property
    def evaluation(self) -> str:
        """The evaluation whose rows it is made of."""
        return self.rows or self.name

    def may_have(self, metric: str, context: Context) -> bool:
        """Whether a number may have this name: that of a curve, or one about the same data and part."""
        curves = [name for chart in self.charts(context) for name in chart.curves.values()]
        without_ends = {str(name._replace(statistic="", slice="") if name.part else name) for name in curves}
        if metric in without_ends | set(map(str, curves)):
            return True
        if self.statistics is None:
            return any(metric.startswith(f"{name}/") for name in without_ends)
        beside_all = UNREAD, READ, WITHOUT_BASE, WITHOUT_CHANGED
        labels = [slice_of_label(label) for label in context.labels]
        words = {*self.statistics, *beside_all, *labels, *(f"from_{label}" for label in labels)}
        own = [name._replace(statistic="", slice="") for name in curves if name.family == self.name]
        return any(metric == f"{name}/{word}" for name in own for word in words)

    def score(self, rows: pa.Table, context: Context) -> Numbers:
        """The numbers of rows; beside each headline, how much of it rests on changes that the model never reads, and
        how many of the answers that it is made of are none: a change counts where both of its answers are answers.

        Raises:
            HeedfulError: The rows are not in their canonical order, in which those of an example stand together.
        """
        require_canonical(rows)
        numbers = self.numbers(rows, context)
        if self.rests_on is no_changes:
            return numbers
        changes = self.rests_on(rows, context)
        numbers = self._with_no_answer(numbers, rows, changes)
        has_answer = is_answer(rows, "y2")
        return self._with_unread(numbers, rows, context, {name: here & has_answer for name, here in changes.items()})

    def _with_no_answer(self, numbers: Numbers, rows: pa.Table, changes: Mapping[MetricName, np.ndarray]) -> Numbers:
        """Numbers, with the shares of base and of changed inputs without an answer beside each headline, if any are.

        All numbers about the part, or where examples count as a whole all numbers, are flagged where one of both is
        more than :data:`MOST_WITHOUT`, and undefined where it is more than :data:`TOO_MANY_WITHOUT`: a failure is not
        behaviour. Accuracy is not: there a failure is wrong.
        """
        every = {name: shares_without(rows, here) for name, here in changes.items()}
        shares = {name: both for name, both in every.items() if any(m.value for m in both.values())}
        most: dict[tuple[str, str], float] = {}
        for name, both in shares.items():
            worst = max(m.value or 0.0 for m in both.values())
            most[name.data, name.part] = max(worst, most.get((name.data, name.part), 0.0))
        of_all = max(most.values(), default=0.0) if self.whole else 0.0
        result: Numbers = {}
        for name, measured in numbers.items():
            without = 0.0 if name.statistic in ("eligible", "accuracy") else most.get((name.data, name.part), of_all)
            result[name] = _judged(measured, without)
            result |= {beside(name, statistic): m for statistic, m in shares.get(name, {}).items()}
        return result

    def _with_unread(
        self, numbers: Numbers, rows: pa.Table, context: Context, changes: Mapping[MetricName, np.ndarray]
    ) -> Numbers:
        """Numbers, with the share unread beside each headline, and what the headline is without, if that is something.

        Nothing stands beside a headline of which it is not known what the model receives, or that has too few answers.
        """
        is_known = rows[UNREAD].is_valid().to_numpy()
        is_unread = where(rows, **{UNREAD: True})
        of_read: Numbers = {}
        result: Numbers = {}
        for name, measured in numbers.items():
            result[name] = measured
            here = changes.get(name, np.zeros(0, dtype=bool))
            has_too_few = measured.value is None and NO_ANSWERS in measured.flags
            if not here.any() or not is_known[here].all() or has_too_few:
                continue
            share = float(is_unread[here].mean())
            result[beside(name, UNREAD)] = Measurement(share, int(here.sum()))
            if share > MOST_UNREAD:
                result[name] = replace(measured, flags=(*measured.flags, UNREAD_CHANGES))
            if share:
                of_read = of_read or self.numbers(self._read(rows, is_unread), context)
                again = of_read[name]
                if again.value is None and measured.value is not None:
                    why = f"of what the model reads: {again.reason}"
                    again = replace(again, reason=why if share < 1 else "the model reads none of the changes")
                result[beside(name, READ)] = again
        return result

    def _read(self, rows: pa.Table, is_unread: np.ndarray) -> pa.Table:
        """The rows of what the model reads."""
        if not self.whole:
            return rows.filter(pa.array(~is_unread))
        uids = pc.unique(rows["uid"].filter(pa.array(is_unread)))
        is_base = where(rows, intervention=BASE)
        return rows.filter(pa.array(is_base | ~pc.is_in(rows["uid"], value_set=uids).to_numpy()))

    def shown(self, numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
        """How the numbers are shown: as :attr:`show` says, and below a headline what is no answer, or unread."""
        name_of_metric = {str(name): name for name in numbers}
        aside = {beside(name, statistic) for name in numbers for statistic in UNITS}
        shown = self.show({name: m for name, m in numbers.items() if name not in aside}, context, counts)
        lines = []
        for line in shown.lines:
            lines.append(line)
            for statistic, unit in UNITS.items() if line.metric in name_of_metric else ():
                of = beside(name_of_metric[line.metric], statistic)
                if of in numbers and (statistic != UNREAD or numbers[of].value):
                    below = replace(line, label=statistic, level=line.level + 1, beside=False, text="")
                    lines.append(replace(below, metric=str(of), unit=unit or line.unit))
        return replace(shown, lines=lines)


def shares_without(rows: pa.Table, changed: np.ndarray) -> dict[str, Measurement]:
    """The shares of the base inputs, and of the changed inputs ``changed``, bool [rows], that got no answer."""
    of = {
        WITHOUT_BASE: where(rows, y=NO_LABEL)[where(rows, intervention=BASE)],
        WITHOUT_CHANGED: where(rows, y2=NO_LABEL)[changed],
    }
    return {
        name: Measurement(float(without.mean()), len(without))
        if len(without)
        else Measurement(None, 0, reason="no example was changed")
        for name, without in of.items()
    }


def has_too_few_answers(rows: pa.Table, changed: np.ndarray) -> bool:
    """Whether so few base inputs, or so few of these changed ones, got an answer that no number is made of them."""
    return any((m.value or 0.0) > TOO_MANY_WITHOUT for m in shares_without(rows, changed).values())


def _judged(measured: Measurement, without: float) -> Measurement:
    """A number of which this share of the answers is none: as it is, flagged, or undefined."""
    if without <= MOST_WITHOUT:
        return measured
    flags = (*measured.flags, NO_ANSWERS)
    if without <= TOO_MANY_WITHOUT:
        return replace(measured, flags=flags)
    return Measurement(None, measured.n, flags=flags, reason="more than half of the answers are none")

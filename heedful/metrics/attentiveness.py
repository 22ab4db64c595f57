"""Attentiveness (CAT, §3.3): how often the prediction changes when a part is swapped for another example's.

Where an answer is a text or nothing (CAT, §4): how often an answer becomes none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.metrics.answers import majority_flags
from heedful.metrics.hits import Hits, alike, eligible, hits, is_answer, is_distractor
from heedful.metrics.metric import Metric, Numbers, lines
from heedful.metrics.one_text import ONE_TEXT, OneText
from heedful.metrics.slices import slice_of_label, slices_of
from heedful.metrics.statistics.draws import Drawn, few_examples, mean_over_draws
from heedful.records import MANY, SPAN, Chart, Context, Line, Measurement, MetricName, Shown
from heedful.records.answers import NO_ANSWER
from heedful.records.rows import BASE, where

FEW = 2  # labels that are never predicted and still have a line each
KEPT = "kept"
NOT_SWAPPED = "no example of it was swapped"
NOTHING = f"{NOT_SWAPPED}, or all are predicted as the default label"
NO_PARTNER = "no example has a partner"
NO_ANSWERS_BEFORE = "every prediction is no answer"
WITHHELD = "half of the changed inputs or more get one text that no base input gets"


def attentiveness(rows: pa.Table, part: str, context: Context, flags: tuple[str, ...] | None = None) -> Numbers:
    """Attentiveness to one part.

    Over the uids whose base prediction is not the default answer: the share whose prediction changes when ``part``
    comes from another example; where an answer is a text or nothing, the share that becomes no answer. One score for
    each draw; their mean and sample standard deviation. Clusters of the interval are what examples share (``group``),
    or else uids. With no such uid the score is undefined. A swap counts where both predictions are answers, but for
    ``with_invalid``.

    Of a part that must not matter, one of ``own["distractors"]``, it is how often an answer stays, over all uids, those
    whose answer is none with them: another distractor must not bring an answer about either. There is no ``name`` then,
    for of such a part nothing should be expected of attentiveness.

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        part: The part that was swapped.
        context: Of the rows.
        flags: What a reader must know of all numbers; by default, that accuracy is not above the majority share, which
            nobody knows without gold labels. One text that many changed inputs get is flagged besides.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``, or of a distractor ``name/kept``;
        ``name/<column>=<value>``, the same in each slice; ``name/eligible``, the share of uids with a base prediction
        that counts, but of distractors. Where answers are texts, ``name/changed``, the share of answers that become
        another one, normalised, or none. Else ``name/to_default``, the share that changes to the default label;
        ``name/with_invalid``, where some predictions are no answers: the score with these, as if they were one more
        label, which is how the paper has it; ``name/from_<label>``, the share that changes among the uids predicted as
        that label, if labels are at most :data:`~heedful.records.MANY`.
    """
    name = MetricName("attentiveness", context.data, part)
    stays = is_distractor(part, context)
    swaps = hits(rows, part, context)
    base = where(rows, intervention=BASE)
    n = int(base.sum())
    counts = int((base & eligible(rows, part, context)).sum())
    flags = _flags(rows, context) if flags is None else flags
    one_text = OneText.of_rows(rows, part, context)
    flags = flags if one_text is None else (*flags, ONE_TEXT)
    none = NO_PARTNER if stays or counts else _why_none(rows, context)
    headline = headline_of(part, context)
    drawn = Drawn.of(rows)
    result: Numbers = {}

    def measure(full: MetricName, hit: np.ndarray, is_counted: np.ndarray, reason: str) -> None:
        of = drawn.where(is_counted)
        measured = mean_over_draws(hit[is_counted], of, (*flags, *few_examples(of.examples)), reason)
        if one_text is not None and one_text.is_withheld:
            measured = Measurement(None, measured.n, flags=measured.flags, reason=WITHHELD)
        result[full] = measured

    measure(headline, swaps.hit, swaps.counted, none)
    for full, hit, is_counted, reason in _others(rows, name, swaps, context, none):
        measure(full, hit, is_counted, reason)
    for text, of_slice in slices_of(rows, context.slices):
        measure(headline._replace(slice=text), swaps.hit, swaps.counted & of_slice, NOT_SWAPPED if stays else NOTHING)
    if not stays:
        share = Measurement(counts / n, n) if n else Measurement(None, 0, reason="no example was predicted")
        result[name._replace(statistic="eligible")] = share
    return result


def _why_none(rows: pa.Table, context: Context) -> str:
    """Why no base prediction counts."""
    if context.kind is SPAN:
        return NO_ANSWERS_BEFORE
    base = where(rows, intervention=BASE)
    if not base.any():
        return NO_PARTNER
    is_none = base & ~is_answer(rows)
    if is_none.sum() == base.sum():
        return "no prediction is a label"
    also = ", or not a label" if is_none.any() else ""
    return f"every prediction is the default label {context.default_label!r}{also}"


def _others(
    rows: pa.Table, name: MetricName, swaps: Hits, context: Context, none: str
) -> Iterator[tuple[MetricName, np.ndarray, np.ndarray, str]]:
    """The numbers beside a headline: the name, which changes are hits and which count, and why there is none."""
    if context.kind is SPAN:
        answered = swaps.counted & ~where(rows, y=NO_ANSWER)
        reason = none if NO_ANSWERS_BEFORE in none else f"{none}, or {NO_ANSWERS_BEFORE}"
        yield name._replace(statistic="changed"), ~alike(rows, answered, context.kind), answered, reason
        return
    if context.default_label is not None and not is_distractor(name.part, context):
        default = where(rows, y2=context.default_label)
        yield name._replace(statistic="to_default"), default, swaps.counted, none
    base = where(rows, intervention=BASE)
    if (base & ~is_answer(rows)).any() or (swaps.swapped & ~swaps.counted).any():
        yield name._replace(statistic="with_invalid"), swaps.hit, swaps.swapped, none
    for label in context.labels if len(context.labels) <= MANY else ():
        if label != context.default_label:
            full = name._replace(slice=f"from_{slice_of_label(label)}")
            reason = f"no example that was swapped is predicted as {label!r}"
            yield full, swaps.hit, swaps.counted & where(rows, y=label), reason


def _flags(rows: pa.Table, context: Context) -> tuple[str, ...]:
    return () if context.unlabelled else majority_flags(rows, context.kind, context.seed)


def score(rows: pa.Table, context: Context) -> Numbers:
    """Attentiveness to each of the parts ``own["swap"]``; and what stays, of the parts ``own["distractors"]``."""
    numbers: Numbers = {}
    for part in parts_of(context):
        numbers |= attentiveness(rows, part, context)
    return numbers


def parts_of(context: Context) -> list[str]:
    """The parts that were swapped, those that must not matter last."""
    return [*context.own["swap"], *context.own.get("distractors", ())]


def headline_of(part: str, context: Context) -> MetricName:
    """The name of attentiveness to a part, or of what stays where it must not matter."""
    statistic = KEPT if is_distractor(part, context) else ""
    return MetricName("attentiveness", context.data, part, statistic)


def counted(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """The swaps that each headline counts if they are answered: bool [rows] each."""
    return {headline_of(part, context): hits(rows, part, context).asked for part in parts_of(context)}


def show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show every number; of many labels of a part that are never predicted, how many they are.

    What stays where a distractor is another's stands beside that of other runs, as attentiveness does.
    """
    never = set()  # names without a line
    last = {}  # the name behind which a line says how many they are
    for part in context.own["swap"]:
        of_labels = [name for name in numbers if name.part == part and name.slice and not any(name.by)]
        undefined = [name for name in of_labels if numbers[name].value is None]
        if len(undefined) > FEW:
            never.update(undefined)
            last[of_labels[-1]] = f"undefined: {len(undefined)} labels are never predicted"
    shown: list[Line] = []
    for name, line in zip(numbers, lines(numbers), strict=True):
        if name not in never:
            shown.append(replace(line, beside=line.beside or (name.statistic == KEPT and not name.slice)))
        if name in last:
            shown.append(Line(str(name), "from_...", level=1, text=last[name]))
    return Shown(shown)


def charts(context: Context) -> tuple[Chart, ...]:
    """Attentiveness to each part, and that by predicted label if these are not many."""
    names = {part: MetricName("attentiveness", context.data, part) for part in context.own["swap"]}
    curves = {f"attentiveness: {part}": name for part, name in names.items()}
    for part in context.own.get("distractors", ()):
        curves[f"kept: {part}"] = MetricName("attentiveness", context.data, part, KEPT)
    charts_shown = [Chart("attentiveness", curves, METRIC.name)]
    labels = (
        [label for label in context.labels if label != context.default_label] if len(context.labels) <= MANY else []
    )
    for part, name in names.items() if labels else ():
        curves = {label: name._replace(slice=f"from_{slice_of_label(label)}") for label in labels}
        charts_shown.append(Chart(f"attentiveness to {part} by predicted label", curves))
    return tuple(charts_shown)


STATISTICS = "to_default", "with_invalid", "eligible", "changed", KEPT
METRIC = Metric("attentiveness", score, show, charts, STATISTICS, counted)

"""Attentiveness (CAT, §3.3): how often the prediction changes when a part is swapped for another example's.

Where an answer is a text or nothing (CAT, §4): how often an answer becomes none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.accuracy import majority_flags
from heedful.metrics.metric import Metric, Numbers, lines
from heedful.metrics.reading_comprehension import majority_flags as reading_flags
from heedful.metrics.slices import slice_of_label, slices_of
from heedful.metrics.soft_accuracy import soft_flags
from heedful.metrics.statistics.shares import numbered, share
from heedful.records import MANY, NO_LABEL, SOFT, SPAN, Chart, Context, Line, Measurement, MetricName, Shown
from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.rows import BASE, cluster_of, runs, same, strings, where

NOTHING = "no example of it was swapped, or all are predicted as the default label"
FEW = 2  # labels that are never predicted and still have a line each
MANY_QUESTIONS, MOST_ALIKE = 10, 0.2  # one text that is the answer to as many changed questions, and to such a share
ONE_TEXT = "one_text"  # flags attentiveness where one is the answer to more
LEAST, FEW_EXAMPLES = 10, "few_examples"  # with fewer, one example moves the number by more than 10 points


class OneText(NamedTuple):
    """The commonest answer to the changed questions about a part, and to how many of how many different ones."""

    text: str
    n: int
    of: int

    @classmethod
    def of_rows(cls, rows: pa.Table, part: str) -> "OneText | None":
        """The answer in rows of texts, normalised, if it is that to many different questions; else None.

        What says that there is no answer is wanted there, and does not count.
        """
        kept = _swaps(rows, part) & ~where(rows, y2=NO_ANSWER) & ~where(rows, y2=NO_LABEL)
        uids = strings(rows.filter(pa.array(kept)), "uid")
        texts = map(normalised, strings(rows.filter(pa.array(kept)), "y2"))
        questions = Counter(text for text, _ in set(zip(texts, uids, strict=True)))
        of = len(pc.unique(rows["uid"].filter(pa.array(_swaps(rows, part)))))
        text, n = min(questions.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
        return cls(text, n, of) if n >= MANY_QUESTIONS and n > MOST_ALIKE * of else None


class Swapped(NamedTuple):
    """Of each changed example that counts: its uid, its cluster and its draw, as numbers; int [rows] each."""

    uid: np.ndarray
    cluster: np.ndarray
    draw: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table, kept: np.ndarray) -> "Swapped":
        """Of the rows in which ``kept``, bool [rows], is true."""
        return cls(runs(rows, "uid")[kept], cluster_of(rows)[kept], rows["draw"].to_numpy()[kept])

    def where(self, kept: np.ndarray) -> "Swapped":
        """Some of them."""
        return Swapped(*(column[kept] for column in self))

    @property
    def examples(self) -> int:
        """How many base examples they were made of."""
        return int(numbered(self.uid)[-1]) + 1 if len(self.uid) else 0


def few_examples(n: float) -> tuple[str, ...]:
    """The flag of attentiveness that rests on so few examples that tables show their number instead, or nothing."""
    return (FEW_EXAMPLES,) if 0 < n < LEAST else ()


def mean_over_draws(hit: np.ndarray, of: Swapped, flags: tuple[str, ...], reason: str) -> Measurement:
    """Mean over draws of the share of hits, with its interval over clusters."""
    found = share(hit, of.cluster, flags, reason)
    if not len(hit):
        return found
    per_draw = tuple(float(hit[of.draw == d].mean()) for d in np.unique(of.draw))
    return replace(
        found,
        value=float(np.mean(per_draw)),
        n=of.examples,
        draws=len(per_draw),
        std=float(np.std(per_draw, ddof=1)) if len(per_draw) > 1 else None,
        per_draw=per_draw,
    )


def _score(hit: np.ndarray, of: Swapped, flags: tuple[str, ...], reason: str) -> Measurement:
    """The mean over draws, flagged where few examples count."""
    return mean_over_draws(hit.astype(np.float64), of, (*flags, *few_examples(of.examples)), reason)


def _eligible(name: MetricName, eligible: int, n: int) -> Numbers:
    """The share of uids with a base prediction that counts."""
    reason = None if n else "no example was predicted"
    return {name._replace(statistic="eligible"): Measurement(eligible / n if n else None, n, reason=reason)}


def attentiveness(
    rows: pa.Table,
    data: str,
    part: str,
    default_label: str | None,
    labels: Sequence[str],
    seed: int = 0,
    flags: tuple[str, ...] | None = None,
    slices: Sequence[str] = (),
) -> Numbers:
    """Attentiveness to one part.

    Over the uids whose base prediction is not the default label: the share whose prediction changes when ``part`` comes
    from another example. One score for each draw; their mean and sample standard deviation. Clusters of the interval
    are what examples share (``group``), or else uids. With no such uid the score is undefined. A swap counts where both
    answers are labels, but for ``with_invalid``.

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        default_label: The label of unrelated parts; None where the task has none, and then every uid counts.
        labels: All labels.
        seed: Keys the test of accuracy against the majority share.
        flags: What a reader must know of all numbers; by default, that accuracy is not above the majority share.
        slices: Meta columns by which there are numbers, too.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``; ``name/to_default``, the share that changes to the
        default label; ``name/with_invalid``, where some answers are not labels: the score with these, as if they were
        one more label, which is how the paper has it;
        ``name/from_<label>``, the share that changes among the uids predicted as that label, if labels are at most
        :data:`~heedful.records.MANY`; ``name/<column>=<value>``, ``name`` in each slice; ``name/eligible``, the share
        of uids with a base prediction that counts.
    """
    name = MetricName("attentiveness", data, part)
    flags = majority_flags(rows, seed) if flags is None else flags
    base = where(rows, intervention=BASE)
    is_label = ~where(rows, y=NO_LABEL)
    counts = is_label if default_label is None else is_label & ~where(rows, y=default_label)
    swapped = where(rows, intervention="swap", part=part) & (counts | ~is_label)
    of = Swapped.of(rows, swapped)
    valid = (counts & ~where(rows, y2=NO_LABEL))[swapped]
    changed = ~same(rows, "y", "y2")[swapped]
    eligible = int((base & counts).sum())

    def measure(full: MetricName, hit: np.ndarray, reason: str, kept: np.ndarray) -> None:
        result[full] = _score(hit[kept], of.where(kept), flags, reason)

    none = "no example has a partner"
    if eligible == 0 and base.any():
        none = f"every prediction is the default label {default_label!r}"
        if (base & ~is_label).any():
            none += ", or not a label"
    result: Numbers = {}
    measure(name, changed, none, valid)
    if default_label is not None:
        measure(name._replace(statistic="to_default"), where(rows, y2=default_label)[swapped], none, valid)
    if (base & ~is_label).any() or not valid.all():
        measure(name._replace(statistic="with_invalid"), changed, none, np.ones_like(valid))
    for label in labels if len(labels) <= MANY else ():
        if label != default_label:
            reason = f"no example that was swapped is predicted as {label!r}"
            here = valid & where(rows, y=label)[swapped]
            measure(name._replace(slice=f"from_{slice_of_label(label)}"), changed, reason, here)
    for text, of_slice in slices_of(rows, slices):
        measure(name._replace(slice=text), changed, NOTHING, valid & of_slice[swapped])
    return result | _eligible(name, eligible, int(base.sum()))


def span_attentiveness(rows: pa.Table, data: str, part: str, seed: int = 0, slices: Sequence[str] = ()) -> Numbers:
    """Attentiveness to one part, where an answer is a text or nothing.

    Over the uids with an answer as their base prediction: the share that becomes no answer when ``part`` comes from
    another example. What is neither an answer nor says that there is none does not count, before or after. One score
    for each draw; their mean and sample standard deviation. Clusters of the interval are what questions share
    (``group``).

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        seed: Keys the test of exact match against never answering.
        slices: Meta columns by which there are numbers, too.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``; ``name/changed``, the share whose answer becomes
        another one, normalised, or none; both flagged where one text is the answer to many different questions;
        ``name/<column>=<value>``, ``name`` in each slice; ``name/eligible``, the
        share of uids with an answer.
    """
    name = MetricName("attentiveness", data, part)
    flags = (*reading_flags(rows, seed), *((ONE_TEXT,) if OneText.of_rows(rows, part) else ()))
    base = where(rows, intervention=BASE)
    answered = ~where(rows, y=NO_ANSWER) & ~where(rows, y=NO_LABEL)
    swapped = where(rows, intervention="swap", part=part) & answered & ~where(rows, y2=NO_LABEL)
    of = Swapped.of(rows, swapped)
    changes = rows.filter(pa.array(swapped))
    before = strings(changes, "y")
    after = strings(changes, "y2")
    other = [not SPAN.alike(y, y2) or not y2 for y, y2 in zip(before, after, strict=True)]
    eligible = int((base & answered).sum())
    reason = "no example has a partner" if eligible else "every prediction is no answer"
    result = {}
    for full, hits in ((name, after == NO_ANSWER), (name._replace(statistic="changed"), np.array(other, dtype=bool))):
        result[full] = _score(hits, of, flags, reason)
    none = (after == NO_ANSWER).astype(np.float64)
    for text, of_slice in slices_of(rows, slices):
        kept = of_slice[swapped]
        result[name._replace(slice=text)] = _score(none[kept], of.where(kept), flags, NOTHING)
    return result | _eligible(name, eligible, int(base.sum()))


def kept_answers(rows: pa.Table, data: str, part: str, seed: int = 0, slices: Sequence[str] = ()) -> Numbers:
    """How often an answer stays where a part that must not matter is another's.

    Over all uids, those whose answer is none with them: another distractor must not bring an answer about either. What
    is neither an answer nor says that there is none does not count. One score for each draw; their mean and sample
    standard deviation. Clusters of the interval are what questions share (``group``).

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        seed: Keys the test of exact match against never answering.
        slices: Meta columns by which there are numbers, too.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name/kept``, the share whose answer stays, normalised as for
        exact match, and ``name/kept/<column>=<value>`` in each slice; ``name/changed``, as of
        :func:`span_attentiveness`: among the uids with an answer, the share that becomes another one or none. There is
        no ``name``, for of such a part nothing should be expected of attentiveness.
    """
    name = MetricName("attentiveness", data, part)
    flags = reading_flags(rows, seed)
    swapped = _swaps(rows, part) & ~where(rows, y=NO_LABEL) & ~where(rows, y2=NO_LABEL)
    of = Swapped.of(rows, swapped)
    changes = rows.filter(pa.array(swapped))
    before = strings(changes, "y")
    after = strings(changes, "y2")
    stays = np.array([SPAN.alike(y, y2) and bool(y) == bool(y2) for y, y2 in zip(before, after, strict=True)], bool)
    result: Numbers = {}

    def measure(full: MetricName, hits: np.ndarray, counts: np.ndarray, reason: str) -> None:
        result[full] = _score(hits[counts], of.where(counts), flags, reason)

    none = "no example has a partner"
    kept = name._replace(statistic="kept")
    measure(kept, stays, np.ones_like(stays), none)
    measure(
        name._replace(statistic="changed"), ~stays, before != NO_ANSWER, f"{none}, or every prediction is no answer"
    )
    for text, of_slice in slices_of(rows, slices):
        measure(kept._replace(slice=text), stays, of_slice[swapped], "no example of it was swapped")
    return result


def score(rows: pa.Table, context: Context) -> Numbers:
    """Attentiveness to each of the parts ``own["swap"]``; and what stays, of the parts ``own["distractors"]``."""
    data = context.data
    seed = context.seed
    parts = context.own["swap"]
    found: Numbers = {}
    if context.kind is SPAN:
        for part in parts:
            found |= span_attentiveness(rows, data, part, seed, context.slices)
        for part in context.own.get("distractors", ()):
            found |= kept_answers(rows, data, part, seed, context.slices)
        return found
    flags = soft_flags(rows, seed) if context.kind is SOFT else majority_flags(rows, seed)
    for part in parts:
        labels = context.default_label, context.labels
        found |= attentiveness(rows, data, part, *labels, seed, flags, context.slices)
    return found


def counted(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """The swaps that the attentiveness to each part counts if they are answered, and those of each distractor: bool
    [rows] each."""
    name = MetricName("attentiveness", context.data)
    is_answer = ~where(rows, y=NO_LABEL)
    default = NO_ANSWER if context.kind is SPAN else context.default_label
    counts = is_answer if default is None else is_answer & ~where(rows, y=default)
    found = {name._replace(part=part): counts & _swaps(rows, part) for part in context.own["swap"]}
    distractors = context.own.get("distractors", ())
    return found | {name._replace(part=part, statistic="kept"): is_answer & _swaps(rows, part) for part in distractors}


def _swaps(rows: pa.Table, part: str) -> np.ndarray:
    return where(rows, intervention="swap", part=part)


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
            shown.append(replace(line, beside=line.beside or (name.statistic == "kept" and not name.slice)))
        if name in last:
            shown.append(Line(str(name), "from_...", level=1, text=last[name]))
    return Shown(shown)


def charts(context: Context) -> tuple[Chart, ...]:
    """Attentiveness to each part, and that by predicted label if these are not many."""
    names = {part: MetricName("attentiveness", context.data, part) for part in context.own["swap"]}
    curves = {f"attentiveness: {part}": name for part, name in names.items()}
    for part in context.own.get("distractors", ()):
        curves[f"kept: {part}"] = MetricName("attentiveness", context.data, part, "kept")
    found = [Chart("attentiveness", curves, METRIC.name)]
    labels = (
        [label for label in context.labels if label != context.default_label] if len(context.labels) <= MANY else []
    )
    for part, name in names.items() if labels else ():
        curves = {label: name._replace(slice=f"from_{slice_of_label(label)}") for label in labels}
        found.append(Chart(f"attentiveness to {part} by predicted label", curves))
    return tuple(found)


STATISTICS = "to_default", "with_invalid", "eligible", "changed", "kept"
METRIC = Metric("attentiveness", score, show, charts, STATISTICS, counted)

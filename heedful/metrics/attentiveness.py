"""Attentiveness (CAT, §3.3): how often the prediction changes when a part is replaced by the part of another example.

In extractive question answering (CAT, §4), it is how often an answer becomes "no answer".
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from heedful.metrics.answers import majority_flags
from heedful.metrics.hits import SwapSettings, alike, eligible, hits, is_answer, is_distractor
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number
from heedful.metrics.one_text import ONE_TEXT, OneText
from heedful.metrics.slices import slice_of_label, slices_of
from heedful.metrics.statistics.draws import Drawn, few_examples, mean_over_draws
from heedful.records import MANY, TEXT, Context, Measurement, MetricName, printable
from heedful.records.answers import NO_ANSWER
from heedful.records.rows import BASE, rows_with, strings

QUOTED = 40  # characters of an answer that a message quotes
COMMONEST = 3  # answers that a message quotes
KEPT, WITH_INVALID = "kept", "with_invalid"  # statistics
DEFAULT_UNSEEN = "default_label_unseen"
NOT_SWAPPED = "no example of it was swapped"
NOTHING = f"{NOT_SWAPPED}, or all are predicted as the default label"
NO_PARTNER = "no example has a partner"
NO_ANSWERS_BEFORE = "every prediction is no answer"
WITHHELD = "half of the changed inputs or more get one text that no base input gets"


def attentiveness(
    rows: pa.Table, part: str, context: Context, flags: tuple[str, ...] | None = None
) -> Iterator[Number | Counts]:
    """Measure attentiveness to a part: the share of predictions that change when the part is swapped.

    A swap replaces the part by the same part of another example, the partner. Each example is swapped once per draw;
    the value is the mean over draws. Only eligible examples count: those whose prediction is not the default label,
    which is the right answer after most swaps. A swap does not count if the prediction before or after the swap is
    missing. In reading comprehension, only a change to "no answer" counts as a change. For intervals, the examples of a
    group (column ``group``) form one cluster.

    For a distractor (a part that must not matter), the number is the share of answers that stay, over all examples.

    Args:
        rows: Base rows and rows of the intervention "swap", in their canonical order.
        part: The part that was swapped.
        context: Task and settings of the evaluation.
        flags: Flags of all numbers; by default, a flag if accuracy is not above the majority baseline.

    Yields:
        With ``name`` = ``attentiveness/<data>/<part>``:

        - ``name``, or ``name/kept`` for a distractor, and the same in each slice, ``name/<column>=<value>``;
        - ``name/changed`` in reading comprehension: share of answers that change after normalisation, or disappear;
        - ``name/to_default``: share of predictions that change to the default label;
        - ``name/with_invalid``, or ``name/kept/with_invalid``, if predictions are missing: ``name`` with the missing
          answer as one more label, as in the paper;
        - ``name/from_<label>``, or ``name/kept/from_<label>`` for a distractor: the same over the examples predicted as
          a label, for at most :data:`~heedful.records.MANY` labels;
        - ``name/eligible``, but not for a distractor: share of eligible examples.

        Counts of the part: "eligible" examples, and "swapped" examples whose swaps count.
    """
    name = MetricName("attentiveness", context.data, part)
    is_kept = is_distractor(part, context)  # counts all examples, since a distractor must not create an answer either
    swaps = hits(rows, part, context)
    base = rows_with(rows, intervention=BASE)
    n = int(base.sum())
    counts = int((base & eligible(rows, part, context)).sum())
    if flags is None:
        flags = () if context.unlabelled else majority_flags(rows, context.kind, context.seed)
    one_text = OneText.of_rows(rows, part, context)
    flags = flags if one_text is None else (*flags, ONE_TEXT)
    flags = (*flags, DEFAULT_UNSEEN) if not is_kept and is_default_unseen(rows, context) else flags
    none = NO_PARTNER if is_kept or counts else _why_none(rows, context)
    columns = Drawn.of(rows)

    def measure(hit: np.ndarray, is_counted: np.ndarray, reason: str) -> Measurement:
        counted = columns.where(is_counted)
        measured = mean_over_draws(hit[is_counted], counted, (*flags, *few_examples(counted.examples)), reason)
        is_withheld = one_text is not None and one_text.is_withheld
        return Measurement(None, measured.n, flags=measured.flags, reason=WITHHELD) if is_withheld else measured

    headline = Number(
        headline_of(part, context),
        measure(swaps.hit, swaps.counted, none),
        headline=True,
        changed=swaps.base_answered,
    )
    yield headline
    if context.kind.has_spans:
        answered = swaps.counted & ~rows_with(rows, y=NO_ANSWER)
        reason = none if NO_ANSWERS_BEFORE in none else f"{none}, or {NO_ANSWERS_BEFORE}"
        changed = measure(~alike(rows, context.kind), answered, reason)
        yield Number(name._replace(statistic="changed"), changed)
    else:
        if context.default_label is not None and not is_kept:
            default = rows_with(rows, y2=context.default_label)
            yield Number(name._replace(statistic="to_default"), measure(default, swaps.counted, none))
        if (base & ~is_answer(rows)).any() or (swaps.swapped & ~swaps.counted).any():
            statistic = f"{KEPT}/{WITH_INVALID}" if is_kept else WITH_INVALID
            yield Number(name._replace(statistic=statistic), measure(swaps.hit, swaps.swapped, none))
        for label in _labels_to_report(context):
            full = headline.name._replace(slice=f"from_{slice_of_label(label)}")
            reason = f"no example that was swapped is predicted as {label!r}"
            yield Number(full, measure(swaps.hit, swaps.counted & rows_with(rows, y=label), reason))
    for text, of_slice in slices_of(rows, context.slices):
        in_slice = measure(swaps.hit, swaps.counted & of_slice, NOT_SWAPPED if is_kept else NOTHING)
        yield Number(headline.name._replace(slice=text), in_slice)
    if not is_kept:
        share = Measurement(counts / n, n) if n else Measurement(None, 0, reason="no example was predicted")
        yield Number(name._replace(statistic="eligible"), share)
    swapped = columns.where(swaps.base_answered & rows_with(rows, draw=0))
    yield {part: {"eligible": counts, "swapped": swapped.examples}}
    if one_text is not None:
        yield {"one_text": {part: one_text}}


def _labels_to_report(context: Context) -> list[str]:
    """Return the labels with an attentiveness of their own: attentiveness over the examples predicted as the label.

    These are all labels except the default label, or none if there are more than :data:`~heedful.records.MANY` labels.
    """
    few = context.labels if len(context.labels) <= MANY else ()
    return [label for label in few if label != context.default_label]


def _why_none(rows: pa.Table, context: Context) -> str:
    """Return the reason why no example counts, such as "every prediction is the default label 'neutral'"."""
    if context.kind.has_spans:
        return NO_ANSWERS_BEFORE
    base = rows_with(rows, intervention=BASE)
    if not base.any():
        return NO_PARTNER
    is_none = base & ~is_answer(rows)
    if is_none.sum() == base.sum():
        return "no prediction is a label"
    also = ", or not a label" if is_none.any() else ""
    return f"every prediction is the default label {context.default_label!r}{also}"


def is_default_unseen(rows: pa.Table, context: Context) -> bool:
    """Whether neither an answer nor a gold answer is the default label, in a task with free texts.

    The default label may then be misspelt, so that attentiveness is over the wrong examples.
    """
    label = context.default_label
    is_text = context.kind is TEXT and label is not None
    return is_text and not any(rows_with(rows, **{column: label}).any() for column in ("y", "y2", "gold"))


def unseen_default(rows: pa.Table, context: Context) -> list[str]:
    """Return a default label that is no answer (:func:`is_default_unseen`), and the most frequent answers; empty
    otherwise.
    """
    if context.default_label is None or not is_default_unseen(rows, context):
        return []
    answers = Counter(strings(rows.filter(pa.array(rows_with(rows, intervention=BASE))), "y"))
    return [context.default_label, *sorted(answers, key=lambda text: (-answers[text], text))[:COMMONEST]]


def unseen_default_text(label: str, answers: Sequence[str]) -> str:
    """Return a sentence about a default label that is no answer, with the most frequent answers."""
    quoted = ", ".join(repr(printable(text)[:QUOTED]) for text in answers)
    return (
        f"Neither an answer nor a gold answer is the default label {label!r}; the most frequent answers are {quoted}. "
        "If the default label is misspelt, attentiveness is over the wrong examples."
    )


def parts_of(context: Context) -> list[str]:
    """Return the names of the swapped parts; parts that must not matter (distractors) are last."""
    return [part for part, _ in SwapSettings.from_context(context).swap]


def headline_of(part: str, context: Context) -> MetricName:
    """Return the metric name of the main number of a part: its attentiveness; for a distractor (a part that must not
    matter), the share of answers that stay.
    """
    statistic = KEPT if is_distractor(part, context) else ""
    return MetricName("attentiveness", context.data, part, statistic)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield all numbers of the attentiveness evaluation, for each swapped part."""
    for part in parts_of(context):
        yield from attentiveness(rows, part, context)
    if unseen := unseen_default(rows, context):
        yield {DEFAULT_UNSEEN: unseen}


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the main number of every swapped part."""
    return [headline_of(part, context) for part in parts_of(context)]


METRIC = Metric("attentiveness", numbers, headlines)

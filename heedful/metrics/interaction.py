"""Interaction: how much of the probability of the gold label needs two parts together.

If f(S) is the probability of the gold label given the parts S, the interaction of a and b is f(ab) - f(a) - f(b) +
f(nothing), as in a 2 x 2 factorial experiment. A missing part is emptied, or taken from another example.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.slices import slice_of_label, slices_of
from heedful.metrics.statistics.draws import Drawn, few_examples, mean_over_draws
from heedful.metrics.statistics.shares import ratio
from heedful.records import MANY, Context, Measurement, MetricName
from heedful.records.rows import BASE, probabilities, rows_with

INTERVENTIONS = {"emptied": "empty", "swapped": "swap"}  # by the statistic of the interaction
NONE = "no example has all four probabilities of its gold label"
NO_GAIN = "both parts do not clearly raise the probability of the gold label"


@dataclass(frozen=True)
class InteractionSettings(Settings):
    """Settings: pairs of inputs; an input is a part, or several parts joined by "+"."""

    pairs: Sequence[tuple[str, str]]


def interaction(rows: pa.Table, pair: tuple[str, str], way: str, context: Context) -> Iterator[Number | Counts]:
    """Measure the interaction of two parts that are "emptied" or "swapped" (``way``), for the examples and draws that
    have all four probabilities.

    Yields:
        ``name`` = ``interaction/<data>/<a>+<b>/<way>``, the mean interaction, also for each of at most
        :data:`~heedful.records.MANY` gold labels (``name/gold_<label>``) and each ``name/<column>=<value>``;
        ``name/share``, the ratio of the means of the interaction and of f(ab) - f(nothing); ``name/both``,
        ``name/only_<a>``, ``name/only_<b>``, ``name/nothing``, the means of f. Counts: examples, and "left_out".
    """
    first, second = pair
    name = MetricName("interaction", context.data, f"{first}+{second}", way)
    change = {"intervention": INTERVENTIONS[way], "variant": name.part if way == "swapped" else ""}
    masks = [rows_with(rows, part=part, **change) for part in (second, first, name.part)]
    gold = pc.fill_null(pc.index_in(rows["gold"], value_set=pa.array(context.labels, pa.string())), -1).to_numpy()
    is_known = (gold >= 0) & is_answer(rows) & rows["p"].is_valid().to_numpy()
    has_both = is_known & is_answer(rows, "y2") & rows["p2"].is_valid().to_numpy()
    columns, flags = Drawn.of(rows), constant_flags(rows)
    key = columns.uid * np.int64(2**16) + columns.draw
    at = [np.flatnonzero(mask & has_both) for mask in masks]
    complete = reduce(np.intersect1d, [key[each] for each in at])
    at = [each[np.searchsorted(key[each], complete)] for each in at]
    columns, several = columns.where(at[0]), (("p", at[0]), *(("p2", each) for each in at))
    f = np.array([probabilities(rows.take(k), p)[np.arange(len(k)), gold[k]] for p, k in several], dtype=np.float64)
    value = np.array([1, -1, -1, 1]) @ f

    def mean(values: np.ndarray, mask: Any = slice(None), is_share: bool = False) -> Measurement:
        counted = columns.where(mask)
        return mean_over_draws(values[mask], counted, (*flags, *few_examples(counted.examples)), NONE, is_share)

    total = mean(value)
    yield Number(name, total, headline=True, changed=np.any(masks, axis=0) & is_known)
    none = Measurement(None, total.n, flags=total.flags, reason=NO_GAIN if len(complete) else NONE)
    share = ratio(columns.weights * value, columns.weights * (f[0] - f[3]), none, columns.cluster, columns.lenders)
    yield Number(name._replace(statistic=f"{way}/share"), share, headline=True)
    for statistic, values in zip(("both", f"only_{first}", f"only_{second}", "nothing"), f, strict=True):
        yield Number(name._replace(statistic=f"{way}/{statistic}"), mean(values, is_share=True))
    labels = context.labels if len(context.labels) <= MANY else ()
    by_label = ((f"gold_{slice_of_label(label)}", rows_with(rows, gold=label)) for label in labels)
    for text, mask in (*by_label, *slices_of(rows, context.slices)):
        yield Number(name._replace(slice=text), mean(value, mask[at[0]]))
    yield {name.part: {way: total.n, f"{way}_left_out": int(rows_with(rows, intervention=BASE).sum()) - total.n}}


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield the numbers of :func:`interaction` for each pair of parts and each way to leave a part out."""
    for pair, way in product(InteractionSettings.from_context(context).pairs, INTERVENTIONS):
        yield from interaction(rows, pair, way, context)


WORDS: dict[str, str | None] = {f"interaction/{way}/share": f"share that needs both, {way}" for way in INTERVENTIONS}
METRIC = Metric("interaction", numbers, words=WORDS)

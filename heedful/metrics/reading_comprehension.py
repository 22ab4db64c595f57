"""Reading comprehension: exact match and F1 as defined by SQuAD 2.0, and the share of "no answer".

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import NOBODY, constant_flags, noise, without_answer
from heedful.metrics.answers import majority_flags
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number
from heedful.metrics.slices import slices_of
from heedful.metrics.statistics.shares import exact_mean, share
from heedful.records import NO_LABEL, SPAN, Context, Measurement, MetricName
from heedful.records.answers import NO_ANSWER, exact_match, f1
from heedful.records.rows import BASE, cluster_of, select, strings

ABSTENTION = "abstention"


def reading_scores(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure exact match, F1 and the share of "no answer" (abstention) on unchanged examples.

    The clusters of intervals are the articles or texts that questions are about (``group``), or else the examples.

    Yields:
        ``exact_match/<data>`` and ``f1/<data>``, where a missing answer is wrong, and ``abstention/<data>``, the share
        of "no answer". Below each, ``has_answer`` and ``no_answer``, the same over questions with and without a gold
        answer, and ``<column>=<value>``, the same in each slice. Below exact match and F1, ``majority``, the score of a
        model that always predicts "no answer".
    """
    base = select(rows, intervention=BASE)
    golds, answers, cluster = SPAN.parse_golds(strings(base, "gold")), strings(base, "y"), cluster_of(base)
    flags = majority_flags(base, SPAN, context.seed)
    has = np.array([bool(gold) for gold in golds], dtype=bool)
    kinds = [("has_answer", has), ("no_answer", ~has), *slices_of(base, context.slices)]
    rates = {
        "exact_match": (exact_match, (*flags, *constant_flags(base))),
        "f1": (f1, flags),
        ABSTENTION: (lambda answer, golds: float(answer == NO_ANSWER), ()),
    }
    for family, (rate, own) in rates.items():
        name = MetricName(family, context.data)
        if not base.num_rows:
            yield Number(name, Measurement(None, 0, reason=NOBODY), headline=True)
            continue
        pairs = zip(answers, golds, strict=True)
        values = np.array([rate(answer, gold) if answer != NO_LABEL else 0.0 for answer, gold in pairs])
        yield Number(name, share(values, cluster, own), headline=True)
        for kind, mask in kinds:
            of_kind = share(values[mask], cluster[mask], reason="there is no such question")
            yield Number(name._replace(slice=kind), of_kind)
        if family != ABSTENTION:
            never = np.array([rate(NO_ANSWER, gold) for gold in golds])
            yield Number(name._replace(statistic="majority"), exact_mean(never, cluster))


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the evaluation of answers; without gold answers, only those that need none."""
    if not context.unlabelled:
        yield from reading_scores(rows, context)
    yield from without_answer(rows, context)
    yield from noise(rows, context)


def headlines(context: Context) -> list[MetricName]:
    """Return the names of exact match and F1; none without gold labels."""
    return [] if context.unlabelled else [MetricName(family, context.data) for family in ("exact_match", "f1")]


FAMILIES = "exact_match", "f1", ABSTENTION, "no_answer", "null"
METRIC = Metric("answers", numbers, headlines, FAMILIES, {"f1": "F1"})

"""Reading comprehension: exact match and F1 as SQuAD 2.0 defines them, and how often there is no answer.

Source: Rajpurkar, Jia and Liang (2018), evaluate-v2.0.py.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import noise, noise_chart, with_constant, without_answer
from heedful.metrics.answers import majority_flags
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.slices import slices_of
from heedful.metrics.statistics.shares import share, sure
from heedful.records import NO_LABEL, SPAN, Chart, Context, Measurement, MetricName
from heedful.records.answers import NO_ANSWER, exact_match, f1
from heedful.records.rows import BASE, cluster_of, select, strings

ABSTENTION = "abstention"


def abstains(answer: str, golds: Sequence[str]) -> float:
    """1 where an answer is none."""
    return float(answer == NO_ANSWER)


def reading_scores(rows: pa.Table, data: str, seed: int = 0, slices: Sequence[str] = ()) -> Numbers:
    """Exact match, F1 and abstention of base predictions; clusters are what questions share, article or text.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the test of :func:`~heedful.metrics.answers.majority_flags`.
        slices: Meta columns by which there are numbers, too.

    Returns:
        ``exact_match/<data>`` and ``f1/<data>``, for which what is neither an answer nor says that there is none is
        wrong; each also as ``.../has_answer`` and ``.../no_answer``, over the
        questions with and without a gold answer, and as ``.../majority``, what one gets that never answers; and
        as ``.../<column>=<value>`` for each slice (:func:`~heedful.metrics.slices.slices_of`). ``abstention/<data>``,
        the share of predictions that are no answer, likewise but without a majority.
    """
    base = select(rows, intervention=BASE)
    names = {MetricName("exact_match", data): exact_match, MetricName("f1", data): f1}
    names[MetricName(ABSTENTION, data)] = abstains
    if not base.num_rows:
        return {name: Measurement(None, 0, reason="no example was predicted") for name in names}
    golds = SPAN.parse_golds(strings(base, "gold"))
    answers = strings(base, "y")
    cluster = cluster_of(base)
    flags = majority_flags(base, SPAN, seed)
    has = np.array([bool(gold) for gold in golds])
    kinds = [("has_answer", has), ("no_answer", ~has), *slices_of(base, slices)]
    result: Numbers = {}
    for name, rate in names.items():
        pairs = zip(answers, golds, strict=True)
        values = np.array([rate(answer, gold) if answer != NO_LABEL else 0.0 for answer, gold in pairs])
        result[name] = share(values, cluster, () if rate is abstains else flags)
        for kind, of_kind in kinds:
            full = name._replace(slice=kind)
            result[full] = share(values[of_kind], cluster[of_kind], reason="there is no such question")
        if rate is not abstains:
            never = np.array([rate(NO_ANSWER, gold) for gold in golds])
            result[name._replace(statistic="majority")] = sure(never, cluster)
    return result


def score(rows: pa.Table, context: Context) -> Numbers:
    """Exact match, F1, abstention, what is no answer, and the noise floor; the last two alone without gold."""
    if context.unlabelled:
        return without_answer(rows, context.data) | noise(rows, context.data, context.own)
    numbers = reading_scores(rows, context.data, context.seed, context.slices)
    numbers = with_constant(numbers, MetricName("exact_match", context.data), rows)
    return numbers | without_answer(rows, context.data) | noise(rows, context.data, context.own)


def charts(context: Context) -> tuple[Chart, ...]:
    """F1 and exact match, and the noise floor; this alone without gold."""
    if context.unlabelled:
        return (noise_chart(context.data),)
    curves = {"F1": MetricName("f1", context.data), "exact match": MetricName("exact_match", context.data)}
    return Chart("F1 and exact match", curves, "attentiveness"), noise_chart(context.data)


METRIC = Metric("answers", score, charts=charts)

"""Accuracy in two classes, entailment or not, by data set (natural logic, table 5)."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.causal_effects import entailed, gold_entailed
from metrics.statistics.bootstrap import bootstrap_interval, flagged, majority_flag
from records import Measurement
from records.rows import BASE, select, strings


def two_class_accuracy(rows: pa.Table, labels: Sequence[str], seed: int = 0) -> dict[str, Measurement]:
    """Share of base predictions that are right as to entailment, for each data set among the rows.

    Args:
        rows: Base rows of one data set or more; a uid begins with the name of its data set.
        labels: The model's labels, in the order of its probabilities; one of them is "entailment".
        seed: Keys the bootstrap.

    Returns:
        For each data set ``two_class/<data>``, by the rule "sum" of :func:`~metrics.causal_effects.entailed`;
        ``two_class/<data>/argmax``, by the other; ``two_class/<data>/majority``, the share of the larger class. An
        accuracy that is not above it is flagged.
    """
    base = select(rows, intervention=BASE)
    gold = gold_entailed(base)
    right = {rule: (entailed(base, labels, rule=rule) == gold).astype(np.float64) for rule in ("sum", "argmax")}
    of_data = np.array([uid.split("/")[0] for uid in strings(base, "uid")], dtype=object)
    result = {}
    for data in sorted(set(of_data)):
        here, name = of_data == data, f"two_class/{data}"
        share, n = float(gold[here].mean()), int(here.sum())
        majority = max(share, 1 - share)
        for rule, full in (("sum", name), ("argmax", f"{name}/argmax")):
            hits = right[rule][here]
            interval = bootstrap_interval(hits, np.ones_like(hits), (seed, full))
            flags = flagged(interval, majority_flag(int(hits.sum()), n, majority))
            result[full] = Measurement(float(hits.mean()), n, ci95=interval, flags=flags)
        result[f"{name}/majority"] = Measurement(majority, n)
    return result

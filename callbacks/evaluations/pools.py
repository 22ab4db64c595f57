"""Prepare examples for evaluations: rename their parts as in the model's data set, and divide them by split."""

from collections.abc import Sequence

import numpy as np

from heedful.datamodules.base.pairs import Pairs
from heedful.records import DataError, Examples, ModelError, is_entailment
from heedful.records.task import same_parts


def fitted(pool: Examples, data: Pairs) -> Examples:
    """Return ``pool`` with parts named as in ``data``, and without parts that the model does not read."""
    return pool.rename_parts(fitted_parts(pool, data)).keep_parts(data.task.parts)


def fitted_parts(pool: Examples, data: Pairs) -> tuple[str, ...]:
    """Return the name of the part of ``data`` that matches each part of ``pool``, another data set.

    If each data set has exactly one table, the tables match. The remaining parts match as in
    :func:`~heedful.records.task.same_parts`. Raises ModelError if the numbers of parts differ.
    """
    parts = data.full_task.parts
    tables = () if data.whole is None else data.whole.tables
    if len(pool.parts) != len(parts):
        raise ModelError(
            f"Examples of {', '.join(pool.parts)} do not fit a model of {', '.join(parts)}. Name data with as many "
            "parts as the model reads."
        )
    if (len(pool.tables), len(tables)) != (1, 1):
        return same_parts(pool.parts, parts)
    texts = [part for part in pool.parts if part not in pool.tables]
    fitting = iter(same_parts(texts, [part for part in parts if part not in tables]))
    return tuple(tables[0] if part in pool.tables else next(fitting) for part in pool.parts)


def by_split(pool: Examples, data: Pairs) -> list[Examples]:
    """Return the examples per evaluated split; if there is only one split, a list with ``pool`` alone."""
    if not data.splits_evaluated:
        return [pool]
    splits = np.array(list(pool.column("meta.split")))
    return [pool.take(np.flatnonzero(splits == split)) for split in data.splits_evaluated]


def require_entailment(labels: Sequence[str], display_name: str) -> None:
    """Raise DataError if none of the labels means entailment; the message begins with ``display_name``."""
    if not any(map(is_entailment, labels)):
        raise DataError(
            f"{display_name}: entailment is not among the labels {', '.join(labels)}. Leave that evaluation out, or "
            "take data with these labels."
        )

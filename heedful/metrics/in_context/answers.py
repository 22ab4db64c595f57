"""What a model in context answers: as it writes, and by the probabilities of the labels."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import majority_flags
from heedful.metrics.reading_comprehension import majority_flags as reading_flags
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import NO_LABEL, SPAN, Context
from heedful.records.answers import NO_ANSWER
from heedful.records.rows import BASE, cluster_of, codes, probabilities, select, strings

WORTH = "worth"
ABOVE = "above"
INVALID = "invalid"
SCORED = "scored"
SCORED_ABOVE = "scored_above"
AGREEMENT = "agreement"


@dataclass(frozen=True)
class Answers:
    """The base predictions with one prompt.

    Attributes:
        sums: Number to float64 [clusters, 2], the sum of it over the examples of each cluster, and how many there are.
            ``worth`` is what written answers are worth (accuracy, or exact match of texts), ``above`` that less the
            worth of the best single answer, and ``invalid`` the share of written answers that are not labels (of texts,
            that are no answer). Where there are probabilities, also ``scored`` and ``scored_above``, the same of the
            most probable labels, and ``agreement``, the share of most probable labels that are also written.
        n: How many examples.
        majority: What the best single answer is worth.
        at_chance: Whether ``worth``, and ``scored``, is not above that (p < 0.05), with this prompt alone.
    """

    sums: dict[str, np.ndarray]
    n: int
    majority: float
    at_chance: dict[str, bool]


def scored(rows: pa.Table, labels: tuple[str, ...]) -> pa.Table | None:
    """Rows whose answers are the most probable labels, whatever was written; where all are as probable, it stays.

    Args:
        rows: Rows.
        labels: The labels, in the order of the probabilities.

    Returns:
        The rows with other ``y`` and ``y2``; None where a prediction has no probabilities.
    """
    if not labels or rows["p"].null_count or rows.filter(rows["y2"].is_valid())["p2"].null_count:
        return None
    answered = rows["y2"].is_valid().to_numpy()
    y2 = np.full(rows.num_rows, None, dtype=object)
    if answered.any():
        y2[answered] = _most_probable(rows.filter(pa.array(answered)), "p2", "y2", labels)
    changed = {"y": _most_probable(rows, "p", "y", labels) if rows.num_rows else y2, "y2": y2}
    for name, column in changed.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.string()))
    return rows


def _most_probable(rows: pa.Table, of: str, otherwise: str, labels: tuple[str, ...]) -> np.ndarray:
    p = probabilities(rows, of)
    likely = np.array(labels, dtype=object)[p.argmax(axis=1)]
    return np.where(p.max(axis=1) > p.min(axis=1), likely, strings(rows, otherwise))


def answers(rows: pa.Table, context: Context) -> Answers:
    """Count the base predictions of one prompt.

    Args:
        rows: Rows; the base rows among them count, and there is one or more.
        context: Of the rows.
    """
    base = select(rows, intervention=BASE)
    gold = strings(base, "gold")
    y = strings(base, "y")
    is_span = context.kind is SPAN
    cluster = cluster_of(base)
    worth = context.kind.scores(y, gold)
    best = context.kind.scores([NO_ANSWER] * len(gold), gold) if is_span else _majority(base)
    columns = {WORTH: worth, ABOVE: worth - best, INVALID: y == (NO_ANSWER if is_span else NO_LABEL)}
    flags = reading_flags(base, context.seed) if is_span else majority_flags(base, context.seed)
    at_chance = {WORTH: NOT_ABOVE_MAJORITY in flags}
    likely = None if is_span else scored(base, context.labels)
    if likely is not None:
        probable = strings(likely, "y")
        columns |= {SCORED: probable == gold, SCORED_ABOVE: (probable == gold) - best, AGREEMENT: probable == y}
        at_chance[SCORED] = NOT_ABOVE_MAJORITY in majority_flags(likely, context.seed)
    number = int(cluster.max()) + 1
    sums = {name: by_cluster(column, cluster, number) for name, column in columns.items()}
    return Answers(sums, len(y), float(best.mean()), at_chance)


def _majority(base: pa.Table) -> np.ndarray:
    """Whether the gold label of each example is the most frequent one: float64 [examples]."""
    gold, names = codes(base, "gold")
    return (gold == np.bincount(gold, minlength=len(names)).argmax()).astype(np.float64)


def by_cluster(values: np.ndarray, cluster: np.ndarray, clusters: int) -> np.ndarray:
    """The sum of values and their number in each cluster: float64 [clusters, 2].

    Args:
        values: [entries].
        cluster: int [entries], the cluster of each.
        clusters: How many there are.
    """
    values = np.asarray(values, dtype=np.float64)
    return np.stack([np.bincount(cluster, v, minlength=clusters) for v in (values, np.ones_like(values))], axis=1)

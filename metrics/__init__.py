"""Pure functions from rows to numbers with error bars; each evaluation has a :class:`~metrics.metric.Metric`."""

from metrics.accuracy import METRIC as ACCURACY
from metrics.accuracy import accuracy, noise
from metrics.attentiveness import METRIC as ATTENTIVENESS
from metrics.attentiveness import attentiveness, span_attentiveness
from metrics.causal_effects import METRIC as NATURAL_LOGIC
from metrics.entailment import disagreements
from metrics.metric import Metric
from metrics.naive_partial import METRIC as NAIVE_PARTIAL
from metrics.naive_partial import naive_partial
from metrics.reading_comprehension import METRIC as ANSWERS
from metrics.reading_comprehension import reading_scores
from metrics.soft_accuracy import soft_accuracy, soft_flags
from metrics.tables.challenge import METRIC as CHALLENGE
from metrics.tables.challenge import challenge_counts
from metrics.tables.counterfactual_tables import METRIC as COUNTERFACTUAL_TABLES
from metrics.tables.evidence import METRIC as EVIDENCE
from metrics.tables.evidence import evidence_counts
from metrics.tables.transitions import METRIC as TABLE_ROWS
from metrics.tables.transitions import Changes
from metrics.two_class import METRIC as TWO_CLASS
from metrics.two_class import two_class_accuracy
from records import Measurement

METRICS: dict[str, Metric] = {  # by the name of the evaluation, in the order in which tables show them
    metric.name: metric
    for metric in (
        ACCURACY,
        ANSWERS,
        ATTENTIVENESS,
        NAIVE_PARTIAL,
        TABLE_ROWS,
        EVIDENCE,
        CHALLENGE,
        COUNTERFACTUAL_TABLES,
        NATURAL_LOGIC,
        TWO_CLASS,
    )
}

__all__ = [
    "METRICS",
    "Changes",
    "Measurement",
    "Metric",
    "accuracy",
    "attentiveness",
    "challenge_counts",
    "disagreements",
    "evidence_counts",
    "naive_partial",
    "noise",
    "reading_scores",
    "soft_accuracy",
    "soft_flags",
    "span_attentiveness",
    "two_class_accuracy",
]

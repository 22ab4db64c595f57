"""Pure functions from rows to numbers with error bars."""

from metrics.accuracy import METRIC as ACCURACY
from metrics.accuracy import accuracy, noise
from metrics.attentiveness import METRIC as ATTENTIVENESS
from metrics.attentiveness import attentiveness, span_attentiveness
from metrics.causal_effects import causal_effects, disagreements
from metrics.metric import Metric
from metrics.naive_partial import METRIC as NAIVE_PARTIAL
from metrics.naive_partial import naive_partial
from metrics.reading_comprehension import METRIC as ANSWERS
from metrics.reading_comprehension import reading_scores
from metrics.soft_accuracy import soft_accuracy, soft_flags
from metrics.tables.challenge import challenge, challenge_counts, eight_cells
from metrics.tables.evidence import evidence, evidence_counts
from metrics.tables.transitions import Changes, invalid_transitions
from metrics.two_class import METRIC as TWO_CLASS
from metrics.two_class import two_class_accuracy
from records import Measurement

METRICS: dict[str, Metric] = {  # by the name of the evaluation, in the order in which tables show them
    metric.name: metric for metric in (ACCURACY, ANSWERS, ATTENTIVENESS, NAIVE_PARTIAL, TWO_CLASS)
}

__all__ = [
    "METRICS",
    "Changes",
    "Measurement",
    "Metric",
    "accuracy",
    "attentiveness",
    "causal_effects",
    "challenge",
    "challenge_counts",
    "disagreements",
    "eight_cells",
    "evidence",
    "evidence_counts",
    "invalid_transitions",
    "naive_partial",
    "noise",
    "reading_scores",
    "soft_accuracy",
    "soft_flags",
    "span_attentiveness",
    "two_class_accuracy",
]

"""Pure functions from rows to numbers with error bars; each evaluation has a :class:`~metrics.metric.Metric`."""

from metrics import accuracy, attentiveness, default_label, naive_partial, reading_comprehension
from metrics.attributions import metric as attributions
from metrics.metric import Metric
from metrics.natural_logic import causal_effects, two_class
from metrics.tables import challenge, counterfactual_tables, evidence, transitions

TABLES = transitions, evidence, challenge, counterfactual_tables
TESTS = attentiveness, default_label, naive_partial
MODULES = accuracy, reading_comprehension, *TESTS, *TABLES, causal_effects, two_class, attributions
METRICS: dict[str, Metric] = {module.METRIC.name: module.METRIC for module in MODULES}  # as tables show them

__all__ = ["METRICS", "Metric"]

"""Metrics: pure functions from the rows of an evaluation to numbers with confidence intervals."""

from heedful.metrics import (
    accuracy,
    attentiveness,
    counterpart,
    default_label,
    interaction,
    naive_partial,
    order,
    reading_comprehension,
)
from heedful.metrics.attributions import metric as attributions
from heedful.metrics.metric import Metric
from heedful.metrics.natural_logic import causal_effects, two_class
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.tables import challenge, counterfactual_tables, evidence, transitions
from heedful.records import SettingError

TABLES = transitions, evidence, challenge, counterfactual_tables
TESTS = attentiveness, default_label, naive_partial, interaction, order, counterpart
MODULES = accuracy, reading_comprehension, *TESTS, *TABLES, causal_effects, two_class, attributions
METRICS: dict[str, Metric] = {module.METRIC.name: module.METRIC for module in MODULES}  # in the order of tables


def register(metric: Metric, replaces: bool = False) -> None:
    """Add a metric to ``METRICS``, under its name; with ``replaces``, in place of another metric of this name.

    Raises:
        HeedfulError: Another metric has this name.
    """
    if metric.name in METRICS and not replaces:
        raise SettingError(f"There is a metric {metric.name!r} already. Give yours another name.")
    METRICS[metric.name] = metric


__all__ = ["METRICS", "Counts", "Metric", "Number", "Settings", "register"]

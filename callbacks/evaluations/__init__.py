"""The evaluations: each says which interventions, on which examples, and which metric. They are registered here."""

from heedful.callbacks.engine.evaluation import Evaluation
from heedful.callbacks.evaluations.accuracy import Accuracy, Answers
from heedful.callbacks.evaluations.attentiveness import Attentiveness
from heedful.callbacks.evaluations.attributions.attributions import Attributions
from heedful.callbacks.evaluations.default_label import DefaultLabel
from heedful.callbacks.evaluations.naive_partial import NaivePartial
from heedful.callbacks.evaluations.natural_logic import NaturalLogic
from heedful.callbacks.evaluations.tables.challenge import Challenge
from heedful.callbacks.evaluations.tables.counterfactual_tables import CounterfactualTables
from heedful.callbacks.evaluations.tables.evidence import Evidence
from heedful.callbacks.evaluations.tables.table_rows import TableRows
from heedful.callbacks.evaluations.two_class import TwoClass
from heedful.metrics import register as register_metric

EVALUATIONS: dict[str, type[Evaluation]] = {  # by name, in the order in which they run
    kind.metric.name: kind
    for kind in (
        Accuracy,
        Answers,
        Attentiveness,
        DefaultLabel,
        NaturalLogic,
        NaivePartial,
        TableRows,
        Evidence,
        Challenge,
        CounterfactualTables,
        TwoClass,
        Attributions,
    )
}


def register(kind: type[Evaluation]) -> None:
    """Make one more evaluation known by the name of its metric, which is registered as well.

    Raises:
        HeedfulError: There is a metric of that name.
    """
    register_metric(kind.metric)
    EVALUATIONS[kind.metric.name] = kind

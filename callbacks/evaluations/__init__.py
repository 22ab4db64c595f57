"""The evaluations: each says which interventions, on which examples, and which metric. They are registered here."""

from callbacks.evaluations.accuracy import Accuracy
from callbacks.evaluations.answers import Answers
from callbacks.evaluations.attentiveness import Attentiveness
from callbacks.evaluations.attributions.attributions import Attributions
from callbacks.evaluations.default_label import DefaultLabel
from callbacks.evaluations.naive_partial import NaivePartial
from callbacks.evaluations.natural_logic import NaturalLogic
from callbacks.evaluations.tables.challenge import Challenge
from callbacks.evaluations.tables.counterfactual_tables import CounterfactualTables
from callbacks.evaluations.tables.evidence import Evidence
from callbacks.evaluations.tables.table_rows import TableRows
from callbacks.evaluations.two_class import TwoClass

EVALUATIONS = {  # by name, in the order in which they run
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

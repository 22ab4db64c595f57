"""The evaluations; a new one is a line in the list."""

from heedful.callbacks.evaluations.accuracy import Accuracy, Answers
from heedful.callbacks.evaluations.attentiveness import Attentiveness
from heedful.callbacks.evaluations.attributions import Attributions
from heedful.callbacks.evaluations.counterpart import Counterparts
from heedful.callbacks.evaluations.default_label import DefaultLabel
from heedful.callbacks.evaluations.interaction import Interaction
from heedful.callbacks.evaluations.naive_partial import NaivePartial
from heedful.callbacks.evaluations.natural_logic import NaturalLogic
from heedful.callbacks.evaluations.order import order
from heedful.callbacks.evaluations.registry import EVALUATIONS, chosen, register, selected, shown_evaluations
from heedful.callbacks.evaluations.tables.challenge import Challenge
from heedful.callbacks.evaluations.tables.counterfactual_tables import CounterfactualTables
from heedful.callbacks.evaluations.tables.evidence import Evidence
from heedful.callbacks.evaluations.tables.table_rows import TableRows
from heedful.callbacks.evaluations.two_class import TwoClass
from heedful.callbacks.evaluations.typos import typos

for kind in (
    Accuracy,
    Answers,
    Attentiveness,
    DefaultLabel,
    NaturalLogic,
    NaivePartial,
    order,
    Counterparts,
    Interaction,
    TableRows,
    Evidence,
    Challenge,
    CounterfactualTables,
    TwoClass,
    Attributions,
    typos,
):
    register(kind)

__all__ = ["EVALUATIONS", "chosen", "register", "selected", "shown_evaluations"]

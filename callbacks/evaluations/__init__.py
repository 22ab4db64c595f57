"""The evaluations and their registry."""

from collections.abc import Collection, Sequence

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
from heedful.records import SettingError
from heedful.records.errors import suggestion

EVALUATIONS: dict[str, type[Evaluation]] = {  # name to class, in the order in which they run
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
    """Register an evaluation under the name of its metric, and register the metric.

    Args:
        kind: The class of the evaluation.

    Raises:
        HeedfulError: A metric of this name is already registered.
    """
    register_metric(kind.metric)
    EVALUATIONS[kind.metric.name] = kind


def shown_evaluations(evaluating: bool) -> list[type[Evaluation]]:
    """Return the classes of the evaluations whose settings are options of a command, such as ``--attentiveness.draws``.

    Evaluations that also run in training come first. Evaluations whose ``has_settings`` is False are omitted.

    Args:
        evaluating: True for the command that evaluates, whose options include all evaluations with settings. False for
            the command that trains, whose options include only the evaluations that run in training.
    """
    with_settings = [kind for kind in EVALUATIONS.values() if kind.has_settings and (kind.in_training or evaluating)]
    return sorted(with_settings, key=lambda kind: not kind.in_training)


def chosen(names: Sequence[str] | None, available: Collection[str]) -> list[str] | None:
    """Check the names of evaluations in a call and return them as a list; None if the call names none.

    Args:
        names: The names in the call.
        available: Names of the evaluations that the command can run.

    Raises:
        SettingError: A name is unknown, the evaluation does not run in training, or the list is empty.
    """
    if names is None:
        return None
    if not names:
        raise SettingError("evaluations is empty. Name at least one, or leave it out.")
    for name in names:
        if name not in EVALUATIONS and name not in available:
            raise SettingError(f"evaluations {name} is not an evaluation. {suggestion(name, EVALUATIONS)}")
        if name not in available:
            raise SettingError(f"evaluations {name} is not measured while a model trains. Measure it with evaluate.py.")
    return list(names)

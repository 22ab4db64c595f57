"""The registry of evaluations, and the choice of evaluations by name."""

from collections.abc import Collection, Sequence

from heedful.callbacks.engine.evaluation import Evaluation
from heedful.metrics import METRICS
from heedful.metrics import register as register_metric
from heedful.records import SettingError
from heedful.records.arguments import class_path
from heedful.records.errors import suggestion

EVALUATIONS: dict[str, type[Evaluation]] = {}  # name to class, in the order in which they run


def register(kind: type[Evaluation]) -> None:
    """Register an evaluation under the name of its metric, and register the metric.

    A class that is defined again, under the same module and name, replaces the first. Heedful's own metrics are
    registered already.

    Args:
        kind: The class of the evaluation.

    Raises:
        HeedfulError: Another evaluation or metric has this name.
    """
    name = kind.metric.name
    is_again = name in EVALUATIONS and class_path(EVALUATIONS[name]) == class_path(kind)
    if name in EVALUATIONS and not is_again:
        raise SettingError(f"There is an evaluation {name!r} already. Give yours another name.")
    if METRICS.get(name) is not kind.metric:
        register_metric(kind.metric, replaces=is_again)
    EVALUATIONS.pop(name, None)
    EVALUATIONS[name] = kind


def selected(evaluations: Sequence[Evaluation | type[Evaluation] | str] | None, evaluating: bool) -> list[Evaluation]:
    """Return evaluations as objects: of a class or a name, an object with default settings.

    Args:
        evaluations: Objects, classes or names; None for all evaluations that run by default.
        evaluating: Whether evaluations that do not run in training are among the defaults.

    Raises:
        SettingError: A name is unknown, or two evaluations have the same name.
    """
    if evaluations is None:
        return [kind() for kind in EVALUATIONS.values() if kind.by_default and (evaluating or kind.in_training)]
    names = [item if isinstance(item, str) else item.metric.name for item in evaluations]
    chosen(names, EVALUATIONS.keys() | {item.name for item in evaluations if isinstance(item, Evaluation)})
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingError(f"There are two evaluations called {twice}. Leave one of them out.")
    kinds = (EVALUATIONS[item] if isinstance(item, str) else item for item in evaluations)
    return [kind() if isinstance(kind, type) else kind for kind in kinds]


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

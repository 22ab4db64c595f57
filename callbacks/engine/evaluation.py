"""Evaluations: each has a plan of changes and a metric of the rows; and the plans of all evaluations of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from heedful.callbacks.engine.inquiry import Inquiry
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Intervention
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.metrics import METRICS, Metric
from heedful.metrics.number import Settings
from heedful.records import Chart, Context, DataError, Examples, SettingError, listing
from heedful.records.arguments import RecordsArguments
from heedful.records.errors import guess

if TYPE_CHECKING:
    from pytorch_lightning import Callback, LightningModule, Trainer
else:
    Callback = object

LOSS = "loss/train"  # logged in training
NEEDS_GOLD = "needs gold labels, which these examples do not have"
PROBABILITIES = "needs probabilities of the labels, which written answers do not have"


def _no_other_data(name: str, path: str | None) -> Pairs:
    raise SettingError(f"The data set {name} is read by its name on the command line alone. Measure with evaluate.py.")


@dataclass(frozen=True)
class Setting:
    """Arguments of :meth:`Evaluation.plan`.

    Attributes:
        data: The data module, after its setup.
        monitoring: Whether the evaluation runs in training, where it may limit its cost.
        read: Function that returns a data module, set up, given the name of another data set and its path (None for the
            hub).
        capabilities: Capabilities of the model.
    """

    data: Pairs
    monitoring: bool = False
    read: Callable[[str, str | None], Pairs] = _no_other_data
    capabilities: Capabilities = Capabilities()

    def require_probabilities(self, display_name: str) -> None:
        """Refuse a model without probabilities; the message begins with ``display_name``."""
        if not self.capabilities.probabilities:
            raise DataError(f"{display_name} {PROBABILITIES}. Take model.read first_token.")


@dataclass(frozen=True)
class Plan:
    """The work of an evaluation, planned once in a run.

    Attributes:
        pool: The examples to change. If they are not from the data module, they are predicted first.
        interventions: The changes.
        settings: Settings of the metric, kept as JSON in the rows file.
        counts: Counts of included and excluded examples, known before any prediction.
        inquiry: Queries the model in rounds, instead of changes that are known in advance.
        most: If a second stage may follow, its interventions on all examples that it may change.
    """

    pool: Examples
    interventions: Sequence[Intervention] = ()
    settings: Settings = Settings()
    counts: Mapping[str, Any] = field(default_factory=dict)
    inquiry: Inquiry | None = None
    most: Sequence[Intervention] = ()


@dataclass(frozen=True)
class Nothing:
    """Reason why an evaluation has nothing to do; follows its name in a message."""

    reason: str = "has nothing to do with these data"


class Evaluation(RecordsArguments, Callback):
    """Base class of evaluations; the engine predicts and writes for them.

    Evaluations may be callbacks of a Trainer, where :class:`~heedful.callbacks.engine.engine.Engine` finds them.
    Lightning's hooks do nothing. The base class is not Lightning's, so that functions are measured without Lightning.

    Attributes:
        metric: Computes the numbers; the evaluation has the same name.
        in_training: Whether it also runs in every epoch of training.
        by_default: Whether it runs by default.
        brings_examples: Whether it provides examples, and does not need the examples of the data module.
        has_settings: Whether the command line shows its settings.
    """

    metric: Metric
    in_training: bool = False
    by_default: bool = True
    brings_examples: bool = False
    has_settings: bool = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("on_") or name in ("teardown", "load_state_dict"):
                return _do_nothing
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def state_key(self) -> str:
        """Key of its (empty) state in a checkpoint."""
        return type(self).__qualname__

    _legacy_state_key = state_key

    def state_dict(self) -> dict[str, Any]:
        """An empty state."""
        return {}

    def setup(self, trainer: "Trainer", pl_module: "LightningModule", stage: str) -> None:
        """Refuse a Trainer whose callbacks have no engine."""
        if not any(isinstance(getattr(callback, "plans", None), Plans) for callback in trainer.callbacks):
            name = type(self).__name__
            raise SettingError(f"{name} needs an Engine that runs it. Write Trainer(callbacks=[{name}(), Engine()]).")

    @property
    def name(self) -> str:
        """Name on the command line, and of the rows file."""
        return self.metric.name

    @property
    def title(self) -> str:
        """Name with the settings that differ from their defaults, for the folder of an evaluation."""
        return self.name

    def plan(self, setting: Setting) -> Plan | Nothing:
        """Plan the changes, or give the reason why there is nothing to do.

        Raises:
            HeedfulError: The settings do not match the data.
        """
        raise NotImplementedError

    def second_stage(self, plan: Plan, rows: pa.Table, context: Context) -> Sequence[Intervention] | None:
        """Plan further changes from the rows of the first stage, on rank 0 only.

        Returns:
            The interventions of ``plan`` in the same order, each for more examples (such as a higher ``limit``);
            examples from the first stage are not changed again. None if one stage is enough.
        """
        return None

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Counts that a reader needs to judge the numbers, in addition to the counts of the plan."""
        return {}

    def context(self, data: Pairs, plan: Plan) -> Context:
        """The context of its rows."""
        task = data.task
        return Context(
            data=data.name,
            seed=data.seed,
            kind=task.kind,
            parts=task.parts,
            labels=task.labels,
            default_label=data.default_label,
            splits=data.splits_evaluated,
            slices=data.slices,
            own=plan.settings.as_dict(),
            unlabelled=plan.pool.is_unlabelled,
        )

    def among(self, only: Sequence[str] | None) -> bool:
        """Whether it runs: its name is in ``only``, or ``only`` is None and it runs by default."""
        return self.by_default if only is None else self.name in only


class Planned(NamedTuple):
    """An evaluation, its plan, and the context of its rows."""

    evaluation: Evaluation
    plan: Plan
    context: Context

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The curves of the evaluation."""
        return tuple(chart for metric in self.metrics for chart in metric.charts(self.context))

    @property
    def metrics(self) -> list[Metric]:
        """The metric of the evaluation, and others that are registered for its rows."""
        first = self.evaluation.metric
        return [first, *(m for m in METRICS.values() if m.evaluation == self.evaluation.name and m.name != first.name)]


@dataclass(frozen=True)
class Plans:
    """The plans of all evaluations of a run.

    Attributes:
        planned: Evaluation name to its plan.
        idle: Evaluation name to the reason why it has nothing to do.
        only: Names of the evaluations in the call; None for those that run by default.
    """

    planned: Mapping[str, Planned]
    idle: Mapping[str, Nothing] = field(default_factory=dict)
    only: Sequence[str] | None = None

    @classmethod
    def of(cls, evaluations: Iterable[Any], setting: Setting, only: Sequence[str] | None = None) -> "Plans":
        """Plan each evaluation.

        Args:
            evaluations: Evaluations; other callbacks among them are skipped.
            setting: The data, set up, and the capabilities of the model.
            only: Names of the evaluations that run; None for those that run by default.

        Raises:
            HeedfulError: The settings of an evaluation do not fit the data, or an evaluation that the call names has
                nothing to do.
        """
        planned: dict[str, Planned] = {}
        idle: dict[str, Nothing] = {}
        for evaluation in evaluations:
            if isinstance(evaluation, Evaluation) and evaluation.among(only):
                plan = evaluation.plan(setting)
                if isinstance(plan, Nothing):
                    idle[evaluation.name] = plan
                else:
                    planned[evaluation.name] = Planned(evaluation, plan, evaluation.context(setting.data, plan))
        for name, nothing in idle.items() if only else ():
            raise SettingError(f"evaluations {name} {nothing.reason}. Leave it out, or add what is missing.")
        return cls(planned, idle, only)

    def require(self, predictor: Predictor) -> None:
        """Refuse a model that an inquiry cannot ask, before anything is predicted."""
        for planned in self.planned.values():
            if planned.plan.inquiry is not None:
                planned.plan.inquiry.require(predictor.processor, planned.plan.pool)

    @cached_property
    def charts(self) -> list[Chart]:
        """The curves of all evaluations."""
        return [chart for planned in self.planned.values() for chart in planned.charts]

    @property
    def headlines(self) -> list[str]:
        """Names of the metrics that figures show."""
        return [str(name) for chart in self.charts if chart.figure for name in chart.curves.values()]

    def is_known(self, metric: str) -> bool:
        """Whether an evaluation may yield this metric or its interval bound."""
        metric = metric.removesuffix("/low").removesuffix("/high")
        return any(m.may_have(metric, p.context) for p in self.planned.values() for m in p.metrics)

    def require_monitored(self, metric: str, setting: str) -> None:
        """Refuse to monitor a metric that no evaluation yields, or that needs missing gold labels."""
        if metric == LOSS or self.is_known(metric):
            return
        labelled = ((m, replace(p.context, unlabelled=False)) for p in self.planned.values() for m in p.metrics)
        if any(m.may_have(metric, context) for m, context in labelled):
            raise SettingError(
                f"{setting} {metric} needs gold labels, and the examples that are evaluated have none. Name another "
                f"one, such as {listing(self.headlines) or LOSS}."
            )
        raise SettingError(
            f"{setting} {metric} is not measured by any evaluation. {guess(metric, [*self.headlines, LOSS])}"
        )


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """Hooks of Lightning that evaluations do not need."""


def require_number(setting: str, number: int | None, least: int = 1, most: int | None = None) -> None:
    """Refuse a number out of bounds; None is allowed. The message begins with ``setting``."""
    if number is None or (number >= least and (most is None or number <= most)):
        return
    allowed = f"at least {least}" if most is None else f"from {least} to {most:,}"
    raise SettingError(f"{setting} {number} should be {allowed}.")

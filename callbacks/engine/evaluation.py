"""An evaluation: a plan of what to change, and the metric of the rows; and the plans of several evaluations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.inquiry import Inquiry
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Intervention
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.metrics import METRICS, Metric
from heedful.metrics.number import Settings
from heedful.records import (
    Chart,
    Context,
    DataError,
    Examples,
    ModelError,
    SettingError,
    is_entailment,
    listing,
    same_parts,
)
from heedful.records.arguments import RecordsArguments
from heedful.records.errors import guess

if TYPE_CHECKING:
    from pytorch_lightning import Callback, LightningModule, Trainer
else:
    Callback = object

LOSS = "loss/train"  # which is logged in training
NEEDS_GOLD = "needs gold labels, which these examples do not have"
PROBABILITIES = "needs probabilities of the labels, which written answers do not have"


def _no_other_data(name: str, path: str | None) -> Pairs:
    raise SettingError(f"The data set {name} is read by its name on the command line alone. Measure with evaluate.py.")


@dataclass(frozen=True)
class Setting:
    """The data that an evaluation makes its plan for.

    Attributes:
        data: The data module, set up.
        monitoring: Whether it runs within training, where it may bound its cost.
        read: Makes a data module, set up, from the name of another data set and its path (None for the hub).
        capabilities: Of the model.
    """

    data: Pairs
    monitoring: bool = False
    read: Callable[[str, str | None], Pairs] = _no_other_data
    capabilities: Capabilities = Capabilities()

    def require_probabilities(self, display_name: str) -> None:
        """Refuse a model that only writes its answers.

        Raises:
            HeedfulError: It does; the message begins with ``display_name``.
        """
        if not self.capabilities.probabilities:
            raise DataError(f"{display_name} {PROBABILITIES}. Take model.read first_token.")


@dataclass(frozen=True)
class Plan:
    """The work of an evaluation; made once in a run.

    Attributes:
        pool: The examples that it changes. Those of the data module are predicted already; others, of whatever data
            set, are predicted for it.
        interventions: The changes.
        settings: Settings of the metric, kept as JSON in the rows file.
        counts: What is known before anything is predicted of how much takes part, and how much cannot.
        most: Where a second stage may follow, as many interventions in the same order, for all examples that it may
            change.
    """

    pool: Examples
    interventions: Sequence[Intervention] = ()
    settings: Settings = Settings()
    counts: Mapping[str, Any] = field(default_factory=dict)
    inquiry: Inquiry | None = None
    most: Sequence[Intervention] = ()


@dataclass(frozen=True)
class Nothing:
    """Why an evaluation has nothing to do: what follows its name in a message."""

    reason: str = "has nothing to do with these data"


class Evaluation(RecordsArguments, Callback):
    """One evaluation. The engine does the predicting and the writing.

    It may stand among the callbacks of a Trainer, where :class:`~heedful.callbacks.engine.engine.Engine` finds it, and
    has Lightning's hooks, which do nothing. It is no subclass of Lightning's class, so that a function can be measured
    without Lightning.

    Attributes:
        metric: Makes its numbers, and says how they are shown. The evaluation has its name.
        in_training: Whether it runs in every epoch of training, too.
        by_default: Whether it runs where nobody names it.
        own: Whether it brings examples of its own, and does without those of the data module.
        has_settings: Whether the command line shows its settings.
    """

    metric: Metric
    in_training: bool = False
    by_default: bool = True
    own: bool = False
    has_settings: bool = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("on_") or name in ("teardown", "load_state_dict"):
                return _do_nothing
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def state_key(self) -> str:
        """Name of its state in a checkpoint, which is empty."""
        return type(self).__qualname__

    _legacy_state_key = state_key

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def setup(self, trainer: "Trainer", pl_module: "LightningModule", stage: str) -> None:
        """Refuse a Trainer without an engine.

        Raises:
            SettingError: There is none among the callbacks.
        """
        if not any(isinstance(getattr(callback, "plans", None), Plans) for callback in trainer.callbacks):
            name = type(self).__name__
            raise SettingError(f"{name} needs an Engine that runs it. Write Trainer(callbacks=[{name}(), Engine()]).")

    @property
    def name(self) -> str:
        """Its name: on the command line, and of its rows file."""
        return self.metric.name

    @property
    def title(self) -> str:
        """Its name, with the settings that are not the usual ones: names the folder of an evaluation."""
        return self.name

    def plan(self, setting: Setting) -> Plan | Nothing:
        """Say what to do.

        Raises:
            HeedfulError: Its settings do not fit the data.
        """
        raise NotImplementedError

    def second_stage(self, plan: Plan, rows: pa.Table, context: Context) -> Sequence[Intervention] | None:
        """Plan more changes from the rows of the first stage; called on rank 0 alone.

        Args:
            plan: The plan of the first stage.
            rows: Its rows.
            context: The context of the rows.

        Returns:
            As many interventions in the same order, each for more examples (a higher ``limit``, say); examples that
            the first stage has changed are not changed again. None where one stage is enough.
        """
        return None

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count what a reader needs to judge the numbers, beside what the plan has counted."""
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
        """Whether it is one of these evaluations; of None, one of those that nobody needs to name."""
        return self.by_default if only is None else self.name in only


class Planned(NamedTuple):
    """An evaluation, its plan, and what its metric needs to know."""

    evaluation: Evaluation
    plan: Plan
    context: Context

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The curves of the evaluation."""
        return tuple(chart for metric in self.metrics for chart in metric.charts(self.context))

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of its rows: its own, and others that are registered."""
        first = self.evaluation.metric
        return [first, *(m for m in METRICS.values() if m.evaluation == self.evaluation.name and m.name != first.name)]


@dataclass(frozen=True)
class Plans:
    """The plans of all evaluations of a run.

    Attributes:
        planned: Evaluation name to its plan.
        idle: Names of the evaluations that have nothing to do, and why.
        only: Names of the evaluations that the call asks for; None for all that run by default.
    """

    planned: Mapping[str, Planned]
    idle: Mapping[str, Nothing] = field(default_factory=dict)
    only: Sequence[str] | None = None

    @classmethod
    def of(cls, evaluations: Iterable[Any], setting: Setting, only: Sequence[str] | None = None) -> "Plans":
        """Have each evaluation make its plan.

        Args:
            evaluations: Evaluations; others among them, such as further callbacks, are left out.
            setting: The data, set up, and what the model can do.
            only: Names of the evaluations that run; None for all that run by default.

        Raises:
            HeedfulError: The settings of an evaluation do not fit the data, or an evaluation that the call asks for has
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
        """Refuse a model that an evaluation cannot ask, before anything is predicted.

        Raises:
            HeedfulError: There is one.
        """
        for planned in self.planned.values():
            if planned.plan.inquiry is not None:
                planned.plan.inquiry.require(predictor.processor, planned.plan.pool)

    @property
    def charts(self) -> list[Chart]:
        """The curves of all evaluations."""
        return [chart for planned in self.planned.values() for chart in planned.charts]

    @property
    def headlines(self) -> list[str]:
        """The metrics that a reader looks at first."""
        return [str(name) for chart in self.charts if chart.figure for name in chart.curves.values()]

    def is_known(self, metric: str) -> bool:
        """Whether an evaluation may yield a metric, or an end of its interval: one that has a curve, or that is about
        the same data and part.
        """
        metric = metric.removesuffix("/low").removesuffix("/high")
        return any(m.may_have(metric, p.context) for p in self.planned.values() for m in p.metrics)

    def require_monitored(self, metric: str, setting: str) -> None:
        """Refuse to monitor a metric that no evaluation yields.

        Raises:
            SettingError: No evaluation yields the metric, or its examples have no gold labels; the message lists what
                there is.
        """
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
    """A hook of Lightning that an evaluation does not need."""


def fitted(pool: Examples, data: Pairs) -> Examples:
    """Examples of another data set with the parts that the model reads: see :func:`fitted_parts`."""
    return pool.rename_parts(fitted_parts(pool, data)).keep_parts(data.task.parts)


def fitted_parts(pool: Examples, data: Pairs) -> tuple[str, ...]:
    """What the data call each part of another data set: as :func:`~heedful.records.same_parts` says, but the table, if
    each has one, the table.

    Raises:
        HeedfulError: They have another number of parts.
    """
    parts = data.full_task.parts
    tables = () if data.whole is None else data.whole.tables
    if len(pool.parts) != len(parts):
        raise ModelError(
            f"Examples of {', '.join(pool.parts)} do not fit a model of {', '.join(parts)}. Name data with as many "
            "parts as the model reads."
        )
    if (len(pool.tables), len(tables)) != (1, 1):
        return same_parts(pool.parts, parts)
    own = [part for part in pool.parts if part not in pool.tables]
    texts = iter(same_parts(own, [part for part in parts if part not in tables]))
    return tuple(tables[0] if part in pool.tables else next(texts) for part in pool.parts)


def by_split(pool: Examples, data: Pairs) -> list[Examples]:
    """The examples of each split, where several are evaluated together; else all of them."""
    if not data.splits_evaluated:
        return [pool]
    of = np.array(list(pool.column("meta.split")))
    return [pool.take(np.flatnonzero(of == split)) for split in data.splits_evaluated]


def table_of(pool: Examples) -> str:
    """The part that is a table, the first of several."""
    return pool.tables[0]


def require_entailment(labels: Sequence[str], display_name: str) -> None:
    """Refuse labels without entailment.

    Raises:
        HeedfulError: No label is called entailment; the message begins with ``display_name``.
    """
    if not any(map(is_entailment, labels)):
        raise DataError(
            f"{display_name}: entailment is not among the labels {', '.join(labels)}. Leave that evaluation out, or "
            "take data with these labels."
        )


def require_number(setting: str, number: int | None, least: int = 1, most: int | None = None) -> None:
    """Refuse a number that a setting cannot have; None is for those who may leave it out.

    Raises:
        HeedfulError: It is less than ``least``, or more than ``most``; the message begins with ``setting``.
    """
    if number is None or (number >= least and (most is None or number <= most)):
        return
    allowed = f"at least {least}" if most is None else f"from {least} to {most:,}"
    raise SettingError(f"{setting} {number} should be {allowed}.")

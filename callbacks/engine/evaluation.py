"""Base class of evaluations, which plan changes of examples; and the plans of all evaluations of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.inquiry import Inquiry
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Intervention
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.metrics import METRICS, Metric
from heedful.metrics.number import Settings
from heedful.records import Context, DataError, Examples, MetricName, SettingError
from heedful.records.arguments import RecordsArguments
from heedful.records.errors import suggestion

LOSS = "loss/train"  # the training loss, which the model logs
NEEDS_GOLD = "needs gold labels, which these examples do not have"
PROBABILITIES = "needs probabilities of the labels, which written answers do not have"


def _no_other_data(name: str, path: str | None) -> Pairs:
    raise SettingError(f"A Trainer of your own cannot load the data set {name}. Use heedful.evaluate.")


@dataclass(frozen=True)
class Setting:
    """What an evaluation may use for its plan: the data, the model's capabilities, and other data sets.

    Attributes:
        data: The data module, after its setup.
        monitoring: Whether the evaluation runs in training, where it may change fewer examples.
        read: Loads and sets up another data set, given its name and its path (None for the hub).
        capabilities: Capabilities of the model.
    """

    data: Pairs
    monitoring: bool = False
    read: Callable[[str, str | None], Pairs] = _no_other_data
    capabilities: Capabilities = Capabilities()

    def require_probabilities(self, display_name: str) -> None:
        """Raise DataError if the model gives no probabilities; the message begins with ``display_name``."""
        if not self.capabilities.probabilities:
            raise DataError(f"{display_name} {PROBABILITIES}. Take model.read first_token.")


@dataclass(frozen=True)
class Plan:
    """The examples that an evaluation changes, and how it changes them; planned once per run.

    Attributes:
        pool: The examples to change. Examples that are not from the data module are predicted first.
        interventions: The changes.
        settings: Settings of the metric, which the rows file stores as JSON.
        counts: Counts of included and excluded examples that are known before any prediction.
        inquiry: Queries the model in rounds, for inputs that depend on earlier answers; replaces ``interventions``.
        most: Copies of ``interventions`` without a limit of examples, if the evaluation may have two stages: a first
            stage of few examples (a pilot), whose results determine how many examples the second stage changes. Empty
            for an evaluation with one stage.
        needs_probabilities: Whether answers without probabilities of the labels are an error.
    """

    pool: Examples
    interventions: Sequence[Intervention] = ()
    settings: Settings = Settings()
    counts: Mapping[str, Any] = field(default_factory=dict)
    inquiry: Inquiry | None = None
    most: Sequence[Intervention] = ()
    needs_probabilities: bool = False


@dataclass(frozen=True)
class Nothing:
    """The result of :meth:`Evaluation.plan` if there is nothing to change.

    Attributes:
        reason: End of a message that begins with the name of the evaluation.
    """

    reason: str = "has nothing to do with these data"


class Evaluation(RecordsArguments):
    """Base class of evaluations. An evaluation plans changes; the engine predicts the changed examples.

    Attributes:
        metric: Computes the numbers from the rows. The evaluation has the name of the metric.
        in_training: Whether the evaluation also runs in every epoch of training.
        by_default: Whether the evaluation runs if a call names no evaluations.
        brings_examples: Whether the evaluation loads its own examples and ignores the examples of the data module.
        has_settings: Whether the command line shows the settings of the evaluation.
    """

    metric: Metric
    in_training: bool = False
    by_default: bool = True
    brings_examples: bool = False
    has_settings: bool = True

    @property
    def name(self) -> str:
        """Name of the evaluation on the command line, and of its rows file."""
        return self.metric.name

    def plan(self, setting: Setting) -> Plan | Nothing:
        """Return the plan of the changes; or ``Nothing``, with the reason why there is nothing to change.

        Raises:
            HeedfulError: The settings do not match the data.
        """
        raise NotImplementedError

    def second_stage(self, plan: Plan, rows: pa.Table, context: Context) -> Sequence[Intervention] | None:
        """Decide, from the rows of the first stage, whether to change more examples in a second stage; called on rank 0
        only.

        Returns:
            The interventions of ``plan`` in the same order, each with a higher ``limit`` of examples; examples of the
            first stage are not changed again. None if one stage is enough.
        """
        return None

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Return counts that need the plan, by name, for results.json; the metric yields the others."""
        return {}

    def context(self, data: Pairs, plan: Plan) -> Context:
        """Return the context of the rows: the facts about data and labels that the metric needs besides the rows."""
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


class Planned(NamedTuple):
    """An evaluation, its plan, and the context of its rows."""

    evaluation: Evaluation
    plan: Plan
    context: Context

    @property
    def curves(self) -> list[MetricName]:
        """Names of the numbers of the evaluation that training shows as curves over epochs."""
        return [name for metric in self.metrics for name in metric.curves(self.context)]

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that are computed from the rows of the evaluation: its own, and others that are registered for
        these rows.
        """
        first = self.evaluation.metric
        return [first, *(m for m in METRICS.values() if m.evaluation == self.evaluation.name and m.name != first.name)]


@dataclass(frozen=True)
class Plans:
    """The plans of all evaluations of a run.

    Attributes:
        planned: Maps the name of each evaluation that runs to its plan.
        idle: Maps the name of each evaluation that has nothing to do to the reason.
        only: Names of the evaluations in the call; None if the call names none.
    """

    planned: Mapping[str, Planned]
    idle: Mapping[str, Nothing] = field(default_factory=dict)
    only: Sequence[str] | None = None

    @classmethod
    def of(cls, evaluations: Iterable[Evaluation], setting: Setting, only: Sequence[str] | None = None) -> "Plans":
        """Plan each evaluation that runs, and return the plans.

        Args:
            evaluations: The evaluations.
            setting: The data, after their setup, and the capabilities of the model.
            only: Names of the evaluations that run; None for the evaluations that run by default.

        Raises:
            HeedfulError: The settings of an evaluation do not match the data, or an evaluation in ``only`` has nothing
                to do.
        """
        planned: dict[str, Planned] = {}
        idle: dict[str, Nothing] = {}
        for evaluation in evaluations:
            if evaluation.by_default if only is None else evaluation.name in only:
                plan = evaluation.plan(setting)
                if isinstance(plan, Nothing):
                    idle[evaluation.name] = plan
                else:
                    planned[evaluation.name] = Planned(evaluation, plan, evaluation.context(setting.data, plan))
        for name, nothing in idle.items() if only else ():
            raise SettingError(f"evaluations {name} {nothing.reason}. Leave it out, or add what is missing.")
        return cls(planned, idle, only)

    def require(self, predictor: Predictor) -> None:
        """Raise HeedfulError, before anything is predicted, if an inquiry (queries in several rounds) cannot query this
        model.
        """
        for planned in self.planned.values():
            if planned.plan.inquiry is not None:
                planned.plan.inquiry.require(predictor.processor, planned.plan.pool)

    def warm_up(self, seed: int) -> Thread:
        """Start a thread that computes what changes derive from the examples, such as the possible partners of a swap.

        While the thread runs, only an accelerator is kept busy, by the base examples; join the thread before changes.
        """

        def derive() -> None:
            for plan in (planned.plan for planned in self.planned.values()):
                _ = plan.pool.fingerprint
                for intervention in plan.interventions:
                    intervention.changes(plan.pool, np.zeros(0, dtype=np.int64), seed)

        thread = Thread(target=derive, name="warm-up")
        thread.start()
        return thread

    @property
    def curves(self) -> list[MetricName]:
        """Names of the numbers that training shows as curves over epochs."""
        return [name for planned in self.planned.values() for name in planned.curves]

    def is_known(self, metric: str) -> bool:
        """Whether an evaluation may yield the metric with this name; a final "/low" or "/high" means a bound of its
        interval.
        """
        metric = metric.removesuffix("/low").removesuffix("/high")
        return any(m.may_have(metric, p.context) for p in self.planned.values() for m in p.metrics)

    def require_monitored(self, metric: str, setting: str) -> None:
        """Raise SettingError if no evaluation yields ``metric``, which the setting named ``setting`` monitors."""
        if metric != LOSS and not self.is_known(metric):
            known = suggestion(metric, [*map(str, self.curves), LOSS])
            raise SettingError(f"{setting} {metric} is not measured by any evaluation. {known}")


def require_number(setting: str, number: int | None, least: int = 1, most: int | None = None) -> None:
    """Raise SettingError if the number is below ``least`` or above ``most``; None, for a setting without a number, is
    allowed.
    """
    if number is None or (number >= least and (most is None or number <= most)):
        return
    allowed = f"at least {least}" if most is None else f"from {least} to {most:,}"
    raise SettingError(f"{setting} {number} should be {allowed}.")

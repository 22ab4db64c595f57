"""An evaluation: a plan of what to change, and the metric of what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.callbacks.engine.inquiry import Inquiry
from heedful.datamodules import PairedData
from heedful.interventions import Intervention
from heedful.metrics import Metric
from heedful.records import Context, DataError, Examples, ModelError, SettingError, is_entailment, same_parts
from heedful.records.arguments import RecordsArguments

NEEDS_GOLD = "needs gold labels, which these examples do not have"
PROBABILITIES = "needs probabilities of the labels, which written answers do not have"


def _no_other_data(name: str, path: str | None) -> PairedData:
    raise SettingError(f"The data set {name} is read by its name on the command line alone. Measure with evaluate.py.")


@dataclass(frozen=True)
class Setting:
    """The data that an evaluation makes its plan for.

    Attributes:
        data: The data module, set up.
        monitoring: Whether it runs within training, where it may bound its cost.
        read: Makes a data module, set up, from the name of another data set and its path (None for the hub).
        repeated: How many inputs the null control asks a server again; None where none is asked.
        has_probabilities: Whether the model gives the probabilities of the labels.
    """

    data: PairedData
    monitoring: bool = False
    read: Callable[[str, str | None], PairedData] = _no_other_data
    repeated: int | None = None
    has_probabilities: bool = True

    def require_probabilities(self, display_name: str) -> None:
        """Refuse a model that only writes its answers.

        Raises:
            HeedfulError: It does; the message begins with ``display_name``.
        """
        if not self.has_probabilities:
            raise DataError(f"{display_name} {PROBABILITIES}. Take model.read first_token.")


@dataclass(frozen=True)
class Plan:
    """The work of an evaluation; made once in a run.

    Attributes:
        pool: The examples that it changes. Those of the data module are predicted already; others, of whatever data
            set, are predicted for it.
        interventions: The changes.
        context: What the metric needs to know beside the rows and the task; JSON, kept in the rows file.
        counts: What is known before anything is predicted of how much takes part, and how much cannot.
    """

    pool: Examples
    interventions: Sequence[Intervention] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    inquiry: Inquiry | None = None


@dataclass(frozen=True)
class Nothing:
    """Why an evaluation has nothing to do: what follows its name in a message."""

    reason: str = "has nothing to do with these data"


class Runner(Callback):
    """What has the evaluations among the callbacks run: the engine."""

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        require_data(trainer, type(self).__name__)


class Evaluation(RecordsArguments, Callback):
    """One evaluation. The engine finds it among the trainer's callbacks, and does the predicting and the writing.

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

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse a Trainer in which nobody would run it.

        Raises:
            HeedfulError: There is no engine among the callbacks, or the data module is of another kind.
        """
        if not any(isinstance(callback, Runner) for callback in trainer.callbacks):
            name = type(self).__name__
            raise SettingError(f"{name} needs an Engine that runs it. Write Trainer(callbacks=[{name}(), Engine()]).")
        require_data(trainer, type(self).__name__)

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

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count what a reader needs to judge the numbers, beside what the plan has counted."""
        return {}

    def context(self, data: PairedData, plan: Plan) -> Context:
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
            own=plan.context,
            unlabelled=plan.pool.is_unlabelled,
        )

    def among(self, only: Sequence[str] | None) -> bool:
        """Whether it is one of these evaluations; of None, one of those that nobody needs to name."""
        return self.by_default if only is None else self.name in only


def require_data(trainer: Trainer, display_name: str) -> None:
    """Refuse a Trainer without paired data; the message begins with the name of a callback.

    Raises:
        HeedfulError: The data module is of another kind, or there is none.
    """
    if not isinstance(data := getattr(trainer, "datamodule", None), PairedData):
        given = "none" if data is None else f"a {type(data).__name__}"
        raise SettingError(
            f"{display_name} needs a datamodule that is a PairedData, such as PairedText; the Trainer has {given}. "
            "Write trainer.fit(model, datamodule=...)."
        )


def fitted(pool: Examples, data: PairedData) -> Examples:
    """Examples of another data set with the parts that the model reads: see :func:`fitted_parts`."""
    return pool.rename_parts(fitted_parts(pool, data)).keep_parts(data.task.parts)


def fitted_parts(pool: Examples, data: PairedData) -> tuple[str, ...]:
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


def by_split(pool: Examples, data: PairedData) -> list[Examples]:
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

"""The engine: predicts base and changed examples once each, on any number of processes, and yields rows."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping

from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Runner, Setting
from heedful.callbacks.engine.experiment import Experiment, cut_short, gather_predictions
from heedful.callbacks.engine.inquiry import inquire
from heedful.callbacks.engine.loggers import SIDES, bounds_of, others
from heedful.callbacks.engine.pace import Pace
from heedful.callbacks.engine.predictions import Collector, Predictions
from heedful.callbacks.engine.stop import stop_if_asked
from heedful.datamodules import PairedData
from heedful.datamodules.base.processes import busy, by_first, gather, require_alike, tell
from heedful.interventions import manifest_hash
from heedful.lightning_modules.lightning_internals import kept_metrics
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.pretrained.weights import different, weights_hash
from heedful.metrics import METRICS, Metric
from heedful.metrics.metric import Numbers
from heedful.records import (
    NO_LABEL,
    Chart,
    Context,
    Examples,
    HeedfulError,
    Measurement,
    RunError,
    SettingError,
    listing,
    repeats,
    stopping,
)
from heedful.records import rows as r
from heedful.records.errors import guess
from heedful.reports.results import Evaluated, score

LOSS = "loss/train"  # which is logged in training


class Planned(NamedTuple):
    """An evaluation, what it does, and what its metric needs to know."""

    evaluation: Evaluation
    plan: Plan
    context: Context

    @property
    def charts(self) -> tuple[Chart, ...]:
        return tuple(chart for metric in self.metrics for chart in metric.charts(self.context))

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of its rows: its own, and others that are registered."""
        own = self.evaluation.metric
        return [own, *(m for m in METRICS.values() if m.evaluation == self.evaluation.name and m.name != own.name)]


class Engine(Runner):
    """Runs every :class:`Evaluation` among the trainer's callbacks at the end of each validation epoch.

    The base predictions are those of the validation epoch; an evaluation that brings a pool of its own has that
    predicted as well. See :class:`~heedful.callbacks.engine.experiment.Experiment` for what is predicted where.

    Args:
        exhaustive: Whether every evaluation runs on all examples; otherwise it may bound its cost.
        only: Names of the evaluations to run; None for all that run by default.
        unfinished: Progress of the run whose checkpoint is measured, where the run has not ended.
        identity: Describes the model that is measured and its training, for results.json; the prompt is added.

    Attributes:
        planned: What is done, by the name of the evaluation; made once.
        idle: The evaluations that have nothing to do, by their names, and why.
        measurements: The metrics of the last epoch, by their names as texts.
        results: What results.json says of it.
        rows: Evaluation name to (rows, metadata), on the first process; nothing on the others.
        weights: The hash of the weights that the last epoch measured; None of a model without any.
    """

    def __init__(
        self,
        exhaustive: bool = True,
        only: Sequence[str] | None = None,
        unfinished: str | None = None,
        identity: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.exhaustive = exhaustive
        self.only = only
        self.unfinished = unfinished
        self.identity = identity
        self.planned: dict[str, Planned] = {}
        self.idle: dict[str, Nothing] = {}
        self.measurements: dict[str, Measurement] = {}
        self.results: dict[str, Any] = {}
        self.rows: dict[str, Evaluated] = {}
        self.weights: str | None = None
        self._predicted: Collector | None = None
        self._pace: Pace | None = None
        self._is_planned = False

    def prepare(self, callbacks: Iterable[Callback], setting: Setting) -> None:
        """Have each evaluation make its plan; a second call does nothing.

        Args:
            callbacks: The evaluations among these take part.
            setting: The data, set up.

        Raises:
            HeedfulError: The settings of an evaluation do not fit the data.
        """
        if self._is_planned:
            return
        for evaluation in callbacks:
            if isinstance(evaluation, Evaluation) and evaluation.among(self.only):
                plan = evaluation.plan(setting)
                if isinstance(plan, Nothing):
                    self.idle[evaluation.name] = plan
                else:
                    self.planned[evaluation.name] = Planned(evaluation, plan, evaluation.context(setting.data, plan))
        self._is_planned = True

    @property
    def charts(self) -> list[Chart]:
        """The curves of all evaluations that take part."""
        return [chart for planned in self.planned.values() for chart in planned.charts]

    @property
    def headlines(self) -> list[str]:
        """The metrics that a reader looks at first."""
        return [str(name) for chart in self.charts if chart.figure for name in chart.curves.values()]

    def is_known(self, metric: str) -> bool:
        """Whether an evaluation may yield a metric: one that has a curve, or that is about the same data and part."""
        return any(own.may_have(metric, p.context) for p in self.planned.values() for own in p.metrics)

    def require_monitored(self, metric: str, setting: str) -> None:
        """Refuse to watch what nobody measures.

        Raises:
            HeedfulError: No evaluation yields the metric, or its examples have no gold labels; the message lists what
                there is.
        """
        if metric == LOSS or self.is_known(metric):
            return
        labelled = ((own, replace(p.context, unlabelled=False)) for p in self.planned.values() for own in p.metrics)
        if any(own.may_have(metric, context) for own, context in labelled):
            raise SettingError(
                f"{setting} {metric} needs gold labels, and the examples that are evaluated have none. Name another "
                f"one, such as {listing(self.headlines) or LOSS}."
            )
        raise SettingError(
            f"{setting} {metric} is not measured by any evaluation. {guess(metric, [*self.headlines, LOSS])}"
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        super().setup(trainer, pl_module, stage)
        of_model = {"repeated": pl_module.repeated, "has_probabilities": pl_module.has_probabilities}
        self.prepare(trainer.callbacks, Setting(trainer.datamodule, not self.exhaustive, **of_model))
        for callback in trainer.callbacks:
            if isinstance(callback, EarlyStopping) and self.is_known(callback.monitor):
                callback.strict = False  # an undefined score is not a missing one

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop_if_asked(trainer)
        data = trainer.datamodule
        pl_module.at_work = busy
        self._predicted = Collector(data.task)
        pl_module.counted.clear()
        self._pace = Pace(f"{data.name}: predictions of this process", -(-len(data.predicted) // pl_module.predicting))

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Outputs | None,
        batch: dict[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if batch_idx == 0:  # with the batches and not before: a callback may exchange weights where validation starts
            self.weights = weights_hash(pl_module.state_dict())
        self._predicted.add(batch["positions"], outputs)
        self._pace.advance(batch["size"])
        if stopping.requested():
            raise StopIteration  # ends the batches of this process, not the evaluation: the processes meet below

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        is_predicting = self._predicted is not None and isinstance(exception, HeedfulError)
        if is_predicting and pl_module.predicting < trainer.world_size:  # else the others may be anywhere
            tell(exception)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        data: PairedData = trainer.datamodule
        base = self._base(data)
        run = {"data": data.name, "split": data.evaluated, "seed": data.seed, "note": data.note}
        run |= {"weights": self.weights, "unfinished": self.unfinished}
        prompt = {} if pl_module.prompt is None else {"prompt": pl_module.prompt.as_dict()}
        run["identity"] = {**self.identity(), **prompt}
        run["counts"] = {
            "examples": len(base),
            "not_predicted": len(data.pool) - len(base),
            "dropped_no_gold": data.counts.no_gold.get("validation", 0),
            **({"unlabelled": len(base)} if data.pool.is_unlabelled else {}),
            **cut_short(data.counts.truncated, data.counts.tokens_kept),
            "shortened": data.counts.shortened.get("validation", 0),
            "no_label": base.count(NO_LABEL),
            **_met_before(data.whole, base.positions, data, pl_module),
        }
        self.rows = {}
        for pool in {id(p.plan.pool): p.plan.pool for p in self.planned.values()}.values():
            base_of_pool = base if pool is data.pool else None
            self._run([p for p in self.planned.values() if p.plan.pool is pool], trainer, pl_module, run, base_of_pool)
        if trainer.state.fn == "validate":
            self._require_same_weights(trainer, pl_module)
        # not before: answers to changed examples are counted, too; the metadata of rows are copies by now
        counted = pl_module.counts_of(sum(gather(pl_module.counted), Counter()))
        for counts in (run["counts"], *(metadata["run"]["counts"] for _, metadata in self.rows.values())):
            counts |= counted
        metrics = METRICS | {name: p.evaluation.metric for name, p in self.planned.items()}
        scored = by_first(lambda: score(run, self.rows, metrics))
        self.measurements = {str(name): m for name, m in scored.numbers.items()}
        self.results = scored.results
        if trainer.state.fn == "fit" or self.exhaustive:  # what train.py measures last would be a second last point
            self._log(scored.numbers, trainer, pl_module)

    def require_measured(self, module: LightningModule, what: str) -> None:
        """Refuse weights that are not those of the last measurement, as where another callback exchanges them.

        Args:
            module: The model as it is now.
            what: What becomes of these weights, for the message.

        Raises:
            HeedfulError: They are others, on any process. Every process raises it.
        """
        if not all(gather(weights_hash(module.state_dict()) == self.weights)):
            raise _changed(f"what was measured is not {what}")

    def _require_same_weights(self, trainer: Trainer, module: LightningModule) -> None:
        """Refuse to have measured several models, or another one than that of the checkpoint.

        Raises:
            HeedfulError: Weights differ between processes, between predictions, or from those of the file.
        """
        require_alike({"the model": self.weights}, "weights")
        self.require_measured(module, "one and the same model")
        if trainer.ckpt_path:
            path = Path(trainer.ckpt_path)
            others = by_first(lambda: different(module.state_dict(), outline(path)["state_dict"]))
            if others:
                names = f"{len(others)} of its weights differ, such as {min(others)}"
                raise _changed(f"what was measured is not what {path.name} holds ({names})")

    def _run(
        self,
        together: Sequence[Planned],
        trainer: Trainer,
        module: LightningModule,
        run: dict[str, Any],
        base: Predictions | None,
    ) -> None:
        """Make the rows of the evaluations of one pool.

        Args:
            together: These evaluations.
            trainer: The trainer.
            module: The model.
            run: What is said of the run in each rows file.
            base: The predictions on the pool; None where it is not that of the data module.
        """
        data = trainer.datamodule
        pool = together[0].plan.pool
        inquiries = {p.evaluation.name: p.plan.inquiry for p in together if p.plan.inquiry is not None}
        changes = {p.evaluation.name: list(p.plan.interventions) for p in together if p.plan.inquiry is None}
        asked = changes | {name: [inquiry] for name, inquiry in inquiries.items()}
        manifests = {name: manifest_hash(plan, pool, data.seed) for name, plan in asked.items()}
        require_alike(manifests, f"examples of the evaluations {', '.join(asked)}")
        experiment = Experiment(trainer, module, data, pool, base)
        evaluated = experiment.rows(changes) if changes else {}
        evaluated |= {name: inquire(experiment, inquiry) for name, inquiry in inquiries.items()}
        own: dict[str, Any] = {}
        if base is None:
            met = _met_before(pool, np.arange(len(pool)), data, module)
            own = {"examples": len(pool), **experiment.cut, **met}
        by_first(lambda: self._keep(together, evaluated, manifests, run, own))

    def _keep(
        self,
        together: Sequence[Planned],
        evaluated: Mapping[str, tuple[pa.Table, Mapping[str, int]]],
        manifests: Mapping[str, str],
        run: dict[str, Any],
        own: Mapping[str, Any],
    ) -> None:
        """Keep the rows of these evaluations, with what must be known to make numbers of them.

        Args:
            together: The evaluations.
            evaluated: Evaluation name to its rows, and what was counted when they were made.
            manifests: Evaluation name to the identity of its changes.
            run: What is said of the run in each rows file.
            own: What was counted of the examples, where they are none of the data module.
        """
        for evaluation, plan, context in together:
            rows, counted = evaluated[evaluation.name]
            counts = {**plan.counts, **counted, **evaluation.counts(plan, rows, context)}
            without = r.where(rows, **{"y" if plan.inquiry else "y2": NO_LABEL})
            if own:
                without |= r.where(rows, y=NO_LABEL, intervention=r.BASE)
                counts |= own
            counts["no_label"] = int(without.sum())
            about = {name: run[name] for name in ("data", "seed")}
            metadata = {**about, "manifest": manifests[evaluation.name], "run": run}
            metadata |= {"context": context.as_dict(), "counts": counts}
            self.rows[evaluation.name] = rows, json.loads(json.dumps(metadata, sort_keys=True))  # as from a file

    def _log(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        on_data = [p for p in self.planned.values() if p.plan.pool is trainer.datamodule.pool]
        first = {name for p in on_data for chart in p.charts if chart.figure for name in chart.curves.values()}
        for name, measurement in numbers.items():
            if measurement.value is None:  # neither 0 nor NaN, nor what it was an epoch ago
                kept_metrics(trainer).pop(str(name), None)
            elif name.by == ("", ""):  # not one slice of many
                shown = name in first
                pl_module.log(str(name), measurement.value, prog_bar=shown, sync_dist=True, batch_size=1)
        if others(trainer):
            self._log_intervals(numbers, trainer, pl_module)

    def _log_intervals(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log both ends of the interval of each curve, so that they stand in its row of a table."""
        for name in {name: None for chart in self.charts for name in chart.curves.values()}:
            for side in SIDES:
                kept_metrics(trainer).pop(f"{name}/{side}", None)  # not what it was an epoch ago
            if name in numbers:
                bounds = dict(bounds_of(str(name), numbers[name].ci95))
                pl_module.log_dict(bounds, sync_dist=True, batch_size=1)

    def _base(self, data: PairedData) -> Predictions:
        """The base predictions of all processes."""
        mine = self._predicted.predictions()
        self._predicted = None
        base = gather_predictions(mine)
        if missing := len(np.setxor1d(base.positions, data.predicted)):
            raise RunError(f"{missing} validation examples were not predicted, or should not have been.")
        return base


def _changed(so: str) -> HeedfulError:
    """The error of numbers about other weights than those of the model."""
    return RunError(f"A callback changed the weights: {so}. Leave it out of trainer.callbacks.")


def _met_before(
    pool: Examples | None, positions: np.ndarray, data: PairedData, module: LightningModule
) -> dict[str, int]:
    """How many of some examples are repeats of others, and were trained on, where that is known, as counts."""
    if pool is None:
        return {}
    parts = data.full_task.parts
    counts = {"repeats": repeats(pool.content_keys(parts)[positions])}
    if module.trained_on is not None:
        counts["trained_on"] = int(module.trained_on.seen(pool, parts)[positions].sum())
    return counts

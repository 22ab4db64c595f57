"""The engine: predicts base and changed examples once each, on any number of processes, and yields rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping

from callbacks.engine.evaluation import Evaluation, is_known
from callbacks.engine.experiment import Experiment, gather_predictions
from callbacks.engine.pace import Pace
from callbacks.engine.predictions import BasePredictions, Predictions
from callbacks.engine.stop import stop_if_asked
from datamodules import PairedData
from datamodules.base.processes import require_alike
from interventions import manifest_hash
from lightning_modules.lightning_internals import kept_metrics
from metrics import Measurement
from records import NO_LABEL, SOFT, HeedError, Prediction, stopping
from records import rows as r

BREAKDOWN = "="  # in the name of a metric that is one slice of many


class Engine(Callback):
    """Runs every :class:`Evaluation` among the trainer's callbacks at the end of each validation epoch.

    The base predictions are those of the validation epoch; an evaluation that brings a pool of its own has that
    predicted as well. See :class:`~callbacks.engine.experiment.Experiment` for what is predicted where.

    Args:
        exhaustive: Whether every evaluation runs on all examples; otherwise it may bound its cost.
        only: Names of the evaluations to run; None for all.

    Attributes:
        measurements: The metrics of the last epoch, by name.
        results: What results.json says of it.
        rows: Evaluation name to (rows, metadata).
    """

    def __init__(self, exhaustive: bool = True, only: Sequence[str] | None = None) -> None:
        self.exhaustive, self.only = exhaustive, only
        self.measurements: dict[str, Measurement] = {}
        self.results: dict[str, Any] = {}
        self.rows: dict[str, tuple[pa.Table, dict[str, Any]]] = {}

    def evaluations(self, trainer: Trainer) -> list[Evaluation]:
        """Those that run, in the order of the callbacks."""
        found = [c for c in trainer.callbacks if isinstance(c, Evaluation) and c.pool(trainer.datamodule) is not None]
        return [e for e in found if e.among(self.only)]

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        for callback in trainer.callbacks:
            if isinstance(callback, EarlyStopping) and is_known(
                callback.monitor, trainer.datamodule, self.evaluations(trainer)
            ):
                callback.strict = False  # an undefined score is not a missing one

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop_if_asked(trainer)
        data = trainer.datamodule
        self._predicted = Predictions(len(data.task.distribution))
        self._pace = Pace(f"{data.name}: predictions of this process", -(-len(data.predicted) // trainer.world_size))

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: list[Prediction],
        batch: dict[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self._predicted.add(batch["positions"], outputs)
        self._pace.advance(len(outputs))
        if stopping.requested():
            raise StopIteration  # ends the batches of this process, not the evaluation: the processes meet below

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        data: PairedData = trainer.datamodule
        base, evaluations = self._base(trainer, data), self.evaluations(trainer)
        self.measurements, self.rows = {}, {}
        counts: dict[str, Any] = {
            "examples": len(base),
            "not_predicted": len(data.pool) - len(base),
            "dropped_no_gold": data.counts.no_gold.get("validation", 0),
            "truncated": data.counts.truncated,
            "shortened": data.counts.shortened.get("validation", 0),
            "no_label": base.count(NO_LABEL),
        }
        for pool in {id(pool): pool for pool in (e.pool(data) for e in evaluations)}.values():
            own = pool is not data.pool
            plans = {e.name: e.interventions(data, not self.exhaustive) for e in evaluations if e.pool(data) is pool}
            manifests = {name: manifest_hash(plan, pool, data.seed) for name, plan in plans.items()}
            require_alike(manifests, f"examples of the evaluations {', '.join(plans)}")
            experiment = Experiment(trainer, pl_module, data, pool, None if own else base)
            for name, rows in experiment.rows(plans).items():
                meta = {"task": list(data.task.labels), "seed": data.seed, "data": data.name}
                meta |= {"manifest": manifests[name]}
                meta |= {"kind": "soft"} if data.task.kind is SOFT else {}  # gold says what answers are worth
                self.rows[name] = rows, meta
                unlabelled = r.where(rows, y2=NO_LABEL)
                if own:
                    unlabelled |= r.where(rows, y=NO_LABEL, intervention=r.BASE)
                    counts |= {f"{name}/examples": len(pool), f"{name}/truncated": experiment.truncated}
                counts[f"{name}/no_label"] = int(unlabelled.sum())
        for evaluation in evaluations:
            rows, _ = self.rows[evaluation.name]
            found = evaluation.metrics(rows, data)
            if twice := sorted(found.keys() & self.measurements.keys()):
                raise HeedError(f"{evaluation.name} is not the only evaluation with the metric {twice[0]}.")
            self.measurements |= found
            counts |= {f"{evaluation.name}/{k}": v for k, v in evaluation.counts(rows, data).items()}
        self.results = {
            "format": r.FORMAT,
            "data": data.name,
            "split": data.evaluated,
            "seed": data.seed,
            "metrics": {name: m.as_dict() for name, m in self.measurements.items()},
            "counts": counts,
            "note": data.note,
        }
        if trainer.state.fn == "fit" or self.exhaustive:  # what train.py measures last would be a second last point
            shown = {tag for e in evaluations if e.pool(data) is data.pool for tag in e.headlines(data).values()}
            self._log(trainer, pl_module, shown)

    def _log(self, trainer: Trainer, pl_module: LightningModule, shown: set[str]) -> None:
        for name, measurement in self.measurements.items():
            if measurement.value is None:  # neither 0 nor NaN, nor what it was an epoch ago
                kept_metrics(trainer).pop(name, None)
            elif BREAKDOWN not in name:
                pl_module.log(name, measurement.value, prog_bar=name in shown, sync_dist=True, batch_size=1)

    def _base(self, trainer: Trainer, data: PairedData) -> BasePredictions:
        """The base predictions of all processes."""
        base = gather_predictions(self._predicted)
        self._predicted = None
        if missing := len(np.setxor1d(base.positions, data.predicted)):
            raise HeedError(f"{missing} validation examples were not predicted, or should not have been.")
        return base

"""The engine: predicts base and changed examples once each, on any number of processes, and yields rows."""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from rich.progress import track

from callbacks.evaluation import Evaluation
from datamodules import PairedData
from datamodules.base import Collate
from datamodules.sampler import evaluation_batches
from interventions import Intervention, generator, manifest_hash
from metrics import Measurement
from records import Changed, HeedError, Prediction
from records import rows as r

CHUNK = 16_384  # changed examples that are held at once


class Item(NamedTuple):
    """A changed example, the place of its intervention in the plan, and its draw."""

    place: int
    draw: int
    changed: Changed


def gather(value: Any) -> list[Any]:
    """The value of every process, in the order of ranks, on every process."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [value]
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


class Engine(Callback):
    """Runs every :class:`Evaluation` among the trainer's callbacks at the end of each validation epoch.

    The base predictions are those of the validation epoch. Changed examples are listed alike on all processes, sorted
    by length, cut into batches, and batch j goes whole to rank j mod world: the logits are the same bits on any number
    of processes.

    Args:
        exhaustive: Whether every evaluation runs on all examples; otherwise it may bound its cost.

    Attributes:
        measurements: The metrics of the last epoch, by name.
        results: What results.json says of it.
        rows: Evaluation name to (rows, metadata).
    """

    def __init__(self, exhaustive: bool = True) -> None:
        self.exhaustive = exhaustive
        self.measurements: dict[str, Measurement] = {}
        self.results: dict[str, Any] = {}
        self.rows: dict[str, tuple[pa.Table, dict[str, Any]]] = {}

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        for callback in trainer.callbacks:
            if isinstance(callback, EarlyStopping) and callback.monitor.startswith("attentiveness/"):
                callback.strict = False  # an undefined score is not a missing one

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._positions: list[int] = []
        self._predictions: list[Prediction] = []

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: list[Prediction],
        batch: dict[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        self._positions += batch["positions"]
        self._predictions += outputs

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        data: PairedData = trainer.datamodule
        evaluations = [c for c in trainer.callbacks if isinstance(c, Evaluation)]
        plans = {e.name: e.interventions(data, monitoring=not self.exhaustive) for e in evaluations}
        base = self._base(trainer, data)
        base_rows = self._base_rows(data, base)
        changed = iter(self._changed(trainer, pl_module, data, base, [i for plan in plans.values() for i in plan]))
        self.measurements, self.rows = {}, {}
        counts: dict[str, Any] = {
            "examples": len(base),
            "not_predicted": len(data.pool) - len(base),
            "dropped_no_gold": data.counts.no_gold.get("validation", 0),
            "truncated": data.counts.truncated,
        }
        for evaluation in evaluations:
            plan = plans[evaluation.name]
            found = r.sort_rows(pa.concat_tables([base_rows, *islice(changed, len(plan))]))
            meta = {"task": list(data.task.labels), "seed": data.seed, "data": data.name}
            self.rows[evaluation.name] = found, meta | {"manifest": manifest_hash(plan, data.pool, data.seed)}
            self.measurements |= evaluation.metrics(found, data)
            counts |= {f"{evaluation.name}/{k}": v for k, v in evaluation.counts(found, data).items()}
        self.results = {
            "format": r.FORMAT,
            "data": data.name,
            "split": "validation",
            "seed": data.seed,
            "metrics": {name: m.as_dict() for name, m in self.measurements.items()},
            "counts": counts,
            "note": data.note,
        }
        if trainer.state.fn == "fit" or self.exhaustive:  # what train.py measures last would be a second last point
            self._log(trainer, pl_module, data)

    def _log(self, trainer: Trainer, pl_module: LightningModule, data: PairedData) -> None:
        shown = {f"accuracy/{data.name}", *(f"attentiveness/{data.name}/{part}" for part in data.swap)}
        for name, measurement in self.measurements.items():
            if measurement.value is None:  # neither 0 nor NaN, nor what it was an epoch ago
                trainer._logger_connector._callback_metrics.pop(name, None)
            else:
                pl_module.log(name, measurement.value, prog_bar=name in shown, sync_dist=True, batch_size=1)

    def _base(self, trainer: Trainer, data: PairedData) -> dict[int, Prediction]:
        """Position to base prediction, from all processes."""
        pairs = [pair for part in gather(list(zip(self._positions, self._predictions, strict=True))) for pair in part]
        base = dict(pairs)
        if len(base) < len(pairs):
            raise HeedError(f"{len(pairs) - len(base)} validation examples were predicted twice.")
        missing, limit = len(data.pool) - len(base), trainer.limit_val_batches
        if missing and isinstance(limit, float) and limit == 1:  # the integer 1 is one batch
            raise HeedError(f"{missing} validation examples were not predicted.")
        if not all(p.probs is None or np.isfinite(p.probs).all() for p in base.values()):
            raise HeedError("The model's outputs are not finite: try a lower --model.learning_rate.")
        return dict(sorted(base.items()))

    def _base_rows(self, data: PairedData, base: Mapping[int, Prediction]) -> pa.Table:
        uids = [data.pool.uid(i) for i in base]
        n, labels = len(uids), data.pool.table["label"]
        columns = dict.fromkeys(("part", "variant", "partner", "allowed", "expectation"), [""] * n)
        columns |= {"uid": uids, "intervention": [r.BASE] * n, "gold": [labels[i].as_py() for i in base]}
        columns |= {"y": [p.answer for p in base.values()], "p": [p.probs for p in base.values()]}
        columns |= {"y2": [None] * n, "p2": [None] * n, "clusters": [[uid] for uid in uids]}
        columns |= {"version": [0] * n, "draw": [r.NO_DRAW] * n}
        return r.make_rows(columns, len(data.task.labels))

    def _stream(self, data: PairedData, base: Mapping[int, Prediction], plan: list[Intervention]) -> Iterator[Item]:
        """All changed examples, in the same order on every process."""
        pool, seed = data.pool, data.seed
        for place, intervention in enumerate(plan):
            chosen = [i for i in base if intervention.eligible(pool.uid(i), base[i])]
            if intervention.limit is not None and len(chosen) > intervention.limit:
                key = ("limit", intervention.name, intervention.version)
                ranked = sorted(chosen, key=lambda i: generator(seed, *key, pool.uid(i)).random())
                chosen = sorted(ranked[: intervention.limit])
            draws = range(intervention.draws) if intervention.draws else [r.NO_DRAW]
            for i in chosen:
                for draw in draws:
                    for changed in intervention.apply(pool, pool.uid(i), draw, seed):
                        yield Item(place, draw, changed)

    def _changed(
        self,
        trainer: Trainer,
        module: LightningModule,
        data: PairedData,
        base: Mapping[int, Prediction],
        plan: list[Intervention],
    ) -> list[pa.Table]:
        """The rows of each intervention, from all processes."""
        collate, stream = Collate(module.processor, data.task.labels), self._stream(data, base, plan)
        found = [[r.schema(len(data.task.labels)).empty_table()] for _ in plan]
        while items := list(islice(stream, CHUNK)):
            examples = [item.changed.example for item in items]
            keys = [(e.uid, t.place, t.draw, t.changed.variant) for t, e in zip(items, examples, strict=True)]
            # the first batch is cut short, which shifts all others: an unchanged example meets other companions
            first = max(1, min(math.ceil(data.eval_batch_size / 2), len(items) // 2))
            batches = evaluation_batches(module.processor.lengths(examples), keys, data.eval_batch_size, first)
            predicted: dict[int, list[tuple[Item, Prediction]]] = {}
            mine = batches[trainer.global_rank :: trainer.world_size]
            for positions in track(mine, "Changed examples", transient=True, disable=not self._shown(trainer)):
                batch = trainer.strategy.batch_to_device(collate([(k, examples[k]) for k in positions]))
                with trainer.precision_plugin.val_step_context():
                    predictions = module.predict(batch)
                for k, prediction in zip(positions, predictions, strict=True):
                    predicted.setdefault(items[k].place, []).append((items[k], prediction))
            rows = {place: self._rows(data, base, plan[place], pairs) for place, pairs in predicted.items()}
            for part in gather({place: r.to_bytes(table) for place, table in rows.items()}):
                for place, stream_of_rows in part.items():
                    found[place].append(r.from_bytes(stream_of_rows))
        return [pa.concat_tables(tables) for tables in found]

    @staticmethod
    def _shown(trainer: Trainer) -> bool:
        """Whether to show progress: where the trainer does."""
        return trainer.progress_bar_callback is not None and trainer.is_global_zero

    def _rows(
        self,
        data: PairedData,
        base: Mapping[int, Prediction],
        intervention: Intervention,
        pairs: list[tuple[Item, Prediction]],
    ) -> pa.Table:
        """Rows of those changed examples of an intervention that this process predicted."""
        draws, changed = [t.draw for t, _ in pairs], [t.changed for t, _ in pairs]
        before = [base[data.pool.position(c.example.uid)] for c in changed]
        n = len(pairs)
        columns = {
            "uid": [c.example.uid for c in changed],
            "intervention": [intervention.name] * n,
            "part": ["+".join(intervention.parts)] * n,
            "variant": [c.variant for c in changed],
            "gold": [c.example.label for c in changed],
            "y": [p.answer for p in before],
            "y2": [p.answer for _, p in pairs],
            "partner": [c.partner for c in changed],
            "allowed": [c.allowed for c in changed],
            "expectation": [intervention.expectation] * n,
            "version": [intervention.version] * n,
            "draw": draws,
            "p": [p.probs for p in before],
            "p2": [p.probs for _, p in pairs],
            "clusters": [list(c.clusters) for c in changed],
        }
        return r.make_rows(columns, len(data.task.labels))

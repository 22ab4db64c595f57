"""One experiment on one pool: base examples, what becomes of them when they are changed, and the rows of both."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pytorch_lightning import LightningModule, Trainer
from rich.progress import track

from callbacks.engine.pace import Pace
from callbacks.engine.predictions import BasePredictions, Predictions
from datamodules import PairedData
from datamodules.base.collate import Collate
from datamodules.base.processes import gather
from datamodules.base.sampler import evaluation_batches
from interventions import Intervention
from records import Changed, Example, Examples, HeedError, Prediction, Spool, generator, stopping
from records import rows as r

CHUNK = 16_384  # changed examples that are held at once


class Item(NamedTuple):
    """A changed example, the place of its intervention in the plan, its draw, and the position of its base example."""

    place: int
    draw: int
    position: int
    changed: Changed


def gather_rows(rows: pa.Table) -> list[pa.Table]:
    """The rows of every process, in the order of ranks, on every process.

    Raises:
        Stopped: SIGTERM came to one of them, which may lack rows; all raise it together, so that none is left waiting.
    """
    parts = gather(b"" if stopping.requested() else r.to_bytes(rows))
    if not all(parts):
        raise stopping.Stopped
    return [r.from_bytes(part) for part in parts]


def gather_predictions(predicted: Predictions) -> BasePredictions:
    """The predictions of all processes.

    Raises:
        HeedError: One was made twice, or the model's outputs are not finite.
    """
    base = BasePredictions(gather_rows(predicted.table()))
    repeated = int((np.diff(base.positions) == 0).sum())
    if repeated:
        raise HeedError(f"{repeated} examples were predicted twice.")
    if base.probs is not None:
        require_finite(base.probs, "the examples themselves")
    return base


def require_finite(probs: np.ndarray, what: str) -> None:
    """Refuse probabilities that are none, of which argmax would make a label.

    Raises:
        HeedError: One is NaN or infinite.
    """
    if not np.isfinite(probs).all():
        broken = int((~np.isfinite(probs)).any(axis=1).sum())
        raise HeedError(
            f"The model's outputs are not finite for {broken:,} of {len(probs):,} predictions ({what}): try a lower "
            "§model.learning_rate, or §trainer.precision 32-true."
        )


class Experiment:
    """A pool of examples, their predictions, and the interventions on them.

    Changed examples are made in the order of uids, alike on all processes, some thousands at a time; these are sorted
    by length, cut into batches, and batch j goes whole to rank j mod world: the logits are the same bits on any number
    of processes. Rows go to disk as they come.

    Args:
        trainer: Knows the processes, the device and the precision.
        module: The model.
        data: Batch size, seed and labels.
        pool: The examples.
        base: Their predictions, if they are known; otherwise they are made here.

    Attributes:
        base: The predictions of all processes.
        truncated: How many examples are longer than the model reads; counted where the predictions are made here.
    """

    def __init__(
        self,
        trainer: Trainer,
        module: LightningModule,
        data: PairedData,
        pool: Examples,
        base: BasePredictions | None = None,
    ) -> None:
        self.trainer, self.module, self.pool = trainer, module, pool
        self.task, self.seed, self.batch_size = data.task, data.seed, data.eval_batch_size
        self.width = len(data.task.distribution)  # of the probabilities
        self.contents = pool.contents(data.full_task.parts)
        self.truncated = 0
        self.base = self._base() if base is None else base

    def _base(self) -> BasePredictions:
        lengths = self.module.processor.lengths(self.pool)
        self.truncated = self.module.processor.truncated
        if len(self.pool):
            self.module.require_known(f"{self.pool[0].uid} and the other examples with it")
        batches = evaluation_batches(lengths, np.argsort(self.pool.uid_order), self.batch_size)
        predicted = Predictions(self.width)
        pace = Pace("Base examples", -(-len(self.pool) // self.trainer.world_size))
        for positions, predictions in self._predict(self.pool, batches, "Base examples"):
            predicted.add(positions, predictions)
            pace.advance(len(positions))
        return gather_predictions(predicted)

    def _predict(
        self, examples: Sequence[Example], batches: Sequence[np.ndarray], what: str
    ) -> Iterator[tuple[list[int], list[Prediction]]]:
        """This process's share of the batches: (positions, predictions) of each."""
        trainer, collate = self.trainer, Collate(self.module.processor, self.task)
        shown = trainer.progress_bar_callback is not None and trainer.is_global_zero
        mine = batches[trainer.global_rank :: trainer.world_size]
        for positions in track(mine, what, transient=True, disable=not shown):
            if stopping.requested():
                return  # to where the processes meet
            chosen = positions.tolist()
            batch = trainer.strategy.batch_to_device(collate([(k, examples[k]) for k in chosen]))
            with trainer.precision_plugin.val_step_context():
                yield chosen, self.module.predict(batch)

    def rows(self, plans: Mapping[str, Sequence[Intervention]]) -> dict[str, pa.Table]:
        """The rows of each evaluation, from all processes, in their canonical order.

        Args:
            plans: Evaluation name to its interventions.
        """
        plan = [intervention for interventions in plans.values() for intervention in interventions]
        spools = {name: Spool(r.schema(self.width)) for name in plans}
        pace = Pace(f"Changes for {', '.join(plans)}", len(self.base))
        for positions, items in self._blocks(plan):
            base_rows = self._base_rows(positions)
            changed = iter(self._changed_rows(plan, items))
            for name, interventions in plans.items():
                rows = [table for tables in islice(changed, len(interventions)) for table in tables]
                spools[name].write(r.sort_rows(pa.concat_tables([base_rows, *rows])))
            pace.advance(len(positions))
        return {name: spool.finish() for name, spool in spools.items()}

    def _chosen(self, intervention: Intervention) -> np.ndarray:
        """Which examples to change: bool [pool]."""
        uid, chosen = self.pool.uid, np.zeros(len(self.pool), dtype=bool)
        for i in self.base.positions:
            chosen[i] = intervention.eligible(uid(i), self.base[i])
        if intervention.limit is not None and chosen.sum() > intervention.limit:
            key = (self.seed, "limit", intervention.name, intervention.version)
            ranked = sorted(np.flatnonzero(chosen), key=lambda i: generator(*key, uid(i)).random())
            chosen[ranked[intervention.limit :]] = False
        return chosen

    def _blocks(self, plan: Sequence[Intervention]) -> Iterator[tuple[list[int], list[Item]]]:
        """Positions and their changed examples by ascending uid, some thousands at a time, alike on every process."""
        chosen = [self._chosen(intervention) for intervention in plan]
        positions: list[int] = []
        items: list[Item] = []
        for i in map(int, self.pool.uid_order[np.isin(self.pool.uid_order, self.base.positions)]):
            positions.append(i)
            for place, intervention in enumerate(plan):
                if chosen[place][i]:
                    uid, draws = self.pool.uid(i), range(intervention.draws) or [r.NO_DRAW]
                    changes = ((d, c) for d in draws for c in intervention.apply(self.pool, uid, d, self.seed))
                    items += [Item(place, draw, i, change) for draw, change in changes]
            if max(len(items), len(positions)) >= CHUNK:
                yield positions, items
                positions, items = [], []
        yield positions, items

    def _changed_rows(self, plan: Sequence[Intervention], items: Sequence[Item]) -> list[list[pa.Table]]:
        """The rows of these changed examples from all processes: one list of tables for each intervention."""
        found: list[list[tuple[Item, Prediction]]] = [[] for _ in plan]
        made = [item for item in items if item.changed.example is not None]
        examples = [item.changed.example for item in made]
        # the first batch is cut short, which shifts all others: an unchanged example meets other companions
        first = max(1, min(math.ceil(self.batch_size / 2), len(made) // 2))
        lengths = self.module.processor.lengths(examples)
        batches = evaluation_batches(lengths, np.arange(len(made)), self.batch_size, first)
        for positions, predictions in self._predict(examples, batches, "Changed examples"):
            for k, prediction in zip(positions, predictions, strict=True):
                found[made[k].place].append((made[k], prediction))
        known = [item for item in items if item.changed.example is None]
        for item in known[self.trainer.global_rank :: self.trainer.world_size]:
            found[item.place].append((item, self.base[self.pool.position(item.changed.partner)]))
        rows = [gather_rows(self._rows(plan[place], pairs)) for place, pairs in enumerate(found)]
        for intervention, tables in zip(plan, rows, strict=True):
            for table in tables:
                require_finite(r.known_probabilities(table, "p2"), f"the intervention {intervention.name}")
        return rows

    def _base_rows(self, positions: Sequence[int]) -> pa.Table:
        predictions, n = [self.base[i] for i in positions], len(positions)
        uids = [self.pool.uid(i) for i in positions]
        columns = dict.fromkeys(("part", "variant", "partner", "allowed", "expectation"), [""] * n)
        columns |= {"uid": uids, "intervention": [r.BASE] * n, "gold": [self.pool.value("label", i) for i in positions]}
        columns["content"] = [self.contents[i] for i in positions]
        columns |= {"y": [p.answer for p in predictions], "p": [p.probs for p in predictions]}
        columns |= {"y2": [None] * n, "p2": [None] * n, "clusters": [[uid] for uid in uids]}
        columns |= {"version": [0] * n, "draw": [r.NO_DRAW] * n, "slices": [self._slices(i) for i in positions]}
        return r.make_rows(columns, self.width)

    def _rows(self, intervention: Intervention, pairs: Sequence[tuple[Item, Prediction]]) -> pa.Table:
        """Rows of those changed examples of an intervention that this process has."""
        changed, positions, n = [t.changed for t, _ in pairs], [t.position for t, _ in pairs], len(pairs)
        before = [self.base[i] for i in positions]
        columns = {
            "uid": [self.pool.uid(i) for i in positions],
            "intervention": [intervention.name] * n,
            "part": ["+".join(intervention.parts)] * n,
            "variant": [c.variant for c in changed],
            "gold": [self._gold(c) for c in changed],
            "y": [p.answer for p in before],
            "y2": [p.answer for _, p in pairs],
            "partner": [c.partner for c in changed],
            "allowed": [c.allowed for c in changed],
            "expectation": [intervention.expectation] * n,
            "content": [""] * n,
            "version": [intervention.version] * n,
            "draw": [t.draw for t, _ in pairs],
            "p": [p.probs for p in before],
            "p2": [p.probs for _, p in pairs],
            "clusters": [list(c.clusters) for c in changed],
            "slices": [self._slices(i) for i in positions],
        }
        return r.make_rows(columns, self.width)

    def _gold(self, changed: Changed) -> str | None:
        if changed.example is not None:
            return changed.example.label
        return self.pool.value("label", self.pool.position(changed.partner))

    def _slices(self, position: int) -> list[str]:
        return [f"{name}={self.pool.value(f'meta.{name}', position)}" for name in self.pool.meta]

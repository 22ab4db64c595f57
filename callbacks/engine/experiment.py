"""One experiment on one pool: changes of its examples, their predictions, and the rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise, starmap

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.batch_predictor import BatchPredictor, require_finite
from heedful.callbacks.engine.blocks import Block, blocks
from heedful.callbacks.engine.pace import Pace
from heedful.callbacks.engine.predictions import Predictions, joined
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.sampler import evaluation_batches
from heedful.interventions import Intervention, within_limit
from heedful.lightning_modules.predictor import Encoded
from heedful.records import Examples, Spool
from heedful.records import rows as r

Masks = Sequence[np.ndarray]  # of each intervention, the examples that it changes: bool [pool]


class Experiment:
    """A pool of examples, their predictions, and the interventions on them.

    Changes are made in the order of uids, alike on all processes, some thousands at a time; these are sorted by
    length, cut into batches, and batch j goes whole to rank j mod world: the logits are the same bits on any number of
    processes. The first process makes the rows, which go to disk as they come.

    Args:
        batches: Predicts.
        data: The data, which have the seed and the names of the parts.
        pool: The examples.
        base: Predictions of all processes on the pool.
    """

    def __init__(self, batches: BatchPredictor, data: Pairs, pool: Examples, base: Predictions) -> None:
        self.batches = batches
        self.predictor = batches.predictor
        self.processes = batches.processes
        self.task = batches.task
        self.pool = pool
        self.base = base
        self.parts = data.full_task.parts
        self.seed = data.seed

    def rows(
        self, plans: Mapping[str, Sequence[Intervention]], done: Mapping[str, Masks] | None = None
    ) -> tuple[dict[str, tuple[pa.Table, dict[str, int]]], dict[str, Masks]]:
        """The rows of each evaluation, in their canonical order, on the first process; none on the others.

        Args:
            plans: Evaluation name to its interventions.
            done: Evaluation name to the examples that a first stage has changed already, which are left out.

        Returns:
            Evaluation name to the rows, and to the count "identical", if that is known: the changed examples that were
            not predicted, since the model receives the same of one that was. And the examples that are changed.
        """
        plan = [intervention for interventions in plans.values() for intervention in interventions]
        ends = np.cumsum([0, *map(len, plans.values())]).tolist()
        slices = list(starmap(slice, pairwise(ends)))  # of the plan, one for each evaluation
        masks = self._chosen(plan, [mask for name in plans for mask in (done or {}).get(name, ())])
        schema = r.schema(len(self.task.distribution))
        spools: dict[str, Spool] = {}  # on the first process
        tables = dict.fromkeys(plans, schema.empty_table())
        identical = np.zeros(len(plan), dtype=np.int64)
        pace = Pace(f"Changed inputs of {', '.join(plans)}", len(self.base))
        by_first = self.processes.by_first

        def open_files() -> None:
            if self.processes.is_first:
                spools.update({name: Spool(schema) for name in plans})

        def write(block: Block, predicted: Sequence[Predictions]) -> None:
            for spool, chosen in zip(spools.values(), slices, strict=False):
                spool.write(block.rows(plan, chosen, self.base, predicted, self.parts, schema))

        with ThreadPoolExecutor(1) as writer:  # makes the rows of a block while the next one is predicted
            pending = writer.submit(open_files)
            for block in self._blocks(plan, masks):
                encoded = self._compared(block)
                identical += np.bincount(block.interventions[block.is_copied], minlength=len(plan))
                predicted = self._changed(plan, block, encoded)
                by_first(pending.result)  # what the writing raises ends all processes
                pending = writer.submit(write, block, predicted)
                pace.advance(len(block.positions))
            by_first(pending.result)
        by_first(lambda: tables.update({name: spool.finish() for name, spool in spools.items()}))
        knows = self._fingerprints is not None
        counts = [{"identical": int(identical[chosen].sum())} if knows else {} for chosen in slices]
        changed = {name: masks[chosen] for name, chosen in zip(plans, slices, strict=True)}
        return dict(zip(plans, zip(tables.values(), counts, strict=True), strict=True)), changed

    def _blocks(self, plan: Sequence[Intervention], masks: Masks) -> Iterator[Block]:
        """The blocks of changes."""
        several = blocks(self.pool, self.base.positions, plan, masks, self.seed)
        return ahead(several, depth=1) if self.batches.works_ahead else several

    def _chosen(self, plan: Sequence[Intervention], done: Masks = ()) -> list[np.ndarray]:
        """Which examples each intervention changes: bool [pool] each.

        Of a model that writes its answers, those that are eligible by what it wrote or by its most probable label: from
        the rows of one run there are numbers for both.
        """
        positions = self.base.positions
        answers = [self.base.texts]
        masks = []
        if self.predictor.capabilities.writes and self.base.probs is not None:
            answers.append(self.base.most_probable(self.task.distribution))
        for intervention in plan:
            # with a limit, more examples to choose from would leave fewer whose written answer counts
            asked = answers[:1] if intervention.limit is not None else answers
            of_each = [intervention.eligible(self.pool, positions, of) for of in asked]
            eligible = positions[np.logical_or.reduce(of_each)]
            mask = np.zeros(len(self.pool), dtype=bool)
            mask[within_limit(intervention, self.pool, eligible, self.seed)] = True
            masks.append(mask)
        return [mask & ~before for mask, before in zip(masks, done, strict=True)] if done else masks

    @cached_property
    def _fingerprints(self) -> np.ndarray | None:
        """What the model receives of each example of the pool: uint64 [pool]; None where that is not known."""
        return self.predictor.encode(self.pool).fingerprints

    def _compared(self, block: Block) -> Encoded:
        """The changed examples as the model reads them, after these were compared with what it reads of the pool."""
        encoded = self.predictor.encode(block.examples)
        if self._fingerprints is not None and encoded.fingerprints is not None:
            block.compare(self._fingerprints, encoded.fingerprints)
        return encoded

    def _changed(self, plan: Sequence[Intervention], block: Block, encoded: Encoded) -> list[Predictions]:
        """The predictions for the changes of a block, in their order: one for each intervention.

        Only the first process has those of all processes.

        Raises:
            Stopped: SIGTERM came to a process, which may lack predictions; all raise it together.
            HeedfulError: The model's outputs are not finite. Every process raises it.
        """
        predicted = np.flatnonzero(~block.is_copied)
        # the first batch is cut short, which shifts all others: an unchanged example meets other companions
        first = max(1, min(math.ceil(self.batches.batch_size / 2), len(predicted) // 2))
        order = encoded.order[predicted]
        batches = evaluation_batches(order, np.arange(len(predicted)), self.batches.batch_size, first)
        mine = self.batches.predict(encoded.batches, [predicted[batch] for batch in batches], "Changed examples")
        broken = np.bincount(block.interventions[mine.positions[mine.broken]], minlength=len(plan))
        counts = self.processes.meet(broken)
        for k, intervention in enumerate(plan):
            n = int((block.interventions == k).sum())
            require_finite(
                int(sum(counts_of_rank[k] for counts_of_rank in counts)), n, f"the intervention {intervention.name}"
            )
        several = self.processes.to_first(mine)
        return block.predictions(joined(several), self.base) if several else []

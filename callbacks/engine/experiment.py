"""One experiment on one pool: base examples, what becomes of them when they are changed, and the rows of both."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa
from pytorch_lightning import LightningModule, Trainer
from rich.progress import track

from heedful.callbacks.engine.blocks import Block, Received, blocks
from heedful.callbacks.engine.pace import Pace
from heedful.callbacks.engine.predictions import Collector, Predictions, joined
from heedful.callbacks.engine.row_maker import RowMaker
from heedful.datamodules import PairedData
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.processes import by_first, is_first, meet, tell, to_first
from heedful.datamodules.base.sampler import evaluation_batches, share, snug_batches
from heedful.interventions import Intervention, within_limit
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Encoded
from heedful.records import Composed, Examples, HeedfulError, ModelError, RunError, Spool, stopping
from heedful.records import rows as r
from heedful.reports.html.table import has_bars

PADDING = 64  # tokens that a CPU computes in the time that a batch takes to begin; other devices want full batches
Predict = Callable[[dict[str, Any]], Outputs | None]
InputsOf = Callable[[Sequence[np.ndarray]], Iterator[dict[str, Any]]]  # batches of positions to inputs of the model


def gather_predictions(predicted: Predictions, what: str = "the examples themselves") -> Predictions:
    """The predictions of all processes, by ascending position, on every process.

    Args:
        predicted: Those of this process.
        what: What was predicted, for the message.

    Raises:
        Stopped: SIGTERM came to one of them, which may lack predictions; all raise it together.
        HeedfulError: One was made twice, or the model's outputs are not finite.
    """
    base = joined(meet(predicted))
    repeated = int((np.diff(base.positions) == 0).sum())
    if repeated:
        raise RunError(f"{repeated} examples were predicted twice ({what}).")
    require_finite(int(base.broken.sum()), len(base), what)
    return base


def require_finite(broken: int, n: int, what: str) -> None:
    """Refuse outputs that are not finite, of which argmax would make a label.

    Raises:
        HeedfulError: There are some.
    """
    if broken:
        raise ModelError(
            f"The outputs of the model are not finite for {broken:,} of {n:,} predictions ({what}). Try "
            "trainer.precision 32-true, or train with a lower model.learning_rate."
        )


def cut_short(truncated: int, tokens_kept: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """How much a model does not read, as it stands among the counts of results."""
    return {"truncated": truncated} | ({"tokens_kept": dict(tokens_kept)} if tokens_kept else {})


class Experiment:
    """A pool of examples, their predictions, and the interventions on them.

    Changes are made in the order of uids, alike on all processes, some thousands at a time; these are sorted by
    length, cut into batches, and batch j goes whole to rank j mod world: the logits are the same bits on any number of
    processes. The first process makes the rows, which go to disk as they come.

    Args:
        trainer: Knows the processes, the device and the precision.
        module: The model.
        data: Batch size, seed and labels.
        pool: The examples.
        base: Their predictions, if they are known; otherwise they are made here.

    Attributes:
        base: The predictions of all processes.
        cut: How many examples are longer than the model reads ("truncated"), and how much of each part it reads
            ("tokens_kept", if any are), as counts; known where the predictions are made here.
    """

    def __init__(
        self,
        trainer: Trainer,
        module: LightningModule,
        data: PairedData,
        pool: Examples,
        base: Predictions | None = None,
    ) -> None:
        self.trainer = trainer
        self.module = module
        self.pool = pool
        self.task = data.task
        self.parts = data.full_task.parts
        self.seed = data.seed
        self.batch_size = data.eval_batch_size
        self.cut: dict[str, Any] = {}
        self.base = self._base() if base is None else base

    def _base(self) -> Predictions:
        examples = Composed.whole(self.pool)
        encoded = self.module.encode(examples)
        self.cut = cut_short(encoded.statistics.truncated, encoded.statistics.tokens_kept)
        if len(self.pool):
            self.module.require_known(encoded.statistics, f"{self.pool[0].uid} and the other examples with it")
        batches = evaluation_batches(encoded.order, np.argsort(self.pool.uid_order), self.batch_size)
        pace = Pace("Base examples", -(-len(self.pool) // self.module.predicting))
        return gather_predictions(self._predict(encoded.batches, batches, "Base examples", pace))

    def _predict(
        self,
        make: InputsOf,
        batches: Sequence[np.ndarray],
        what: str,
        pace: Pace | None = None,
        predict: Predict | None = None,
    ) -> Predictions:
        """The predictions for this process's share of the batches; positions are those within the batches."""
        collector = Collector(self.task)
        predict = predict or self.module.predict
        try:
            with self.trainer.precision_plugin.val_step_context():  # once: autocast keeps the weights that it has cast
                for positions, inputs in self.shared(make, batches, what):
                    collector.add(positions, predict({"inputs": inputs, "size": len(positions)}))
                    if pace is not None:
                        pace.advance(len(positions))
        except HeedfulError as error:
            tell(error)
            raise
        return collector.predictions()

    def shared(
        self, make: InputsOf, batches: Sequence[np.ndarray], what: str
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """This process's share of the batches, with their inputs on the device; it ends early where SIGTERM came.

        Args:
            make: Makes the inputs of several batches.
            batches: int64 [inputs of the batch] each; batch j goes whole to rank j mod world.
            what: What is shown beside the progress bar.
        """
        shown = self.trainer.progress_bar_callback is not None and self.trainer.is_global_zero and has_bars()
        mine = share(batches, self.trainer.global_rank, self.module.predicting)
        pairs = zip(mine, self._inputs(make, mine), strict=True)
        for positions, inputs in track(pairs, what, len(mine), transient=True, disable=not shown):
            if stopping.requested():
                break  # to where the processes meet
            yield positions, inputs

    @property
    def _works_ahead(self) -> bool:
        """Whether threads make what comes next while the device computes; on the CPU they would only take turns."""
        return self.module.device.type != "cpu"

    def _inputs(self, make: InputsOf, batches: Sequence[np.ndarray]) -> Iterator[dict]:
        """The inputs of each batch, on the device."""
        inputs = make(batches)
        if not self._works_ahead:
            return inputs
        return map(self.trainer.strategy.batch_to_device, ahead(inputs, pin=self.module.device.type == "cuda"))

    def snug_batches(self, lengths: np.ndarray, batch_size: int, passes: int = 1) -> list[np.ndarray]:
        """Batches with little padding where that is worth more than full ones.

        Args:
            lengths: int [inputs], in tokens.
            batch_size: Most inputs of a batch.
            passes: How often each batch is computed.
        """
        padding = PADDING // passes if self.module.device.type == "cpu" else len(lengths) * int(lengths.max(initial=0))
        return snug_batches(lengths, batch_size, padding)

    def probabilities(self, make: InputsOf, lengths: np.ndarray, what: str) -> np.ndarray:
        """The probabilities of the labels for some inputs, on every process: float32 [inputs, labels].

        Args:
            make: Makes the inputs of several batches.
            lengths: int [inputs], in tokens.
            what: What they are, for messages and the progress bar.

        Raises:
            Stopped: SIGTERM came to a process; all raise it together.
            HeedfulError: The model's outputs are not finite. Every process raises it.
        """
        batches = self.snug_batches(lengths, self.batch_size)
        return gather_predictions(self._predict(make, batches, what, predict=self.module.probabilities), what).probs

    def rows(self, plans: Mapping[str, Sequence[Intervention]]) -> dict[str, tuple[pa.Table, dict[str, int]]]:
        """The rows of each evaluation, in their canonical order, on the first process; none on the others.

        Args:
            plans: Evaluation name to its interventions.

        Returns:
            Evaluation name to the rows, and to the count "identical", if that is known: the changed examples that were
            not predicted, since the model receives the same of one that was.
        """
        plan = [intervention for interventions in plans.values() for intervention in interventions]
        maker = RowMaker(self.pool, self.base, self.task, self.parts)
        schema = r.schema(len(self.task.distribution))
        spools: dict[str, Spool] = {}  # on the first process
        tables = dict.fromkeys(plans, schema.empty_table())
        ends = np.cumsum([0, *map(len, plans.values())]).tolist()
        slices = list(starmap(slice, pairwise(ends)))  # of the plan, one for each evaluation
        identical = np.zeros(len(plan), dtype=np.int64)
        pace = Pace(f"Changed inputs of {', '.join(plans)}", len(self.base))

        def open_files() -> None:
            if is_first():
                spools.update({name: Spool(schema) for name in plans})

        def write(block: Block, predicted: Sequence[Predictions], unread: Sequence[pa.Array]) -> None:
            for spool, here in zip(spools.values(), slices, strict=False):
                spool.write(maker.rows(block, plan[here], block.changes[here], predicted[here], unread[here]))

        with ThreadPoolExecutor(1) as writer:  # makes the rows of a block while the next one is predicted
            pending = writer.submit(open_files)
            for block in self._blocks(plan):
                encoded = self.module.encode(block.examples)
                received = self._received(block, encoded)
                identical += np.bincount(block.interventions[received.is_copied], minlength=len(plan))
                predicted = self._changed(plan, block, encoded, received)
                by_first(pending.result)  # what the writing raises ends all processes
                pending = writer.submit(write, block, predicted, received.unread)
                pace.advance(len(block.positions))
            by_first(pending.result)
        by_first(lambda: tables.update({name: spool.finish() for name, spool in spools.items()}))
        if self._fingerprints is None:
            return {name: (rows, {}) for name, rows in tables.items()}
        counts = [{"identical": int(identical[here].sum())} for here in slices]
        return dict(zip(plans, zip(tables.values(), counts, strict=True), strict=True))

    def _blocks(self, plan: Sequence[Intervention]) -> Iterator[Block]:
        """The blocks of changes."""
        made = blocks(self.pool, self.base.positions, plan, self._chosen(plan), self.seed)
        return ahead(made, depth=1) if self._works_ahead else made

    def _chosen(self, plan: Sequence[Intervention]) -> list[np.ndarray]:
        """Which examples each intervention changes: bool [pool] each.

        Of a model that writes its answers, those that are eligible by what it wrote or by its most probable label: from
        the rows of one run there are numbers for both.
        """
        positions = self.base.positions
        answers = [self.base.texts]
        masks = []
        if self.module.writes and self.base.probs is not None:
            answers.append(self.base.most_probable(self.task.distribution))
        for intervention in plan:
            # with a limit, more examples to choose from would leave fewer whose written answer counts
            asked = answers[:1] if intervention.limit is not None else answers
            of_each = [intervention.eligible(self.pool, positions, of) for of in asked]
            eligible = positions[np.logical_or.reduce(of_each)]
            mask = np.zeros(len(self.pool), dtype=bool)
            mask[within_limit(intervention, self.pool, eligible, self.seed)] = True
            masks.append(mask)
        return masks

    @cached_property
    def _fingerprints(self) -> np.ndarray | None:
        """What the model receives of each example of the pool: uint64 [pool]; None where that is not known."""
        return self.module.encode(self.pool).fingerprints

    def _received(self, block: Block, encoded: Encoded) -> Received:
        """What the model receives of the changes of a block; alike on all processes."""
        changed = encoded.fingerprints
        if self._fingerprints is None or changed is None:
            unknown = [pa.nulls(len(changes), pa.bool_()) for changes in block.changes]
            return Received(unknown, np.arange(len(block.examples)))
        return block.received(self._fingerprints, changed)

    def _changed(
        self, plan: Sequence[Intervention], block: Block, encoded: Encoded, received: Received
    ) -> list[Predictions]:
        """The predictions for the changes of a block, in their order: one for each intervention.

        Only the first process has those of all processes.

        Args:
            plan: The interventions.
            block: The changes.
            encoded: Their examples as the model reads them.
            received: What the model receives of them: what is the same is predicted once.

        Raises:
            Stopped: SIGTERM came to a process, which may lack predictions; all raise it together.
            HeedfulError: The model's outputs are not finite. Every process raises it.
        """
        own = np.flatnonzero(~received.is_copied)
        # the first batch is cut short, which shifts all others: an unchanged example meets other companions
        first = max(1, min(math.ceil(self.batch_size / 2), len(own) // 2))
        order = encoded.order[own]
        batches = [own[batch] for batch in evaluation_batches(order, np.arange(len(own)), self.batch_size, first)]
        mine = self._predict(encoded.batches, batches, "Changed examples")
        broken = np.bincount(block.interventions[mine.positions[mine.broken]], minlength=len(plan))
        told = meet(broken)
        for k, intervention in enumerate(plan):
            n = int((block.interventions == k).sum())
            require_finite(int(sum(counts[k] for counts in told)), n, f"the intervention {intervention.name}")
        several = to_first(mine)
        return block.apart(block.whole(joined(several), self.base, received.source), self.base) if several else []

"""Change the examples of one pool, predict the changed examples, and build rows."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, pairwise, starmap
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.blocks import Block, blocks, select_examples, with_verdicts
from heedful.callbacks.engine.predictions import BatchPredictor, Collector, Pace, Predictions, join, require_finite
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.batches import evaluation_batches
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first, gather_patiently, is_first, to_first
from heedful.interventions import Intervention
from heedful.lightning_modules.processors.processor import Encoded
from heedful.records import Examples, Spool
from heedful.records import rows as r

Rows = tuple[pa.Table, Mapping[str, int]]  # the rows of an evaluation and their counts
Interventions = Mapping[str, Sequence[Intervention]]  # by evaluation


class Experiment:
    """Applies interventions to a pool of examples, predicts the changed examples, and builds rows.

    All ranks make the same blocks of changes, and thus the same batches, so that probabilities are bit-identical on any
    number of processes. Rank 0 makes the rows and writes them to disk block by block.

    Args:
        batches: Predicts batches with the model.
        data: The data module.
        pool: The examples.
        base: Predictions of the unchanged examples.
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

    def rows(self, plans: Interventions, pilots: Interventions = MappingProxyType({})) -> dict[str, Rows]:
        """Apply interventions, predict the changed examples, and return the rows and counts of every evaluation.

        The rows are sorted, and empty on ranks other than 0. The only count is "identical": the number of changed
        examples whose prediction was copied from an equal input; it is missing if the inputs of the model are unknown.

        Args:
            plans: The interventions.
            pilots: The same interventions with the limits of a first stage, whose examples are not changed again.
        """
        plan = list(chain.from_iterable(plans.values()))
        slices = list(starmap(slice, pairwise(np.cumsum([0, *map(len, plans.values())]).tolist())))
        masks, ineligible = self._select_examples(plan)
        if pilots:
            done, _ = self._select_examples([pilot for name in plans for pilot in pilots[name]])
            masks = [mask & ~before for mask, before in zip(masks, done, strict=True)]
        schema = r.schema(len(self.task.distribution), self.base.scores is not None)
        spools: dict[str, Spool] = {}  # only on rank 0
        tables = dict.fromkeys(plans, schema.empty_table())
        identical = np.zeros(len(plan), dtype=np.int64)
        pace = Pace(f"Changed inputs of {', '.join(plans)}", len(self.base))

        def write(block: Block, predicted: Sequence[Predictions]) -> None:
            for spool, selected in zip(spools.values(), slices, strict=False):
                rows = block.rows(plan, selected, self.base, predicted, self.parts, schema, ineligible)
                if any(intervention.judge for intervention in plan[selected]):
                    rows = with_verdicts(rows, plan[selected], self.task.distribution)
                spool.write(rows)

        changed = blocks(self.pool, self.base.positions, plan, masks, self.seed)
        with ThreadPoolExecutor(1) as writer:  # makes the rows of a block while the next block is predicted
            pending = writer.submit(lambda: spools.update({name: Spool(schema) for name in plans if is_first()}))
            for block, collector in self._launched(changed):
                identical += np.bincount(block.interventions[block.is_copied], minlength=len(plan))
                predicted = self._fetch(plan, block, collector)
                by_first(pending.result)  # raises an error of the writer on all ranks
                pending = writer.submit(write, block, predicted)
                pace.advance(len(block.positions))
            by_first(pending.result)
        by_first(lambda: tables.update({name: spool.finish() for name, spool in spools.items()}))
        has_counts = self._fingerprints is not None
        counts = [{"identical": int(identical[selected].sum())} if has_counts else {} for selected in slices]
        return dict(zip(plans, zip(tables.values(), counts, strict=True), strict=True))

    def _select_examples(self, plan: Sequence[Intervention]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return both masks of :func:`select_examples` for each intervention, with the predictions as answers."""
        # A model that generates text may give two answers, the text and the most probable label, which are measured on
        # the same rows. With a limit, examples that are eligible by the label only would displace others.
        answers = [self.base.texts]
        if self.predictor.capabilities.writes and self.base.probs is not None:
            answers.append(self.base.most_probable(self.task.distribution))
        pool, positions, seed = self.pool, self.base.positions, self.seed
        several = [answers if i.limit is None else answers[:1] for i in plan]
        pairs = [select_examples(i, pool, positions, each, seed) for i, each in zip(plan, several, strict=True)]
        return [selected for selected, _ in pairs], [ineligible for _, ineligible in pairs]

    @cached_property
    def _fingerprints(self) -> np.ndarray | None:
        """Hash of the model's input for each unchanged example: uint64 [pool]; None if inputs are unknown."""
        return self.predictor.encode(self.pool).fingerprints

    def _prepare(self, block: Block) -> tuple[Block, Encoded, list[np.ndarray]]:
        """Encode a block, compare the inputs of the model, and return it with the batches to predict."""
        encoded = self.predictor.encode(examples := block.examples)
        if self._fingerprints is not None and encoded.fingerprints is not None:
            block.compare(self._fingerprints, encoded.fingerprints, examples.repeated)
        predicted = np.flatnonzero(~block.is_copied)
        columns = encoded.lengths[predicted], encoded.order[predicted], np.arange(len(predicted))
        batches = evaluation_batches(*columns, self.batches.size, is_shifted=True)  # for the null control
        return block, encoded, [predicted[batch] for batch in batches]

    def _launched(self, changed: Iterable[Block]) -> Iterator[tuple[Block, Collector]]:
        """Predict the changed examples of blocks, and yield each block with its outputs.

        An accelerator never waits for the host: a thread prepares the next block, and the batches of the next block are
        launched before the outputs of a block are fetched.
        """
        prepared = map(self._prepare, changed)
        waiting: deque[tuple[Block, Collector]] = deque()
        for block, encoded, batches in prepared if self.batches.is_on_cpu else ahead(prepared, depth=1):
            waiting.append((block, self.batches.launch(encoded.batches, batches, "Changed examples")))
            if self.batches.is_on_cpu or len(waiting) > 1:
                yield waiting.popleft()
        yield from waiting

    def _fetch(self, plan: Sequence[Intervention], block: Block, collector: Collector) -> list[Predictions]:
        """Return the predictions of a block per intervention on rank 0, else nothing.

        Raises:
            Stopped: A rank received SIGTERM; raised on every rank.
            HeedfulError: The outputs of the model are not finite; raised on every rank.
        """
        mine = collector.predictions()
        broken = np.bincount(block.interventions[mine.positions[mine.broken]], minlength=len(plan))
        counts = sum(gather_patiently(broken))
        for k, intervention in enumerate(plan):
            n = int((block.interventions == k).sum())
            require_finite(int(counts[k]), n, f"the intervention {intervention.name}")
        ranks = to_first(mine)
        return block.predictions(join(ranks), self.base) if ranks else []


def joined(first: Rows, second: Rows) -> Rows:
    """Merge the rows of two stages, sorted, and add their counts; the base rows come from the first stage."""
    changes = second[0].filter(pc.not_equal(second[0]["intervention"], r.BASE))
    table = pa.concat_tables([first[0], changes]).sort_by([(name, "ascending") for name in r.KEY])
    return table, dict(Counter(first[1]) + Counter(second[1]))

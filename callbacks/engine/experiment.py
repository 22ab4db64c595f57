"""Change the examples of one pool, predict the changed examples, and build rows."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise, starmap

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.batch_predictor import BatchPredictor, Pace, require_finite
from heedful.callbacks.engine.blocks import Block, blocks
from heedful.callbacks.engine.predictions import Predictions, join
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.batches import evaluation_batches
from heedful.datamodules.base.pairs import Pairs
from heedful.interventions import Intervention, within_limit
from heedful.lightning_modules.processors.processor import Encoded
from heedful.records import Examples, Spool
from heedful.records import rows as r

Masks = Sequence[np.ndarray]  # for each intervention, the examples that it changes: bool [pool]
Rows = tuple[pa.Table, Mapping[str, int]]  # the rows of an evaluation and their counts


class Experiment:
    """Applies interventions to a pool of examples, predicts the changed examples, and builds rows.

    All ranks make the same blocks of changes. The changed examples of a block are sorted by length and cut into
    batches, and batch j goes to rank j mod the number of ranks; so probabilities are bit-identical on any number of
    processes. Rank 0 makes the rows and writes them to disk block by block.

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

    def rows(
        self, plans: Mapping[str, Sequence[Intervention]], done: Mapping[str, Masks] | None = None
    ) -> tuple[dict[str, Rows], dict[str, Masks]]:
        """Apply interventions, predict the changed examples, and return the rows of each evaluation.

        Args:
            plans: Maps evaluations to interventions.
            done: Maps evaluations to masks of the examples that an earlier call has changed (the first of two stages).
                These examples are not changed again.

        Returns:
            Two dictionaries, with the names of the evaluations as keys.

            - The first has a pair of values for each evaluation: the sorted rows, and a dictionary of counts. The rows
              are empty on ranks other than 0. The only count is "identical": the number of changed examples whose
              prediction was copied, since the model receives the same input for another example. If the inputs of the
              model are unknown, the dictionary of counts is empty.
            - The second has, for each evaluation, masks of the examples that this call has changed.
        """
        plan = [intervention for interventions in plans.values() for intervention in interventions]
        slices = list(starmap(slice, pairwise(np.cumsum([0, *map(len, plans.values())]).tolist())))
        masks = self._select_examples(plan, [mask for name in plans for mask in (done or {}).get(name, ())])
        schema = r.schema(len(self.task.distribution))
        spools: dict[str, Spool] = {}  # only on rank 0
        tables = dict.fromkeys(plans, schema.empty_table())
        identical = np.zeros(len(plan), dtype=np.int64)
        pace = Pace(f"Changed inputs of {', '.join(plans)}", len(self.base))
        by_first = self.processes.by_first

        def open_files() -> None:
            if self.processes.is_first:
                spools.update({name: Spool(schema) for name in plans})

        def write(block: Block, predicted: Sequence[Predictions]) -> None:
            for spool, selected in zip(spools.values(), slices, strict=False):
                spool.write(block.rows(plan, selected, self.base, predicted, self.parts, schema))

        with ThreadPoolExecutor(1) as writer:  # makes the rows of a block while the next block is predicted
            pending = writer.submit(open_files)
            for block in self._blocks(plan, masks):
                encoded = self.predictor.encode(examples := block.examples)
                if self._fingerprints is not None and encoded.fingerprints is not None:
                    block.compare(self._fingerprints, encoded.fingerprints, examples.repeated)
                identical += np.bincount(block.interventions[block.is_copied], minlength=len(plan))
                predicted = self._predict_changed(plan, block, encoded)
                by_first(pending.result)  # raises an error of the writer on all ranks
                pending = writer.submit(write, block, predicted)
                pace.advance(len(block.positions))
            by_first(pending.result)
        by_first(lambda: tables.update({name: spool.finish() for name, spool in spools.items()}))
        has_counts = self._fingerprints is not None
        counts = [{"identical": int(identical[selected].sum())} if has_counts else {} for selected in slices]
        changed = {name: masks[selected] for name, selected in zip(plans, slices, strict=True)}
        return dict(zip(plans, zip(tables.values(), counts, strict=True), strict=True)), changed

    def _blocks(self, plan: Sequence[Intervention], masks: Masks) -> Iterator[Block]:
        several = blocks(self.pool, self.base.positions, plan, masks, self.seed)
        return several if self.batches.is_on_cpu else ahead(several, depth=1)

    def _select_examples(self, plan: Sequence[Intervention], done: Masks = ()) -> list[np.ndarray]:
        """Select the examples that each intervention changes, as a mask per intervention: bool [pool].

        The prediction of an example decides whether the example is eligible. A model that generates text may give two
        predictions: the text and the most probable label. The example is eligible by either prediction, so that both
        predictions can be measured on the same rows. For an intervention with a ``limit`` (a maximum number of
        examples), only the text decides. The examples in the masks ``done`` are left out.
        """
        positions = self.base.positions
        answers = [self.base.texts]
        masks = []
        if self.predictor.capabilities.writes and self.base.probs is not None:
            answers.append(self.base.most_probable(self.task.distribution))
        for intervention in plan:
            # with a limit, examples that are eligible by the most probable label only would displace others
            eligible = [
                intervention.eligible(self.pool, positions, each)
                for each in (answers if intervention.limit is None else answers[:1])
            ]
            eligible_positions = positions[np.logical_or.reduce(eligible)]
            mask = np.zeros(len(self.pool), dtype=bool)
            mask[within_limit(intervention, self.pool, eligible_positions, self.seed)] = True
            masks.append(mask)
        return [mask & ~before for mask, before in zip(masks, done, strict=True)] if done else masks

    @cached_property
    def _fingerprints(self) -> np.ndarray | None:
        """Hash of the model's input for each unchanged example: uint64 [pool]; None if inputs are unknown."""
        return self.predictor.encode(self.pool).fingerprints

    def _predict_changed(self, plan: Sequence[Intervention], block: Block, encoded: Encoded) -> list[Predictions]:
        """Predict the changed examples of a block.

        Returns:
            The predictions of the changes, one per intervention, on rank 0; an empty list on other ranks.

        Raises:
            Stopped: A rank received SIGTERM; raised on every rank.
            HeedfulError: The outputs of the model are not finite; raised on every rank.
        """
        predicted = np.flatnonzero(~block.is_copied)
        # half a first batch shifts all other batches, so that repeated examples (null control) get other batch mates
        first = max(1, min(math.ceil(self.batches.batch_size / 2), len(predicted) // 2))
        order = encoded.order[predicted]
        batches = evaluation_batches(order, np.arange(len(predicted)), self.batches.batch_size, first)
        mine = self.batches.predict(encoded.batches, [predicted[batch] for batch in batches], "Changed examples")
        broken = np.bincount(block.interventions[mine.positions[mine.broken]], minlength=len(plan))
        counts = sum(self.processes.gather_patiently(broken))
        for k, intervention in enumerate(plan):
            n = int((block.interventions == k).sum())
            require_finite(int(counts[k]), n, f"the intervention {intervention.name}")
        ranks = self.processes.to_first(mine)
        return block.predictions(join(ranks), self.base) if ranks else []


def joined(first: Rows, second: Rows) -> Rows:
    """Merge the rows of two stages, sorted, and add their counts; the base rows come from the first stage."""
    changes = second[0].filter(pc.not_equal(second[0]["intervention"], r.BASE))
    table = pa.concat_tables([first[0], changes]).sort_by([(name, "ascending") for name in r.KEY])
    return table, dict(Counter(first[1]) + Counter(second[1]))

"""Process changed examples in blocks of some 16,000, stored as columns (arrays), and convert the blocks to rows.

The blocks are the same on every process.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.predictions import Predictions, concatenate
from heedful.interventions import Changes, EachExample, Intervention, Prediction, within_limit
from heedful.records import NO_LABEL, Composed, Example, Examples, RunError
from heedful.records import rows as r

CHUNK = 16_384  # a block ends at this number of changes or of base examples
STEP = 4096  # base examples per call of an intervention
FEW = 64  # base examples per call if an intervention writes new content, perhaps a hundred tables per example


class Block:
    """A block of base examples and all changes of these examples.

    Arrays of the form [changed] have an entry for each changed example to predict, sorted by base example and then by
    intervention. A change to another example of the pool has no entry, since that example is predicted already.

    Args:
        pool: The examples.
        positions: int64 [block], positions of the base examples in the pool, by ascending uid.
        changes: The changes of these examples, one :class:`Changes` per intervention.

    Attributes:
        interventions: int64 [changed], index of the intervention.
        bases: int64 [changed], position of the base example in the pool.
        source: int64 [changed], whose prediction is used: the index in [changed] of the first example with an equal
            input, or -1 for the base example. Repeats (the null control) use their own prediction.
        unread: For each intervention, bool [changes]: whether the model receives the same input as for the base
            example. Null for repeats, and if the inputs are unknown.
    """

    def __init__(self, pool: Examples, positions: np.ndarray, changes: Sequence[Changes]) -> None:
        self.pool = pool
        self.positions = positions
        self.changes = changes
        sizes = [0 if c.known is not None else len(c) for c in changes]
        interventions = np.repeat(np.arange(len(changes)), sizes)
        bases = np.concatenate([np.zeros(0, np.int64), *(c.positions for c in changes if c.known is None)])
        by_position = np.argsort(positions)
        order = np.argsort(by_position[np.searchsorted(positions, bases, sorter=by_position)], kind="stable")
        self.interventions = interventions[order]
        self.bases = bases[order]
        self.source = np.arange(len(order))
        self.unread = [pa.nulls(len(each), pa.bool_()) for each in changes]

    @property
    def examples(self) -> Composed:
        """The changed examples of the block that must be predicted."""
        parts = list(dict.fromkeys(part for changes in self.changes for part in changes.lenders))
        written: list[Example] = []
        positions = self.bases.copy()
        lenders = {part: np.zeros(len(positions), dtype=np.int64) for part in parts}
        for k, changes in enumerate(self.changes):
            if changes.known is not None:
                continue
            base = changes.positions
            if changes.examples is not None:
                base = len(self.pool) + len(written) + np.arange(len(changes))
                written += changes.examples
            mask = self.interventions == k
            positions[mask] = base
            for part in parts:
                lenders[part][mask] = changes.lenders.get(part, base)
        return Composed(self.pool, positions, lenders, written, again=True)

    @property
    def is_copied(self) -> np.ndarray:
        """Whether the prediction of every changed example is copied from an equal input: bool [changed]."""
        return self.source != np.arange(len(self.source))

    def compare(self, pool: np.ndarray, changed: np.ndarray, is_repeated: np.ndarray) -> None:
        """Set :attr:`source` and :attr:`unread` by comparing the fingerprints (hashes of model inputs) of the block.

        Args:
            pool: uint64 [pool], the fingerprint of each unchanged example of the pool.
            changed: uint64 [changed], the fingerprint of each changed example in :attr:`examples`.
            is_repeated: bool [changed], whether the example is a repeat.
        """
        is_unread = changed == pool[self.bases]
        self.source[is_unread & ~is_repeated] = -1
        read = np.flatnonzero(~is_unread)
        _, first, inverse = np.unique(changed[read], return_index=True, return_inverse=True)
        self.source[read] = read[first[inverse]]
        for k, changes in enumerate(self.changes):
            mask = self.interventions == k
            if changes.known is not None:
                self.unread[k] = pa.array(pool[changes.known] == pool[changes.positions])
            else:
                self.unread[k] = pa.array(is_unread[mask], mask=is_repeated[mask])

    def predictions(self, predicted: Predictions, base: Predictions) -> list[Predictions]:
        """Return the predictions of all changes, one :class:`Predictions` per intervention.

        Args:
            predicted: Predictions of the changed examples that are not copied.
            base: Predictions of the unchanged examples.
        """
        if len(predicted) < len(self.source):
            is_unread = self.source < 0
            indices = np.searchsorted(predicted.positions, self.source)
            indices[is_unread] = len(predicted) + np.arange(is_unread.sum())
            predicted = concatenate([predicted, base.select(self.bases[is_unread])]).take(indices)
        return [
            predicted.take(np.flatnonzero(self.interventions == k)) if c.known is None else base.select(c.known)
            for k, c in enumerate(self.changes)
        ]

    def rows(
        self,
        interventions: Sequence[Intervention],
        selected: slice,
        base: Predictions,
        predicted: Sequence[Predictions],
        parts: Sequence[str],
        schema: pa.Schema,
        ineligible: Sequence[np.ndarray] = (),
    ) -> pa.Table:
        """Return the rows of the base examples and of their changes by some interventions, sorted by their key.

        Args:
            interventions: All interventions of the block.
            selected: The interventions whose rows are returned.
            base: Predictions of the pool.
            predicted: Predictions of the changes, one per intervention.
            parts: All parts of the data; the pool may have fewer.
            schema: The columns of the rows.
            ineligible: The second mask of :func:`select_examples` per intervention; changes of these examples have no
                expectation.

        Raises:
            RunError: Two rows have the same key (uid, intervention, part, variant and draw).
        """
        pool, changes, plan = self.pool, self.changes[selected], interventions[selected]
        n = len(self.positions)
        sizes = [n, *map(len, changes)]

        def texts(of_base: pa.Array | str, of_changes: Iterable[pa.Array | str]) -> pa.Array:
            pairs = zip((of_base, *of_changes), sizes, strict=True)
            return pa.concat_arrays([pa.repeat(pa.scalar(t), m) if isinstance(t, str) else t for t, m in pairs])

        positions = np.concatenate([self.positions, *(c.positions for c in changes)])
        before, after = base.select(positions), concatenate([base.select(self.positions), *predicted[selected]])
        is_base = np.arange(len(positions)) < n
        columns: dict[str, Any] = {
            "uid": pool.uids.take(positions),
            "group": pool.clusters(parts).take(positions),
            "content": texts(pool.contents(parts).take(self.positions), [""] * len(changes)),
            "intervention": texts(r.BASE, (i.name for i in plan)),
            "part": texts("", (c.part or "+".join(i.parts) for i, c in zip(plan, changes, strict=True))),
            "variant": texts("", (c.variant for c in changes)),
            "gold": pool.texts("label", positions),
            "gold2": texts(pa.nulls(n, pa.string()), (_labels_after(pool, c) for c in changes)),
            "y": before.texts,
            "y2": pc.if_else(pa.array(is_base), pa.scalar(None, pa.string()), after.texts),
            "partner": texts("", (c.partner for c in changes)),
            "expects": texts("", (c.expects or i.expects for i, c in zip(plan, changes, strict=True))),
            "version": np.repeat(np.array([0, *(i.version for i in plan)], dtype=np.int16), sizes),
            "draw": np.concatenate([np.full(n, r.NO_DRAW, dtype=np.int16), *(c.draws for c in changes)]),
            "p": r.vectors(before.probs, schema.field("p").type, np.zeros(len(positions), dtype=bool)),
            "p2": r.vectors(after.probs, schema.field("p2").type, is_base),
            "clusters": pa.concat_arrays([r.lists_of(pool.uids.take(self.positions)), *(c.clusters for c in changes)]),
            "slices": slices_of(pool, positions),
            r.UNREAD: pa.concat_arrays([pa.nulls(n, pa.bool_()), *self.unread[selected]]),
        }
        if before.scores is not None:
            columns |= {"score": before.scores, "score2": pa.array(after.scores, mask=is_base)}
        if ineligible:
            masks = zip(ineligible[selected], changes, strict=True)
            without = np.concatenate([np.zeros(n, dtype=bool), *(mask[c.positions] for mask, c in masks)])
            columns["expects"] = pc.if_else(pa.array(without), "", columns["expects"])
        rows = pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)
        rows = rows.sort_by([(name, "ascending") for name in r.KEY])
        repeats = np.all([pc.equal(rows[name][:-1], rows[name][1:]).to_numpy() for name in r.KEY], axis=0)
        if repeats.any():
            change = ", ".join(f"{name} {rows[name][int(repeats.argmax())]}" for name in r.KEY)
            raise RunError(f"An intervention returned one change twice: {change}. Change its draw or its variant.")
        return rows


def select_examples(
    intervention: Intervention,
    pool: Examples,
    positions: np.ndarray,
    answers: Sequence[pa.Array],
    seed: int,
    is_pilot: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Select the examples at these positions that an intervention may change: those eligible by a possible answer.

    The limit of the intervention applies if eligibility does not depend on the answer, or if ``is_pilot`` (the first of
    two stages). Otherwise the unknown answer decides among which examples the limit selects.

    Args:
        intervention: The intervention.
        pool: The examples.
        positions: int64, positions of the examples with a prediction.
        answers: One or more possible answers for each position: texts [positions].
        seed: The run's seed.
        is_pilot: Whether to apply the limit in any case.

    Returns:
        Two masks, bool [pool]: the selected examples, and the examples that their first answer makes ineligible.
    """
    eligible = [intervention.eligible(pool, positions, each) for each in answers]
    chosen = positions[np.logical_or.reduce(eligible)]
    if is_pilot or all((each == eligible[0]).all() for each in eligible):
        chosen = within_limit(intervention, pool, chosen, seed)
    selected, ineligible = np.zeros((2, len(pool)), dtype=bool)
    selected[chosen] = True
    ineligible[positions[~eligible[0]]] = True
    return selected, ineligible


def blocks(
    pool: Examples, predicted: np.ndarray, plan: Sequence[Intervention], masks: Sequence[np.ndarray], seed: int
) -> Iterator[Block]:
    """Divide the predicted examples into blocks: consecutive examples by ascending uid, with all their changes.

    A block ends when it has :data:`CHUNK` examples or changes; at least one block, perhaps without examples, is
    yielded. The ends determine the batches, and thus the last bits of probabilities.

    Args:
        pool: The examples.
        predicted: int64, positions of the examples with a prediction. A change into an example of the pool without a
            prediction is dropped.
        plan: The interventions.
        masks: For each intervention, the examples that it changes: bool [pool].
        seed: The run's seed.
    """
    order = pool.uid_order[np.isin(pool.uid_order, predicted)]
    rank = np.zeros(len(pool), dtype=np.int64)
    rank[order] = np.arange(len(order))
    is_predicted = np.zeros(len(pool), dtype=bool)
    is_predicted[predicted] = True
    step = FEW if any(isinstance(intervention, EachExample) for intervention in plan) else STEP
    begin = 0  # index in ``order`` of the first example of the block
    held: list[Changes] = []
    for start in range(0, max(1, len(order)), step):
        stop = min(start + step, len(order))
        positions = order[start:stop]
        following = [i.changes(pool, positions[mask[positions]], seed) for i, mask in zip(plan, masks, strict=True)]
        following = [c if c.known is None else c.take(is_predicted[c.known]) for c in following]
        held = [Changes.concatenate(pair) for pair in zip(held, following, strict=True)] if held else following
        while begin < stop and (size := _examples_to_fill(stop - begin, [rank[c.positions] - begin for c in held])):
            cuts = [int(np.searchsorted(rank[c.positions], begin + size)) for c in held]
            yield Block(pool, order[begin : begin + size], [c.slice(0, cut) for c, cut in zip(held, cuts, strict=True)])
            held = [c.slice(cut, len(c)) for c, cut in zip(held, cuts, strict=True)]
            begin += size
    if begin < len(order) or not len(order):
        yield Block(pool, order[begin:], held)


def _examples_to_fill(n: int, ranks: Sequence[np.ndarray]) -> int:
    """Return how many of the next ``n`` base examples fill a block, 0 if none; ``ranks`` are those of the changes."""
    counts = sum((np.bincount(each, minlength=n) for each in ranks), np.zeros(n, np.int64))
    full = np.flatnonzero(np.maximum(np.cumsum(counts), np.arange(1, n + 1)) >= CHUNK)
    return int(full[0]) + 1 if len(full) else 0


def slices_of(pool: Examples, positions: np.ndarray) -> pa.ListArray:
    """Return for each position the slices of the example: a list of "name=value" strings, one per meta column."""
    texts = [pc.binary_join_element_wise(name, pool.texts(f"meta.{name}", positions), "=") for name in pool.meta]
    if not texts:
        return pa.ListArray.from_arrays(np.zeros(len(positions) + 1, dtype=np.int32), pa.array([], pa.string()))
    return r.lists_of(*texts)


def _labels_after(pool: Examples, changes: Changes) -> pa.Array:
    """Return the gold label of every changed example; null if it is unknown, as after a swap."""
    if changes.examples is not None:
        return pa.array([example.label for example in changes.examples], pa.string())
    if changes.lenders:
        return pa.nulls(len(changes), pa.string())
    return pool.texts("label", changes.positions if changes.known is None else changes.known)


def with_verdicts(rows: pa.Table, plan: Sequence[Intervention], labels: Sequence[str]) -> pa.Table:
    """Write the verdicts of interventions that judge both predictions of a change into the column ``expects``.

    Args:
        rows: Rows of the interventions.
        plan: The interventions.
        labels: Labels in the order of the probabilities.
    """
    expects = rows["expects"].to_pylist()
    for intervention in plan:
        if (judge := intervention.judge) is None:
            continue
        is_judged = r.rows_with(rows, intervention=intervention.name)
        sides = []
        for names in (("y", "p", "score"), ("y2", "p2", "score2")):
            columns = [rows[name].filter(pa.array(is_judged)) if name in rows.schema.names else None for name in names]
            answers, probs, scores = ([None] * is_judged.sum() if c is None else c.to_pylist() for c in columns)
            entries = zip(answers, probs, scores, strict=True)
            sides.append([Prediction(y, dict(zip(labels, p or (), strict=False)), score) for y, p, score in entries])
        for row, before, after in zip(np.flatnonzero(is_judged).tolist(), *sides, strict=True):
            if NO_LABEL not in (before.answer, after.answer):
                expects[row] = f"{r.JUDGED}/{'yes' if judge(before, after) else 'no'}"
    return rows.set_column(rows.schema.get_field_index("expects"), "expects", pa.array(expects, pa.string()))

"""Process changed examples in blocks of some 16,000, stored as columns (arrays), and convert the blocks to rows.

The blocks are the same on every process.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.predictions import Predictions, concatenate
from heedful.interventions import Changes, EachExample, Intervention
from heedful.records import Composed, Example, Examples, RunError
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
        self._by_position = np.argsort(positions)
        sizes = [0 if c.known is not None else len(c) for c in changes]
        interventions = np.repeat(np.arange(len(changes)), sizes)
        bases = np.concatenate([np.zeros(0, np.int64), *(c.positions for c in changes if c.known is None)])
        order = np.argsort(self.rank(bases), kind="stable")
        self.interventions = interventions[order]
        self.bases = bases[order]
        self.source = np.arange(len(order))
        self.unread = [pa.nulls(len(each), pa.bool_()) for each in changes]

    def rank(self, positions: np.ndarray) -> np.ndarray:
        """Convert positions of base examples in the pool to their indices in the block: int64 arrays."""
        return self._by_position[np.searchsorted(self.positions, positions, sorter=self._by_position)]

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
        """For each changed example, whether its prediction is copied from another example with the same input: bool
        [changed].
        """
        return self.source != np.arange(len(self.source))

    def compare(self, pool: np.ndarray, changed: np.ndarray, is_repeated: np.ndarray) -> None:
        """Find changed examples whose model input is equal to another input, by fingerprints (hashes of inputs).

        Each changed example is compared with its base example and with the other changed examples of the block. The
        results are stored in :attr:`source`, the example whose prediction is used, and in :attr:`unread`, whether the
        change does not reach the model.

        Args:
            pool: uint64 [pool], the fingerprint of each unchanged example of the pool.
            changed: uint64 [changed], the fingerprint of each changed example in :attr:`examples`.
            is_repeated: bool [changed], whether the example is a repeat (an unchanged input of the null control).
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
            predicted: Predictions of the changed examples that were sent to the model. Other changed examples have the
                same input as an earlier example, and take its prediction.
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
    ) -> pa.Table:
        """Return the rows of the base examples and of their changes by some interventions, sorted by uid, intervention,
        part, variant and draw.

        Args:
            interventions: All interventions of the block.
            selected: The interventions whose rows are returned.
            base: Predictions of the pool.
            predicted: Predictions of the changes, one per intervention.
            parts: All parts of the data; the pool may have fewer.
            schema: The columns of the rows.

        Raises:
            RunError: Two rows have the same key (uid, intervention, part, variant and draw).
        """
        pool, changes, plan = self.pool, self.changes[selected], interventions[selected]
        n = len(self.positions)
        names = [(r.BASE, ""), *((i.name, "+".join(i.parts)) for i in plan)]
        group = np.repeat(np.arange(len(names)), [n, *map(len, changes)])  # 0 for base rows
        positions = np.concatenate([self.positions, *(c.positions for c in changes)])
        draws = np.concatenate([np.full(n, r.NO_DRAW, dtype=np.int16), *(c.draws for c in changes)])
        variants = _sorted_text_column(["", *(c.variant for c in changes)], group, np.arange(len(group)))
        places = [sorted(names).index(name) for name in names]
        order, repeated = _sort_rows(self.rank(positions), places, group, variants, draws)
        positions, groups = positions[order], group[order]
        before = base.select(positions)
        after = concatenate([base.select(self.positions), *predicted[selected]]).take(order)
        columns = {
            "uid": pool.uids.take(positions),
            "group": pool.clusters(parts).take(positions),
            "intervention": _sorted_text_column([name for name, _ in names], group, order),
            "part": _sorted_text_column([part for _, part in names], group, order),
            "variant": variants.take(order),
            "gold": self._labels(changes).take(order),
            "y": before.texts,
            "y2": pc.if_else(pa.array(groups == 0), pa.scalar(None, pa.string()), after.texts),
            "partner": _sorted_text_column(["", *(c.partner for c in changes)], group, order),
            "allowed": _sorted_text_column(["", *(c.allowed for c in changes)], group, order),
            "expectation": _sorted_text_column(["", *(i.expectation for i in plan)], group, order),
            "content": _sorted_text_column(
                [pool.contents(parts).take(self.positions), *[""] * len(changes)], group, order
            ),
            "version": np.array([0, *(i.version for i in plan)], dtype=np.int16)[groups],
            "draw": draws[order],
            "p": r.vectors(before.probs, schema.field("p").type, np.zeros(len(order), dtype=bool)),
            "p2": r.vectors(after.probs, schema.field("p2").type, groups == 0),
            "clusters": pa.concat_arrays(
                [r.lists_of(pool.uids.take(self.positions)), *(c.clusters for c in changes)]
            ).take(order),
            "slices": slices_of(pool, self.positions).take(self.rank(positions)),
            r.UNREAD: pa.concat_arrays([pa.nulls(n, pa.bool_()), *self.unread[selected]]).take(order),
        }
        if len(repeated):
            row = int(np.flatnonzero(order == repeated[0])[0])
            change = ", ".join(f"{name} {columns[name][row]}" for name in r.KEY)
            raise RunError(f"An intervention returned one change twice: {change}. Change its draw or its variant.")
        return pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)

    def _labels(self, changes: Sequence[Changes]) -> pa.Array:
        """Return the gold labels of the base examples, followed by the labels of the changes: an array of strings.

        A change keeps the label of its base example, unless it has new content or is another example of the pool.
        """
        labels = [self.pool.texts("label", self.positions)]
        for c in changes:
            if c.examples is not None:
                labels.append(pa.array([example.label for example in c.examples], pa.string()))
            else:
                labels.append(self.pool.texts("label", c.positions if c.known is None else c.known))
        return pa.concat_arrays(labels)


def blocks(
    pool: Examples, predicted: np.ndarray, plan: Sequence[Intervention], masks: Sequence[np.ndarray], seed: int
) -> Iterator[Block]:
    """Divide the predicted examples into blocks: consecutive examples by ascending uid, with all their changes.

    A block ends when it has :data:`CHUNK` examples or changes. At least one block is yielded: without predicted
    examples, a block without examples.

    Args:
        pool: The examples.
        predicted: int64, positions of the examples with a prediction. If a change replaces an example by another
            example of the pool, and the other example has no prediction, the change is dropped.
        plan: The interventions.
        masks: For each intervention, the examples that it changes: bool [pool].
        seed: The run's seed.
    """
    # The ends of the blocks depend only on the numbers of changes: they determine the batches, and thus the last bits
    # of probabilities
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
    """Return how many of the next ``n`` base examples fill a block; 0 if all ``n`` are too few.

    A block is full as soon as it has :data:`CHUNK` (16,384) base examples, or at least as many changes.

    Args:
        n: Number of base examples that are available.
        ranks: For each intervention, the index of the base example of each change: int64 [changes].
    """
    counts = sum((np.bincount(each, minlength=n) for each in ranks), np.zeros(n, np.int64))
    full = np.flatnonzero(np.maximum(np.cumsum(counts), np.arange(1, n + 1)) >= CHUNK)
    return int(full[0]) + 1 if len(full) else 0


def slices_of(pool: Examples, positions: np.ndarray) -> pa.ListArray:
    """Return the slices of the examples at these positions: for each a list of "name=value" strings, one per meta
    column.
    """
    texts = [pc.binary_join_element_wise(name, pool.texts(f"meta.{name}", positions), "=") for name in pool.meta]
    if not texts:
        return pa.ListArray.from_arrays(np.zeros(len(positions) + 1, dtype=np.int32), pa.array([], pa.string()))
    return r.lists_of(*texts)


def _sort_rows(
    ranks: np.ndarray, names: Sequence[int], group: np.ndarray, variants: pa.Array, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by uid, intervention and part, variant, and draw.

    Args:
        ranks: int64 [rows], index of the base example by ascending uid.
        names: For each group, its rank in the order by intervention and part.
        group: int64 [rows], group of the row: 0 for base rows, k + 1 for the changes by intervention k.
        variants: Strings [rows].
        draws: int16 [rows].

    Returns:
        The indices that sort the rows, int64 [rows]; and the indices of rows with the same key as another row, int64.
    """
    variants = variants.dictionary_encode()
    codes = pc.rank(variants.dictionary).to_numpy()[variants.indices.to_numpy()].astype(np.int64)
    key = (ranks * len(names) + np.array(names)[group]) * (len(variants.dictionary) + 1) + codes
    key = key * 2**15 + draws + 1  # draws are below 2**15
    order = np.argsort(key, kind="stable")
    return order, order[np.flatnonzero(np.diff(key[order]) == 0)]


def _sorted_text_column(columns: Sequence[pa.Array | str], group: np.ndarray, order: np.ndarray) -> pa.Array:
    """Return a text column: the texts of the base rows and of the rows of each intervention, in the given order.

    Args:
        columns: For each group (base rows, then one per intervention), a string per row or one string for all rows.
        group: int64 [rows], group per row, ascending.
        order: int64 [rows], the indices that sort the rows.
    """
    if all(isinstance(text, str) for text in columns):
        return pa.array(columns, pa.string()).take(group[order])
    sizes = np.bincount(group, minlength=len(columns)).tolist()
    pairs = zip(columns, sizes, strict=True)
    texts = [pa.repeat(pa.scalar(t, pa.string()), n) if isinstance(t, str) else t for t, n in pairs]
    return pa.concat_arrays(texts).take(order)

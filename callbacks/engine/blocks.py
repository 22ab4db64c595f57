"""Blocks of changes: some thousands at a time, the same on every process, and their rows.

All is columns: no change and no row is a Python object.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.predictions import Predictions, concatenated
from heedful.interventions import Changes, EachExample, Intervention
from heedful.records import Composed, Example, Examples, RunError
from heedful.records import rows as r

CHUNK = 16_384  # changed examples, or unchanged ones, of a block
STEP = 4096  # examples that interventions are asked for at a time
FEW = 64  # the same where one writes new content, which may be a hundred tables for each
Texts = Sequence[pa.Array | str]  # of each group of rows: a text for each row, or one for all


class Block:
    """Examples of a pool, the changes of these examples, and the predictions and rows of both.

    Args:
        pool: The examples.
        positions: int64 [block], positions in the pool by ascending uid.
        changes: The changes of these examples by each intervention.

    Attributes:
        source: int64 [examples], the changed example whose prediction each changed example has: the first with the
            same input of the model, or -1 for its base example. The null control has its own. See :meth:`compare`.
        unread: Per intervention, whether the model reads a change as it reads the base example: bool [changes];
            null where nothing is changed, or where it is not known.
    """

    def __init__(self, pool: Examples, positions: np.ndarray, changes: Sequence[Changes]) -> None:
        self.pool = pool
        self.positions = positions
        self.changes = changes
        self.source = np.arange(len(self.bases))
        self.unread = [pa.nulls(len(each), pa.bool_()) for each in changes]

    def rank(self, positions: np.ndarray) -> np.ndarray:
        """The place in the block of each of these positions in the pool: int64, from 0."""
        by_position = self._by_position
        return by_position[np.searchsorted(self.positions, positions, sorter=by_position)]

    @cached_property
    def _by_position(self) -> np.ndarray:
        return np.argsort(self.positions)

    @cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of all changes that are predicted, by example and intervention: the intervention, the place in its changes,
        and the position of the base example."""
        made = [(k, c) for k, c in enumerate(self.changes) if c.known is None]
        intervention = np.concatenate([np.zeros(0, np.int64), *(np.full(len(c), k) for k, c in made)])
        place = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(c)) for _, c in made)])
        base = np.concatenate([np.zeros(0, np.int64), *(c.positions for _, c in made)])
        order = np.argsort(self.rank(base), kind="stable")  # of one example, by intervention
        return intervention[order], place[order], base[order]

    @property
    def interventions(self) -> np.ndarray:
        """The number of the intervention that each example to predict comes from: int64 [examples]."""
        return self._order[0]

    @property
    def bases(self) -> np.ndarray:
        """The position in the pool of what each example to predict is made of: int64 [examples]."""
        return self._order[2]

    @cached_property
    def examples(self) -> Composed:
        """The changed examples to predict."""
        intervention, place, _ = self._order
        parts = list(dict.fromkeys(part for changes in self.changes for part in changes.lenders))
        others: list[Example] = []
        positions = np.zeros(len(place), dtype=np.int64)
        lenders = {part: np.zeros(len(place), dtype=np.int64) for part in parts}
        for k, changes in enumerate(self.changes):
            here = intervention == k
            own = changes.positions
            if changes.examples is not None:
                own = len(self.pool) + len(others) + np.arange(len(changes))
                others += changes.examples
            positions[here] = own[place[here]]
            for part in parts:
                lenders[part][here] = changes.lenders.get(part, own)[place[here]]
        return Composed(self.pool, positions, lenders, others, again=True)

    def _places(self, k: int) -> np.ndarray:
        """The place among the examples of each change by an intervention: int64 [changes]."""
        mine = np.flatnonzero(self._order[0] == k)
        return mine[np.argsort(self._order[1][mine])]

    @property
    def is_copied(self) -> np.ndarray:
        """Which examples have the prediction of another example: bool [examples]."""
        return self.source != np.arange(len(self.source))

    def compare(self, of_pool: np.ndarray, of_examples: np.ndarray) -> None:
        """Find changed examples that the model reads as it reads another example.

        Args:
            of_pool: uint64 [pool], the fingerprint of each example of the pool.
            of_examples: uint64 [examples], the fingerprints of :attr:`examples`.
        """
        is_repeated = self.examples.repeated
        is_unread = of_examples == of_pool[self.bases]
        self.source[is_unread & ~is_repeated] = -1
        read = np.flatnonzero(~is_unread)
        _, first, inverse = np.unique(of_examples[read], return_index=True, return_inverse=True)
        self.source[read] = read[first[inverse]]
        self.unread = []
        for k, changes in enumerate(self.changes):
            if changes.known is not None:
                self.unread.append(pa.array(of_pool[changes.known] == of_pool[changes.positions]))
            else:
                places = self._places(k)
                self.unread.append(pa.array(is_unread[places], mask=is_repeated[places]))

    def predictions(self, predicted: Predictions, base: Predictions) -> list[Predictions]:
        """The predictions per intervention, in the order of its changes.

        Args:
            predicted: Predictions for the examples that are not copied, by ascending position in :attr:`examples`.
            base: Predictions on the pool.
        """
        if len(predicted) < len(self.source):
            is_unread = self.source < 0
            places = np.searchsorted(predicted.positions, self.source)
            places[is_unread] = len(predicted) + np.arange(is_unread.sum())
            predicted = concatenated([predicted, base.of(self.bases[is_unread])]).take(places)
        return [
            predicted.take(self._places(k)) if changes.known is None else base.of(changes.known)
            for k, changes in enumerate(self.changes)
        ]

    def rows(
        self,
        interventions: Sequence[Intervention],
        chosen: slice,
        base: Predictions,
        predicted: Sequence[Predictions],
        parts: Sequence[str],
        schema: pa.Schema,
    ) -> pa.Table:
        """The base rows and the rows of the changes of some interventions, in canonical order.

        Args:
            interventions: The interventions of the block.
            chosen: The interventions whose rows are made.
            base: Predictions on the pool, by ascending position.
            predicted: Predictions per intervention, in the order of its changes.
            parts: All parts of the data, of which the pool may have fewer.
            schema: The columns.

        Raises:
            RunError: Two rows have the same key.
        """
        pool, changes, plan = self.pool, self.changes[chosen], interventions[chosen]
        n = len(self.positions)
        group = np.repeat(np.arange(1 + len(changes)), [n, *map(len, changes)])  # 0: base rows
        positions = np.concatenate([self.positions, *(c.positions for c in changes)])
        draws = np.concatenate([np.full(n, r.NO_DRAW, dtype=np.int16), *(c.draws for c in changes)])
        ranks = self.rank(positions)
        variants = ["", *(c.variant for c in changes)]
        names = [r.BASE, *(i.name for i in plan)]
        changed_parts = ["", *("+".join(i.parts) for i in plan)]
        order, twice = _canonical(ranks, group, list(zip(names, changed_parts, strict=True)), variants, draws)

        def spread(texts: Texts) -> pa.Array:
            return _spread(texts, group, order)

        if twice is not None:
            k = group[twice]
            variant = _spread(variants, group, np.array([twice]))[0].as_py()
            values = pool.uid(positions[twice]), names[k], changed_parts[k], variant, int(draws[twice])
            key = ", ".join(f"{name} {value}" for name, value in zip(r.KEY, values, strict=True))
            raise RunError(
                f"An intervention made one change twice: {key}. Give each change a draw or a variant of its own."
            )
        positions = positions[order]
        unchanged = group[order] == 0
        before = base.of(positions)
        after = concatenated([base.of(self.positions), *predicted[chosen]]).take(order)
        columns = {
            "uid": pool.uids.take(positions),
            "group": pool.clusters(parts).take(positions),
            "intervention": spread(names),
            "part": spread(changed_parts),
            "variant": spread(variants),
            "gold": self._golds(changes, positions, spread),
            "y": before.texts,
            "y2": pc.if_else(pa.array(unchanged), pa.scalar(None, pa.string()), after.texts),
            "partner": spread(["", *(c.partner for c in changes)]),
            "allowed": spread(["", *(c.allowed for c in changes)]),
            "expectation": spread(["", *(i.expectation for i in plan)]),
            "content": spread([pool.contents(parts).take(self.positions), *[""] * len(changes)]),
            "version": np.array([0, *(i.version for i in plan)], dtype=np.int16)[group[order]],
            "draw": draws[order],
            "p": r.vectors(before.probs, schema.field("p").type, np.zeros(len(order), dtype=bool)),
            "p2": r.vectors(after.probs, schema.field("p2").type, unchanged),
            "clusters": self._clusters(changes).take(order),
            "slices": slices_of(pool, self.positions).take(ranks[order]),
            r.UNREAD: pa.concat_arrays([pa.nulls(n, pa.bool_()), *self.unread[chosen]]).take(order),
        }
        return pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)

    def _golds(
        self, changes: Sequence[Changes], positions: np.ndarray, spread: Callable[[Texts], pa.Array]
    ) -> pa.Array:
        """The label of each example as changed: its own, unless it becomes another example or has new content."""
        if all(c.known is None and c.examples is None for c in changes):
            return self.pool.texts("label", positions)
        texts = [self.pool.texts("label", self.positions)]
        for c in changes:
            if c.examples is not None:
                texts.append(pa.array([example.label for example in c.examples], pa.string()))
            else:
                texts.append(self.pool.texts("label", c.positions if c.known is None else c.known))
        return spread(texts)

    def _clusters(self, changes: Sequence[Changes]) -> pa.ListArray:
        base = r.lists_of(self.pool.uids.take(self.positions))
        return pa.concat_arrays([base, *(c.clusters for c in changes)])


def blocks(
    pool: Examples, predicted: np.ndarray, plan: Sequence[Intervention], is_changed: Sequence[np.ndarray], seed: int
) -> Iterator[Block]:
    """Go through the examples by ascending uid; a block ends once it has :data:`CHUNK` changes, or examples.

    Where blocks end decides the batches, and so the last bits of the probabilities: it depends on nothing but the
    numbers of changes. A change that leads to an example without a prediction is left out.

    Args:
        pool: The examples.
        predicted: int64, positions of those that take part.
        plan: The interventions.
        is_changed: The examples that each intervention changes: bool [pool] each.
        seed: The run's seed.

    Yields:
        At least one block.
    """
    order = pool.uid_order[np.isin(pool.uid_order, predicted)]
    rank = np.zeros(len(pool), dtype=np.int32)
    rank[order] = np.arange(len(order))
    is_predicted = np.zeros(len(pool), dtype=bool)
    is_predicted[predicted] = True
    held: list[tuple[np.ndarray, list[Changes]]] = []
    changes_held = positions_held = 0
    step = FEW if any(isinstance(intervention, EachExample) for intervention in plan) else STEP
    for start in range(0, max(1, len(order)), step):
        positions = order[start : start + step]
        made = [i.changes(pool, positions[mask[positions]], seed) for i, mask in zip(plan, is_changed, strict=True)]
        made = [changes if changes.known is None else changes.take(is_predicted[changes.known]) for changes in made]
        ranks = [rank[changes.positions] - start for changes in made]
        counts = sum((np.bincount(r, minlength=len(positions)) for r in ranks), np.zeros(len(positions), np.int64))
        begin = 0
        while begin < len(positions):
            total = np.maximum(
                changes_held + np.cumsum(counts[begin:]), positions_held + np.arange(1, len(positions) - begin + 1)
            )
            full = np.flatnonzero(total >= CHUNK)
            end = begin + int(full[0]) + 1 if len(full) else len(positions)
            piece = [_between(c, r, begin, end) for c, r in zip(made, ranks, strict=True)]
            held.append((positions[begin:end], piece))
            changes_held += int(counts[begin:end].sum())
            positions_held += end - begin
            if len(full):
                yield _whole(pool, held)
                held = []
                changes_held = 0
                positions_held = 0
            begin = end
    if held or not len(order):  # of no example there is one block without rows
        yield _whole(pool, held or [(order, made)])


def _between(changes: Changes, ranks: np.ndarray, begin: int, end: int) -> Changes:
    """The changes of the examples from ``begin`` to ``end``; ``ranks`` [changes] ascend."""
    start, stop = np.searchsorted(ranks, [begin, end])
    return changes if stop - start == len(changes) else changes.slice(int(start), int(stop))


def _whole(pool: Examples, pieces: Sequence[tuple[np.ndarray, list[Changes]]]) -> Block:
    positions = np.concatenate([positions for positions, _ in pieces])
    return Block(
        pool, positions, [Changes.concatenate(made) for made in zip(*(made for _, made in pieces), strict=True)]
    )


def slices_of(pool: Examples, positions: np.ndarray) -> pa.ListArray:
    """Of each example "name=value" for its meta columns: lists of texts [positions]."""
    texts = [pc.binary_join_element_wise(name, pool.texts(f"meta.{name}", positions), "=") for name in pool.meta]
    if not texts:
        return pa.ListArray.from_arrays(np.zeros(len(positions) + 1, dtype=np.int32), pa.array([], pa.string()))
    return r.lists_of(*texts)


def _spread(texts: Texts, group: np.ndarray, order: np.ndarray) -> pa.Array:
    """A column of texts, in the canonical order."""
    if all(isinstance(text, str) for text in texts):
        return pa.array(texts, pa.string()).take(group[order])
    sizes = np.bincount(group, minlength=len(texts)).tolist()
    columns = [
        pa.repeat(pa.scalar(text, pa.string()), size) if isinstance(text, str) else text
        for text, size in zip(texts, sizes, strict=True)
    ]
    return pa.concat_arrays(columns).take(order)


def _canonical(
    ranks: np.ndarray, group: np.ndarray, pair_of_group: Sequence[tuple[str, str]], variants: Texts, draws: np.ndarray
) -> tuple[np.ndarray, int | None]:
    """The canonical order of rows, int64 [rows]; and a row whose key another row has as well, if there is one.

    Args:
        ranks: int64 [rows], by uid.
        group: int64 [rows].
        pair_of_group: The intervention and the part of each group.
        variants: As for :func:`_spread`.
        draws: int16 [rows].
    """
    place = {pair: k for k, pair in enumerate(sorted(set(pair_of_group)))}
    of_group = np.array([place[pair] for pair in pair_of_group])[group]
    texts = _spread(variants, group, np.arange(len(group)))
    names = pc.unique(texts)
    by_name = names.take(pc.sort_indices(names))
    variant = pc.index_in(texts, value_set=by_name).to_numpy()
    # all five in one number: a block has at most 2**15 uids, and draws have 16 bits
    key = ((ranks * len(place) + of_group) * len(names) + variant) * 2**15 + (draws.astype(np.int64) + 1)
    order = np.argsort(key, kind="stable")
    twice = np.flatnonzero(np.diff(key[order]) == 0)
    return order, int(order[twice[0]]) if len(twice) else None

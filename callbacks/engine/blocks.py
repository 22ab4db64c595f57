"""Blocks of changes: some thousands at a time, alike on every process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.predictions import Predictions, concatenated
from heedful.interventions import Changes, EachExample, Intervention
from heedful.records import Composed, Example, Examples

CHUNK = 16_384  # changed examples, or unchanged ones, of a block
STEP = 4096  # examples that interventions are asked for at a time
FEW = 64  # the same where one writes new content, which may be a hundred tables for each


class Received(NamedTuple):
    """What the model receives of the changes of a block.

    Attributes:
        unread: Of each intervention, in the order of its changes, whether it is what it receives of the base example:
            bool [changes]; null where nothing is changed, or where it is not known.
        source: Whose prediction each of the examples has: int64 [examples]. That of the first of those of which the
            model receives the same, or -1 for that of its base example. The null control has its own.
    """

    unread: list[pa.Array]
    source: np.ndarray

    @property
    def is_copied(self) -> np.ndarray:
        """Which examples have the prediction of another one: bool [examples]."""
        return self.source != np.arange(len(self.source))


@dataclass(frozen=True)
class Block:
    """Examples of a pool, and what becomes of them.

    Attributes:
        pool: The examples.
        positions: int64 [block], positions in the pool by ascending uid.
        changes: The changes of these examples by each intervention, in this order.
    """

    pool: Examples
    positions: np.ndarray
    changes: Sequence[Changes]

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

    def received(self, of_pool: np.ndarray, of_examples: np.ndarray) -> "Received":
        """Compare what the model receives of changed examples with that of others.

        Args:
            of_pool: uint64 [pool], the fingerprint of each example of the pool.
            of_examples: uint64 [examples], those of :attr:`examples`.
        """
        is_repeated = self.examples.repeated
        is_unread = of_examples == of_pool[self.bases]
        source = np.arange(len(of_examples))
        source[is_unread & ~is_repeated] = -1
        read = np.flatnonzero(~is_unread)
        _, first, of = np.unique(of_examples[read], return_index=True, return_inverse=True)
        source[read] = read[first[of]]
        unread = []
        for k, changes in enumerate(self.changes):
            if changes.known is not None:
                unread.append(pa.array(of_pool[changes.known] == of_pool[changes.positions]))
            else:
                places = self._places(k)
                unread.append(pa.array(is_unread[places], mask=is_repeated[places]))
        return Received(unread, source)

    def whole(self, predicted: Predictions, base: Predictions, source: np.ndarray) -> Predictions:
        """The predictions for all of :attr:`examples`.

        Args:
            predicted: Those for the examples that were predicted, by ascending position among them.
            base: Those of the pool.
            source: As of :class:`Received`.
        """
        is_unread = source < 0
        if len(predicted) == len(source):
            return predicted
        places = np.searchsorted(predicted.positions, source)
        places[is_unread] = len(predicted) + np.arange(is_unread.sum())
        return concatenated([predicted, base.of(self.bases[is_unread])]).take(places)

    def apart(self, predicted: Predictions, base: Predictions) -> list[Predictions]:
        """The predictions of each intervention, in the order of its changes.

        Args:
            predicted: Those of :attr:`examples`, by ascending position among them.
            base: Those of the pool, for changes that lead to another of its examples.
        """
        apart = []
        for k, changes in enumerate(self.changes):
            if changes.known is not None:
                apart.append(base.of(changes.known))
                continue
            apart.append(predicted.take(self._places(k)))
        return apart


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

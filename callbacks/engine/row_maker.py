"""Rows of a block from arrays: no row is a Python object."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.blocks import Block
from heedful.callbacks.engine.predictions import Predictions, concatenated
from heedful.interventions import Changes, Intervention
from heedful.records import Examples, RunError, Task
from heedful.records import rows as r

Texts = Sequence[pa.Array | str]  # of each group of rows: a text for each of its rows, or one for all


class RowMaker:
    """Makes the rows of one pool.

    Args:
        pool: The examples.
        base: Their predictions, by ascending position.
        task: Says of how many labels the probabilities are.
        parts: All parts of the data, of which the pool may have fewer.
    """

    def __init__(self, pool: Examples, base: Predictions, task: Task, parts: Sequence[str]) -> None:
        self.pool = pool
        self.base = base
        self.parts = parts
        self.schema = r.schema(len(task.distribution))

    def rows(
        self,
        block: Block,
        plan: Sequence[Intervention],
        changes: Sequence[Changes],
        predicted: Sequence[Predictions],
        unread: Sequence[pa.Array],
    ) -> pa.Table:
        """The base rows of a block and those of its changes, in their canonical order.

        Args:
            block: Says which examples.
            plan: Interventions.
            changes: The changes that each of them makes.
            predicted: The predictions of each, in the order of its changes.
            unread: Likewise, which are to the model what their base examples are: bool [changes], null if not known.

        Raises:
            HeedfulError: Two rows have the same key.
        """
        pool = self.pool
        n = len(block.positions)
        group = np.repeat(np.arange(1 + len(changes)), [n, *map(len, changes)])  # 0: base rows
        positions = np.concatenate([block.positions, *(c.positions for c in changes)])
        draws = np.concatenate([np.full(n, r.NO_DRAW, dtype=np.int16), *(c.draws for c in changes)])
        ranks = block.rank(positions)
        variants = ["", *(c.variant for c in changes)]
        names = [r.BASE, *(i.name for i in plan)]
        parts = ["", *("+".join(i.parts) for i in plan)]
        order, twice = _canonical(ranks, group, list(zip(names, parts, strict=True)), variants, draws)

        def spread(texts: Texts) -> pa.Array:
            return _spread(texts, group, order)

        if twice is not None:
            row = np.array([twice])
            variant = _spread(variants, group, row)[0].as_py()
            values = pool.uid(positions[twice]), names[group[twice]], parts[group[twice]], variant, int(draws[twice])
            key = ", ".join(f"{name} {value}" for name, value in zip(r.KEY, values, strict=True))
            raise RunError(
                f"An intervention made one change twice: {key}. Give each change a draw or a variant of its own."
            )
        positions = positions[order]
        ranks = ranks[order]
        unchanged = group[order] == 0
        before = self.base.of(positions)
        own = self.base.of(block.positions)
        after = concatenated([own, *predicted]).take(order)
        columns = {
            "uid": pool.uids.take(positions),
            "group": pool.clusters(self.parts).take(positions),
            "intervention": spread(names),
            "part": spread(parts),
            "variant": spread(variants),
            "gold": self._gold(block, changes, positions, spread),
            "y": before.texts,
            "y2": pc.if_else(pa.array(unchanged), pa.scalar(None, pa.string()), after.texts),
            "partner": spread(["", *(c.partner for c in changes)]),
            "allowed": spread(["", *(c.allowed for c in changes)]),
            "expectation": spread(["", *(i.expectation for i in plan)]),
            "content": spread([pool.contents(self.parts).take(block.positions), *[""] * len(changes)]),
            "version": np.array([0, *(i.version for i in plan)], dtype=np.int16)[group[order]],
            "draw": draws[order],
            "p": r.vectors(before.probs, self.schema.field("p").type, np.zeros(len(order), dtype=bool)),
            "p2": r.vectors(after.probs, self.schema.field("p2").type, unchanged),
            "clusters": self._clusters(block, changes).take(order),
            "slices": slices_of(pool, block.positions).take(ranks),
            r.UNREAD: pa.concat_arrays([pa.nulls(n, pa.bool_()), *unread]).take(order),
        }
        return pa.table([pa.array(columns[name]) for name in self.schema.names], schema=self.schema)

    def _gold(
        self, block: Block, changes: Sequence[Changes], positions: np.ndarray, spread: Callable[[Texts], pa.Array]
    ) -> pa.Array:
        """The label of each example as changed: its own, unless it becomes another example or has new content."""
        if all(c.known is None and c.examples is None for c in changes):
            return self.pool.texts("label", positions)
        texts = [self.pool.texts("label", block.positions)]
        for c in changes:
            if c.examples is not None:
                texts.append(pa.array([example.label for example in c.examples], pa.string()))
            else:
                texts.append(self.pool.texts("label", c.positions if c.known is None else c.known))
        return spread(texts)

    def _clusters(self, block: Block, changes: Sequence[Changes]) -> pa.ListArray:
        base = r.lists_of(self.pool.uids.take(block.positions))
        return pa.concat_arrays([base, *(c.clusters for c in changes)])


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
    whole = [
        pa.repeat(pa.scalar(text, pa.string()), size) if isinstance(text, str) else text
        for text, size in zip(texts, sizes, strict=True)
    ]
    return pa.concat_arrays(whole).take(order)


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

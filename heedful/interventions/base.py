"""The interface of interventions, and the changed examples that they return."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from heedful.records import Changed, Example, Examples, random_key
from heedful.records.randomness import random_order
from heedful.records.rows import NO_DRAW

Expectation = Literal["change", "stay", "transition"]
LIMITED = 2  # version of the algorithm of within_limit


@dataclass(frozen=True)
class Changes:
    """Changed examples as columns, sorted by the position of the base example (the example before the change).

    A changed example borrows parts from other examples of the pool (``lenders``), or is another example of the pool
    (``known``), or has new content (``examples``). If all three are missing, it equals its base example.

    Attributes:
        positions: Position of the base example in the pool: int64 [changes].
        draws: Index of the draw, -1 for a change without randomness: int16 [changes].
        clusters: Names of the clusters of a change, first the uid of the base example: lists of texts [changes].
        lenders: Maps names of parts to the position of the example that lends this part, or ``EMPTIED``: int64
            [changes].
        known: Position of the example of the pool that takes the place of the base example: int64 [changes].
        examples: The changed examples, with the uids of their base examples.
        partner: uid of the lending example: texts [changes], or one text for all.
        variant: Text that tells the changes of one draw apart: texts [changes], or one text for all.
        allowed: Key of the allowed label changes after an edit of table rows, or "": texts [changes], or one for all.
    """

    positions: np.ndarray
    draws: np.ndarray
    clusters: pa.ListArray
    lenders: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: np.ndarray | None = None
    examples: Sequence[Example] | None = None
    partner: pa.Array | str = ""
    variant: pa.Array | str = ""
    allowed: pa.Array | str = ""

    def __len__(self) -> int:
        return len(self.positions)

    def columns(self) -> dict[str, Any]:
        """Return the attributes that have one value per change, by name.

        The parts of ``lenders`` have names such as "lenders.premise".
        """
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "lenders"}
        columns |= {f"lenders.{part}": positions for part, positions in self.lenders.items()}
        return {name: column for name, column in columns.items() if not isinstance(column, str | None)}

    def with_columns(self, columns: Mapping[str, Any]) -> "Changes":
        """Return a copy with other columns.

        Args:
            columns: New values for all :meth:`columns`, by name.
        """
        lenders = {part: columns[f"lenders.{part}"] for part in self.lenders}
        return replace(self, lenders=lenders, **{k: v for k, v in columns.items() if not k.startswith("lenders.")})

    def slice(self, start: int, stop: int) -> "Changes":
        """Return the changes from index ``start`` to ``stop`` - 1."""
        return self.with_columns({name: column[start:stop] for name, column in self.columns().items()})

    def take(self, mask: np.ndarray) -> "Changes":
        """Return the changes where ``mask``, bool [changes], is true. Changes with ``examples`` are not supported."""
        if mask.all():
            return self
        columns = self.columns().items()
        return self.with_columns({k: v.filter(mask) if isinstance(v, pa.Array) else v[mask] for k, v in columns})

    @classmethod
    def concatenate(cls, changes: Sequence["Changes"]) -> "Changes":
        """Concatenate several Changes of the same intervention."""
        if len(changes) == 1:
            return changes[0]

        def join(columns: list[Any]) -> Any:
            if isinstance(columns[0], np.ndarray):
                return np.concatenate(columns)
            return pa.concat_arrays(columns) if isinstance(columns[0], pa.Array) else list(chain(*columns))

        tables = [each.columns() for each in changes]
        return changes[0].with_columns({name: join([table[name] for table in tables]) for name in tables[0]})


class Intervention(Protocol):
    """A change of examples with an expected effect on the prediction.

    Attributes:
        name: Name of the intervention in the rows.
        version: Version of the algorithm, increased whenever a seed no longer gives the same changed examples.
        parts: Names of the changed parts.
        draws: Number of random changes per example; 0 for a deterministic change, whose rows have draw -1.
        expectation: Whether the prediction should change, stay, or make an allowed transition.
        limit: Maximum number of examples to change, see :func:`within_limit`; None for all eligible examples.
        settings: Further settings that the changed examples depend on, for :func:`manifest_hash`.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    expectation: Expectation
    limit: int | None
    settings: tuple[str | int | bool, ...]

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        """Whether each example may be changed: bool [positions].

        Args:
            pool: The examples.
            positions: Positions of the predicted examples: int64 [positions].
            answers: Predictions for these examples before the change: texts [positions].
        """
        ...

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        """Return the changed examples of all draws, a pure function of the arguments.

        Args:
            pool: The examples.
            positions: Positions of the examples to change: int64 [positions].
            seed: Seed of the run.

        Returns:
            The changes in the order of ``positions``, and for each position in the order of draws.
        """
        ...


class EveryExample:
    """Base class of interventions for which every example is eligible."""

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.ones(len(positions), dtype=bool)


class EachExample(ABC):
    """Base class of interventions that create new content for one example at a time."""

    draws: int

    @abstractmethod
    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        """Return the changed examples of one example in one draw; an empty list if no change is possible.

        Args:
            pool: The examples.
            uid: uid of the example to change.
            draw: Index of the draw; -1 if the change is deterministic.
            seed: Seed of the run.
        """

    def covers(self, uid: str) -> bool:
        """Whether the intervention may change the example with this uid."""
        return True

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.array([self.covers(uid) for uid in pool.uids.take(positions).to_pylist()], dtype=bool)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        uids = pool.uids.take(positions).to_pylist()
        draws = range(self.draws) or [NO_DRAW]
        triples = [
            (position, draw, changed)
            for position, uid in zip(positions.tolist(), uids, strict=True)
            for draw in draws
            for changed in self.apply(pool, uid, draw, seed)
        ]
        changed = [change for _, _, change in triples]
        return Changes(
            np.array([position for position, _, _ in triples], dtype=np.int64),
            np.array([draw for _, draw, _ in triples], dtype=np.int16),
            pa.array([change.clusters for change in changed], pa.list_(pa.string())),
            examples=[change.example for change in changed],
            partner=pa.array([change.partner for change in changed], pa.string()),
            variant=pa.array([change.variant for change in changed], pa.string()),
            allowed=pa.array([change.allowed for change in changed], pa.string()),
        )


def within_limit(intervention: Intervention, pool: Examples, positions: np.ndarray, seed: int) -> np.ndarray:
    """Select at most ``intervention.limit`` of the eligible examples at random; a smaller limit selects a subset.

    Args:
        intervention: The intervention.
        pool: The examples.
        positions: Positions of the eligible examples: int64 [eligible].
        seed: Seed of the run; the selection depends only on it and on the uids.

    Returns:
        The selected positions in the order of ``positions``: int64 [selected].
    """
    if intervention.limit is None or len(positions) <= intervention.limit:
        return positions
    key = random_key(seed, "limit", LIMITED, intervention.name, intervention.version)
    order = random_order(key, pool.uid_keys[positions])
    return positions[np.sort(order[: intervention.limit])]


def manifest_hash(interventions: Sequence[Intervention], pool: Examples, seed: int) -> str:
    """Return a hash of everything that determines the changed examples.

    The hash covers the seed, the pool, and the interventions with their versions and settings.
    """
    binding = {i: [i.limit, LIMITED] for i in interventions if i.limit is not None and i.limit < len(pool)}
    listing = [[i.name, i.version, list(i.parts), i.draws, binding.get(i), *i.settings] for i in interventions]
    entry = json.dumps({"interventions": listing, "pool": pool.fingerprint, "seed": seed}, sort_keys=True)
    return hashlib.sha256(entry.encode()).hexdigest()

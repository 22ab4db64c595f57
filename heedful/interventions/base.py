"""The interface of interventions, and the changes that they make."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from heedful.records import Changed, Example, Examples, random_key, words_of
from heedful.records.rows import NO_DRAW

Expectation = Literal["change", "stay", "transition"]
LIMITED = 2  # version of how a limit chooses among the eligible examples


@dataclass(frozen=True)
class Changes:
    """Changed examples as columns, by ascending order of the positions that were given.

    An example gets parts that other examples of the pool lend (``lenders``), or becomes another example of the pool,
    whose prediction is looked up (``known``), or gets new content (``examples``). Without any of these it stays the
    same.

    Attributes:
        positions: int64 [changes], position of the base example in the pool.
        draws: int16 [changes], the draw, or -1.
        clusters: list of texts [changes]: the units whose errors a row shares, its own uid first.
        lenders: Part name to int64 [changes], the position of the lending example, or ``EMPTIED``.
        known: int64 [changes], the position of the example that it becomes.
        examples: The new examples, with the uids of their base examples.
        partner: Texts [changes], the uid of the lending example, or one text for all.
        variant: Texts [changes] that tell apart the changes of one draw, or one text for all.
        allowed: Texts [changes], key into a table of allowed transitions, or one text for all.
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
        """All columns by name, without constants; ``lenders`` is one entry per part."""
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "lenders"}
        columns |= {f"lenders.{part}": positions for part, positions in self.lenders.items()}
        return {name: column for name, column in columns.items() if not isinstance(column, str | None)}

    def with_columns(self, columns: Mapping[str, Any]) -> "Changes":
        """The changes with other values of :meth:`columns`."""
        lenders = {part: columns[f"lenders.{part}"] for part in self.lenders}
        return replace(self, lenders=lenders, **{k: v for k, v in columns.items() if not k.startswith("lenders.")})

    def slice(self, start: int, stop: int) -> "Changes":
        """Adjacent changes."""
        return self.with_columns({name: column[start:stop] for name, column in self.columns().items()})

    def take(self, mask: np.ndarray) -> "Changes":
        """Select by a mask, bool [changes]; only for changes without ``examples``."""
        if mask.all():
            return self
        columns = self.columns().items()
        return self.with_columns({k: v.filter(mask) if isinstance(v, pa.Array) else v[mask] for k, v in columns})

    @classmethod
    def concatenate(cls, changes: Sequence["Changes"]) -> "Changes":
        """Changes by one intervention, one after the other."""
        if len(changes) == 1:
            return changes[0]

        def join(columns: list[Any]) -> Any:
            if isinstance(columns[0], np.ndarray):
                return np.concatenate(columns)
            return pa.concat_arrays(columns) if isinstance(columns[0], pa.Array) else list(chain(*columns))

        tables = [each.columns() for each in changes]
        return changes[0].with_columns({name: join([table[name] for table in tables]) for name in tables[0]})


class Intervention(Protocol):
    """A change of examples, and the expected effect on the prediction.

    Attributes:
        name: Its name in the rows.
        version: Raised whenever the same seed would give other examples.
        parts: The parts that it changes.
        draws: Number of independent changes per example; 0 for a deterministic change, whose rows have draw -1.
        expectation: Whether the prediction should change, stay, or move along allowed transitions only.
        limit: Maximum number of eligible examples that are changed, selected by a hash of their uid; None for all.
        settings: Further settings that decide the changed examples, for the manifest.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    expectation: Expectation
    limit: int | None
    settings: tuple[str | int | bool, ...]

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        """Select the examples to change: bool [positions].

        Args:
            pool: The examples.
            positions: int64, the predicted examples.
            answers: Texts [positions], their base predictions.
        """
        ...

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        """The changed examples of all draws, in the order of ``positions``, then of draws. Pure."""
        ...


class EveryExample:
    """Base of interventions that change every example, whatever its prediction."""

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.ones(len(positions), dtype=bool)


class EachExample(ABC):
    """Base of interventions that write new content, one example at a time."""

    draws: int

    @abstractmethod
    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        """The changed examples of one draw; an empty list where no change is possible. Pure."""

    def covers(self, uid: str) -> bool:
        """Whether an example may be changed, whatever its prediction."""
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
    """Select ``intervention.limit`` eligible examples by a hash; a smaller limit selects a subset.

    Args:
        intervention: The intervention.
        pool: The examples.
        positions: int64, the eligible examples.
        seed: The run's seed; the selection depends on it and on uids only.

    Returns:
        int64, a subset of the positions, in their order.
    """
    if intervention.limit is None or len(positions) <= intervention.limit:
        return positions
    key = random_key(seed, "limit", LIMITED, intervention.name, intervention.version)
    uid_keys = pool.uid_keys[positions]
    first, second, *_ = words_of(key, uid_keys)
    ranked = np.lexsort([uid_keys, second, first])
    return positions[np.sort(ranked[: intervention.limit])]


def manifest_hash(interventions: Sequence[Intervention], pool: Examples, seed: int) -> str:
    """Identity of a set of changed examples: interventions with their versions, the seed, and the pool's content."""
    binding = {i: [i.limit, LIMITED] for i in interventions if i.limit is not None and i.limit < len(pool)}
    listing = [[i.name, i.version, list(i.parts), i.draws, binding.get(i), *i.settings] for i in interventions]
    entry = json.dumps({"interventions": listing, "pool": pool.fingerprint, "seed": seed}, sort_keys=True)
    return hashlib.sha256(entry.encode()).hexdigest()

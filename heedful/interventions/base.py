"""The interface of interventions, and the changes that they make."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from heedful.records import Changed, Example, Examples, random_key, words_of
from heedful.records.rows import NO_DRAW

Expectation = Literal["change", "stay", "transition"]
LIMITED = 2  # version of how a limit chooses among the eligible examples


@dataclass(frozen=True)
class Changes:
    """Changed examples as columns, by ascending order of the positions that were asked for.

    An example gets parts that other examples of the pool lend (``lenders``), or becomes another example of the pool,
    whose prediction is looked up (``known``), or gets new content (``examples``). Without any of these it stays the
    same.

    Attributes:
        positions: int64 [changes], the example of the pool that is changed.
        draws: int16 [changes], the draw, or -1.
        clusters: list of texts [changes]: what the error of a row is shared with, its own uid first.
        lenders: Part name to int64 [changes], the position of the example that lends it, or ``EMPTIED``.
        known: int64 [changes], the position of the example that it becomes.
        examples: The new examples, with the uids of their base examples.
        partner: Texts [changes], the uid of the example that lent something, or one text for all.
        variant: Texts [changes], which of several changes of one draw this is, or one text for all.
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

    def slice(self, start: int, stop: int) -> "Changes":
        """Some of them that stand side by side."""

        def cut(values: Any) -> Any:
            return values if values is None or isinstance(values, str) else values[start:stop]

        own = {f.name: cut(getattr(self, f.name)) for f in fields(self) if f.name != "lenders"}
        return Changes(**own, lenders={part: cut(positions) for part, positions in self.lenders.items()})

    def take(self, chosen: np.ndarray) -> "Changes":
        """Those that lead to other examples of the pool and are chosen, bool [changes]; all if these are all."""
        if chosen.all():
            return self
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("lenders", "examples")}

        def taken(value: Any) -> Any:
            if isinstance(value, str):
                return value
            return value.filter(chosen) if isinstance(value, pa.Array) else value[chosen]

        return Changes(**{name: taken(value) for name, value in own.items()})

    @classmethod
    def concatenate(cls, several: Sequence["Changes"]) -> "Changes":
        """Changes by one intervention, one after the other."""
        if len(several) == 1:
            return several[0]

        def join(values: list[Any]) -> Any:
            if values[0] is None or isinstance(values[0], str):
                return values[0]
            if isinstance(values[0], np.ndarray):
                return np.concatenate(values)
            if isinstance(values[0], pa.Array):
                return pa.concat_arrays(values)
            return [example for each in values for example in each]

        own = {f.name: join([getattr(one, f.name) for one in several]) for f in fields(cls) if f.name != "lenders"}
        lenders = {part: join([one.lenders[part] for one in several]) for part in several[0].lenders}
        return cls(**own, lenders=lenders)


class Intervention(Protocol):
    """A change of examples, and what should become of the prediction.

    Attributes:
        name: Its name in the rows.
        version: Raised whenever the same seed would give other examples.
        parts: The parts that it changes.
        draws: How many independent changes each example gets; 0 for one that is not random, whose rows have draw -1.
        expectation: Whether the prediction should change, stay, or move along allowed transitions only.
        limit: At most this many eligible examples are changed, chosen by a hash of their uid; None for all.
        settings: What else decides which changed examples there are, for the manifest.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    expectation: Expectation
    limit: int | None
    settings: tuple[str | int | bool, ...]

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        """Choose the examples to change at all: bool [positions].

        Args:
            pool: The examples.
            positions: int64, those that were predicted.
            answers: Texts, the base prediction of each.
        """
        ...

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        """The changed examples of all draws, in the order of ``positions``, then of draws. Pure."""
        ...


class EachExample(ABC):
    """An intervention that writes new content: one example after the other."""

    draws: int

    @abstractmethod
    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        """The changed examples of one draw; an empty list where no change is possible. Pure."""

    def covers(self, uid: str) -> bool:
        """Whether an example is to be changed at all, whatever its prediction."""
        return True

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.array([self.covers(uid) for uid in pool.uids.take(positions).to_pylist()], dtype=bool)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        uids = pool.uids.take(positions).to_pylist()
        draws = range(self.draws) or [NO_DRAW]
        made = [
            (position, draw, changed)
            for position, uid in zip(positions.tolist(), uids, strict=True)
            for draw in draws
            for changed in self.apply(pool, uid, draw, seed)
        ]
        changed = [change for _, _, change in made]
        return Changes(
            np.array([position for position, _, _ in made], dtype=np.int64),
            np.array([draw for _, draw, _ in made], dtype=np.int16),
            pa.array([change.clusters for change in changed], pa.list_(pa.string())),
            examples=[change.example for change in changed],
            partner=pa.array([change.partner for change in changed], pa.string()),
            variant=pa.array([change.variant for change in changed], pa.string()),
            allowed=pa.array([change.allowed for change in changed], pa.string()),
        )


def within_limit(intervention: Intervention, pool: Examples, positions: np.ndarray, seed: int) -> np.ndarray:
    """Choose ``intervention.limit`` of the eligible examples; those of a smaller limit are among them.

    Args:
        intervention: What is to be done with them.
        pool: The examples.
        positions: int64, the eligible ones.
        seed: The run's seed; an example is chosen by it, its uid and those of the others alone.

    Returns:
        int64, some of the positions, in their order.
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

"""The interface of interventions, and the changed examples that they return."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records import Changed, Example, Examples, random_key
from heedful.records.randomness import random_order
from heedful.records.rows import NO_DRAW

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
        expects: Expectation, as in rows: texts [changes]; None for the expectation of the intervention.
        part: Names of the changed parts, joined by "+": texts [changes]; None for the parts of the intervention.
    """

    positions: np.ndarray
    draws: np.ndarray
    clusters: pa.ListArray
    lenders: Mapping[str, np.ndarray] = field(default_factory=dict)
    known: np.ndarray | None = None
    examples: Sequence[Example] | None = None
    partner: pa.Array | str = ""
    variant: pa.Array | str = ""
    expects: pa.Array | None = None
    part: pa.Array | None = None

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


class Prediction(NamedTuple):
    """A prediction of a model, for functions that judge changes.

    Attributes:
        answer: The label or the text.
        probabilities: Maps labels to probabilities; empty if the model gives none.
        score: A number that is no probability, such as a margin; None if the model gives none.
    """

    answer: str
    probabilities: Mapping[str, float]
    score: float | None


@dataclass(frozen=True, kw_only=True)
class Intervention(ABC):
    """A change of examples with an expected effect on the prediction.

    Subclasses are frozen dataclasses, which declare their own fields first, and behind ``_: KW_ONLY`` the fields below
    that get another default.

    Attributes:
        name: Name of the intervention in the rows.
        version: Version of the algorithm, increased whenever a seed no longer gives the same changed examples.
        draws: Number of random changes per example; 0 for a deterministic change, whose rows have draw -1.
        limit: Maximum number of examples to change, see :func:`within_limit`; None for all eligible examples.
        expects: What should become of the prediction, as in the column ``expects`` of rows.
        predicted_as: Only examples that are predicted as this label before the change are eligible; None for all.
        judge: A function of the predictions before and after a change, which tells whether the change is as expected;
            None for an expectation that is known before.
    """

    name: str
    version: int = 1
    draws: int = 0
    limit: int | None = None
    expects: str = ""
    predicted_as: str | None = None
    judge: Callable[[Prediction, Prediction], Any] | None = field(default=None, compare=False)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the changed parts."""
        return ()

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        """Further settings that the changed examples depend on, for :func:`manifest_hash`."""
        return ()

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        """Whether each example may be changed: bool [positions].

        Args:
            pool: The examples.
            positions: Positions of the predicted examples: int64 [positions].
            answers: Predictions for these examples before the change: texts [positions].
        """
        if self.predicted_as is None:
            return np.ones(len(positions), dtype=bool)
        return pc.equal(answers, self.predicted_as).to_numpy(zero_copy_only=False)

    @abstractmethod
    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        """Return the changed examples of all draws, a pure function of the arguments.

        Args:
            pool: The examples.
            positions: Positions of the examples to change: int64 [positions].
            seed: Seed of the run.

        Returns:
            The changes in the order of ``positions``, and for each position in the order of draws.
        """


class EachExample(Intervention):
    """Base class of interventions that create new content for one example at a time."""

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
        covered = np.array([self.covers(uid) for uid in pool.uids.take(positions).to_pylist()], dtype=bool)
        return covered & super().eligible(pool, positions, answers)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        made = [
            (position, draw, changed)
            for position, uid in zip(positions.tolist(), pool.uids.take(positions).to_pylist(), strict=True)
            for draw in range(self.draws) or [NO_DRAW]
            for changed in self.apply(pool, uid, draw, seed)
        ]
        changed = [each for _, _, each in made]
        return Changes(
            np.array([position for position, _, _ in made], dtype=np.int64),
            np.array([draw for _, draw, _ in made], dtype=np.int16),
            pa.array([each.clusters for each in changed], pa.list_(pa.string())),
            examples=[each.example for each in changed],
            partner=pa.array([each.partner for each in changed], pa.string()),
            variant=pa.array([each.variant for each in changed], pa.string()),
            expects=pa.array([each.expects or self.expects for each in changed], pa.string()),
            part=pa.array([each.part or "+".join(self.parts) for each in changed], pa.string()),
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
    """Return a hash of all that determines the changed examples: seed, pool, interventions, versions and settings."""
    listing = []
    for i in interventions:
        binding = None if i.limit is None or i.limit >= len(pool) else [i.limit, LIMITED]
        predicted_as = getattr(i, "predicted_as", None)  # inquiries of the engine are listed, too, and have none
        predicted = () if predicted_as is None else ("predicted as", predicted_as)
        listing.append([i.name, i.version, list(i.parts), i.draws, binding, *i.settings, *predicted])
    entry = json.dumps({"interventions": listing, "pool": pool.fingerprint, "seed": seed}, sort_keys=True)
    return hashlib.sha256(entry.encode()).hexdigest()

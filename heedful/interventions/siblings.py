"""Sibling swaps: what an example keeps of itself in a swap becomes that of another example about the same thing."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from heedful.interventions.base import Changes, Expectation
from heedful.records import CLASSIFICATION, Examples, TaskKind, random_key, words_of
from heedful.records.pool.groups import numbered
from heedful.records.rows import lists_of


class Families:
    """Which examples of a pool have the same content in a part, and other content in the others.

    Args:
        pool: The examples.
        part: A part, or several joined by "+".
        default: The label of unrelated parts; None where there is none.
        within: A meta column in which siblings are the same (the split, where there are several); None for any.
        kind: Of the task: says whether that label is right.
    """

    def __init__(
        self,
        pool: Examples,
        part: str,
        default: str | None,
        within: str | None = None,
        kind: TaskKind = CLASSIFICATION,
    ) -> None:
        shared = part.split("+")
        self.others = tuple(name for name in pool.parts if name not in shared)
        self._content = numbered(pool.table, [f"groups.{name}" for name in self.others])
        golds: list[str | None] = pool.table["label"].to_pylist()
        asks_for_another = [
            gold is not None and (default is None or not kind.score(default, kind.parse_gold(gold))) for gold in golds
        ]
        self._gold = np.array(golds, dtype=object)
        self._is_other = np.array(asks_for_another, dtype=bool)
        columns = [f"groups.{name}" for name in shared]
        if within is not None:
            columns.append(f"meta.{within}")
        of = numbered(pool.table, columns)
        order = np.argsort(of, kind="stable")
        self._of = of
        self._members = np.split(order, np.flatnonzero(np.diff(of[order])) + 1)

    def siblings(self, i: int) -> np.ndarray:
        """Examples with another gold label than position ``i``, by which the default label is wrong: int64."""
        members = self._members[self._of[i]]
        other = (self._gold[members] != self._gold[i]) & self._is_other[members]
        return members[other & (self._content[members] != self._content[i])]

    def count(self) -> int:
        """How many examples have a sibling."""
        return sum(len(self.siblings(i)) > 0 for i in range(len(self._of)))


@dataclass(frozen=True)
class Siblings:
    """Each example becomes a sibling: it keeps the part that the attentiveness test swaps, and all else is replaced.

    A sibling has the same content in that part and another gold label, by which the default label is wrong: the
    three hypotheses of an MNLI premise, say. It is an example of the pool, whose prediction is known already.

    Attributes:
        part: The part that stays, or several joined by "+".
        families: Who has which siblings.
        draws: At most so many siblings of each example, chosen by a hash where there are more.
    """

    part: str
    families: Families = field(repr=False, compare=False)
    draws: int
    name: str = "sibling"
    version: int = 1
    expectation: Expectation = "change"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return self.families.others

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.ones(len(positions), dtype=bool)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        made = [self._some(pool, i, seed) for i in positions.tolist()]
        counts = [len(siblings) for siblings in made]
        bases = np.repeat(positions, counts)
        sibling_positions = np.concatenate([positions[:0], *made])
        draws = np.concatenate([np.zeros(0, np.int16), *(np.arange(n, dtype=np.int16) for n in counts)])
        uids = pool.uids.take(sibling_positions)
        return Changes(bases, draws, lists_of(pool.uids.take(bases), uids), known=sibling_positions, partner=uids)

    def _some(self, pool: Examples, i: int, seed: int) -> np.ndarray:
        siblings = self.families.siblings(i)
        if len(siblings) <= self.draws:
            return siblings
        key = random_key(seed, self.name, self.version, self.part, pool.uid(i))
        first, second, *_ = words_of(key, pool.uid_keys[siblings])
        return siblings[np.sort(np.lexsort([second, first])[: self.draws])]

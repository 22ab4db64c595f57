"""Sibling swaps: an example becomes another example with the same content in one part."""

from dataclasses import dataclass, field

import numpy as np

from heedful.interventions.base import Changes, EveryExample, Expectation
from heedful.records import CLASSIFICATION, Examples, TaskKind, random_key, words_of
from heedful.records.pool.groups import numbered
from heedful.records.rows import lists_of


class Families:
    """Examples of a pool with the same content in one part and different content in the other parts.

    Args:
        pool: The examples.
        part: A part, or several joined by "+".
        default: The label of unrelated parts; None if there is none.
        within: A meta column that siblings share, such as the split; None for any example.
        kind: Kind of the task, which decides whether the default label is right.
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
        self._gold = np.array(golds, dtype=object)
        is_wrong = [g is not None and (default is None or not kind.score(default, kind.parse_gold(g))) for g in golds]
        self._default_is_wrong = np.array(is_wrong, dtype=bool)
        meta = [] if within is None else [f"meta.{within}"]
        self._family = numbered(pool.table, [*(f"groups.{name}" for name in shared), *meta])
        order = np.argsort(self._family, kind="stable")
        self._members = np.split(order, np.flatnonzero(np.diff(self._family[order])) + 1)

    def siblings(self, i: int) -> np.ndarray:
        """Members of the family with another gold label than ``i``, for which the default label is wrong: int64."""
        members = self._members[self._family[i]]
        has_other_gold = (self._gold[members] != self._gold[i]) & self._default_is_wrong[members]
        return members[has_other_gold & (self._content[members] != self._content[i])]

    def count(self) -> int:
        """Number of examples with a sibling."""
        return sum(len(self.siblings(i)) > 0 for i in range(len(self._family)))


@dataclass(frozen=True)
class Siblings(EveryExample):
    """Turn each example into a sibling: the part that the attentiveness test swaps stays, all other parts change.

    A sibling has the same content in that part and another gold label, and the default label is wrong for it: the
    three hypotheses of an MNLI premise, for example. It is an example of the pool, with a known prediction.

    Attributes:
        part: The part that stays, or several joined by "+".
        families: Provides the siblings of each example.
        draws: Maximum number of siblings per example, selected by a hash.
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

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        siblings = [self._selected(pool, i, seed) for i in positions.tolist()]
        counts = [len(each) for each in siblings]
        bases = np.repeat(positions, counts)
        known = np.concatenate([positions[:0], *siblings])
        draws = np.concatenate([np.zeros(0, np.int16), *(np.arange(n, dtype=np.int16) for n in counts)])
        uids = pool.uids.take(known)
        return Changes(bases, draws, lists_of(pool.uids.take(bases), uids), known=known, partner=uids)

    def _selected(self, pool: Examples, i: int, seed: int) -> np.ndarray:
        siblings = self.families.siblings(i)
        if len(siblings) <= self.draws:
            return siblings
        key = random_key(seed, self.name, self.version, self.part, pool.uid(i))
        first, second, *_ = words_of(key, pool.uid_keys[siblings])
        return siblings[np.sort(np.lexsort([second, first])[: self.draws])]

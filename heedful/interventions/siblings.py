"""Replace examples by siblings, which have the same content in one part, and another gold label."""

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from heedful.interventions.base import Changes, Intervention
from heedful.records import CLASSIFICATION, Examples, TaskKind, random_key
from heedful.records.partners import row_numbers
from heedful.records.randomness import random_order
from heedful.records.rows import LEAVES, lists_of


class Families:
    """Groups a pool into families: examples with the same content in one part, such as the hypotheses of one premise.

    Args:
        pool: The examples.
        part: Name of the shared part, or several names joined by "+".
        default: The right label if the parts are unrelated; None if there is none.
        within: A meta column, such as "split", in which the examples of a family must agree; None for no restriction.
        kind: Kind of task, which decides whether the default label is right for an example.
    """

    def __init__(
        self, pool: Examples, part: str, default: str | None, within: str | None = None, kind: TaskKind = CLASSIFICATION
    ) -> None:
        shared = part.split("+")
        self.others = tuple(name for name in pool.parts if name not in shared)
        self._content = row_numbers(pool.table, [f"groups.{name}" for name in self.others])
        golds: list[str | None] = pool.table["label"].to_pylist()
        self._gold = np.array(golds, dtype=object)
        is_wrong = [g is not None and (default is None or not kind.score(default, kind.parse_gold(g))) for g in golds]
        self._default_is_wrong = np.array(is_wrong, dtype=bool)
        meta = [] if within is None else [f"meta.{within}"]
        self._family = row_numbers(pool.table, [*(f"groups.{name}" for name in shared), *meta])
        order = np.argsort(self._family, kind="stable")
        self._members = np.split(order, np.flatnonzero(np.diff(self._family[order])) + 1)

    def siblings(self, i: int) -> np.ndarray:
        """Return the positions of all siblings of the example at position ``i``: int64.

        A sibling is an example of the same family with other content in a part that is not shared, and with another
        gold label. The default label, if there is one, is wrong for the sibling.
        """
        members = self._members[self._family[i]]
        has_other_gold = (self._gold[members] != self._gold[i]) & self._default_is_wrong[members]
        return members[has_other_gold & (self._content[members] != self._content[i])]

    def count(self) -> int:
        """Return the number of examples that have at least one sibling."""
        return sum(len(self.siblings(i)) > 0 for i in range(len(self._family)))


@dataclass(frozen=True)
class Siblings(Intervention):
    """Replace each example by its siblings (see :meth:`Families.siblings`): one part stays, all other parts change.

    On MNLI, for example, a premise stays and one of its hypotheses takes the place of another.

    Attributes:
        part: Name of the part that stays, or several names joined by "+".
        families: The families of the pool's examples.
        draws: Maximum number of siblings per example; of more siblings, a random selection is used.
    """

    part: str
    families: Families = field(repr=False, compare=False)
    _: KW_ONLY
    name: str = "sibling"
    draws: int = field()
    expects: str = LEAVES

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
        return siblings[np.sort(random_order(key, pool.uid_keys[siblings])[: self.draws])]

"""The swap of the Counterfactual Attentiveness Test (CAT, §3.3): a part comes from another example of the split."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Expectation
from heedful.records import Examples, integers, random_key
from heedful.records.pool.partners import Partners
from heedful.records.rows import lists_of

DRAWN = 2  # version of how partners are drawn among those that may lend
BLOCKS = 32  # of four attempts to meet a partner by chance, before all that an example has are listed


@dataclass(frozen=True)
class Swap:
    """Replace a part by that of a random partner.

    The paper draws a partner at random and excludes nothing. Here a partner never shares a group with the example: not
    the content of the swapped part (nothing would change), not the content of a kept part unless all examples have it,
    and none of the groups that the data set names; nor is the pair that comes of it one that stands in the pool.
    Partners are uniform over all others; draws are independent.

    Attributes:
        part: The part to swap, or several that come from one partner, joined by "+".
        default_label: Examples predicted as this label are left alone; None makes every example eligible.
        draws: Counterfactuals for each example (the paper's k).
        within: A meta column in which partners are the same (the split, where there are several); None for any.

    Example:
        >>> from heedful.records import Example, Examples
        >>> pool = Examples.of([Example(u, {"premise": p, "hypothesis": h}, "neutral")
        ...                     for u, p, h in [("a", "It rains.", "Rain."), ("b", "A dog runs.", "A cat.")]])
        >>> Swap("premise", "neutral").partners(pool, np.array([0, 1]), draws=0, seed=0).tolist()
        [1, 0]
    """

    part: str
    default_label: str | None
    draws: int = 5
    name: str = "swap"
    version: int = 3
    expectation: Expectation = "change"
    limit: int | None = None
    within: str | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        return () if self.within is None else (f"within {self.within}",)

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.part.split("+"))

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        if self.default_label is None:
            return np.ones(len(positions), dtype=bool)
        return pc.not_equal(answers, self.default_label).to_numpy(zero_copy_only=False)

    def partners(self, pool: Examples, positions: np.ndarray, draws: np.ndarray | int, seed: int) -> np.ndarray:
        """Position of a partner of each example, or -1 where no other example may lend to it.

        Any example of the pool is proposed, until one may lend. That would take long where few may; after some attempts
        the partner is drawn from a list.

        Args:
            pool: The split that partners come from.
            positions: int64 [examples], the base examples.
            draws: Which draw, [examples] or one for all.
            seed: The run's seed. A partner depends on it, on the uid of the example, the draw and the pool.

        Returns:
            int64 [examples].
        """
        partners = np.full(len(positions), -1, dtype=np.int64)
        lenders = pool.partners(self.parts, self.within)
        some = np.flatnonzero(lenders.counts[positions])
        positions = positions[some]
        draws = np.broadcast_to(draws, partners.shape)[some]
        key = random_key(seed, self.name, DRAWN, self.part)
        uid_keys = pool.uid_keys[positions]
        everyone = np.full(len(some), len(pool))

        def may_lend(places: np.ndarray, proposed: np.ndarray) -> np.ndarray:
            return lenders.admits(positions[places], proposed)

        partners[some] = integers(key, uid_keys, draws, everyone, range(BLOCKS), may_lend)
        # who met none by chance has few that may lend: all of them are listed, and one is drawn
        left = np.flatnonzero(partners[some] < 0)
        ranks = integers(key, uid_keys[left], draws[left], lenders.counts[positions[left]], range(BLOCKS, 2**32))
        partners[some[left]] = _ranked(lenders, positions[left], ranks)
        return partners

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        bases = np.repeat(positions, self.draws)
        draws = np.tile(np.arange(self.draws, dtype=np.int16), len(positions))
        partners = self.partners(pool, bases, draws, seed)
        drawn = partners >= 0
        bases = bases[drawn]
        draws = draws[drawn]
        partners = partners[drawn]
        uids = pool.uids.take(partners)
        # examples that lend the same content are one in intervals, as those of a cluster are
        clusters = lists_of(pool.uids.take(bases), pc.coalesce(pool.clusters(self.parts).take(partners), uids))
        return Changes(bases, draws, clusters, lenders=dict.fromkeys(self.parts, partners), partner=uids)


def _ranked(lenders: Partners, positions: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """For each example, that of a rank among all that may lend to it: int64 [examples]."""
    partners = np.empty_like(ranks)
    order = np.argsort(positions, kind="stable")
    starts = np.flatnonzero(np.diff(positions[order], prepend=-1))
    for places in np.split(order, starts[1:]) if len(order) else ():
        partners[places] = lenders.all_of(int(positions[places[0]]))[ranks[places]]
    return partners

"""The swap of the Counterfactual Attentiveness Test (CAT, §3.3): a part comes from another example of the split."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Expectation
from heedful.records import Examples, integers, random_key
from heedful.records.rows import lists_of

DRAWN = 2  # version of the drawing of partners
BLOCKS = 32  # blocks of four attempts by rejection, before all candidates of an example are listed


@dataclass(frozen=True)
class Swap:
    """Replace a part by the part of a random partner.

    The paper draws a partner at random and excludes nothing. In Heedful, a partner must not share a group with the
    example (content of the swapped part, content of a kept part unless all examples have it, groups of the data set),
    and the new pair must not be in the pool. A partner is uniform over the remaining examples; draws are independent.

    Attributes:
        part: The part to swap, or several that come from one partner, joined by "+".
        default_label: Examples predicted as this label are not changed; None makes every example eligible.
        draws: Counterfactuals per example (the paper's k).
        within: A meta column that partners share, such as the split; None for any example.

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
        """Position of a partner for each example, int64 [examples], or -1; drawn by rejection, then from a list.

        Args:
            pool: The split that partners come from.
            positions: int64 [examples], the base examples.
            draws: The draw, [examples] or one for all.
            seed: The run's seed. A partner depends on it, the uid, the draw and the pool.
        """
        partners = np.full(len(positions), -1, dtype=np.int64)
        lenders = pool.partners(self.parts, self.within)
        drawable = np.flatnonzero(lenders.counts[positions])
        positions = positions[drawable]
        draws = np.broadcast_to(draws, partners.shape)[drawable]
        key = random_key(seed, self.name, DRAWN, self.part)
        uid_keys = pool.uid_keys[positions]

        def may_lend(indices: np.ndarray, proposed: np.ndarray) -> np.ndarray:
            return lenders.admits(positions[indices], proposed)

        pool_sizes = np.full(len(drawable), len(pool))
        partners[drawable] = integers(key, uid_keys, draws, pool_sizes, range(BLOCKS), may_lend)
        failed = np.flatnonzero(partners[drawable] < 0)  # few candidates: list them and draw one
        ranks = integers(key, uid_keys[failed], draws[failed], lenders.counts[positions[failed]], range(BLOCKS, 2**32))
        all_of = lru_cache(1)(lenders.all_of)  # draws of one example are adjacent
        for i, rank in zip(failed.tolist(), ranks.tolist(), strict=True):
            partners[drawable[i]] = all_of(int(positions[i]))[rank]
        return partners

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        bases = np.repeat(positions, self.draws)
        draws = np.tile(np.arange(self.draws, dtype=np.int16), len(positions))
        partners = self.partners(pool, bases, draws, seed)
        has_partner = partners >= 0
        bases, draws, partners = bases[has_partner], draws[has_partner], partners[has_partner]
        uids = pool.uids.take(partners)
        # partners that lend the same content are one unit in intervals, as are the examples of a cluster
        clusters = lists_of(pool.uids.take(bases), pc.coalesce(pool.clusters(self.parts).take(partners), uids))
        return Changes(bases, draws, clusters, lenders=dict.fromkeys(self.parts, partners), partner=uids)

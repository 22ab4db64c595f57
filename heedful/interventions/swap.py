"""The swap of the Counterfactual Attentiveness Test (CAT, section 3.3): another example lends one of its parts."""

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Intervention
from heedful.records import Examples, random_key
from heedful.records.randomness import integers
from heedful.records.rows import LEAVES, lists_of

DRAWN = 2  # version of the algorithm that draws partners
BLOCKS = 32  # number of blocks of four attempts, after which a partner is drawn from a list of all partners


@dataclass(frozen=True)
class Swap(Intervention):
    """Replace a part of an example by the same part of a random example, the partner.

    Each draw picks the partner uniformly from the unrelated examples. An unrelated example shares no content of a part
    with the example (except content that all examples share), and no group of the data set. The swapped example must
    not be in the pool. The paper excludes no partner.

    Attributes:
        part: Name of the part to swap, or several names joined by "+"; several parts come from the same partner.
        default_label: Examples that are predicted as this label are not changed; None makes all examples eligible.
        within: A meta column, such as "split", in which an example and its partner must agree; None for no restriction.
        pair: Two inputs, such as "premise" and "left+right", whose swaps have the same partner, and so has the swap of
            both: the partner must be one in each of these three swaps. Empty for a partner in the swap of ``part``.
        draws: Number of partners per example (the paper's k).

    Example:
        >>> from heedful.records import Example, Examples
        >>> pool = Examples.of([Example(u, {"premise": p, "hypothesis": h}, "neutral")
        ...                     for u, p, h in [("a", "It rains.", "Rain."), ("b", "A dog runs.", "A cat.")]])
        >>> Swap("premise", "neutral").partners(pool, np.array([0, 1]), draws=0, seed=0).tolist()
        [1, 0]
    """

    part: str
    default_label: str | None
    _: KW_ONLY
    within: str | None = None
    pair: tuple[str, ...] = ()
    name: str = "swap"
    version: int = 3
    draws: int = 5
    expects: str = LEAVES

    @property
    def settings(self) -> tuple[str, ...]:
        within = () if self.within is None else (f"within {self.within}",)
        return (*within, f"pair {' '.join(self.pair)}") if self.pair else within

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.part.split("+"))

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        eligible = super().eligible(pool, positions, answers)
        if self.default_label is None:
            return eligible
        return eligible & pc.not_equal(answers, self.default_label).to_numpy(zero_copy_only=False)

    def partners(self, pool: Examples, positions: np.ndarray, draws: np.ndarray | int, seed: int) -> np.ndarray:
        """Draw a partner, which lends the part, for each base example.

        Args:
            pool: The examples, from which partners are drawn.
            positions: Positions of the base examples: int64 [examples].
            draws: Index of the draw: [examples], or one number for all.
            seed: Seed of the run. A partner depends on seed, pool, uid and draw.

        Returns:
            Positions of the partners, or -1 for an example without partners: int64 [examples].
        """
        partners = np.full(len(positions), -1, dtype=np.int64)
        part = "+".join(self.pair) or self.part
        lenders = [pool.partners(names.split("+"), self.within) for names in (*self.pair, part)]
        drawable = np.flatnonzero(np.all([each.counts[positions] > 0 for each in lenders], axis=0))
        positions = positions[drawable]
        draws = np.broadcast_to(draws, partners.shape)[drawable]
        key = random_key(seed, self.name, DRAWN, part)
        uid_keys = pool.uid_keys[positions]

        def may_lend(indices: np.ndarray, proposed: np.ndarray) -> np.ndarray:
            return np.all([each.admits(positions[indices], proposed) for each in lenders], axis=0)

        pool_sizes = np.full(len(drawable), len(pool))
        partners[drawable] = integers(key, uid_keys, draws, pool_sizes, range(BLOCKS), may_lend)
        # examples with few partners: list them, and draw one; the draws of one example are adjacent
        all_of = lru_cache(1)(lambda i: reduce(np.intersect1d, (each.all_of(i) for each in lenders)))
        failed = np.flatnonzero(partners[drawable] < 0).tolist()
        listed = {k: group for k in failed if len(group := all_of(int(positions[k])))}
        failed, sizes = list(listed), np.array([len(group) for group in listed.values()])
        ranks = integers(key, uid_keys[failed], draws[failed], sizes, range(BLOCKS, 2**32))
        partners[drawable[failed]] = [group[rank] for group, rank in zip(listed.values(), ranks, strict=True)]
        return partners

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        bases = np.repeat(positions, self.draws)
        draws = np.tile(np.arange(self.draws, dtype=np.int16), len(positions))
        partners = self.partners(pool, bases, draws, seed)
        has_partner = partners >= 0
        bases, draws, partners = bases[has_partner], draws[has_partner], partners[has_partner]
        uids = pool.uids.take(partners)
        # for confidence intervals, partners that lend the same content are one cluster
        clusters = lists_of(pool.uids.take(bases), pc.coalesce(pool.clusters(self.parts).take(partners), uids))
        lenders = dict.fromkeys(self.parts, partners)
        return Changes(bases, draws, clusters, lenders=lenders, partner=uids, variant="+".join(self.pair))

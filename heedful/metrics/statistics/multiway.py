"""Intervals for pairs that share both what they keep and what they lead to: the pigeonhole bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from heedful.metrics.statistics.bootstrap import BLOCK, RESAMPLES, Key
from heedful.records import generator

PER_BASE = "per_base"


@dataclass(frozen=True)
class Crossed:
    """Pairs, each of one base and one partner, and what is averaged over them.

    Attributes:
        base: int [pairs], number of the base of each pair.
        held: int [pairs], number of what the pair keeps of its base; all pairs of a base keep the same.
        partner: int [pairs], number of its partner.
        values: Name to float64 [pairs]; the first is the main one.
        groups: Name to bool [pairs], within which the main one is averaged too; all pairs of a base or none.
    """

    base: np.ndarray
    held: np.ndarray
    partner: np.ndarray
    values: Mapping[str, np.ndarray]
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)


class _Tables:
    """Pairs as dense tables [bases, partners]: their number, and the sum of each value over them."""

    def __init__(self, crossed: Crossed) -> None:
        bases, first, base = np.unique(crossed.base, return_index=True, return_inverse=True)
        self.held = crossed.held[first]  # of each base
        self.partners, partner = np.unique(crossed.partner, return_inverse=True)
        shape = len(bases), len(self.partners)
        cell = base * shape[1] + partner
        self.count = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        self.sums = [
            np.bincount(cell, v, minlength=shape[0] * shape[1]).reshape(shape) for v in crossed.values.values()
        ]
        self.member = np.zeros((shape[0], len(crossed.groups)))  # which bases each group holds
        for i, group in enumerate(crossed.groups.values()):
            self.member[base[group], i] = 1
        self.names = [*crossed.values, *crossed.groups, PER_BASE]

    def means(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Weighted means [resamples, names] for weights of all held and all partners; nan where no pair has weight."""
        w = w[:, self.held]
        v = v[:, self.partners]
        count = v @ self.count.T  # of the pairs of each base
        number = np.einsum("rb,rb->r", w, count)
        sums = [v @ table.T for table in self.sums]
        main = w * sums[0]
        own = np.divide(sums[0], count, out=np.zeros_like(count), where=count > 0)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            means = [np.einsum("rb,rb->r", w, s) / number for s in sums]
            groups = (main @ self.member) / ((w * count) @ self.member)
            per_base = np.einsum("rb,rb->r", w, own) / np.einsum("rb,rb->r", w, (count > 0).astype(np.float64))
        return np.column_stack([*means, groups, per_base])


def resample(sets: Sequence[Crossed], key: Key, resamples: int = RESAMPLES) -> list[dict[str, np.ndarray]]:
    """Resample what pairs keep and what they lead to (Owen 2007, "The pigeonhole bootstrap", section 3).

    A resample draws as many of the held as there are, with replacement, and as many partners. Held i comes w_i times,
    and with it all bases that hold it; partner j comes v_j times, and a pair of both weighs w_i v_j; a mean is
    sum(w v value) / sum(w v). All sets see the same draws, over the union of what they hold and of their partners, so
    that what they share moves together.

    The interval is mildly conservative: of the variance of the mean, what is due to the held and to partners counts
    once, and what is due to the two together about three times. What bases of different held have in common, though it
    is no partner's, is left out. A mean none of whose pairs is drawn in a resample has no value
    there (nan) and is left out; as each pair is drawn with a chance of 0.4 or more, most values remain.

    Args:
        sets: Sets of pairs. The numbers of the held (of partners) count from 0, without gaps over all sets, and mean
            the same in each. A set without pairs has no resamples.
        key: What the resamples are for; keys the random numbers.
        resamples: How many.

    Returns:
        For each set float64 [resamples] under the name of each value, of each group (mean of the main value within it)
        and ``PER_BASE`` (mean over bases of the mean of their own pairs; bases without a drawn pair are left out).
    """
    tables = [_Tables(s) if len(s.base) else None for s in sets]
    held = 1 + max(int(s.held.max(initial=-1)) for s in sets)
    partners = 1 + max(int(s.partner.max(initial=-1)) for s in sets)
    if not held:
        return [{} for _ in sets]
    found: list[list[np.ndarray]] = [[] for _ in sets]
    widest = held + partners + max(len(table.held) for table in tables if table is not None)
    step = max(1, BLOCK // widest)
    rng = generator("pigeonhole", *key)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        w = rng.multinomial(held, np.full(held, 1 / held), size=size).astype(np.float64)
        v = rng.multinomial(partners, np.full(partners, 1 / partners), size=size).astype(np.float64)
        for blocks, table in zip(found, tables, strict=True):
            if table is not None:
                blocks.append(table.means(w, v))
    return [
        dict(zip(t.names, np.concatenate(blocks).T, strict=True)) if t is not None else {}
        for t, blocks in zip(tables, found, strict=True)
    ]

"""The swap of the Counterfactual Attentiveness Test (CAT, §3.3): a part comes from another example of the split."""

from dataclasses import dataclass, replace

import numpy as np

from interventions.base import Expectation
from records import Changed, Example, Examples, Prediction, generator


@dataclass(frozen=True)
class Swap:
    """Replace a part by that of a random partner.

    The paper draws a partner at random and excludes nothing. Here a partner never shares a group with the example: not
    the content of the swapped part (nothing would change), not the content of a kept part (the pair could be a real
    one), and none of the groups that the data set names. Partners are uniform over all others; draws are independent.

    Attributes:
        part: The part to swap, or several that come from one partner, joined by "+".
        default_label: Examples predicted as this label are left alone; None makes every example eligible.
        draws: Counterfactuals for each example (the paper's k).

    Example:
        >>> from records import Example, Examples
        >>> pool = Examples.of([Example(u, {"premise": p, "hypothesis": h}, "neutral")
        ...                     for u, p, h in [("a", "It rains.", "Rain."), ("b", "A dog runs.", "A cat.")]])
        >>> dict(Swap("premise", "neutral").apply(pool, "a", draw=0, seed=0)[0].example.parts)
        {'premise': 'A dog runs.', 'hypothesis': 'Rain.'}
    """

    part: str
    default_label: str | None
    draws: int = 5
    name: str = "swap"
    version: int = 1
    expectation: Expectation = "change"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.part.split("+"))

    def eligible(self, uid: str, base: Prediction) -> bool:
        return base.answer != self.default_label

    def partner(self, pool: Examples, i: int, draw: int, seed: int) -> int | None:
        """Position of the partner of position ``i``, or None where every other example is related to it.

        Args:
            pool: The split that partners come from.
            i: Position of the base example.
            draw: Which draw.
            seed: The run's seed.
        """
        excluded = pool.sharing(i)
        candidates = len(pool) - len(excluded)
        if candidates == 0:
            return None
        rank = int(generator(seed, self.name, self.version, self.part, pool.uid(i), draw).integers(candidates))
        # step over each excluded position that lies at or before the partner
        return rank + int(np.searchsorted(excluded - np.arange(len(excluded)), rank, side="right"))

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        i = pool.position(uid)
        j = self.partner(pool, i, draw, seed)
        if j is None:
            return []
        return [self.exchange(pool[i], pool[j])]

    def exchange(self, base: Example, partner: Example) -> Changed:
        """The base example with the partner's part."""
        example = replace(
            base,
            parts={**base.parts, **{part: partner.parts[part] for part in self.parts}},
            groups={**base.groups, **{part: partner.groups[part] for part in self.parts}},
        )
        return Changed(example, partner=partner.uid, clusters=(base.uid, partner.uid))

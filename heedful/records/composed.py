"""Examples by reference: their parts are those of examples of a pool, and nothing is copied."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import overload

import numpy as np

from heedful.records.example import Example, Part
from heedful.records.examples import Examples
from heedful.records.pool.contents import content_id, emptied

EMPTIED = -1  # in place of a lender: the part shows nothing


class Composed(Sequence[Example]):
    """Examples of a pool, of which some parts come from others; an Example is made when it is asked for.

    Args:
        pool: The examples that the parts come from.
        positions: int64 [examples], the one that each is made of: its uid, its other parts, its label, its meta.
        lenders: Part name to int64 [examples], the position of the one that lends the part, or :data:`EMPTIED`.
        others: Further examples, which are not in the pool; position ``len(pool) + i`` is that of the i-th.
        label: Label of those that have a part from another example; None where they keep their own.
        again: Whether the examples of the pool were predicted before, so that one that is as it was comes again.

    Example:
        >>> pool = Examples.of([Example(u, {"premise": p, "hypothesis": h}, "neutral")
        ...                     for u, p, h in [("a", "It rains.", "Rain."), ("b", "A dog runs.", "A cat.")]])
        >>> dict(Composed(pool, np.array([0]), {"premise": np.array([1])})[0].parts)
        {'premise': 'A dog runs.', 'hypothesis': 'Rain.'}
    """

    def __init__(
        self,
        pool: Examples,
        positions: np.ndarray,
        lenders: Mapping[str, np.ndarray] = MappingProxyType({}),
        others: Sequence[Example] = (),
        label: str | None = None,
        again: bool = False,
    ) -> None:
        self.pool = pool
        self.positions = positions
        self.lenders = lenders
        self.others = others
        self.label = label
        self.again = again

    @classmethod
    def whole(cls, pool: Examples) -> "Composed":
        """All examples of a pool as they are."""
        return cls(pool, np.arange(len(pool)))

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, i: int) -> Example: ...

    @overload
    def __getitem__(self, i: slice) -> "Composed": ...

    def __getitem__(self, i: int | slice) -> "Example | Composed":
        if isinstance(i, slice):
            return self.take(np.arange(len(self))[i])
        position = int(self.positions[i])
        if position >= len(self.pool):
            return self.others[position - len(self.pool)]
        base = self.pool[position]
        lent = {part: int(lenders[i]) for part, lenders in self.lenders.items() if lenders[i] != position}
        if not lent:
            return base
        parts = dict(base.parts)
        groups = dict(base.groups)
        for part, lender in lent.items():
            parts[part] = emptied(base.parts[part]) if lender == EMPTIED else self.pool.value(f"parts.{part}", lender)
            groups[part] = content_id(parts[part])
        return replace(base, parts=parts, groups=groups, label=base.label if self.label is None else self.label)

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    @property
    def borrowed(self) -> np.ndarray:
        """Which examples have a part from another one, or an emptied one: bool [examples]."""
        borrowed = np.zeros(len(self), dtype=bool)
        for lenders in self.lenders.values():
            borrowed |= lenders != self.positions
        return borrowed

    @property
    def repeated(self) -> np.ndarray:
        """Which examples are those of the pool, as they are, for the second time: bool [examples]."""
        return self.again & (self.positions < len(self.pool)) & ~self.borrowed

    def take(self, indices: np.ndarray) -> "Composed":
        """Some of them, in this order."""
        lenders = {part: positions[indices] for part, positions in self.lenders.items()}
        return Composed(self.pool, self.positions[indices], lenders, self.others, self.label, self.again)

    def column(self, name: str) -> Iterator[Part | None]:
        """Values of a column of the pool (``label``, ``parts.<name>``, ...), in the order of the examples.

        Groups are those of the pool, whatever parts are lent.
        """
        part = name.removeprefix("parts.")
        lenders = self.lenders.get(part, self.positions) if name.startswith("parts.") else self.positions
        relabelled = self.borrowed if name == "label" and self.label is not None else np.zeros(len(self), dtype=bool)
        for position, lender, is_relabelled in zip(
            self.positions.tolist(), lenders.tolist(), relabelled.tolist(), strict=True
        ):
            if position >= len(self.pool):
                yield _value(self.others[position - len(self.pool)], name)
            elif is_relabelled:
                yield self.label
            elif lender == EMPTIED:
                yield emptied(self.pool.value(name, position))
            else:
                yield self.pool.value(name, lender)


def column(examples: Sequence[Example], name: str) -> Iterator[Part | None]:
    """A column (``label``, ``parts.<name>``, ...) of examples; of a pool, or composed of one, no Example is made."""
    if isinstance(examples, Examples | Composed):
        return examples.column(name)
    return (_value(example, name) for example in examples)


def _value(example: Example, name: str) -> Part | None:
    """The value of an example in a column of a pool."""
    kind, dot, key = name.partition(".")
    return getattr(example, kind)[key] if dot else getattr(example, kind)

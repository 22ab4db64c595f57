"""Changed examples, stored as positions in a pool (a sequence of examples) instead of copies of parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np

from heedful.records.example import Example, Part, emptied
from heedful.records.examples import Examples

EMPTIED = -1  # in place of a lender's position: the part becomes empty


@dataclass(eq=False, repr=False)
class Composed(Sequence[Example]):
    """Examples of a pool in which some parts are replaced by the parts of other examples (lenders)."""

    pool: Examples
    positions: np.ndarray  # of the base examples: int64 [examples]
    # by part, the positions of the lenders: int64 [examples]; that of the base example itself leaves the part unchanged
    lenders: Mapping[str, np.ndarray] = field(default_factory=dict)
    extra: Sequence[Example] = ()  # further examples: position len(pool) + i refers to extra[i]
    label: str | None = None  # gold label of examples with a lent part; None keeps the label of the base example
    again: bool = False  # whether all examples of the pool have been predicted already

    @classmethod
    def whole(cls, pool: Examples) -> "Composed":
        """View a pool in which no example is changed."""
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
            return self.extra[position - len(self.pool)]
        base = example = self.pool[position]
        gold = base.label if self.label is None else self.label
        for part, lenders in self.lenders.items():
            lender = int(lenders[i])
            if lender != position:
                lent = emptied(base[part]) if lender == EMPTIED else self.pool.value(f"parts.{part}", lender)
                example = example.replace(part, lent, gold=gold)
        return example

    def __iter__(self) -> Iterator[Example]:
        return (self[i] for i in range(len(self)))

    @property
    def borrowed(self) -> np.ndarray:
        """Mask of the examples with a lent or emptied part: bool [examples]."""
        changed = [lenders != self.positions for lenders in self.lenders.values()]
        return np.any([np.zeros(len(self), dtype=bool), *changed], axis=0)

    @property
    def repeated(self) -> np.ndarray:
        """Mask of the examples that the null control predicts ``again``, unchanged: bool [examples]."""
        return self.again & (self.positions < len(self.pool)) & ~self.borrowed

    def take(self, indices: np.ndarray) -> "Composed":
        """Return the examples at the given indices, in this order."""
        lenders = {part: positions[indices] for part, positions in self.lenders.items()}
        return replace(self, positions=self.positions[indices], lenders=lenders)

    def column(self, name: str) -> Iterator[Part | None]:
        """Iterate over the values of a column; columns of groups have those of the base examples."""
        lenders = {f"parts.{part}": lenders for part, lenders in self.lenders.items()}.get(name, self.positions)
        relabelled = self.borrowed if name == "label" and self.label is not None else np.zeros(len(self), dtype=bool)
        columns = (values.tolist() for values in (self.positions, lenders, relabelled))
        for position, lender, is_relabelled in zip(*columns, strict=True):
            if position >= len(self.pool):
                yield _value(self.extra[position - len(self.pool)], name)
            elif is_relabelled:
                yield self.label
            elif lender == EMPTIED:
                yield emptied(self.pool.value(name, position))
            else:
                yield self.pool.value(name, lender)


def column(examples: Sequence[Example], name: str) -> Iterator[Part | None]:
    """Iterate over the values of a column such as ``label`` or ``parts.<name>``."""
    if isinstance(examples, Examples | Composed):
        return examples.column(name)  # creates no Example objects
    return (_value(example, name) for example in examples)


def _value(example: Example, name: str) -> Part | None:
    kind, dot, key = name.partition(".")
    return getattr(example, kind)[key] if dot else getattr(example, kind)

"""Replace examples by edited versions of them, whose gold labels the data name: contrast sets, counterfactual data.

Source: "Evaluating Models' Local Decision Boundaries via Contrast Sets" (Gardner et al. 2020), section 2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, EachExample, Intervention
from heedful.records import COUNTERPARTS, Changed, Examples
from heedful.records.partners import row_numbers
from heedful.records.rows import GOLD2, NO_DRAW, lists_of

COUNTERPART = "counterpart"


def pairs_of(pool: Examples) -> Iterator[tuple[int, int]]:
    """Yield the positions (example, counterpart) in a pool whose counterparts are examples of their own.

    If edits name their original, the pairs are (original, edit). Else each two examples of a group are a pair in both
    directions, unless their parts are equal.
    """
    if "original" in pool.edited:
        position = {uid: i for i, uid in enumerate(pool.column("uid"))}
        for i, original in enumerate(pool.column("edited.original")):
            if original in position:
                yield position[original], i
        return
    content = row_numbers(pool.table, [f"groups.{part}" for part in pool.parts])
    of_set = row_numbers(pool.table, [f"groups.{COUNTERPARTS}"])
    order = np.argsort(of_set, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(of_set[order])) + 1):
        yield from ((i, j) for i in members.tolist() for j in members.tolist() if content[i] != content[j])


def _kind(pool: Examples, i: int) -> str:
    return (pool.value("edited.kind", i) or "") if "kind" in pool.edited else ""


@dataclass(frozen=True)
class EditedParts(EachExample):
    """Replace parts by the edited content that the same row has. The variant is the kind of the edit, and "#1".

    The clusters of a change are the uid of the example, and its set: the originals with equal content.

    Attributes:
        edited: Names of the edited parts that the model reads.
    """

    edited: tuple[str, ...]
    _: KW_ONLY
    name: str = COUNTERPART
    expects: str = GOLD2

    @property
    def parts(self) -> tuple[str, ...]:
        return self.edited

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        i = pool.position(uid)
        if (gold := pool.value("edited.label", i)) is None:
            return []
        example = replace(pool[uid], label=gold)
        for part in self.edited:
            example = example.replace(part, pool.value(f"edited.{part}", i))
        of_set = pool.contents(pool.parts)[i].as_py()
        return [Changed(example, variant=f"{_kind(pool, i)}#1", clusters=(uid, of_set))]


@dataclass(frozen=True)
class Members(Intervention):
    """Replace an example by its counterparts, which are other examples of the pool.

    The variant of a change is the kind of the edit, and "#" with the number of the counterpart. The clusters are the
    uid of the example and the set of counterparts.

    Attributes:
        counterparts: Maps the position of an example to the positions of its counterparts: see :func:`pairs_of`.
    """

    counterparts: Mapping[int, Sequence[int]] = field(repr=False, compare=False)
    _: KW_ONLY
    name: str = COUNTERPART
    expects: str = GOLD2

    @classmethod
    def of(cls, pool: Examples) -> "Members":
        """Find the counterparts of all examples in a pool."""
        counterparts: dict[int, list[int]] = {}
        for i, j in pairs_of(pool):
            counterparts.setdefault(i, []).append(j)
        return cls(counterparts)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        pairs = [(i, k, j) for i in positions.tolist() for k, j in enumerate(self.counterparts.get(i, ()), 1)]
        bases, _, members = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
        ids = [[pool.texts(f"groups.{part}", at) for at in (bases, members)] for part in pool.parts]
        differ = np.array([pc.not_equal(*pair).to_numpy(zero_copy_only=False) for pair in ids], dtype=bool)
        return Changes(
            bases,
            np.full(len(pairs), NO_DRAW, dtype=np.int16),
            lists_of(pool.uids.take(bases), pool.texts(f"groups.{COUNTERPARTS}", bases)),
            known=members,
            partner=pool.uids.take(members),
            variant=pa.array([f"{_kind(pool, j)}#{k}" for _, k, j in pairs], pa.string()),
            part=pa.array(["+".join(compress(pool.parts, mask)) for mask in differ.T], pa.string()),
        )

"""Interventions without randomness: repeat an example, keep one part, or take the version that a human has edited."""

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from heedful.interventions.base import Changes, EachExample, Intervention
from heedful.records import EMPTIED, Changed, Examples
from heedful.records.rows import GOLD2, NO_DRAW, STAYS, lists_of


@dataclass(frozen=True)
class Null(Intervention):
    """The null control: predict each example a second time, unchanged and in another batch.

    If the two predictions on an example differ, the difference is due to numerical error, since the input is the same.
    """

    _: KW_ONLY
    name: str = "null"
    expects: str = STAYS

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        return Changes(positions, np.full(len(positions), NO_DRAW, np.int16), lists_of(pool.uids.take(positions)))


@dataclass(frozen=True)
class KeepPart(Intervention):
    """Keep one part, and empty all others: a text or table becomes the empty text, a picture becomes blank.

    Source: CAT, section 3.2. Usually, the model has not been trained on such inputs.

    Attributes:
        part: Name of the part to keep, or several names joined by "+": the variant in the rows. "" for no variant.
        others: Names of the parts to empty.
    """

    part: str
    others: tuple[str, ...]
    _: KW_ONLY
    name: str = "keep"

    @property
    def parts(self) -> tuple[str, ...]:
        return self.others

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        draws = np.full(len(positions), NO_DRAW, np.int16)
        lenders = dict.fromkeys(self.others, np.full(len(positions), EMPTIED))
        return Changes(positions, draws, lists_of(pool.uids.take(positions)), lenders=lenders, variant=self.part)


@dataclass(frozen=True)
class Annotated(EachExample):
    """Replace each example by the version that a human has edited, which has the same uid in another pool.

    Attributes:
        name: Name of the intervention.
        changed: The edited examples with their new labels. The meta columns ``table`` and ``modified`` have the names
            of the original and of the edited table.
        part: Name of the edited part.
        flips: Whether to use only edits that change the label, or only edits that keep it.
    """

    name: str
    changed: Examples = field(repr=False, compare=False)
    part: str
    flips: bool
    _: KW_ONLY
    expects: str = GOLD2

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,)

    @property
    def settings(self) -> tuple[str, ...]:
        return (self.changed.fingerprint,)

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        example = self.changed[uid]
        if self.flips != (example.label != pool.value("label", pool.position(uid))):
            return []
        return [Changed(example, example.meta["modified"], clusters=(uid, f"table {example.meta['table']}"))]

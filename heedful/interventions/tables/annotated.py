"""An intervention that replaces each example by a version that a human annotator has edited."""

from dataclasses import dataclass, field

from heedful.interventions.base import EachExample, Expectation
from heedful.records import Changed, Examples


@dataclass(frozen=True)
class Annotated(EachExample):
    """Replace each example by the version that a human has edited, which has the same uid in another pool.

    Attributes:
        name: Name of the intervention.
        changed: The edited examples with their new labels. The meta columns ``table`` and ``modified`` have the names
            of the original and of the edited table.
        part: Name of the edited part.
        expectation: "change" to use only edits that change the label, "stay" to use only edits that keep it.
    """

    name: str
    changed: Examples = field(repr=False, compare=False)
    part: str
    expectation: Expectation
    draws: int = 0
    limit: int | None = None
    version: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        return (self.changed.fingerprint,)

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        example = self.changed[uid]
        flipped = example.label != pool.value("label", pool.position(uid))
        if flipped != (self.expectation == "change"):
            return []
        partner = example.meta["modified"]
        table = example.meta["table"]
        return [Changed(example, partner=partner, clusters=(uid, f"table {table}"))]

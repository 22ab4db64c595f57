"""Examples that people have edited, as an intervention."""

from dataclasses import dataclass, field

from heedful.interventions.base import EachExample, Expectation
from heedful.records import Changed, Examples


@dataclass(frozen=True)
class Annotated(EachExample):
    """Replace each example by the human-edited example with the same uid in another pool.

    Attributes:
        name: Name of the intervention.
        changed: The edited examples with their labels and the meta columns ``table``, the name of the original table,
            and ``modified``, the name of the edited table.
        part: The edited part.
        expectation: Whether the label has changed; other examples are left out.
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

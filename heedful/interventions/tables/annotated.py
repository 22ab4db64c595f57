"""Examples that people have changed, as an intervention."""

from dataclasses import dataclass, field

from heedful.interventions.base import EachExample, Expectation
from heedful.records import Changed, Examples


@dataclass(frozen=True)
class Annotated(EachExample):
    """Each example of a pool becomes the one with the same uid in another pool, which people have made of it.

    Attributes:
        name: Name of the intervention.
        changed: The examples as people have changed them, with their labels and the meta columns ``table``, which names
            the original table, and ``modified``, which names what it has become.
        part: The part that was changed.
        expectation: Whether the label has changed; only such examples are taken.
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

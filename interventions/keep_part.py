"""One part alone, for a model that was trained on all of them."""

from dataclasses import dataclass, replace

from interventions.base import Expectation
from records import Changed, Examples, Prediction, emptied
from records.examples import content_id


@dataclass(frozen=True)
class KeepPart:
    """All parts but some are emptied: a text or a table becomes the empty text, a picture one that shows nothing.

    Source: CAT, §3.2. The model was never trained on such inputs.

    Attributes:
        kept: The part that stays, or several, joined by "+".
        emptied: The other parts.
    """

    kept: str
    emptied: tuple[str, ...]
    name: str = "keep"
    version: int = 1
    draws: int = 0
    expectation: Expectation = "change"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return self.emptied

    def eligible(self, uid: str, base: Prediction) -> bool:
        return True

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        base = pool[uid]
        new = {part: emptied(base.parts[part]) for part in self.emptied}
        groups = {**base.groups, **{part: content_id(value) for part, value in new.items()}}
        return [Changed(replace(base, parts={**base.parts, **new}, groups=groups), variant=self.kept, clusters=(uid,))]

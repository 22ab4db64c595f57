"""The interface of interventions."""

import hashlib
import json
from collections.abc import Sequence
from typing import Literal, Protocol

from records import Changed, Examples, Prediction

Expectation = Literal["change", "stay", "transition"]


class Intervention(Protocol):
    """A change of examples, and what should become of the prediction.

    Attributes:
        name: Its name in the rows.
        version: Raised whenever the same seed would give other examples.
        parts: The parts that it changes.
        draws: How many independent changes each example gets; 0 for one that is not random, whose rows have draw -1.
        expectation: Whether the prediction should change, stay, or move along allowed transitions only.
        limit: At most this many eligible examples are changed, chosen by a hash of their uid; None for all.
        settings: What else decides which changed examples there are, for the manifest.
    """

    name: str
    version: int
    parts: tuple[str, ...]
    draws: int
    expectation: Expectation
    limit: int | None
    settings: tuple[str | int | bool, ...]

    def eligible(self, uid: str, base: Prediction) -> bool:
        """Whether an example with this base prediction is to be changed at all."""
        ...

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        """The changed examples of one draw; an empty list where no change is possible. Pure."""
        ...


def manifest_hash(interventions: Sequence[Intervention], pool: Examples, seed: int) -> str:
    """Identity of a set of changed examples: interventions with their versions, the seed, and the pool's content."""
    binding = {i: i.limit for i in interventions if i.limit is not None and i.limit < len(pool)}
    listing = [[i.name, i.version, list(i.parts), i.draws, binding.get(i), *i.settings] for i in interventions]
    entry = json.dumps({"interventions": listing, "pool": pool.fingerprint, "seed": seed}, sort_keys=True)
    return hashlib.sha256(entry.encode()).hexdigest()

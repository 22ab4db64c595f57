"""Changed examples as objects, for comparison in tests; the library keeps them as columns."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.interventions import Changes, Intervention
from heedful.records import Composed, Example, Examples
from heedful.records.partners import related


class Made(NamedTuple):
    """A changed example with the columns of its row."""

    position: int
    draw: int
    example: Example
    partner: str
    variant: str
    clusters: tuple[str, ...]
    expects: str | None


def made(intervention: Intervention, pool: Examples, positions: list[int] | None = None, seed: int = 0) -> list[Made]:
    """The changed examples of an intervention, for positions of a pool or for all."""
    positions = np.arange(len(pool)) if positions is None else np.array(positions, dtype=np.int64)
    changes = intervention.changes(pool, positions, seed)
    assert (changes.positions.dtype, changes.draws.dtype) == (np.int64, np.int16)
    examples = examples_of(changes, pool)
    texts = [
        column.to_pylist() if isinstance(column, pa.Array) else [column] * len(changes)
        for column in (changes.partner, changes.variant, changes.expects)
    ]
    clusters = map(tuple, changes.clusters.to_pylist())
    columns = (changes.positions.tolist(), changes.draws.tolist(), examples, *texts[:2], clusters, texts[2])
    return [Made(*row) for row in zip(*columns, strict=True)]


def examples_of(changes: Changes, pool: Examples) -> list[Example]:
    """The changed examples."""
    if changes.examples is not None:
        assert changes.known is None
        assert not changes.lenders
        return list(changes.examples)
    positions = changes.positions if changes.known is None else changes.known
    return list(Composed(pool, positions, changes.lenders))


def sharing(pool: Examples, i: int) -> np.ndarray:
    """Ascending positions of the examples that share a group with an example, itself included: int64."""
    return np.flatnonzero(related(pool.table).share(i, slice(None)))

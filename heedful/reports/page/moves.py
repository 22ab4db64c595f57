"""How predictions move when something is changed: from each label to each, as a table."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.records.rows import BASE, codes
from heedful.reports.page.examples import change_of
from heedful.reports.page.run import Run
from heedful.reports.tables import percents

MOST_LABELS = 8
SHOWN = ("attentiveness", "default_label", "naive_partial")  # evaluations of which the moves are shown


@dataclass(frozen=True)
class Cell:
    """One move: how many, the share of what was predicted so before, in percent, and as a text."""

    count: int
    share: float
    text: str


@dataclass(frozen=True)
class Moves:
    """The moves of one change.

    Attributes:
        heading: What was changed.
        labels: The answers, in the order of rows and columns.
        rows: An answer before the change, how many got it, and a cell for each answer after the change.
    """

    heading: str
    labels: list[str]
    rows: list[tuple[str, int, list[Cell]]]


def moves_of(run: Run, evaluation: str) -> list[Moves]:
    """The moves of each change, over all draws; none where answers are many, or texts."""
    if evaluation not in SHOWN or evaluation not in run.rows:
        return []
    rows, _ = run.rows[evaluation]
    context = run.contexts[evaluation]
    if not context.kind.has_labels:
        return []
    rows = rows.select(["intervention", "part", "variant", "y", "y2"])
    (kind, kinds), (part, parts), (variant, variants) = (
        codes(rows, name) for name in ("intervention", "part", "variant")
    )
    found = []
    keys = (kind.astype(np.int64) * len(parts) + part) * len(variants) + variant
    for key in np.unique(keys).tolist():
        names = (
            kinds[key // len(variants) // len(parts)],
            parts[key // len(variants) % len(parts)],
            variants[key % len(variants)],
        )
        change = dict(zip(("intervention", "part", "variant"), names, strict=True))
        if names[0] in (BASE, "null"):
            continue
        if (moves := _moves(rows.filter(pa.array(keys == key)), change_of(change), context.labels)) is not None:
            found.append(moves)
    return found


def _moves(rows: pa.Table, heading: str, labels: tuple[str, ...]) -> Moves | None:
    before, first = codes(rows, "y")
    after, second = codes(rows, "y2")
    known = [label for label in (*labels, *first, *second) if label in {*first, *second}]
    known = list(dict.fromkeys(known))
    if len(known) > MOST_LABELS:
        return None
    place = {label: k for k, label in enumerate(known)}
    pairs = np.array([place[label] for label in first])[before] * len(known)
    pairs += np.array([place[label] for label in second])[after]
    counts = np.bincount(pairs, minlength=len(known) ** 2).reshape(len(known), -1)
    found = []
    for label in first:
        row = counts[place[label]]
        total = int(row.sum())
        cells = [Cell(int(n), 100 * n / total, f"{percents(n / total)} %") for n in row.tolist()]
        found.append((label, total, cells))
    return Moves(heading, known, sorted(found, key=lambda row: place[row[0]]))

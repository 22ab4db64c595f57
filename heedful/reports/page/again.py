"""What the examples of an earlier run are about: read again from its data, as far as they are at hand."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.records import EMPTIED, Composed, Example, HeedfulError
from heedful.records.rows import BASE
from heedful.reports.page.contents import UNKNOWN, Contents, Provider, contents_of, nothing_known
from heedful.reports.page.run import Run

if TYPE_CHECKING:
    from heedful.datamodules import PairedData


def of_data(run: Run) -> Provider:
    """What the data that config.yaml names say of the rows of a run; nothing where they are not those of the run."""
    found: list[PairedData | None] = []

    def provider(entries: Sequence[Mapping[str, Any]]) -> list[Contents]:
        if not found:
            found.append(_data(run))
        (data,) = found
        return nothing_known(entries) if data is None else [_contents(entry, data) for entry in entries]

    return provider


def _data(run: Run) -> "PairedData | None":
    from heedful.reports.evaluated_data import data_of, require_examples  # and with it torch

    base = next(
        (rows for name, (rows, _) in run.rows.items() if name in ("accuracy", "answers", "attentiveness")), None
    )
    if base is None:
        return None
    try:
        data = data_of(run.folder, run.results["seed"])
        require_examples(data, base, str(run.folder))
    except HeedfulError:  # they are elsewhere, were in memory, or have changed
        return None
    return data


def _contents(entry: Mapping[str, Any], data: "PairedData") -> Contents:
    """What an example holds; of changes that write something new, only what was there before."""
    pool = data.pool
    try:
        position = pool.position(entry["uid"])
        after = _after(entry, data, position)
    except KeyError:  # of an evaluation that brings its own examples
        return Contents([], UNKNOWN)
    return contents_of(pool[position], after, data.task.parts, is_changed=entry["intervention"] not in (BASE, "null"))


def _after(entry: Mapping[str, Any], data: "PairedData", position: int) -> Example | None:
    """The example with parts that another lends, or that are emptied; None of other changes."""
    if entry["intervention"] == "swap":
        lender = data.pool.position(entry["partner"])
    elif entry["intervention"] == "keep":
        lender = EMPTIED
    else:
        return None
    lenders = dict.fromkeys(entry["part"].split("+"), np.array([lender]))
    (example,) = Composed(data.pool, np.array([position]), lenders)
    return example

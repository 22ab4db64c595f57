"""The section of a page that compares runs: tables of models by data sets, and paired differences between runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, printable
from heedful.reports.alike import side_by_side
from heedful.reports.compare import headline_differences
from heedful.reports.matrix import build
from heedful.reports.page.made import without_places
from heedful.reports.runs import Run, unlabelled_notes
from heedful.reports.tables import Cells, basis, number

NOT_ABOVE = (
    "“-”: one constant answer is as accurate, and tables leave such models out, as in the papers. "
    "The section of the model has the number."
)
FLAGGED = (
    "*: one of the models is not more accurate than one constant answer. The difference says how far answers depend "
    "on the part; it does not say that the model with the higher number is good."
)


@dataclass(frozen=True)
class Comparison:
    """The section of a page that compares several runs: tables with the runs side by side, and differences."""

    tables: list[Cells]  # tables of models by data sets
    differences: list[Cells]  # a table for each further run: its headlines minus the headlines of the first run
    notes: list[str]  # notes on the tables, and the reasons why runs cannot be paired


def compared(runs: Sequence[Run]) -> Comparison:
    """Return the section of a page that shows all runs side by side, and compares the first run with each other run."""
    tables = build(runs)
    notes = [NOT_ABOVE] if any("-" in row for table in tables for row in table.rows) else []
    notes += [*unlabelled_notes(runs), *side_by_side(runs)]
    differences = []
    first, *more = runs
    for run in more:
        try:
            table = _differences(first, run)
        except HeedfulError as error:
            notes.append(f"{run.label} and {first.label} are not paired: {error}")
            continue
        if table.rows:
            differences.append(table)
        else:
            notes.append(f"{run.label} and {first.label} are not paired: their changes are not the same.")
    notes += [FLAGGED] if any(row[0].endswith(" *") for table in differences for row in table.rows) else []
    return Comparison(tables, differences, [_without_folders(note, runs) for note in notes])


def _without_folders(note: str, runs: Sequence[Run]) -> str:
    """Replace the folders of runs in a note by the labels of the runs, and shorten other paths."""
    for run in runs:
        note = note.replace(run.folder, run.label)
    return without_places(printable(note))


def _differences(first: Run, second: Run) -> Cells:
    """Return a table of differences: the headlines (main numbers) of the second run minus those of the first, in
    percentage points.

    Raises:
        HeedfulError: The runs were not evaluated on the same examples.
    """
    rows = []
    for label, m, flags in headline_differences(first, second):
        mark = " *" if NOT_ABOVE_MAJORITY in flags else ""
        rows.append([label + mark, number(m, "+", ci95=True), basis(m).removeprefix("n=")])
    return Cells(f"{second.label} less {first.label}", ["difference", "points [paired 95 %]", "n"], rows)

"""Several runs side by side on a page: models by data sets, and paired differences between runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, printable
from heedful.reports.alike import side_by_side
from heedful.reports.compare import paired_differences
from heedful.reports.matrix import build
from heedful.reports.page.made import without_places
from heedful.reports.page.numbers import is_known
from heedful.reports.runs import Run, unlabelled_notes
from heedful.reports.tables import Cells, basis, number
from heedful.reports.terminal.table import lines_of

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
    """Several runs side by side."""

    tables: list[Cells]  # models by data sets
    differences: list[Cells]  # the first run subtracted from each other run: a row for each common headline
    notes: list[str]  # sentences that a reader of the tables needs, and reasons why runs cannot be paired


def compared(runs: Sequence[Run]) -> Comparison:
    """Compare runs, each with the first."""
    tables = build(runs)
    notes = [NOT_ABOVE] if any("-" in row for table in tables for row in table.rows) else []
    notes += [*unlabelled_notes(runs), *side_by_side([run.folder for run in runs])]
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
    """Replace folders of runs in a note by names of runs."""
    for run in runs:
        note = note.replace(run.folder, run.label)
    return without_places(printable(note))


def _differences(first: Run, second: Run) -> Cells:
    """The paired differences of the headlines of two runs, in points.

    Raises:
        HeedfulError: The runs were not evaluated on the same examples.
    """
    changes = paired_differences(first.folder, second.folder)
    rows = []
    for line in lines_of(first.results):
        entries = [run.results["metrics"].get(line.metric) for run in (first, second)]
        if line.beside and line.metric in changes and all(m is not None and is_known(m) for m in entries):
            m = changes[line.metric]
            mark = " *" if any(NOT_ABOVE_MAJORITY in entry["flags"] for entry in entries) else ""
            rows.append([line.label + mark, number(m, "+", ci95=True), basis(m).removeprefix("n=")])
    return Cells(f"{second.label} less {first.label}", ["difference", "points [paired 95 %]", "n"], rows)

"""Several runs beside each other: models by data sets, and paired differences where runs are alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import HeedfulError, printable
from heedful.reports.alike import side_by_side
from heedful.reports.compare import paired_differences
from heedful.reports.matrix import TABLES, table
from heedful.reports.page.made import without_places
from heedful.reports.page.numbers import is_known
from heedful.reports.page.run import Run
from heedful.reports.runs import unlabelled_notes
from heedful.reports.tables import Cells, basis, number
from heedful.reports.terminal.table import lines_of

NOT_ABOVE = (
    "“-”: the accuracy is not above that of one constant answer, and tables leave such models out, as in the papers. "
    "The number stands in its own section."
)
FLAGGED = (
    "*: the accuracy of one of both is not above that of one constant answer. The difference says how far answers "
    "depend on the part; it does not say that the one with the higher number is good."
)


@dataclass(frozen=True)
class Comparison:
    """Several runs beside each other.

    Attributes:
        tables: Models by data sets.
        differences: Each other run less the first: a row for each number that both have.
        notes: What a reader must know, among it why runs cannot be paired.
    """

    tables: list[Cells]
    differences: list[Cells]
    notes: list[str]


def compared(runs: Sequence[Run]) -> Comparison:
    """Compare runs, the others with the first."""
    measured = [run.measured for run in runs]
    tables = [table(heading, cells) for heading, make in TABLES.items() if (cells := make(measured))]
    notes = [NOT_ABOVE] if any("-" in row for of in tables for row in of.rows) else []
    notes += [*unlabelled_notes(measured), *side_by_side([run.measured.folder for run in runs])]
    differences = []
    first, *others = runs
    for other in others:
        try:
            found = _differences(first, other)
        except HeedfulError as error:
            notes.append(f"{other.name} and {first.name} are not paired: {error}")
            continue
        if found.rows:
            differences.append(found)
        else:
            notes.append(f"{other.name} and {first.name} are not paired: their changes are not the same.")
    notes += [FLAGGED] if any(row[0].endswith(" *") for of in differences for row in of.rows) else []
    return Comparison(tables, differences, [_told(note, runs) for note in notes])


def _told(note: str, runs: Sequence[Run]) -> str:
    """A note without the places of folders."""
    for run in runs:
        note = note.replace(run.measured.folder, run.name)
    return without_places(printable(note))


def _differences(first: Run, other: Run) -> Cells:
    """The headlines of a run less those of the first, paired, in points.

    Raises:
        HeedfulError: They were not evaluated on the same examples.
    """
    changes = paired_differences(first.measured.folder, other.measured.folder)
    rows = []
    for line in lines_of(first.results):
        both = [run.results["metrics"].get(line.metric) for run in (first, other)]
        if line.beside and line.metric in changes and all(m is not None and is_known(m) for m in both):
            m = changes[line.metric]
            mark = " *" if any(NOT_ABOVE_MAJORITY in one["flags"] for one in both) else ""
            rows.append([line.label + mark, number(m, "+", ci95=True), basis(m).removeprefix("n=")])
    return Cells(f"{other.name} less {first.name}", ["difference", "points [paired 95 %]", "n"], rows)

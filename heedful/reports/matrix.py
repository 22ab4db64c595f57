"""The command ``heedful matrix RUN [RUN ...]``: tables of models by data sets (CAT, tables 4, 5, 12, 13 and 15).

The tables show, in percent, the attentiveness to each input part, the scores of full-input models (trained on all
parts), the scores of partial-input models (trained on some of the parts), and how full-input models predict when they
are given one part alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heedful.command_lines import CommandParser
from heedful.metrics.statistics.draws import LEAST
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.records import MetricName, RunError
from heedful.reports.alike import side_by_side
from heedful.reports.flags import marks
from heedful.reports.in_context.tables import print_prompts
from heedful.reports.runs import Run, columns, is_above_majority, read_runs, unlabelled_notes
from heedful.reports.tables import FORMATS, Cells, cross_table, emit, number

MODEL, MAJORITY = "model", "majority"
UNKNOWN = "-"  # replaces attentiveness of models whose accuracy is not above the majority share


class Cell(NamedTuple):
    """A cell of a table: its text, and the measurement that the text shows."""

    text: str  # text of the cell
    m: Mapping[str, Any] | None  # its entry of results.json; None if it was not measured


Matrix = dict[tuple[str, str], Cell]  # by (row, column)


def attentiveness(runs: Sequence[Run]) -> Matrix:
    """Return the cells of the table of attentiveness: models in rows, data sets with swapped parts in columns."""
    names = columns(runs)
    return {
        (run.label, f"{names[run.data, run.split]} {part}"): _cell(m) if is_above_majority(m) else Cell(UNKNOWN, m)
        for run in runs
        for part, m in run.attentiveness().items()
    }


def whole_input(runs: Sequence[Run]) -> Matrix:
    """Return the cells of the table of scores of the majority baseline and of full-input models, by data set."""
    return _scores([run for run in runs if run.partial is None], columns(runs))


def partial_input(runs: Sequence[Run]) -> Matrix:
    """Return the cells of the table of scores of the majority baseline and of partial-input models, by data set."""
    return _scores([run for run in runs if run.partial is not None], columns(runs))


def _scores(runs: Sequence[Run], names: Mapping[tuple[str, str], str]) -> Matrix:
    majority: Matrix = {}
    cells: Matrix = {}
    for run in runs:
        column = " ".join([names[run.data, run.split], *([f"{run.partial} alone"] if run.partial else [])])
        if run.score is not None:
            majority.setdefault((MAJORITY, column), _cell(run.majority))
            cells[run.label, column] = _cell(run.score)
    return majority | cells


def one_part(runs: Sequence[Run]) -> Matrix:
    """Return the cells of the table about models that were trained on all parts and then evaluated on one part alone.

    The table has two columns for each data set and part. The score is the accuracy on the part alone. The agreement is
    the share of predictions on the part alone that equal the prediction on the full input.
    """
    names = columns(runs)
    cells = {}
    for run in runs:
        for name, m in run.numbers.items():
            if name == MetricName("naive_partial", run.data, name.part):
                column = f"{names[run.data, run.split]} {name.part} alone"
                cells[run.label, f"{column}: score"] = _cell(run.numbers.get(name._replace(statistic="accuracy")))
                cells[run.label, f"{column}: agreement"] = _cell(m)
    return cells


def _cell(m: Mapping[str, Any] | None) -> Cell:
    return Cell(number(m, std=True), m)


TABLES = {
    "score of the whole input": whole_input,
    "attentiveness": attentiveness,
    "score of a model of one part": partial_input,
    "one part for a model of all": one_part,
}


def build(runs: Sequence[Run], with_all: bool = False, intervals: bool = False) -> list[Cells]:
    """Build the tables of ``heedful matrix``: models in rows, data sets in columns.

    Args:
        runs: The runs.
        with_all: Whether to show attentiveness of models that are not above the majority share.
        intervals: Whether to add 95 % intervals.

    Returns:
        Four tables with captions: scores of full-input models, attentiveness, scores of partial-input models, and
        full-input models on one part. A table is omitted if the runs have no numbers for it.
    """

    def complete(cell: Cell) -> Cell:
        if cell.m is None or (cell.text == UNKNOWN and not with_all):
            return cell
        flags = marks([NOT_ABOVE_MAJORITY]) if cell.text == UNKNOWN else ""
        return Cell(number(cell.m, std=True, ci95=intervals) + flags, cell.m)

    tables = []
    for heading, cells_of in TABLES.items():
        if cells := {key: complete(cell) for key, cell in cells_of(runs).items()}:
            texts = {key: cell.text for key, cell in cells.items()}
            tables.append(cross_table(f"{heading}, %", MODEL, texts, caption(heading, cells)))
    return tables


def caption(heading: str, cells: Matrix) -> str:
    """Return the caption of a table: unit, numbers of examples and of draws, and the meaning of signs in its cells."""
    measurements = [cell.m for cell in cells.values() if cell.m is not None]
    texts = {cell.text for cell in cells.values()}
    n = sorted({m["n"] for m in measurements})
    draws = sorted({cell.m["draws"] for cell in cells.values() if cell.m is not None and "±" in cell.text})
    size = len({row for row, _ in cells}) * len({column for _, column in cells})
    sentences = {
        f"{heading[:1].upper()}{heading[1:]}, in percent": True,
        f"Numbers rest on {_range(n)} examples each": n,
        f"± is the sample standard deviation over {_range(draws)} draws": draws,
        f"{UNKNOWN}: accuracy not above the majority share (one-sided test, p at least 0.05)": UNKNOWN in texts,
        f"n=: fewer than {LEAST} examples count, too few for a share": any(text.startswith("n=") for text in texts),
        f"{MAJORITY}: the score of the best single answer": any(row == MAJORITY for row, _ in cells),
        "empty: not measured": len(cells) < size,
    }
    return f"{'. '.join(sentence for sentence, applies in sentences.items() if applies)}."


def _range(numbers: Sequence[int]) -> str:
    return " to ".join(f"{number:,}" for number in dict.fromkeys([*numbers[:1], *numbers[-1:]]))


def _parser() -> CommandParser:
    parser = CommandParser(
        "matrix",
        "Models by data sets: attentiveness, mean ± standard deviation over draws, '-' for models whose accuracy is "
        "not above the majority share; and the scores of models that were trained on one part. In percent.",
        [
            ("runs/*/*/*/version_0", "tables 4, 5, 12, 13 and 15 of the CAT paper"),
            ("--format latex RUN RUN > table.tex", "the same for a paper"),
            ("--prompts RUN RUN", "models asked in context: tables 6, 7, 9 and 11"),
        ],
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--format", choices=list(FORMATS), help="print the tables in this format, and nothing else")
    prompts = "tables of models asked in context; runs that differ only in demonstrations are averaged"
    parser.add_argument("--prompts", action="store_true", help=prompts)
    parser.add_argument("--intervals", action="store_true", help="add 95 %% intervals; not with --prompts")
    parser.add_argument("--all", action="store_true", help="attentiveness of models at chance, too")
    return parser


def main(arguments: list[str]) -> None:
    """Print tables of models by data sets for the runs that the arguments name."""
    options = _parser().parse_intermixed_args(arguments)
    if not options.runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    if options.prompts:
        print_prompts(options.runs, options.all, options.format)
        return
    runs = read_runs(options.runs)
    if not (tables := build(runs, options.all, options.intervals)):
        raise RunError("These folders have no accuracy, no attentiveness and no scores on one part.")
    notes = [*unlabelled_notes(runs), *side_by_side(runs)]
    emit(tables, options.format, [f"Note: {note}" for note in notes])

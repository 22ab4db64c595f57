"""Models by data sets: ``heedful matrix RUN [RUN ...]`` (CAT, tables 4, 5, 12, 13 and 15).

Attentiveness to each part; the scores of models that were trained on one part alone; and, where it was measured, how
models of all parts do on one of them. Every number is in percent.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from heedful.metrics.statistics.draws import LEAST
from heedful.records import MetricName, RunError, SettingError, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.alike import side_by_side
from heedful.reports.in_context.tables import print_prompts
from heedful.reports.runs import Measured, columns, is_above_majority, measured, unlabelled_notes
from heedful.reports.tables import FORMATS, Cells, emit, number

MODEL, MAJORITY = "model", "majority"
UNKNOWN = "-"  # of a model that may be no better than a single answer


class Cell(NamedTuple):
    """What a table shows, and the measurement that it is of."""

    text: str
    m: Mapping[str, Any] | None


Matrix = dict[tuple[str, str], Cell]  # by row and column


def attentiveness(runs: Sequence[Measured]) -> Matrix:
    """Attentiveness to each part that was swapped."""
    names = columns(runs)
    return {
        (run.label, f"{names[run.data, run.split]} {part}"): _cell(m) if is_above_majority(m) else Cell(UNKNOWN, m)
        for run in runs
        for part, m in run.attentiveness().items()
    }


def whole(runs: Sequence[Measured]) -> Matrix:
    """Scores of the models of all parts, and that of the best single answer."""
    return _scores([run for run in runs if run.partial is None], columns(runs))


def partial(runs: Sequence[Measured]) -> Matrix:
    """Scores of the models that were trained on one part, and that of the best single answer."""
    return _scores([run for run in runs if run.partial is not None], columns(runs))


def _scores(runs: Sequence[Measured], names: Mapping[tuple[str, str], str]) -> Matrix:
    majority: Matrix = {}
    cells: Matrix = {}
    for run in runs:
        column = " ".join([names[run.data, run.split], *([f"{run.partial} alone"] if run.partial else [])])
        if run.score is not None:
            majority.setdefault((MAJORITY, column), _cell(run.majority))
            cells[run.label, column] = _cell(run.score)
    return majority | cells


def naive(runs: Sequence[Measured]) -> Matrix:
    """Scores of the models of all parts on one alone, and how often the prediction is the one on all."""
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
    "score of the whole input": whole,
    "attentiveness": attentiveness,
    "score of a model of one part": partial,
    "one part for a model of all": naive,
}


def table(heading: str, cells: Matrix) -> Cells:
    """A table, with an empty cell where nothing was measured."""
    rows = list(dict.fromkeys(key[0] for key in cells))
    across = list(dict.fromkeys(key[1] for key in cells))
    texts = [[row, *(cells[row, column].text if (row, column) in cells else "" for column in across)] for row in rows]
    return Cells(f"{heading}, %", [MODEL, *across], texts, caption(heading, cells))


def caption(heading: str, cells: Matrix) -> str:
    """What a reader must know of a table in a paper: its unit, n, draws, and what signs in it mean."""
    shown = [cell.m for cell in cells.values() if cell.m is not None]
    texts = {cell.text for cell in cells.values()}
    n = sorted({m["n"] for m in shown})
    draws = sorted({cell.m["draws"] for cell in cells.values() if cell.m is not None and "±" in cell.text})
    sentences = [f"{heading[:1].upper()}{heading[1:]}, in percent"]
    sentences += [f"Numbers rest on {_range(n)} examples each"] if n else []
    sentences += [f"± is the sample standard deviation over {_range(draws)} draws"] if draws else []
    if UNKNOWN in texts:
        sentences.append(f"{UNKNOWN}: accuracy not above the majority share (one-sided test, p at least 0.05)")
    if any(text.startswith("n=") for text in texts):
        sentences.append(f"n=: fewer than {LEAST} examples count, too few for a share")
    if any(row == MAJORITY for row, _ in cells):
        sentences.append(f"{MAJORITY}: the score of the best single answer")
    if len(cells) < len({row for row, _ in cells}) * len({column for _, column in cells}):
        sentences.append("empty: not measured")
    return f"{'. '.join(sentences)}."


def _range(numbers: Sequence[int]) -> str:
    ends = dict.fromkeys([numbers[0], numbers[-1]])
    return " to ".join(f"{number:,}" for number in ends)


def _parser() -> CommandParser:
    parser = CommandParser(
        "matrix",
        "Models by data sets: attentiveness, mean ± standard deviation over draws, '-' for models whose accuracy is "
        "not above the majority share; and the scores of models that were trained on one part alone. In percent.",
        [
            ("runs/*/*/*/version_0", "tables 4, 5, 12, 13 and 15 of the CAT paper"),
            ("--format latex RUN RUN > table.tex", "the same for a paper"),
            ("--prompts RUN RUN", "models asked in context: tables 6, 7, 9 and 11"),
        ],
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation, or of several")
    parser.add_argument("--format", choices=list(FORMATS), help="print the tables in this format, and nothing else")
    told = "tables of models asked in context, of which those that differ only in demonstrations are averaged"
    parser.add_argument("--prompts", action="store_true", help=told)
    parser.add_argument("--all", action="store_true", help="with --prompts: models at chance, too, with a mark")
    parser.add_argument("--short", action="store_true", help="with --prompts: the tables of each model alone")
    return parser


def main(arguments: list[str]) -> None:
    """Print a table for each kind of number that these runs have."""
    options = _parser().parse_intermixed_args(arguments)
    if not options.runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    if options.prompts:
        print_prompts(options.runs, options.all, options.short, options.format)
        return
    for flag in ("all", "short"):
        if getattr(options, flag):
            raise SettingError(f"{flag} is of the tables of prompts. Add prompts.")
    runs = measured(options.runs)
    tables = [table(heading, cells) for heading, make in TABLES.items() if (cells := make(runs))]
    if not tables:
        raise RunError("These folders hold no accuracy, no attentiveness and no scores of one part alone.")
    emit(tables, options.format)
    for note in [*unlabelled_notes(runs), *side_by_side(options.runs)]:
        Console(stderr=bool(options.format)).print(printable(f"Note: {note}"), markup=False, highlight=False)

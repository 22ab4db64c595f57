"""Models by data sets: ``heedful matrix RUN [RUN ...]`` (CAT, tables 4, 5, 12, 13 and 15).

Attentiveness to each part; the scores of models that were trained on one part alone; and, where it was measured, how
models of all parts do on one of them. Every number is in percent.
"""

from collections.abc import Mapping, Sequence

from rich.console import Console

from heedful.records import HeedfulError, MetricName, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.alike import side_by_side
from heedful.reports.in_context.report import print_prompts
from heedful.reports.runs import Measured, columns, is_above_majority, measured, unlabelled_notes
from heedful.reports.tables import FORMATS, Cells, number, print_cells, table_text

MODEL, MAJORITY = "model", "majority"
Found = dict[tuple[str, str], str]  # (row, column) to text


def attentiveness(runs: Sequence[Measured]) -> Found:
    """Attentiveness to each part that was swapped."""
    names = columns(runs)
    return {
        (run.label, f"{names[run.data, run.split]} {part}"): number(m, std=True) if is_above_majority(m) else "-"
        for run in runs
        for part, m in run.attentiveness().items()
    }


def whole(runs: Sequence[Measured]) -> Found:
    """Scores of the models of all parts, and that of the best single answer."""
    return _scores([run for run in runs if run.partial is None], columns(runs))


def partial(runs: Sequence[Measured]) -> Found:
    """Scores of the models that were trained on one part, and that of the best single answer."""
    return _scores([run for run in runs if run.partial is not None], columns(runs))


def _scores(runs: Sequence[Measured], names: Mapping[tuple[str, str], str]) -> Found:
    majority: Found = {}
    cells: Found = {}
    for run in runs:
        column = " ".join([names[run.data, run.split], *([f"{run.partial} alone"] if run.partial else [])])
        if run.score is not None:
            majority.setdefault((MAJORITY, column), number(run.majority, std=True))
            cells[run.label, column] = number(run.score, std=True)
    return majority | cells


def naive(runs: Sequence[Measured]) -> Found:
    """Scores of the models of all parts on one alone, and how often the prediction is the one on all."""
    names = columns(runs)
    cells = {}
    for run in runs:
        for name, m in run.numbers.items():
            if name == MetricName("naive_partial", run.data, name.part):
                column = f"{names[run.data, run.split]} {name.part} alone"
                cells[run.label, f"{column}: score"] = number(
                    run.numbers.get(name._replace(statistic="accuracy")), std=True
                )
                cells[run.label, f"{column}: agreement"] = number(m, std=True)
    return cells


TABLES = {
    "score of the whole input": whole,
    "attentiveness": attentiveness,
    "score of a model of one part": partial,
    "one part for a model of all": naive,
}


def table(cells: Found) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table; an empty cell where nothing was measured."""
    rows = list(dict.fromkeys(key[0] for key in cells))
    across = list(dict.fromkeys(key[1] for key in cells))
    return [MODEL, *across], [[row, *(cells.get((row, column), "") for column in across)] for row in rows]


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
        raise HeedfulError("too-few-runs", "No run is named.", "Name the folders of one run or more.")
    if options.prompts:
        print_prompts(options.runs, options.all, options.short, options.format)
        return
    for flag in ("all", "short"):
        if getattr(options, flag):
            raise HeedfulError("idle-setting", f"§{flag} is of the tables of prompts.", "Add §prompts.")
    runs = measured(options.runs)
    console = Console()
    made = {heading: cells for heading, make in TABLES.items() if (cells := make(runs))}
    if not made:
        wrong = "These folders hold no accuracy, no attentiveness and no scores of one part alone."
        raise HeedfulError("nothing-to-show", wrong)
    if options.format:
        texts = []
        for heading, cells in made.items():
            header, rows = table(cells)
            texts.append(table_text([f"{heading}, %", *header[1:]], rows, options.format))
        print("\n".join(texts), end="")
    else:
        for heading, cells in made.items():
            print_cells(Cells(f"{heading}, %", *table(cells)), console)
    for note in [*unlabelled_notes(runs), *side_by_side(options.runs)]:
        Console(stderr=bool(options.format)).print(printable(f"Note: {note}"), markup=False, highlight=False)

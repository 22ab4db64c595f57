"""The command ``heedful matrix RUN [RUN ...]``: tables of models by data sets (CAT, tables 4 to 6, 9, 11 to 13 and 15).

The tables show, in percent, the attentiveness to each input part, the scores of full-input models (trained on all
parts), the scores of partial-input models (trained on some of the parts), and how full-input models predict when they
are given one part alone.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heedful.command_lines import CommandParser
from heedful.metrics.statistics.draws import LEAST
from heedful.records import RunError
from heedful.reports.alike import side_by_side
from heedful.reports.compare import means
from heedful.reports.frame import frame_of
from heedful.reports.runs import (
    ATTENTIVENESS,
    Run,
    columns,
    is_above_majority,
    read_runs,
    result_folders,
    unlabelled_notes,
)
from heedful.reports.tables import FORMATS, Cells, emit, number, tabulate

if TYPE_CHECKING:
    import pandas as pd

MODEL, COLUMN, MAJORITY = "model", "column", "majority"
UNKNOWN = "-"  # replaces attentiveness of models whose accuracy is not above the majority share
QUALITY = "evaluation in ('accuracy', 'exact_match') and part == '' and statistic in ('', 'majority')"
TABLES = {  # heading: (which numbers of the frame, columns of the frame and words that name a column of the table)
    "score of the whole input": (f"{QUALITY} and partial == ''", ()),
    "attentiveness": (f"evaluation == '{ATTENTIVENESS}' and part != '' and statistic == ''", ("part",)),
    "score of a model of one part": (f"{QUALITY} and partial != ''", ("partial", "alone")),
    "one part for a model of all": ("evaluation == 'naive_partial' and statistic in ('', 'accuracy')",
                                    ("part", "alone:", "what")),
    "changes to the default label": (f"evaluation == '{ATTENTIVENESS}' and statistic == 'to_default' and prompted",
                                     ("part",)),
}  # fmt: skip
SHARES = {"": "agreement", "accuracy": "score"}  # statistics of models of all parts on one part alone


def _frame_of_runs(runs: Sequence[Run]) -> "pd.DataFrame":
    """Return the numbers of runs over all examples of their own data, with columns that name the rows of tables."""
    frame = frame_of([(run.folder, run.numbers) for run in runs])
    by_folder, names = {run.folder: run for run in runs}, columns(runs)
    of_row = [by_folder[folder] for folder in frame["run"]]
    frame = frame.assign(
        model=[run.label for run in of_row],
        set=[names[run.data, run.split] for run in of_row],
        partial=[run.partial or "" for run in of_row],
        prompted=[bool(run.prompt) for run in of_row],
        runs=[len(run.members) for run in of_row],
        what=frame["statistic"].map(SHARES),
        **{word: word for word in ("alone", "alone:")},
    )
    frame.loc[frame["statistic"] == MAJORITY, MODEL] = MAJORITY
    return frame[(frame["slice"] == "") & (frame["data"] == [run.data for run in of_row])]


def build(runs: Sequence[Run], with_all: bool = False, intervals: bool = False) -> list[Cells]:
    """Build the tables of ``heedful matrix``: models in rows, data sets in columns.

    Args:
        runs: The runs.
        with_all: Whether to show attentiveness of models that are not above the majority share.
        intervals: Whether to add 95 % intervals.

    Returns:
        The :data:`TABLES` for which the runs have numbers, with captions.
    """

    def text(m: Mapping[str, Any]) -> str:
        is_attention = m["evaluation"] == ATTENTIVENESS
        if is_attention and not (with_all or is_above_majority(m)):
            return UNKNOWN
        return number(m, std=True, ci95=intervals, flagged=is_attention)

    frame, tables = _frame_of_runs(runs), []
    for heading, (query, names) in TABLES.items():
        numbers = frame.query(query)
        if not numbers.empty:
            numbers = numbers.assign(**{COLUMN: numbers[["set", *names]].agg(" ".join, axis=1)})
            majority_first = numbers.sort_values(MODEL, key=lambda names: names != MAJORITY, kind="stable")
            table = tabulate(majority_first, MODEL, COLUMN, text, f"{heading}, %")
            tables.append(table._replace(notes=_caption(heading, numbers, table)))
    return tables


def _caption(heading: str, frame: "pd.DataFrame", table: Cells) -> str:
    """Return the caption of a table: unit, numbers of examples and of draws, and the meaning of signs in its cells."""
    cells = [cell for _, *row in table.rows for cell in row]
    draws, over = frame["draws"][frame["std"].notna()], "draws, or runs of a mean" if frame["runs"].any() else "draws"
    sentences = {
        f"{heading[:1].upper()}{heading[1:]}, in percent": True,
        f"Numbers rest on {_range(frame['n'])} examples each": True,
        f"± is the sample standard deviation over {_range(draws)} {over}": any("±" in cell for cell in cells),
        f"{UNKNOWN}: accuracy not above the majority share (one-sided test, p at least 0.05)": UNKNOWN in cells,
        f"n=: fewer than {LEAST} examples count, too few for a share": any(cell.startswith("n=") for cell in cells),
        f"{MAJORITY}: the score of the best single answer": any(row[0] == MAJORITY for row in table.rows),
        "empty: not measured": "" in cells,
    }
    return f"{'. '.join(sentence for sentence, applies in sentences.items() if applies)}."


def _range(numbers: "pd.Series[Any]") -> str:
    return " to ".join(f"{number:,}" for number in sorted({numbers.min(), numbers.max()})) if len(numbers) else ""


def _parser() -> CommandParser:
    parser = CommandParser(
        "matrix",
        "Models by data sets: attentiveness, mean ± standard deviation over draws, '-' for models whose accuracy is "
        "not above the majority share; and the scores of models that were trained on one part. In percent.",
        [
            ("runs/*/*/*/version_0", "tables 4, 5, 12, 13 and 15 of the CAT paper"),
            ("--format latex RUN RUN > table.tex", "the same for a paper"),
            ("--mean RUN RUN", "means over seeds of demonstrations, too: tables 6, 9, 11"),
        ],
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--format", choices=list(FORMATS), help="print the tables in this format, and nothing else")
    parser.add_argument("--mean", action="store_true", help="average runs that differ only in a seed or a fold")
    parser.add_argument("--intervals", action="store_true", help="add 95 %% intervals")
    parser.add_argument("--all", action="store_true", help="attentiveness of models at chance, too")
    return parser


def main(arguments: list[str]) -> None:
    """Print tables of models by data sets for the runs that the arguments name."""
    options = _parser().parse_intermixed_args(arguments)
    if not options.runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    runs = read_runs(result_folders(options.runs) if options.mean else options.runs)
    rows = means(runs) if options.mean else runs
    if not (tables := build(rows, options.all, options.intervals)):
        raise RunError("These folders have no accuracy, no attentiveness and no scores on one part.")
    notes = [*unlabelled_notes(runs), *side_by_side(runs)]
    footer = [f"{run.label}, {run.data}: mean of {len(run.members)} runs" for run in rows if run.members]
    emit(tables, options.format, [f"Note: {note}" for note in notes], footer)

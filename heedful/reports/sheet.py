"""The command ``heedful sheet RUN [--n 50]``: a sheet on which people judge whether swaps make labels wrong.

Attentiveness assumes that a predicted label, unless it is the default label, becomes wrong when an input part is
replaced by the part of another example (CAT, section 4.2 and table 2). A sheet is a CSV file of swapped inputs, each
with the prediction for the original input; people answer whether this label is now wrong. The predictions for the
swapped inputs are not in the sheet. ``heedful sheet RUN --score FILE`` prints the result.
"""

import csv
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from heedful.command_lines import CommandParser
from heedful.metrics.hits import SwapSettings, hits
from heedful.records import (
    Composed,
    Context,
    DataError,
    Measurement,
    Part,
    Picture,
    RunError,
    SettingError,
    Table,
    TableForm,
    atomic_path,
    keys,
    percent,
    printable,
    random_key,
)
from heedful.records.arguments import IN_MEMORY
from heedful.records.randomness import random_order
from heedful.records.rows import contents, describe_difference, rows_with, strings
from heedful.records.storage.results import CONFIG, folder_name
from heedful.records.storage.schema import ROOMS
from heedful.reports.configs import run_settings
from heedful.reports.runs import Run, read_runs
from heedful.reports.tables import FORMULA, csv_cell, number

if TYPE_CHECKING:
    from heedful.datamodules import Pairs

DRAW = 0  # the random replacement of each part that people judge
TABLES = TableForm("structure")  # texts with all rows of a table
UID, PART, LABEL, ANSWER, PARTNER = "uid", "swapped", "label", "now_wrong", "lent_by"
ENOUGH = 0.8  # share of labels that become wrong; if it may be lower, reports on the data set need a note
Case = dict[str, str]  # a line of a sheet: text by column


def sample(rows: pa.Table, part: str, context: Context, n: int) -> np.ndarray:
    """Draw examples for a sheet by a hash of seed and uid, so that the draw does not depend on predictions for swapped
    inputs.

    Args:
        rows: Rows of the attentiveness evaluation, in their canonical order.
        part: The swapped part.
        context: Context of the rows.
        n: Largest number of examples.

    Returns:
        Indices of the rows with the first swap of each drawn example, ascending: int64 [examples].
    """
    places = np.flatnonzero(hits(rows, part, context).base_answered & rows_with(rows, draw=DRAW))
    order = random_order(random_key(context.seed, "sheet", part), keys(strings(rows.take(places), "uid")))
    return np.sort(places[order[:n]])


def build(run: Run, n: int) -> list[Case]:
    """Build the lines of a sheet for a run, divided equally among the swapped parts.

    A line holds an input with a swapped part, and the prediction for the original input. People write into the line
    whether this label is now wrong.

    Args:
        run: The run.
        n: Number of lines; fewer are returned if the run has too few examples.

    Raises:
        HeedfulError: The run has no rows; or no example with a prediction that attentiveness takes into account; or the
            data have changed.
    """
    rows, context = run.swaps()
    parts = SwapSettings.from_context(context).parts
    counts = [n // len(parts) + (k < n % len(parts)) for k in range(len(parts))]
    places = np.concatenate([sample(rows, part, context, count) for part, count in zip(parts, counts, strict=True)])
    if not len(places):
        raise RunError(f"{run.folder} has no example whose prediction counts, so there is nothing to annotate.")
    data = _data(Path(run.folder), rows, context.seed)
    cases = []
    for row in rows.select(["uid", "partner", "part", "y"]).take(places).to_pylist():
        position, lender = (np.array([data.pool.position(row[name])]) for name in ("uid", "partner"))
        (example,) = Composed(data.pool, position, dict.fromkeys(row["part"].split("+"), lender))
        texts = {name: _text(example.parts[name]) for name in data.task.parts}
        case = {UID: row["uid"], PART: row["part"], **texts, LABEL: row["y"], ANSWER: "", PARTNER: row["partner"]}
        cases.append(case)
    return cases


def _data(folder: Path, rows: pa.Table, seed: int) -> "Pairs":
    """Load the data of a run with the settings in config.yaml, and check that the examples belong to the rows.

    Raises:
        HeedfulError: The file is missing, names another class than a data module, or data that were in memory, or the
            examples differ from the rows.
    """
    from heedful.datamodules import Pairs  # imports torch
    from heedful.parser import construct

    path = folder / CONFIG
    if not (init_args := run_settings(folder).get("data")):
        raise RunError(f"{path} does not exist, which names the data. Copy the complete folder of the run.")
    module, _, name = str(init_args.pop("class_path")).rpartition(".")
    owner = getattr(import_module(module), name, None) if f"{module}.".startswith(f"{ROOMS['data']}.") else None
    if not (isinstance(owner, type) and issubclass(owner, Pairs)):
        raise SettingError(f"{path}: {module}.{name} is not a data module of Heedful.")
    if lost := [key for key, value in init_args.items() if IN_MEMORY in str(value)]:
        raise RunError(
            f"{path}: data.{lost[0]} was in memory, so the inputs cannot be read again. Measure rows of a file, with "
            "labels rather than free texts."
        )
    try:
        data: Pairs = construct(owner, "data", init_args, str(path))
    except SettingError as error:
        raise RunError(f"{error} It was edited, or {module}.{name} has another version.") from None
    data.setup("validate", seed)
    in_pool = data.pool.contents(data.full_task.parts).to_pylist()
    by_uid = dict(zip(data.pool.uids.to_pylist(), in_pool, strict=True))
    evaluated = contents(rows)
    if differ := describe_difference(evaluated, {uid: by_uid[uid] for uid in evaluated if uid in by_uid} or by_uid):
        raise DataError(
            f"The examples of {folder} and of {CONFIG} differ: {differ}. Restore the data, or evaluate again."
        )
    return data


def _text(part: Part) -> str:
    """Return an input part as text: the path of a picture, the rows of a table."""
    return part.path if isinstance(part, Picture) else TABLES.text(part) if isinstance(part, Table) else part


def read_sheet(path: str | Path) -> list[Case]:
    """Read the lines of a sheet, and return each as a dictionary of texts by column.

    A sheet is a CSV file. Each line has an input with a swapped part, and the label that the model predicted for the
    original input. People answer in the column "now_wrong" whether this label is wrong for the swapped input: "yes",
    "no", or "" for no answer yet.

    Raises:
        DataError: The file is not a sheet, or an answer is not one of these three.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            escaped = tuple(f"'{start}" for start in FORMULA)
            lines = [
                {name: text[1:] if (text or "").startswith(escaped) else text or "" for name, text in line.items()}
                for line in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}). Save the sheet as CSV in UTF-8.") from None
    if not lines or ANSWER not in lines[0]:
        raise DataError(f"{path} has no column {ANSWER!r}. Name a file of heedful sheet, saved as CSV.")
    for k, line in enumerate(lines, 2):
        line[ANSWER] = line[ANSWER].strip().lower()
        if line[ANSWER] not in ("yes", "no", ""):
            raise DataError(f"{path}, row {k}: {ANSWER} is {line[ANSWER]!r}. Write yes or no.")
    return lines


def wilson(hits: int, n: int, reason: str) -> Measurement:
    """Return the share of hits among n cases, with Wilson's 95 % interval; undefined, with ``reason``, without cases.

    Example:
        >>> [round(bound, 3) for bound in wilson(49, 50, "").ci95]
        [0.895, 0.996]
    """
    if not n:
        return Measurement(None, 0, reason=reason)
    from scipy.stats import binomtest  # slow to import

    bounds = binomtest(hits, n).proportion_ci(method="wilson")
    return Measurement(hits / n, n, ci95=(float(bounds.low), float(bounds.high)))


def print_scores(file: str) -> None:
    """Print how often, according to the answers on a sheet, a swap makes the predicted label wrong.

    A line of the sheet has a swapped input, and the label that the model predicted for the original input. The printed
    share is the share of "yes" (the label is now wrong) among the answered lines. Attentiveness assumes a share near 1.
    If the lower end of its 95 % interval is below :data:`ENOUGH`, a note for reports on the data set is printed, too.

    Raises:
        DataError: The file is not a sheet, or has an invalid answer.
    """
    lines = read_sheet(file)
    answers = [line[ANSWER] for line in lines if line[ANSWER]]
    share = wilson(answers.count("yes"), len(answers), "no case was answered")
    text = f"undefined: {share.reason}" if share.value is None else f"{number(share, ci95=True)} %"
    print(printable(f"{file}: the label is now wrong: {text}, n={share.n} of {len(lines)}"))
    if share.ci95 is not None and share.ci95[0] < ENOUGH:
        low, high = map(percent, share.ci95)
        print(
            f"Note (--data.note): an input with a part of another example makes the predicted label wrong in {low} to "
            f"{high} of cases (people judged {share.n}), so attentiveness need not reach 100 %."
        )


def main(arguments: list[str]) -> None:
    """Run ``heedful sheet``: write a sheet, or, with --score, print the result of a sheet with answers.

    A line of a sheet has an input with a swapped part, and the label that the model predicted for the original input.
    People answer whether this label is wrong for the swapped input. The result is the share of "yes".
    """
    about = (
        "Does a swap make the predicted label wrong? A sheet is a CSV file of swapped inputs with the label that the "
        "model had predicted, for people to judge (CAT, section 4.2)."
    )
    examples = [("RUN --n 100", "a sheet of 100 cases"), ("RUN --score FILE", "how often people say yes")]
    parser = CommandParser("sheet", about, examples)
    parser.add_argument("run", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--n", type=int, default=50, help="number of cases (default: 50)")
    parser.add_argument("--output", metavar="FILE", help="CSV file (default: sheet-DATA-SPLIT.csv)")
    parser.add_argument("--score", metavar="FILE", help="sheet with answers")
    options = parser.parse_args(arguments)
    if options.score:
        print_scores(options.score)
        return
    (run,) = read_runs([options.run])
    cases = build(run, options.n)
    path = Path(options.output or folder_name("sheet", run.data, run.split) + ".csv")
    if path.exists():
        raise RunError(f"{path} exists, and may hold answers. Move it away, or name another with --output.")
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, list(cases[0]))
        writer.writeheader()
        writer.writerows({name: csv_cell(text) for name, text in case.items()} for case in cases)
    print(printable(f"in {path}"))

"""The command ``heedful sheet RUN [--n 50]``: a sheet on which people judge whether swaps make labels wrong.

Attentiveness assumes that a predicted label, unless it is the default label, becomes wrong when an input part is
replaced by the part of another example (CAT, section 4.2 and table 2). A sheet is a CSV file of swapped inputs, each
with the prediction for the original input; people answer whether this label is now wrong. The predictions for the
swapped inputs are not in the sheet. ``heedful sheet RUN --score FILE`` prints the result.
"""

from pathlib import Path

from heedful.command_lines import CommandParser
from heedful.records import DataError, Measurement, RunError, atomic_path, percent, printable
from heedful.records.storage.results import folder_name
from heedful.reports.page.contents import plain_text
from heedful.reports.page.examples import FILE, read_examples
from heedful.reports.page.sample import TO_JUDGE, swaps_to_judge
from heedful.reports.runs import Run, read_runs
from heedful.reports.tables import csv_cell, number

ANSWER = "now_wrong"  # the column for answers
ENOUGH = 0.8  # share of labels that become wrong; if it may be lower, reports on the data set need a note


def build(run: Run, n: int) -> list[dict[str, str]]:
    """Build up to ``n`` lines of a sheet: an input with a swapped part, and the prediction for the original input.
    Raises RunError if the run has no swaps that count, or did not keep their inputs.
    """
    entries = swaps_to_judge(*run.swaps())[:n]
    if not entries:
        raise RunError(f"{run.folder} has no example whose prediction counts, so there is nothing to annotate.")
    contents = read_examples(run)
    inputs = [(entry, content.parts) for entry in entries if (content := contents(entry)).parts and not content.missing]
    if len(inputs) < len(entries):
        problem = f"{Path(run.folder) / FILE} has {len(inputs)} of the {len(entries)} swapped inputs"
        raise RunError(f"{problem}. Evaluate again, or ask for --n {len(inputs)}.")
    cases = []
    for entry, parts in inputs:
        texts = {part["name"]: plain_text(part["after" if part["changed"] else "before"]) for part in parts}
        names = {"uid": entry["uid"], "swapped": entry["part"]}
        cases.append({**names, **texts, "label": entry["y"], ANSWER: "", "lent_by": entry["partner"]})
    return cases


def answers_of(path: str | Path) -> list[str]:
    """Read the answers on a sheet: "yes", "no" or "" (no answer yet) per line; raises DataError for other files."""
    import pandas

    try:
        sheet = pandas.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}). Save the sheet as CSV in UTF-8.") from None
    if ANSWER not in sheet:
        raise DataError(f"{path} has no column {ANSWER!r}. Name a file of heedful sheet, saved as CSV.")
    answers = sheet[ANSWER].str.strip().str.lower().tolist()
    for k, answer in enumerate(answers, 2):
        if answer not in ("yes", "no", ""):
            raise DataError(f"{path}, row {k}: {ANSWER} is {answer!r}. Write yes or no.")
    return answers


def print_scores(file: str) -> None:
    """Print the share of "yes" among the answers on a sheet, with Wilson's 95 % interval."""
    from scipy.stats import binomtest  # slow to import

    lines = answers_of(file)
    answers = [answer for answer in lines if answer]
    text = "undefined: no case was answered"
    if n := len(answers):
        yes = answers.count("yes")
        ci95 = low, high = tuple(map(float, binomtest(yes, n).proportion_ci(method="wilson")))
        text = f"{number(Measurement(yes / n, n, ci95=ci95), ci95=True)} %"
    print(printable(f"{file}: the label is now wrong: {text}, n={n} of {len(lines)}"))
    if n and low < ENOUGH:
        print(
            "Note (--data.note): an input with a part of another example makes the predicted label wrong in "
            f"{percent(low)} to {percent(high)} of cases (people judged {n}), so attentiveness need not reach 100 %."
        )


def main(arguments: list[str]) -> None:
    """Run ``heedful sheet``: write a sheet, or, with --score, print the result of a sheet with answers."""
    import pandas

    parser = CommandParser(
        "sheet",
        "Does a swap make the predicted label wrong? A sheet is a CSV file of swapped inputs with the label that the "
        "model had predicted, for people to judge (CAT, section 4.2).",
        [("RUN --n 100", "a sheet of 100 cases"), ("RUN --score FILE", "how often people say yes")],
    )
    parser.add_argument("run", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--n", type=int, default=50, help=f"number of cases, at most {TO_JUDGE} (default: 50)")
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
    with atomic_path(path) as temporary:
        pandas.DataFrame(cases).map(csv_cell).to_csv(temporary, index=False, errors="replace")
    print(printable(f"in {path}"))

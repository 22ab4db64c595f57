"""Does a swap make the predicted label wrong? Sheets for people: ``heedful sheet RUN [--n 50]``.

The attentiveness test takes it that a label other than the default one is wrong once a part comes from another
example (CAT, §4.2 and table 2). A sheet holds 50 swapped inputs with the label that the model had predicted, and asks
whether it is now wrong; what the model says of the swapped input is not in it. With --score it reads the sheet of one
annotator or of two.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from heedful.records import DataError, Measurement, RunError, SettingError, atomic_path, percent, printable
from heedful.records.command_lines import CommandParser
from heedful.records.storage.folder_names import folder_name
from heedful.reports.annotation.scoring import answers_of, attentive_among, kappa, require_same_sheet, share_wrong
from heedful.reports.comparable import read_run
from heedful.reports.tables import number

ENOUGH = 0.8  # where the lower bound of the share is less, the data set needs a note


def write_sheet(folder: str, n: int, output: str | None) -> tuple[Path, Path]:
    """Write the sheet of a run as TSV and as HTML; with several swapped parts, each has an equal share of the cases.

    Args:
        folder: Of the run.
        n: How many cases.
        output: What both files are called, but for their ends; by default sheet-<data>-<split>.

    Raises:
        HeedfulError: There are no rows, no case, or the examples are not at hand.
    """
    from heedful.reports.annotation.choice import cases, chosen
    from heedful.reports.annotation.data import data_of, require_examples
    from heedful.reports.annotation.files import page, tsv

    run = read_run(folder)
    parts = run.context.own["swap"]
    counts = [n // len(parts) + (k < n % len(parts)) for k in range(len(parts))]
    places = [chosen(run.rows, part, run.context, count) for part, count in zip(parts, counts, strict=True)]
    if not sum(map(len, places)):
        raise RunError(f"{folder} has no example whose prediction counts, so that there is nothing to annotate.")
    data = data_of(folder, run.context.seed)
    require_examples(data, run.rows, folder)
    made = cases(run.rows, np.concatenate(places), data)
    name = Path(output or folder_name("sheet", run.context.data, run.split))
    heading = f"{run.context.data}, {run.split}: {len(made)} inputs"
    texts = {".tsv": tsv(made, str(Path(folder).resolve())), ".html": page(made, heading)}
    paths = [name.with_name(name.name + end) for end in texts]
    if taken := [path for path in paths if path.exists()]:
        raise RunError(f"{taken[0]} exists, and may hold answers. Move it away, or name another with --output.")
    for path, text in zip(paths, texts.values(), strict=True):
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    return tuple(paths)


def print_scores(files: Sequence[str], folder: str | None) -> None:
    """Print what one annotator or two say, and attentiveness where all of them say that the label is now wrong.

    Args:
        files: Their sheets.
        folder: The run that the sheet was made of; by default the one that it names.

    Raises:
        HeedfulError: A sheet is damaged, the sheets differ, or the run is not there.
    """
    from heedful.reports.annotation.files import RUN, read_tsv

    sheets = [read_tsv(file) for file in files]
    answers = [answers_of(lines) for lines in sheets]
    shares = [share_wrong(given) for given in answers]
    for file, lines, m in zip(files, sheets, shares, strict=True):
        outcome = m.reason if m.value is None else f"the label is now wrong in {_told(m)}"
        print(printable(f"{file}: {outcome}, n={m.n} of {len(lines)}"))
    both = sorted(set.intersection(*map(set, answers)))
    if len(sheets) > 1:
        require_same_sheet(*sheets, files)
        agreed = sum(answers[0][key] == answers[1][key] for key in both)
        value = kappa(*([given[key] for key in both] for given in answers))
        said = "undefined: chance alone would have them agree" if value is None else f"{value:.2f}"
        print(f"the two agree on {agreed} of {len(both)}; Cohen's kappa {said}")
    run = folder or sheets[0][0].get(RUN) or ""
    if not run or not Path(run).is_dir():
        raise DataError(f"The run {run!r} that the sheet was made of is not there. Name its folder before --score.")
    rows = read_run(run)
    wrong = {key for key in both if all(given[key] == "yes" for given in answers)}
    attentive = attentive_among(rows.rows, rows.context, sheets[0], wrong, run)
    print(f"attentiveness among the yes{' of both' if len(sheets) > 1 else ''}: {_told(attentive)}, n={attentive.n}")
    if any(m.value is not None and m.ci95[0] < ENOUGH for m in shares):
        worst = min((m for m in shares if m.value is not None), key=lambda m: m.ci95[0])
        low, high = map(percent, worst.ci95)
        print(
            f"Note for {rows.context.data} (--data.note): an input with a part of another example makes the predicted "
            f"label wrong in {low} to {high} of cases (people judged {worst.n}), so attentiveness need not reach 100 %."
        )


def _told(m: Measurement) -> str:
    return f"undefined: {m.reason}" if m.value is None else f"{number(m, ci95=True)} %"


def main(arguments: list[str]) -> None:
    """Write the sheet of each run, or score sheets."""
    about = (
        "Does a swap make the predicted label wrong? A sheet holds swapped inputs with the label that the model had "
        "predicted, for one person or two to judge (CAT, section 4.2)."
    )
    examples = [
        ("RUN --n 100", "a sheet of 100 cases, as .tsv and .html"),
        ("--score A.tsv B.tsv", "what two people wrote into it, and their agreement"),
    ]
    parser = CommandParser("sheet", about, examples)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--n", type=int, default=50, help="cases of a sheet (default: 50)")
    parser.add_argument("--output", metavar="NAME", help="what the files of one run are called, but for .tsv and .html")
    parser.add_argument("--score", nargs="+", metavar="FILE", help="sheets that were filled in, by one person or two")
    options = parser.parse_args(arguments)
    if options.score:
        if len(options.score) > 2 or len(options.runs) > 1:
            raise SettingError(
                f"--score names {len(options.score)} sheets of {len(options.runs)} runs. Name those of one annotator "
                "or of two, of one run."
            )
        if len({Path(file).resolve() for file in options.score}) < len(options.score):
            raise SettingError(f"--score names {options.score[0]} twice. Two annotators have a sheet each.")
        print_scores(options.score, next(iter(options.runs), None))
        return
    if not options.runs:
        raise RunError("No run is named. Name the folder of a run, or --score and a sheet that was filled in.")
    if options.n < 1:
        raise SettingError(f"--n is {options.n}. Take one case or more.")
    if options.output and len(options.runs) > 1:
        raise SettingError(
            f"--output names the files of one run, and {len(options.runs)} are named. Name one run, or leave --output "
            "out."
        )
    for folder in options.runs:
        for path in write_sheet(folder, options.n, options.output):
            print(printable(f"in {path}"))

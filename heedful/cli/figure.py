"""``heedful figure``: draw one of the registered figures (:data:`heedful.reports.figures.FIGURES`)."""

import sys
from pathlib import Path

from heedful.command_lines import CommandParser
from heedful.records import RunError, SettingError, atomic_path, listing, printable
from heedful.records.errors import suggestion
from heedful.reports.alike import side_by_side
from heedful.reports.figures import FIGURES
from heedful.reports.runs import read_runs

FORMATS = (".png", ".pdf", ".svg")


def main(argv: list[str]) -> None:
    """Draw a figure into a file."""
    examples = [(f"{name} RUN", kind.about) for name, kind in FIGURES.items()]
    parser = CommandParser("figure", "Draw a figure of runs.", examples)
    parser.add_argument("kind", metavar="KIND", help=f"one of {', '.join(FIGURES)}")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--name", help="a figure among several of this kind, such as an operation")
    parser.add_argument("--output", metavar="FILE", help=f"a file with the suffix {', '.join(FORMATS)} (KIND.png)")
    options = parser.parse_intermixed_args(argv)
    if options.kind not in FIGURES:
        raise SettingError(f"There is no figure {options.kind!r}. {suggestion(options.kind, FIGURES)}")
    output = options.output or f"{options.kind}.png"
    if Path(output).suffix.lower() not in FORMATS:
        raise SettingError(f"--output {output} has an unknown format. Use {', '.join(FORMATS)}.")
    runs = read_runs(options.runs)
    figures = {figure.name: figure for figure in FIGURES[options.kind].draw(runs)}
    if not figures:
        evaluation = FIGURES[options.kind].evaluation or "attentiveness"
        raise RunError(
            f"{listing([run.folder for run in runs])}: no numbers for the figure {options.kind}. Evaluate again with "
            f"{evaluation} in evaluations."
        )
    if options.name and options.name not in figures:
        raise SettingError(f"--name {options.name}: {suggestion(options.name, figures)}")
    figure = figures[options.name or next(iter(figures))]
    for note in side_by_side(runs):
        print(printable(f"Note: {note}"), file=sys.stderr)
    for note in figure.notes:
        print(printable(note))
    if more := [name for name in figures if figures[name] is not figure]:
        print(printable(f"Further figures of these runs, for --name: {listing(more)}"), file=sys.stderr)
    with atomic_path(output) as path:
        figure.figure.savefig(path, dpi=150, format=Path(output).suffix.lower()[1:])
    print(printable(output))

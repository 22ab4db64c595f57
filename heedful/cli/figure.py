"""The command that draws: the figures of :data:`heedful.reports.figures.FIGURES`."""

import sys
from pathlib import Path

from heedful.records import RunError, SettingError, atomic_path, listing, printable
from heedful.records.command_lines import CommandParser
from heedful.records.errors import guess
from heedful.reports.alike import side_by_side
from heedful.reports.figures import FIGURES
from heedful.reports.runs import read_runs

FORMATS = (".png", ".pdf", ".svg")


def main(argv: list[str]) -> None:
    """Draw the figure that the first word names into a file.

    Raises:
        HeedfulError: There is no such figure, the runs have no such numbers, or the file has no known format.
    """
    examples = [(f"{name} RUN", kind.about) for name, kind in FIGURES.items()]
    parser = CommandParser("figure", "Draw a figure of runs.", examples)
    parser.add_argument("kind", metavar="KIND", help=f"one of {', '.join(FIGURES)}")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--name", help="one of several figures of a kind, such as an operation on tables")
    parser.add_argument(
        "--output", metavar="FILE", help=f"a file that ends in {', '.join(FORMATS)} (default: KIND.png)"
    )
    options = parser.parse_intermixed_args(argv)
    if options.kind not in FIGURES:
        raise SettingError(f"There is no figure {options.kind!r}. {guess(options.kind, FIGURES)}")
    output = options.output or f"{options.kind}.png"
    if Path(output).suffix.lower() not in FORMATS:
        raise SettingError(
            f"--output {output}: no figure is written in this format. Name a file that ends in {', '.join(FORMATS)}."
        )
    runs = read_runs(options.runs)
    several = {drawn.name: drawn for drawn in FIGURES[options.kind].draw(runs)}
    if not several:
        evaluation = FIGURES[options.kind].evaluation or "attentiveness"
        raise RunError(
            f"{listing([run.folder for run in runs])}: no numbers for the figure {options.kind}. Evaluate again, with "
            f"{evaluation} among evaluations."
        )
    if options.name and options.name not in several:
        raise SettingError(f"--name {options.name}: there are {listing(list(several))}.")
    drawn = several[options.name or next(iter(several))]
    for note in side_by_side([run.folder for run in runs]):
        print(printable(f"Note: {note}"), file=sys.stderr)
    for note in drawn.notes:
        print(printable(note))
    with atomic_path(output) as path:
        drawn.figure.savefig(path, dpi=150, format=Path(output).suffix.lower()[1:])
    print(printable(output))

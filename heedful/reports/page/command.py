"""The command ``heedful page RUN [RUN ...] -o page.html``: one self-contained HTML page about runs."""

from collections.abc import Sequence
from pathlib import Path

from heedful.command_lines import CommandParser
from heedful.records import RunError, SettingError, printable
from heedful.records.storage.results import distinct
from heedful.reports.page.writing import REPORT, write_page


def main(arguments: Sequence[str]) -> None:
    """Write a page about runs, and print its path."""
    parser = CommandParser(
        "page",
        "One page of HTML that needs no other file: the main numbers of all runs with interval bars, differences, "
        "examples to search, how to read the numbers, and per run every number, figures and the origin. Neither the "
        "model nor the data are needed.",
        [
            ("RUN", f"RUN/{REPORT}, which train and evaluate write as well"),
            ("RUN RUN -o page.html", "several runs, with paired differences"),
            ("RUN -o page.html --without_examples", "no text and no picture of the data"),
        ],
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation")
    help_output = f"the page; by default {REPORT} in the folder of the run"
    parser.add_argument("-o", "--output", metavar="FILE.html", help=help_output)
    parser.add_argument("--without_examples", action="store_true", help="leave out the content of examples")
    options = parser.parse_intermixed_args(arguments)
    runs = distinct(options.runs)
    if not runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    if options.output is None and len(runs) > 1:
        raise SettingError(f"A page about {len(runs)} runs needs a file. Name one: --output page.html.")
    to = Path(options.output or Path(runs[0]) / REPORT)
    write_page(runs, to, examples=not options.without_examples)
    print(printable(f"in {to}"))

"""``heedful compare``: print the numbers of runs as a table, or check requirements on them."""

from heedful.assembly.results import load
from heedful.command_lines import CommandParser
from heedful.records import HeedfulError, printable
from heedful.reports.comparable import print_agreed
from heedful.reports.compare import print_side_by_side
from heedful.reports.inoculation import print_inoculation
from heedful.reports.tables import FORMATS


def main(argv: list[str]) -> None:
    """Print tables of runs; or, with ``--require TEXT``, check bounds of their numbers."""
    parser = CommandParser(
        "compare",
        "Print every number of one run, or the main numbers of several runs in one table. For two runs on the same "
        "examples, print the paired differences as well.",
        [
            ("RUN", "every number of one run"),
            ("RUN RUN", "two models, with paired 95 % intervals"),
            ("--require 'attentiveness premise >= 0.7' RUN", "exit status 2 unless the interval is above 0.7"),
        ],
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    view = parser.add_mutually_exclusive_group()
    view.add_argument("--mean", action="store_true", help="the mean over seeds or folds")
    about = "a number and a bound, compared with its 95 %% interval; repeatable"
    view.add_argument("--require", action="append", metavar="TEXT", help=about)
    about = "attentiveness on examples for which all models predict the same label (CAT, appendix D)"
    view.add_argument("--agreed", action="store_true", help=about)
    about = "with --agreed: include models whose accuracy is not above the majority share"
    parser.add_argument("--all", action="store_true", help=about)
    about = "effects of inoculation: the first run is before it, the others after"
    view.add_argument("--inoculation", action="store_true", help=about)
    parser.add_argument("--format", choices=list(FORMATS), help="print only the tables, in this format")
    options = parser.parse_intermixed_args(argv)
    if options.require:
        _require(options.runs, options.require)
    elif options.agreed:
        print_agreed(options.runs, options.all, options.format)
    elif options.inoculation:
        print_inoculation(options.runs, options.format)
    else:
        print_side_by_side(options.runs, options.mean, options.format)


def _require(runs: list[str], requirements: list[str]) -> None:
    """Check requirements such as "accuracy >= 0.8" on runs, and print which hold; raise the first failure."""
    failures: list[tuple[str, HeedfulError]] = []
    for run in runs:
        results = load(run)
        for text in requirements:
            try:
                results.require(text)
            except HeedfulError as error:
                failures.append((run, error))
            else:
                print(printable(f"{run}: {text} holds."))
    for run, error in failures[1:]:
        print(printable(f"{run}: {error}"))
    if failures:
        raise failures[0][1].at(failures[0][0])

"""The command that compares: the results of runs, and what they must be."""

from heedful.assembly.results import load
from heedful.records import HeedfulError, printable
from heedful.records.command_lines import CommandParser
from heedful.reports.comparable import print_agreed
from heedful.reports.compare import print_side_by_side
from heedful.reports.inoculation import print_inoculation
from heedful.reports.tables import FORMATS


def main(argv: list[str]) -> None:
    """Print the view of the runs that was asked for; with ``--require``, hold them against it.

    Raises:
        HeedfulError: A requirement does not hold, or the runs cannot be compared.
    """
    options = _parser().parse_intermixed_args(argv)
    if options.require:
        _require(options.runs, options.require)
    elif options.agreed:
        print_agreed(options.runs, options.all, options.format)
    elif options.inoculation:
        print_inoculation(options.runs, options.format)
    else:
        print_side_by_side(options.runs, options.mean, options.format)


def _require(runs: list[str], requirements: list[str]) -> None:
    """Hold the numbers of each run against what they must be; all that do not meet it are said.

    Raises:
        HeedfulError: One does not hold, or cannot be decided.
    """
    missed: list[tuple[str, HeedfulError]] = []
    for run in runs:
        results = load(run)
        for text in requirements:
            try:
                results.require(text)
            except HeedfulError as error:
                missed.append((run, error))
            else:
                print(printable(f"{run}: {text} holds."))
    for run, error in missed[1:]:
        print(printable(f"{run}: {error}"))
    if missed:
        run, error = missed[0]
        raise error.at(run)


def _parser() -> CommandParser:
    parser = CommandParser(
        "compare",
        "Print every number of one run, or the headlines of several side by side, and of two on the same examples the "
        "paired differences.",
        [
            ("RUN", "every number of one run"),
            ("RUN RUN", "two models, with paired 95 % intervals"),
            ("--require 'attentiveness premise >= 0.7' RUN", "exit status 2 where the interval does not say so"),
        ],
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    view = parser.add_mutually_exclusive_group()
    view.add_argument("--mean", action="store_true", help="the mean over runs of several seeds or folds")
    told = "a number and a bound, which the 95 %% interval decides; may be given several times"
    view.add_argument("--require", action="append", metavar="TEXT", help=told)
    told = "attentiveness on the examples that all models predict alike (CAT, appendix D)"
    view.add_argument("--agreed", action="store_true", help=told)
    told = "with --agreed: models that are not above the majority share, too"
    parser.add_argument("--all", action="store_true", help=told)
    told = "what inoculation did: the first run is before it, the others after"
    view.add_argument("--inoculation", action="store_true", help=told)
    parser.add_argument("--format", choices=list(FORMATS), help="print the tables in this format, and nothing else")
    return parser

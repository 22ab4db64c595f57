"""The command that trains, measures and ranks the models of a suite."""

import sys
from pathlib import Path

from heedful.cli.suite.plan import EVALUATIONS, Suite
from heedful.cli.suite.running import run
from heedful.records import HeedfulError, stopping
from heedful.records.command_lines import CommandParser, called
from heedful.records.errors import guess
from heedful.records.storage.claim import claim
from heedful.records.storage.named_configs import named_configs


def main(argv: list[str]) -> None:
    """Do what is left of a suite."""
    stopping.listen()
    try:
        _main(argv)
    except KeyboardInterrupt:
        print(f"\n{called()}: stopped by Ctrl-C: the same command goes on.", file=sys.stderr)
        sys.exit(130)
    except stopping.Stopped as stop:
        print(f"\n{called()}: stopped by SIGTERM: the same command goes on.", file=sys.stderr)
        sys.exit(stop.code)


def _main(argv: list[str]) -> None:
    options = _parser().parse_args(argv)
    suite = Suite(named_configs("suite").get(options.suite, Path(options.suite)), options.data_path)
    output = Path(options.output or Path("runs", "suites", suite.name))
    every = suite.steps(output, options.evaluations)
    steps = every
    if options.only is not None:
        chosen = options.only.split(",")
        tags = sorted(frozenset().union(*(step.tags for step in every)))
        if unknown := [tag for tag in chosen if tag not in tags]:
            raise HeedfulError(
                "unknown-name", f"--only {unknown[0]} is not a step, set or model.", guess(unknown[0], tags)
            )
        steps = [step for step in every if step.tags & set(chosen)]
    claim(output, f"--output {output}")
    run(steps, every)


def _parser() -> CommandParser:
    parser = CommandParser(
        "suite",
        "Train, measure and rank the models of a suite. What is finished is not done again, so that the same command "
        "goes on with one that was stopped.",
        [
            ("msgs --data_path DIR", "all of a known suite; DIR is the folder of all data"),
            ("msgs --data_path DIR --only train,morph", "some steps, sets or models of it"),
            ("FILE --data_path DIR --evaluations accuracy", "one of your own"),
        ],
    )
    parser.add_argument("suite", help=f"the YAML file of the suite, or one of {', '.join(named_configs('suite'))}")
    parser.add_argument("--data_path", metavar="DIR", help="folder of all data, $DATA in the file")
    parser.add_argument("--output", metavar="DIR", help="folder of the suite; by default runs/suites/NAME")
    parser.add_argument(
        "--only", metavar="NAMES", help="some steps: train, evaluate, rank, or names of sets and models, with commas"
    )
    told = "by default %(default)s; without attributions nothing is ranked"
    parser.add_argument("--evaluations", metavar="NAMES", default=EVALUATIONS, help=told)
    return parser

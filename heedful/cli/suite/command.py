"""Train, measure and rank the models of a suite; what is finished is not done again.

heedful suite msgs --data_path DIR              DIR: the folder of all data
heedful suite msgs --data_path DIR --only train,morph
heedful suite FILE --data_path DIR --output runs/suites/msgs --evaluations accuracy
"""

import argparse
import sys
from pathlib import Path

from heedful.cli.suite.plan import EVALUATIONS, Suite
from heedful.cli.suite.running import run
from heedful.records import HeedfulError, stopping
from heedful.records.errors import called, guess
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heedful suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("suite", help=f"the YAML file of the suite, or one of {', '.join(named_configs('suite'))}")
    parser.add_argument("--data_path", help="folder of all data, $DATA in the file")
    parser.add_argument("--output", help="folder of the suite; by default runs/suites/NAME")
    parser.add_argument("--only", help="some steps: train, evaluate, rank, or names of sets and models, with commas")
    parser.add_argument(
        "--evaluations", default=EVALUATIONS, help="by default %(default)s; without attributions nothing is ranked"
    )
    return parser

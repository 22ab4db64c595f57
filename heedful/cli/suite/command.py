"""The command that trains, measures and ranks the models of a suite."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from heedful.cli.suite.plan import EVALUATIONS, RANK, Step, Suite
from heedful.cli.suite.running import run
from heedful.cli.suite.shards import Shard
from heedful.records import SettingError, stopping
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
    tags = _tags(options, every)
    if options.shard is None:
        claim(output, f"--output {output}")
        run([step for step in every if step.tags & tags], every)
        return
    shard = Shard.read(options.shard)
    steps = [step for step in shard.share(every) if step.tags & tags]
    if steps:
        shard.claim(output)
        run(steps, every)
    print(f"Shard {shard} {'has ended' if steps else 'has nothing to do'}.{_ranking(options, every)}")


def _tags(options: Namespace, every: Sequence[Step]) -> frozenset[str]:
    """What ``--only`` names, or all there is: the tags of which a step must have one.

    Raises:
        HeedfulError: There is no such step, set or model, or no shard takes it.
    """
    tags = frozenset().union(*(step.tags for step in every))
    if options.only is None:
        return tags
    given_tags = options.only.split(",")
    if unknown := [tag for tag in given_tags if tag not in tags]:
        raise SettingError(f"--only {unknown[0]} is not a step, set or model. {guess(unknown[0], sorted(tags))}")
    if RANK in given_tags and options.shard is not None:
        raise SettingError(
            f"--only {RANK} --shard {options.shard}: a shard does not rank. Leave --shard out, when all shards have "
            "ended."
        )
    return frozenset(given_tags)


def _ranking(options: Namespace, every: Sequence[Step]) -> str:
    """How the models of all shards are ranked, as the end of a message."""
    if every[-1].kind != RANK:
        return ""
    flags = {"--data_path": options.data_path, "--output": options.output}
    flags |= {"--evaluations": None if options.evaluations == EVALUATIONS else options.evaluations}
    words = [word for flag, value in flags.items() if value is not None for word in (flag, value)]
    return f" This ranks, when all have ended:\n    {shlex.join(['heedful', 'suite', options.suite, *words])}"


def _parser() -> CommandParser:
    parser = CommandParser(
        "suite",
        "Train, measure and rank the models of a suite. What is finished is not done again, so that the same command "
        "goes on with one that was stopped.",
        [
            ("msgs --data_path DIR", "all of a known suite; DIR is the folder of all data"),
            ("msgs --data_path DIR --only train,morph", "some steps, sets or models of it"),
            (
                "msgs --data_path DIR --shard 3/8",
                "the third of eight side by side; the first command then ranks",
            ),
            ("FILE --data_path DIR --evaluations accuracy", "one of your own"),
        ],
    )
    parser.add_argument("suite", help=f"the YAML file of the suite, or one of {', '.join(named_configs('suite'))}")
    parser.add_argument("--data_path", metavar="DIR", help="folder of all data, $DATA in the file")
    parser.add_argument("--output", metavar="DIR", help="folder of the suite; by default runs/suites/NAME")
    parser.add_argument(
        "--only", metavar="NAMES", help="some steps: train, evaluate, rank, or names of sets and models, with commas"
    )
    parser.add_argument(
        "--shard", metavar="I/N", help="the steps of part I of N, which run at the same time, a device each; none ranks"
    )
    told = "by default %(default)s; without attributions nothing is ranked"
    parser.add_argument("--evaluations", metavar="NAMES", default=EVALUATIONS, help=told)
    return parser

"""The command that plans a study: how many examples, forwards, tokens and dollars, from a pilot."""

from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from heedful.cli.first_look import look
from heedful.metrics.statistics.study_size import require_aim
from heedful.records import SettingError
from heedful.records.command_lines import CommandParser

PILOT = 200  # examples


def main(argv: list[str]) -> Callable[[], None]:
    """Look at the words; what is returned measures a pilot where there is none yet, and prints what a study needs.

    Raises:
        HeedfulError: A setting makes no sense.
    """
    options, words = _parser().parse_known_args(argv)
    options.runs = options.pilot if len(options.pilot) > 1 or not options.pilot[0].removeprefix("-").isdecimal() else []
    _require_sound(options, words)
    _require_effect(options, words)
    look(words)
    return lambda: import_module("heedful.cli.pilots").plan(options, words)


def _require_sound(options: Namespace, words: list[str]) -> None:
    """Refuse settings that clash, or lack one, before anything is read."""
    if (options.price_in is None) != (options.price_out is None):
        raise SettingError("price_in and price_out belong together. Name both.")
    if options.compare and Path(options.compare[0]).resolve() == Path(options.compare[1]).resolve():
        raise SettingError(f"compare names {options.compare[0]} twice. Name two models.")
    if options.compare and options.runs:
        raise SettingError("pilot and compare both name runs. Name them with compare.")
    if options.compare and "--endpoint" in _flags(words):
        raise SettingError(
            "compare and endpoint both name models. Plan for one at a time, and compare the folders of both pilots."
        )
    if options.width is None and not options.compare:
        raise SettingError("What the study is for is not given. Add width .02, or compare A B.")
    require_aim(2 if options.compare else max(1, len(options.runs)), options.width, options.difference)
    if not options.runs and int(options.pilot[0]) < 1:
        raise SettingError(f"pilot {options.pilot[0]} is less than 1.")


def _require_effect(options: Namespace, words: list[str]) -> None:
    """Refuse settings that change nothing."""
    if options.runs and words:
        raise SettingError(
            f"{words[0]} changes nothing: the pilot was measured before. Leave it out, or say with pilot N how many "
            "examples to measure."
        )
    if options.compare and not words and options.pilot != [str(PILOT)]:
        raise SettingError(
            "pilot changes nothing: the pilots of compare were measured before. Leave it out, or name the data with "
            "--data."
        )
    if "--trainer.limit_val_batches" in _flags(words):
        raise SettingError(
            "trainer.limit_val_batches changes nothing: pilot says how many examples are measured. Leave it out."
        )
    if options.yes and "--endpoint" not in _flags(words):
        raise SettingError("yes changes nothing: no server is asked. Leave it out.")


def _flags(words: list[str]) -> set[str]:
    """The flags among some words."""
    return {word.partition("=")[0] for word in words}


def _parser() -> CommandParser:
    parser = CommandParser(
        "plan",
        "How many examples a study needs, and how many forwards, tokens and dollars, by the variances of a pilot. "
        "The pilot is measured by the settings of heedful evaluate, which are taken as well (--data, --model, "
        "--checkpoint, --endpoint, ...), or was measured before.",
        [
            ("--data rte --model HUB/ID --width .02", "intervals of 2 points in all, by a pilot of 200"),
            ("--data rte --compare RUN RUN --difference .05", "two runs that differ by 5 points"),
            ("--pilot FOLDER --width .02 --price_in .5 --price_out 2", "what a server answered before"),
        ],
    )
    told = "the 95 %% interval of each number is so wide at most, from its low end to its high end: .02 is 2 points"
    parser.add_argument("--width", type=float, metavar="W", help=told)
    told = "two models to tell apart: runs or models, with --data; or folders of results on the same examples"
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"), help=told)
    told = "the smallest difference to tell; by default that of the pilot, which is uncertain"
    parser.add_argument("--difference", type=float, metavar="D", help=told)
    told = f"how many examples to measure first ({PILOT}), or a folder of results"
    parser.add_argument("--pilot", nargs="+", default=[str(PILOT)], metavar="N", help=told)
    parser.add_argument("--price_in", type=float, metavar="USD", help="of a million tokens that a server reads")
    parser.add_argument("--price_out", type=float, metavar="USD", help="of a million tokens that it writes")
    parser.add_argument("--yes", action="store_true", help="measure the pilot of an --endpoint, which may cost")
    return parser

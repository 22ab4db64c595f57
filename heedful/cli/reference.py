"""All settings of a command as the parser prints them, and docs/settings.md, which is written with the site."""

from collections.abc import Iterator, Sequence

from heedful.assembly.config import resolve
from heedful.callbacks import EVALUATIONS
from heedful.cli.words import divide
from heedful.datamodules import PairedText
from heedful.lightning_modules import Encoder
from heedful.records.parser import Parser, class_parser


def print_help(command: str, words: Sequence[str]) -> None:
    """Print the settings of the data and the model that the words name, and all others."""
    rest = [word for word in words if word not in ("-h", "--help", "all")]
    _, call = divide(command == "evaluate", rest)
    resolve(command == "evaluate", call).parser.print_help()


def page() -> str:
    """docs/settings.md: the settings of texts, of an encoder and of each evaluation, from their docstrings."""
    lines = ["# Settings", "", "`python train.py --data NAME --model NAME --help all` prints those of other classes."]
    parsers = {"data": class_parser(PairedText, "data"), "model": class_parser(Encoder, "model")}
    parsers |= {name: class_parser(kind, name) for name, kind in EVALUATIONS.items() if kind.has_settings}
    for name, parser in parsers.items():
        lines += ["", f"## {name}", "", "| setting | default | meaning |", "|---|---|---|", *_rows(parser)]
    return "\n".join([*lines, ""])


def _rows(parser: Parser) -> Iterator[str]:
    for action in parser._actions:
        if action.dest in parser.names:
            meaning = " ".join((action.help or "").replace("%", "").split()).replace("|", "\\|")
            yield f"| `{action.dest}` | `{action.default}` | {meaning} |"

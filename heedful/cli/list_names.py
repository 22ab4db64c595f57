"""``heedful list``: the names of data, models and evaluations, with the first sentence about each."""

import re
from importlib import import_module
from inspect import getdoc
from itertools import takewhile
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten

from heedful.command_lines import CommandParser
from heedful.records.storage.named_configs import named_configs

KINDS = ("data", "models", "evaluations")


def main(argv: list[str]) -> None:
    """Print a line for each name of data, models or evaluations; without an argument, of all three."""
    parser = CommandParser(
        "list",
        "List the names that --data, --model and --evaluations take, with a sentence about each. Names of data and "
        "models are YAML files in configs/.",
        [(kind, f"names of {kind}") for kind in KINDS],
    )
    parser.add_argument("kind", nargs="?", choices=KINDS, metavar="KIND", help="data, models or evaluations; or all")
    kind = parser.parse_args(argv).kind
    for each in KINDS if kind is None else (kind,):
        if each == "evaluations":
            kinds = import_module("heedful.callbacks.evaluations").EVALUATIONS  # imports Lightning
            abouts = {name: getdoc(evaluation) or "" for name, evaluation in kinds.items()}
        else:
            abouts = {name: _comment(path) for name, path in named_configs(each.removesuffix("s")).items()}
        width = max(map(len, abouts)) + 2
        room = get_terminal_size().columns - 1 - width
        lines = [
            f"{name:<{width}}{shorten(first_sentence(about), room, placeholder=' ...')}"
            for name, about in abouts.items()
        ]
        print("\n".join([*([f"{each}:"] if kind is None else []), *lines]))


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without the markup of reStructuredText.

    Example:
        >>> first_sentence("RTE from GLUE: two classes. See ``hub``.")
        'RTE from GLUE: two classes.'
    """
    plain = re.sub(r":\w+:`~?([^`]+)`", r"\1", " ".join(text.split())).replace("`", "")
    return re.split(r"(?<=[.?!])\s", plain)[0]


def _comment(path: Path) -> str:
    """Return the comment at the top of a YAML file."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))

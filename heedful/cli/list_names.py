"""``heedful list``: the names of data, models and evaluations, with the first sentence about each."""

import re
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten

from heedful.records.command_lines import CommandParser
from heedful.records.storage.named_configs import named_configs

KINDS = ("data", "models", "evaluations")


def main(argv: list[str]) -> None:
    """Print a line for each name of data, models or evaluations; without an argument, of all three.

    Raises:
        HeedfulError: The argument is another word.
    """
    parser = CommandParser(
        "list",
        "List the names that --data, --model and --evaluations take, with a sentence about each. Names of data and "
        "models are YAML files in configs/.",
        [(kind, f"names of {kind}") for kind in KINDS],
    )
    parser.add_argument("kind", nargs="?", choices=KINDS, metavar="KIND", help="data, models or evaluations; or all")
    kind = parser.parse_args(argv).kind
    for each in KINDS if kind is None else (kind,):
        abouts = about_evaluations() if each == "evaluations" else about_configs(each.removesuffix("s"))
        width = max(map(len, abouts)) + 2
        room = get_terminal_size().columns - 1 - width
        lines = [
            f"{name:<{width}}{shorten(first_sentence(about), room, placeholder=' ...')}"
            for name, about in abouts.items()
        ]
        print("\n".join([*([f"{each}:"] if kind is None else []), *lines]))


def about_configs(kind: str) -> dict[str, str]:
    """Return the comment at the top of each YAML file of a data set ("data") or model ("model"), by name."""
    return {name: _comment(path) for name, path in named_configs(kind).items()}


def about_evaluations() -> dict[str, str]:
    """Return the docstring of each evaluation, by name."""
    evaluations = import_module("heedful.callbacks.evaluations").EVALUATIONS  # imports Lightning
    return {name: getdoc(kind) or "" for name, kind in evaluations.items()}


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without the markup of reStructuredText.

    Example:
        >>> first_sentence("RTE from GLUE: two classes. See ``hub``.")
        'RTE from GLUE: two classes.'
    """
    plain = re.sub(r":\w+:`~?([^`]+)`", r"\1", " ".join(text.split())).replace("`", "")
    return re.split(r"(?<=[.?!])\s", plain)[0]


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.lstrip("# ") for line in lines[:end])

"""The words of train.py and evaluate.py: short forms become a call, all others are for the parser of settings."""

import re
from argparse import Namespace
from collections.abc import Sequence

from heedful.assembly.config import Call, resolve
from heedful.assembly.parser import SEED
from heedful.records.command_lines import CommandParser


def divide(evaluating: bool, words: Sequence[str]) -> tuple[Namespace, Call]:
    """Take the short forms from a command line.

    Args:
        evaluating: Whether the command is evaluate.py.
        words: The words after its name.

    Returns:
        The values of ``--config``, ``--checkpoint`` and the like, and a call with the names and all other words.

    Raises:
        SettingError: A short form has no value.

    Example:
        >>> options, call = divide(True, ["--data", "mnli", "--checkpoint", "RUN", "--attentiveness.draws=3"])
        >>> options.checkpoint, call.data, call.words
        ('RUN', 'mnli', ['--attentiveness.draws=3'])
    """
    parser = CommandParser("evaluate" if evaluating else "train", "", add_help=False)
    for name in ("data", "model", "partial", "slices", "endpoint"):
        parser.add_argument(f"--{name}")
    for name in ("config", "allow_package"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("checkpoint",) if evaluating else ("augment", "output", "init_from", "resume", "ckpt_path"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--print_config", action="store_true")
    options, rest = parser.parse_known_args(list(words))
    rest = [re.sub(r"^--endpoint[.]", "--model.", word) for word in rest]
    rest = [
        re.sub(r"^--seed(?=$|=)", f"--{SEED}", re.sub(r"^(--[\w.]+?)[.]init_args(?=[.])", r"\1", word)) for word in rest
    ]
    if "--dry_run" in rest and "".join(rest[rest.index("--dry_run") + 1 :][:1])[:2] in ("", "--"):
        rest[rest.index("--dry_run")] = "--dry_run=true"
    if options.endpoint is not None:
        options.model = "endpoint"
        rest += ["--model.name", options.endpoint]
    augment = None if evaluating else options.augment
    return options, Call(options.model, options.data, augment, options.partial, options.slices, words=rest)


def print_help(command: str, words: Sequence[str]) -> None:
    """Print all settings of a command, with those of the data and the model that its words name."""
    rest = [word for word in words if word not in ("-h", "--help", "all")]
    _, call = divide(command == "evaluate", rest)
    resolve(command == "evaluate", call).parser.print_help()

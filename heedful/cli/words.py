"""Parse the command lines of train.py and evaluate.py: short forms such as ``--data mnli`` become arguments of a
call, and all other words are left to the parser of settings.
"""

import re
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from heedful.assembly.settings import SEED
from heedful.records import SettingError
from heedful.records.command_lines import CommandParser

ALIASES = {r"^--endpoint[.]": "--model.", r"^(--[\w.]+?)[.]init_args(?=[.])": r"\1", r"^--seed(?=$|=)": f"--{SEED}"}


def split_options(evaluating: bool, words: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Parse the options of a command line that have a short form, such as ``--data mnli``, and keep all other words.

    Args:
        evaluating: Whether the command is evaluate.py.
        words: The arguments of the command.

    Returns:
        The parsed options, such as ``data`` and ``checkpoint``; and all other words.

    Raises:
        SettingError: A short form has no value, or the words name a model and an endpoint.

    Example:
        >>> options, words = split_options(True, ["--data", "mnli", "--checkpoint", "RUN", "--attentiveness.draws=3"])
        >>> options.checkpoint, options.data, words
        ('RUN', 'mnli', ['--attentiveness.draws=3'])
    """
    parser = CommandParser("evaluate" if evaluating else "train", "", add_help=False)
    for name in ("data", "model", "partial", "slices", "endpoint"):
        parser.add_argument(f"--{name}")
    for name in ("config", "allow_package"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in (
        ("output", "checkpoint") if evaluating else ("augment", "debug", "output", "init_from", "resume", "ckpt_path")
    ):
        parser.add_argument(f"--{name}")
    parser.add_argument("--print_config", action="store_true")
    options, settings = parser.parse_known_args(list(words))
    for pattern, setting in ALIASES.items():
        settings = [re.sub(pattern, setting, word) for word in settings]
    if "--dry_run" in settings and "".join(settings[settings.index("--dry_run") + 1 :][:1])[:2] in ("", "--"):
        settings[settings.index("--dry_run")] = "--dry_run=true"
    if options.endpoint is not None:
        if options.model not in (None, "endpoint"):
            raise SettingError(f"model {options.model} and endpoint {options.endpoint} exclude each other. Name one.")
        options.model = "endpoint"
        settings += ["--model.name", options.endpoint]
    return options, settings


def arguments_of(options: Namespace) -> dict[str, Any]:
    """Return the options that are arguments of ``train`` and ``evaluate`` in Python, by name."""
    names = {"data", "model", "partial", "slices", "augment", "debug", "output"}
    return {name: value for name, value in vars(options).items() if name in names}


def print_help(command: str, words: Sequence[str]) -> None:
    """Print all settings of a command, including the settings of the data and the model that its words name."""
    from heedful.assembly import evaluation, training  # import Lightning
    from heedful.assembly.parser import build_parser

    words = [word for word in words if word not in ("-h", "--help", "all")]
    options, _ = split_options(command == "evaluate", words)
    job = (evaluation if command == "evaluate" else training).job_of(arguments_of(options))
    build_parser(job.stage, type(job.data), type(job.model)).print_help()

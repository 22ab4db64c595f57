"""The command that tells what a report of a fault needs: versions, the machine, and the settings of a run."""

import os
import platform
import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from heedful.records import RunError, printable
from heedful.records.command_lines import CommandParser
from heedful.records.storage.results import CONFIG, read_run
from heedful.records.storage.yaml_files import read_yaml

PACKAGES = """torch torchvision pytorch-lightning lightning transformers tokenizers torchmetrics datasets accelerate
jsonargparse numpy pyarrow scipy timm captum tensorboard openai"""
SECRET = re.compile(r"(?i)(^|[_.-])(api_?key|key|token|secret|passw(or)?d|credentials?|authorization)$")
IN_TEXT = [  # what is left out of texts, and what stands there instead
    (re.compile(r"(\w+://)[^/@\s]+@"), r"\1...@"),
    (re.compile(r"(?i)\b(sk|hf|ghp|xox\w)[-_][\w-]{8,}"), "..."),
    (re.compile(r"(?i)([?&](?:api_?key|key|token|secret|password|sig)=)[^&\s]+"), r"\1..."),
]


def main(argv: list[str]) -> None:
    """Print the versions, the machine, and the settings and the command of a run."""
    parser = CommandParser(
        "info",
        "What a report of a fault needs: versions, the kind of machine, and the settings of a run. Secrets, and the "
        "name of your home folder, are left out.",
        [("", "of this machine"), ("RUN", "of a run, too")],
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="folder of a run or of an evaluation")
    run = parser.parse_args(argv).run
    lines = [*_versions(), *_machine()]
    if run is not None:
        lines += _of_run(Path(run))
    print("\n".join(map(printable, lines)))


def _versions() -> list[str]:
    lines = [f"python {platform.python_version()}", f"heedful {_version('heedful') or 'in a clone'}"]
    return lines + [f"{name} {number}" for name in PACKAGES.split() if (number := _version(name))]


def _version(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _machine() -> list[str]:
    torch = import_module("torch")
    lines = ["", f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} processors"]
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return [*lines, f"GPUs: {', '.join(names) or 'none'}; CUDA of torch: {torch.version.cuda or 'none'}"]


def _of_run(run: Path) -> list[str]:
    """The command and the settings of a run.

    Raises:
        HeedfulError: The folder has no settings.
    """
    if not (run / CONFIG).is_file():
        raise RunError(f"{run} has no {CONFIG}. Name a folder that train.py or evaluate.py wrote.")
    words = [without_secrets(word) for word in read_run(run).get("command", [])]
    words = [_without_value(word) for word in words]
    flags = ["", *words]
    words = ["..." if SECRET.search(flag.lstrip("-")) else word for flag, word in zip(flags, words, strict=False)]
    settings = without_secrets(read_yaml(str(run / CONFIG), str(run / CONFIG)))
    return ["", f"command: {' '.join(words)}", "", yaml.safe_dump(settings, sort_keys=False).rstrip()]


def _without_value(word: str) -> str:
    """A word of a command; of ``--api_key=VALUE`` the flag alone."""
    flag, equals, _ = word.partition("=")
    return f"{flag}=..." if equals and SECRET.search(flag.lstrip("-")) else word


def without_secrets(value: Any) -> Any:
    """Settings without keys, tokens and passwords, and with ~ in place of the home folder.

    Example:
        >>> without_secrets({"api_key": "x", "url": "https://me:pw@host/v1", "n": 3})
        {'api_key': '...', 'url': 'https://...@host/v1', 'n': 3}
    """
    if isinstance(value, dict):
        return {k: "..." if SECRET.search(str(k)) and v is not None else without_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_secrets(one) for one in value]
    if not isinstance(value, str):
        return value
    for secret, shown in IN_TEXT:
        value = secret.sub(shown, value)
    return value.replace(str(Path.home()), "~")

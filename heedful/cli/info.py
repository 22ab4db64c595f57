"""The command that prints what a report of a fault needs: versions, the machine, and the settings of a run."""

import os
import platform
import re
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import yaml

from heedful.records import RunError, printable
from heedful.records.command_lines import CommandParser
from heedful.records.storage.results import CONFIG, read_run
from heedful.records.storage.yaml_files import read_yaml

PACKAGES = """heedful torch torchvision pytorch-lightning lightning transformers tokenizers torchmetrics datasets
accelerate jsonargparse numpy pyarrow scipy timm captum tensorboard openai""".split()
NAME = r"(?:api_?key|key|token|secret|passw(?:or)?d|credentials?|authorization|sig)"
SECRET = re.compile(rf"(?i)(^|[_.-]){NAME}$")
IN_TEXT = re.compile(rf"(?i)((?:^|[?&_.-]){NAME}=)[^&\s]+|(://)[^/@\s]+(?=@)|\b(?:sk|hf|ghp|xox\w)[-_][\w-]{{8,}}")


def main(argv: list[str]) -> None:
    """Print the versions, the machine, and the settings and the command of a run.

    Raises:
        HeedfulError: The folder has no settings.
    """
    about = "What a report of a fault needs: versions, the kind of machine, and the settings of a run, without secrets."
    parser = CommandParser("info", about, [("", "of this machine"), ("RUN", "of a run, too")])
    parser.add_argument("run", nargs="?", metavar="RUN", help="folder of a run or of an evaluation")
    run = parser.parse_args(argv).run
    torch = import_module("torch")
    version_of = {each.name.lower().replace("_", "-"): each.version for each in distributions()}
    gpus = ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
    lines = [f"{name} {version_of[name]}" for name in PACKAGES if name in version_of]
    lines += [f"python {platform.python_version()}", f"{platform.platform()}, {os.cpu_count()} processors"]
    lines += [f"GPUs: {gpus or 'none'}; CUDA of torch: {torch.version.cuda or 'none'}"]
    if run is not None:
        path = Path(run, CONFIG)
        if not path.is_file():
            raise RunError(f"{run} has no {CONFIG}. Name a folder that train.py or evaluate.py wrote.")
        words = read_run(run).get("command", [])
        flags = ["", *(word.lstrip("-") for word in words)]
        pairs = zip(flags, words, strict=False)
        words = ["..." if SECRET.search(flag) else without_secrets(word) for flag, word in pairs]
        settings = yaml.safe_dump(without_secrets(read_yaml(str(path), str(path))), sort_keys=False)
        lines += ["", f"command: {' '.join(words)}", "", *settings.splitlines()]
    print("\n".join(map(printable, lines)))


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
    hidden = IN_TEXT.sub(lambda match: f"{match[1] or match[2] or ''}...", value)
    return hidden.replace(str(Path.home()), "~")

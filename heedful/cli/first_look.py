"""A look at the names and files on a command line, before torch is imported: mistakes are told at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from heedful.records import DataError
from heedful.records.storage.named_configs import FOLDER_OF, config_path
from heedful.records.storage.yaml_files import read_yaml

RUNS = ("checkpoint", "resume", "init_from")


def look(argv: Sequence[str]) -> None:
    """Look at the names and the files on a command line; what is sound here may still be refused later.

    Raises:
        HeedfulError: A name is not known, a file does not exist, or YAML does not parse.
    """
    for setting, value in _settings(argv):
        if setting == "config" or setting in FOLDER_OF:
            _look_at_name(setting, value)
        elif setting in RUNS or setting.endswith(".path"):
            _require_there(setting, value)


def _settings(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The settings with a value, in their order."""
    for word, after in zip(argv, [*argv[1:], ""], strict=False):
        flag, has_value, value = word.partition("=")
        value = value if has_value else after
        if flag.startswith("--") and value and not value.startswith("--"):
            yield flag.removeprefix("--"), value


def _look_at_name(setting: str, value: str) -> None:
    if value.startswith("{"):
        return
    is_file = value.endswith((".yaml", ".yml", ".json"))
    if setting == "config":
        _require_there(setting, value)
        path = value
    elif setting == "model" and not is_file and ("/" in value or Path(value).is_dir()):
        return  # a folder, or an id of the hub
    else:
        path = config_path(setting, value)
    if Path(path).is_file():
        read_yaml(path, f"{setting} {value}")


def _require_there(setting: str, value: str) -> None:
    """Refuse a path at which there is nothing; what is not a plain path is for others."""
    is_plain = value != "null" and "://" not in value and not any(sign in value for sign in "{[*")
    if is_plain and not Path(value).exists():
        raise DataError(f"{setting} {value} does not exist.")

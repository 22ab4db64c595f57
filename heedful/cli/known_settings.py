"""Find misspelt names on the command lines of train.py and evaluate.py without importing torch and Lightning.

The names of all settings are in known_settings.json, which ``python -m heedful.cli.known_settings`` writes. This table
is used only with the version of Lightning for which it was written, and only if the command line alone determines the
settings; otherwise, and for all values, the parser of settings decides.
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from heedful.cli.words import split_options
from heedful.records import SettingError, atomic_path
from heedful.records.parser import unknown_message
from heedful.records.storage.named_configs import DEFAULTS, config_path
from heedful.records.storage.yaml_files import read_yaml

TABLE = Path(__file__).with_suffix(".json")
FROM_FILES = ("config", "allow_package", "checkpoint", "init_from", "resume", "ckpt_path")  # they bring more settings


def require_known_names(command: str, words: Sequence[str]) -> None:
    """Raise SettingError for the first option that no setting of a command has, if the table can tell.

    Args:
        command: "train" or "evaluate".
        words: The arguments of the command.
    """
    options, settings = split_options(command == "evaluate", words)
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    classes = {kind: _class_name(kind, getattr(options, kind) or default) for kind, default in DEFAULTS.items()}
    model = table["stand_ins"].get(str(classes["data"]), {}).get(classes["model"], classes["model"])
    known = [*table[command], *table["data"].get(classes["data"], ()), *table["model"].get(model, ())]
    is_closed = classes["data"] in table["data"] and model in table["model"]
    if any(getattr(options, name, None) for name in FROM_FILES) or not is_closed or table["version"] != _version():
        return
    names = [word[2:].partition("=")[0] for word in settings if word.startswith("--") and len(word) > 2]
    if any(name in ("evaluations", "trainer.callbacks") for name in names):  # which may register evaluations
        return
    for name in names:
        if not any(f"{name}.".startswith(f"{one}.") or one.startswith(f"{name}.") for one in known):
            raise SettingError(unknown_message(name, known))


def _class_name(kind: str, source: str) -> str | None:
    """Return the class of a short name of data or of a model; None if only the parser can tell the class."""
    if "/" in source or Path(source).exists():
        return None
    path = config_path(kind, source)
    content: Any = read_yaml(path, path) if path.endswith(".yaml") else None
    class_path = content.get("class_path") if isinstance(content, dict) else None
    return class_path if isinstance(class_path, str) else None


def _version() -> str:
    return version("pytorch-lightning")


def make_table() -> dict[str, Any]:
    """Collect the names of all settings from the parsers of all data modules and models of Heedful."""
    from heedful import datamodules, lightning_modules
    from heedful.assembly.parser import build_parser
    from heedful.datamodules import PairedData, Planted
    from heedful.lightning_modules import Encoder
    from heedful.lightning_modules.base_predictor import BasePredictor
    from heedful.lightning_modules.registry import stand_in
    from heedful.records.arguments import class_path

    def classes(room: Any, base: type) -> dict[str, Any]:
        found = {name: getattr(room, name) for name in room.__all__}
        return {name: kind for name, kind in found.items() if isinstance(kind, type) and issubclass(kind, base)}

    def names(groups: Sequence[str], evaluating: bool = False, data: Any = Planted, model: Any = Encoder) -> list[str]:
        found = build_parser(evaluating, data, model).names
        return [name for name in found if (name.split(".")[0] if "." in name else "") in groups]

    def of_command(evaluating: bool) -> set[str]:
        found = build_parser(evaluating, Planted, Encoder).names
        return {name.split(".")[0] if "." in name else "" for name in found} - {"data", "model"}

    data, models = classes(datamodules, PairedData), classes(lightning_modules, BasePredictor)
    by_path = {class_path(kind): name for name, kind in models.items()}
    stand_ins: dict[str, dict[str, str]] = {name: {} for name in data}
    for (name, owner), (own, kind) in product(data.items(), models.items()):
        if (other := by_path.get(stand_in(owner, class_path(kind)), own)) != own:
            stand_ins[name][own] = other
    return {
        "version": _version(),
        "train": names(of_command(False)),
        "evaluate": names(of_command(True), True),
        "data": {name: names(["data"], data=kind) for name, kind in data.items()},
        "model": {name: names(["model"], model=kind) for name, kind in models.items()},
        "stand_ins": {name: changed for name, changed in stand_ins.items() if changed},
    }


if __name__ == "__main__":
    with atomic_path(TABLE) as temporary:
        temporary.write_text(json.dumps(make_table(), indent=1) + "\n", encoding="utf-8")

"""The YAML files that short names stand for: ``mnli`` is ``configs/data/mnli.yaml``."""

import ast
import re
from pathlib import Path

from heedful.records.errors import DataError, SettingError, guess
from heedful.records.storage.schema import ROOMS, full_path
from heedful.records.storage.yaml_files import read_yaml
from heedful.rooms import folder

FOLDER_OF = {"data": "data", "model": "model", "augment": "experiment", "debug": "debug"}
DEFAULTS = {"data": "planted", "model": "minilm"}


def named_configs(kind: str) -> dict[str, Path]:
    """The files of a folder of configs/ by their names; those of the working folder come before the package's own.

    Args:
        kind: "data", "model", "experiment" or "recipe".
    """
    package = folder("configs")
    working = Path("configs")
    places = [package] if working.resolve() == package.resolve() else [package, working]
    path_of_name = {path.stem: path for place in places for path in (place / kind).glob("*.yaml")}
    return dict(sorted(path_of_name.items()))


def backbones() -> dict[str, tuple[str, str]]:
    """The backbone and the import path of the class of each named model; files that say neither are left out.

    Raises:
        HeedfulError: A file cannot be read.
    """
    backbone_of = {}
    for name, path in named_configs("model").items():
        match read_yaml(str(path), str(path)):
            case {"class_path": str(class_path), "init_args": {"backbone": str(backbone)}}:
                backbone_of[name] = backbone, full_path("model", class_path)
    return backbone_of


def short_name(backbone: str, class_path: str | None) -> str | None:
    """The short name of a model, as --model takes it; None where no file in configs/model names the backbone."""
    fitting = {name: of_class for name, (of, of_class) in backbones().items() if of == backbone}
    same = [name for name, of_class in fitting.items() if class_path and of_class == full_path("model", class_path)]
    return next(iter([*same, *fitting]), None)


def names(kind: str) -> list[str]:
    """The short names of a kind ("data", "model", "augment"): the files of its folder in configs/,
    of the working folder and of the package."""
    return list(named_configs(FOLDER_OF[kind]))


def config_path(kind: str, name: str) -> str:
    """The file that a short name stands for; a path or a class stays as it is.

    Raises:
        HeedfulError: An unknown name; the message has the nearest that is known.
    """
    if file := named_configs(FOLDER_OF[kind]).get(name):
        return str(file)
    if name.endswith((".yaml", ".yml", ".json")) or name.startswith("{"):
        if not name.startswith("{") and not Path(name).is_file():
            raise DataError(f"{kind} {name} does not exist.")
        return name
    if name.lower().removesuffix(".gz").removesuffix(".zst").endswith(("csv", "tsv", "jsonl", "parquet")):
        raise SettingError(
            f"{kind} {name} is a file of rows. Name the data set that reads it, as in data mnli, and set data.path "
            f"{name}."
        )
    if kind in ROOMS and re.fullmatch(r"\w+(\.\w+)+", name):
        return name
    if kind in ROOMS and name in _classes(kind):
        return full_path(kind, name)
    more = " It takes a folder, or OWNER/NAME of the hub, too." if kind == "model" else ""
    raise SettingError(f"{kind} {name} is not known.{more} {guess(name.lower(), names(kind))}")


def _classes(kind: str) -> list[str]:
    """The names of the classes of data or of models; importing them would import torch."""
    room = ROOMS[kind].rpartition(".")[2]
    module = ast.parse((folder(room) / "__init__.py").read_text(encoding="utf-8"))
    return next(
        ast.literal_eval(line.value)
        for line in module.body
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name) and line.targets[0].id == "__all__"
    )

"""Short names of YAML files in configs/: ``mnli`` is ``configs/data/mnli.yaml``."""

import re
from importlib import import_module
from pathlib import Path

from heedful.records.errors import DataError, HeedfulError, SettingError, suggestion
from heedful.records.messages import inform
from heedful.records.storage.schema import ROOMS, full_path
from heedful.records.storage.yaml_files import read_yaml

FOLDER_OF = {"data": "data", "model": "model", "augment": "experiment", "debug": "debug"}
DEFAULTS = {"data": "planted", "model": "minilm"}
CONFIGS = Path(__file__).parents[2].resolve() / "configs"  # the package's own


def named_configs(kind: str) -> dict[str, Path]:
    """Map short names to the YAML files of a folder of configs/, such as "data"; the working folder's come first."""
    working = Path("configs")
    places = [CONFIGS] if working.resolve() == CONFIGS.resolve() else [CONFIGS, working]
    path_of_name = {path.stem: path for place in places for path in (place / kind).glob("*.yaml")}
    return dict(sorted(path_of_name.items()))


def backbones() -> dict[str, tuple[str, str]]:
    """Map each file in configs/model to its backbone (hub id or folder of weights) and the import path of its class.

    Files that cannot be read, as of another program, are skipped.
    """
    backbone_of = {}
    for name, path in named_configs("model").items():
        try:
            content = read_yaml(str(path), str(path))
        except HeedfulError as error:
            inform(f"Skipped: {error}")
            continue
        match content:
            case {"class_path": str(class_path), "init_args": {"backbone": str(backbone)}}:
                backbone_of[name] = backbone, full_path("model", class_path)
    return backbone_of


def short_name(backbone: str, class_path: str | None) -> str | None:
    """Return the short name of the model with a backbone, if any; the class decides between several such files."""
    classes = {name: owner for name, (of_file, owner) in backbones().items() if of_file == backbone}
    same = [name for name, owner in classes.items() if class_path and owner == full_path("model", class_path)]
    return next(iter([*same, *classes]), None)


def names(kind: str) -> list[str]:
    """Return the short names that are possible for a setting, see :data:`FOLDER_OF`."""
    return list(named_configs(FOLDER_OF[kind]))


def config_path(kind: str, name: str) -> str:
    """Return the YAML file for a short name of a setting, see :data:`FOLDER_OF`; a path or an import path stays."""
    if file := named_configs(FOLDER_OF[kind]).get(name):
        return str(file)
    if name.endswith((".yaml", ".yml", ".json")):
        if not Path(name).is_file():
            raise DataError(f"{kind} {name} does not exist.")
        return name
    if name.lower().removesuffix(".gz").removesuffix(".zst").endswith(("csv", "tsv", "jsonl", "parquet")):
        raise SettingError(f"{kind} {name} is a file of rows. Name the data set, as in data mnli, and set data.path.")
    if kind in ROOMS and re.fullmatch(r"\w+(\.\w+)+", name):
        return name
    if kind in ROOMS and name in public_classes(kind):
        return full_path(kind, name)
    more = " A folder or a hub id OWNER/NAME is possible, too." if kind == "model" else ""
    place = f"./configs/{FOLDER_OF[kind]}/"
    raise SettingError(f"{kind} {name} is unknown, also in {place}.{more} {suggestion(name.lower(), names(kind))}")


def public_classes(kind: str) -> list[str]:
    """Names of the public data modules or models, listed without importing torch."""
    return list(import_module(ROOMS[kind]).__all__)

"""Find the class and the settings of data or of a model by a name: short name, YAML file, import path, folder or hub
id.
"""

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from transformers import PretrainedConfig

from heedful.datamodules import PairedData
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.pretrained.backbones import is_hub_id, quiet, require_model
from heedful.lightning_modules.registry import family_of
from heedful.records import ModelError, SettingError, inform
from heedful.records.arguments import class_path
from heedful.records.errors import nearest
from heedful.records.parser import class_parser
from heedful.records.storage.named_configs import backbones, config_path, names, public_classes, short_name
from heedful.records.storage.results import folder_name
from heedful.records.storage.schema import full_path
from heedful.records.storage.yaml_files import parse_yaml, read_text

CLASSES: dict[str, type] = {"data": PairedData, "model": BasePredictor}
OUR_PACKAGES = ("heedful", "pytorch_lightning", "lightning", "torch", "torchmetrics")  # whose classes any file may name

Section = dict[str, Any]  # a class and its settings: "class_path" and "init_args"


def section_of(kind: str, source: str | PathLike[str] | Mapping[str, Any], where: str = "") -> Section:
    """Return the section of data or of a model: the class under "class_path", and the settings under "init_args".

    Data from a YAML file without a name are named after the file, if their class requires a name.

    Args:
        kind: "data" or "model".
        source: A short name, a YAML file, a section, or the name or import path of a class; for a model also a folder
            or a hub id.
        where: Name of the file that has the section, for messages.

    Raises:
        SettingError: The name is unknown, or its file names no class.
    """
    if isinstance(source, Mapping):
        return as_section(kind, source, f"{where}, {kind}" if where else kind)
    name = fspath(source)
    if kind == "model" and (form := _backbone_form(name)):
        base, settings = form
        section = section_of(kind, base)
        return {**section, "init_args": {**section["init_args"], **settings}}
    value = config_path(kind, name)
    if not Path(value).is_file():
        return {"class_path": full_path(kind, value), "init_args": {}}
    section = as_section(kind, parse_yaml(read_text(value, f"{kind} {name}"), f"{kind} {name}"), f"{kind} {name}")
    if kind == "data" and "name" not in section["init_args"]:
        setting = class_parser(class_of("data", section["class_path"]), "data").actions.get("data.name")
        if setting is not None and setting.required:
            section["init_args"] = {"name": Path(value).stem, **section["init_args"]}
    return section


def as_section(kind: str, values: Any, display_name: str) -> Section:
    """Check a section of settings, or only the name of a class, and return a section with the full import path of the
    class.

    Raises:
        SettingError: The section names no class; the message begins with ``display_name``.
    """
    if isinstance(values, str):
        values = {"class_path": values}
    if not isinstance(values, Mapping) or not isinstance(values.get("class_path"), str):
        raise SettingError(f"{display_name} names no class. Add class_path.")
    if unknown := [key for key in values if key not in ("class_path", "init_args")]:
        raise SettingError(f"{display_name} has the key {unknown[0]}. Put settings under init_args.")
    return {"class_path": full_path(kind, values["class_path"]), "init_args": {**(values.get("init_args") or {})}}


def class_of(kind: str, path: str) -> type:
    """Import and return the class of the data or of the model (``kind``) at an import path; its module may be in the
    working folder.

    Raises:
        SettingError: The class does not exist, or has another base class.
    """
    owner = imported(path)
    if owner is None:
        near = nearest(path.rpartition(".")[2], public_classes(kind))
        hint = f" (did you mean {near}?)" if near else ""
        raise SettingError(
            f"{kind}: there is no class {path}{hint}. A module of your own must be in the working folder or on "
            "PYTHONPATH."
        )
    if not (isinstance(owner, type) and issubclass(owner, CLASSES[kind])):
        raise not_supported(kind, path)
    return owner


def not_supported(kind: str, name: str) -> SettingError:
    """Return the error for data or a model (``kind``) whose class ``name`` is not a subclass of Heedful's, such as
    another LightningModule.
    """
    remedy = (
        " Add heedful.Watch to your own Trainer, or see docs/new_model.md." if kind == "model" else " Pass the rows."
    )
    return SettingError(f"{kind}: {name} is not a subclass of {class_path(CLASSES[kind])}.{remedy}")


def imported(path: str) -> Any:
    """Import and return the object at an import path, such as "package.module.Class"; its module may be in the working
    folder. None if the module or the object does not exist.

    Raises:
        ImportError: The module exists, but an import in it fails.
    """
    module, _, name = path.rpartition(".")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return getattr(import_module(module), name, None)
    except ImportError as error:
        if f"{module}.".startswith(f"{error.name}."):
            return None
        raise


def _backbone_form(name: str) -> tuple[str, dict[str, Any]] | None:
    """For a hub id or the folder of a model, return the short name or the class of the model, and the settings that
    load the model; None for other names.
    """
    path = Path(name)
    is_short = name in names("model")
    if is_short and not (path / "config.json").is_file():
        return None
    if is_short:
        inform(f"model {name} is the folder {path.absolute()}, not the short name.")
    if path.is_dir() and not (path / "config.json").is_file():
        if (path / "config.yaml").is_file():
            raise ModelError(f"model {name} is a run. Train it further with init_from, or measure it with checkpoint.")
        require_model(name, "model")
        raise ModelError(f"model {name} is not the folder of a model: there is no config.json.")
    if not path.is_dir():
        if "/" not in name or path.suffix in (".yaml", ".yml", ".json"):
            return None
        if not is_hub_id(name):
            raise ModelError(f"model {name} is neither an existing folder nor a hub id.")
    for form_name, (backbone, _) in backbones().items():
        if backbone == name:
            return form_name, {}
    return family_of(model_config(name)), {"backbone": name}


def model_folder(backbone: str, class_path: str) -> str:
    """Return the name of a model for the paths of run folders: its short name; for exported weights, the name of their
    run; or else the hub id with safe characters.
    """
    if name := short_name(backbone, class_path):
        return name
    run = Path(backbone).resolve()
    if run.parts[-2:] == ("checkpoints", "backbone"):  # exported by a run
        name_of_run = run.parents[1].name
        return run.parents[3].name if re.fullmatch(r"version_\d+", name_of_run) else name_of_run
    return (folder_name(backbone) or class_path.rpartition(".")[2]).lower()


def model_config(name: str | Path) -> dict[str, Any]:
    """Return the content of a model's config.json; empty if it cannot be read.

    Args:
        name: Folder or hub id of the model.
    """
    try:
        with quiet():
            return PretrainedConfig.get_config_dict(name)[0]
    except Exception:  # loading the model reports it
        return {}

"""Load data and models by a name: a short name, a YAML file, an import path, a folder, a hub id; or from rows."""

import re
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from transformers import PretrainedConfig
from transformers.models.auto import modeling_auto

from heedful.assembly.settings import Settings, imported
from heedful.datamodules import PairedData
from heedful.lightning_modules import Predictor
from heedful.lightning_modules.pretrained import is_hub_id, quiet, require_model
from heedful.lightning_modules.registry import TABLE, family_of
from heedful.parser import class_parser, construct
from heedful.records import ModelError, SettingError, inform, listing
from heedful.records.arguments import class_path
from heedful.records.errors import nearest
from heedful.records.storage.named_configs import DEFAULTS, backbones, config_path, names, public_classes, short_name
from heedful.records.storage.results import folder_name
from heedful.records.storage.schema import full_path
from heedful.records.storage.yaml_files import parse_yaml, read_text

READ_BY_ENCODER = modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES  # model_type to class
READS_PICTURES = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
CLASSES: dict[str, type] = {"data": PairedData, "model": Predictor}
OUR_PACKAGES = ("heedful", "pytorch_lightning", "lightning", "torch", "torchmetrics")  # whose classes any file may name


def load_data(source: Any = DEFAULTS["data"], /, **settings: Any) -> PairedData:
    """Load data by a short name, from a file of settings, or from rows in memory.

    Args:
        source: A short name such as "mnli"; a YAML file; the name or the import path of a data module; or rows: a
            frame of pandas or polars, a table of Arrow, a data set of Hugging Face, a list of dictionaries, or a
            mapping from splits to rows.
        **settings: Settings of the data module, which override the settings in the file.

    Returns:
        The data module, whose ``setup`` reads the data.

    Raises:
        SettingError: The name is unknown, or a setting is unknown, missing or of another type.

    Examples:
        >>> data = load_data("planted", n_train=30, n_validation=10)
        >>> data.setup("fit")
        >>> len(data.pool), data.task.labels
        (10, ('entailment', 'neutral', 'contradiction'))
    """
    return cast(PairedData, load_object("data", source, settings))


def load_model(source: str | PathLike[str] | Mapping[str, Any] = DEFAULTS["model"], /, **settings: Any) -> Predictor:
    """Load a model by a short name, a hub id or a folder, or from a file of settings.

    Args:
        source: A short name such as "minilm"; a hub id or the folder of a model, whose config.json determines the
            class; a YAML file; or the name or the import path of a classifier.
        **settings: Settings of the classifier, which override the settings in the file.

    Returns:
        The classifier, without weights; its ``bind`` loads them.

    Raises:
        SettingError: The name is unknown, or a setting is unknown, missing or of another type.
        ModelError: The folder is not the folder of a model.

    Examples:
        >>> model = load_model("minilm", learning_rate=2e-5)
        >>> type(model).__name__, model.learning_rate
        ('Encoder', 2e-05)
    """
    return cast(Predictor, load_object("model", source, settings))


def load_object(kind: str, source: Any, settings: Mapping[str, Any]) -> Any:
    """Return ``source`` if it is an object already; else create the data module or the model that it names."""
    if isinstance(source, CLASSES[kind]):
        if settings:
            raise SettingError(f"{kind} is an object already, and {next(iter(settings))} would change it.")
        return source
    if isinstance(source, type):
        name = source.__name__
        raise SettingError(f"{kind}: {name} is a class. Pass an object, as {name}(...), or the path of the class.")
    if hasattr(source, "prepare_data") or hasattr(source, "forward"):  # of pytorch_lightning, lightning or torch
        raise not_supported(kind, type(source).__name__)
    if not names_class(source):
        source, settings = {"class_path": "PairedText"}, {"path": source, **settings}
    form = section_of(kind, source)
    where = f"{kind} {fspath(source)}" if isinstance(source, str | PathLike) else ""
    return construct(class_of(kind, form["class_path"]), kind, {**form["init_args"], **settings}, where)


def names_class(value: Any) -> bool:
    return isinstance(value, str | PathLike) or (isinstance(value, Mapping) and "class_path" in value)


def section_of(kind: str, source: str | PathLike[str] | Mapping[str, Any], where: str = "") -> Settings:
    """Return the section of data or of a model (``kind``): "class_path" and "init_args".

    ``source`` is a section from the file ``where``, or a name as for :func:`load_data` and :func:`load_model`. Data
    from a YAML file without a name are named after the file, if their class requires a name.
    """
    values, display_name = source, f"{where}, {kind}" if where else kind
    if not isinstance(source, Mapping):
        name = fspath(source)
        is_short = name in names(kind) and not Path(name, "config.json").is_file()
        if kind == "model" and not is_short and (section := _section_of_backbone(name)):
            return section
        path = config_path(kind, name)
        display_name = f"{kind} {name}"
        values = parse_yaml(read_text(path, display_name), display_name) if Path(path).is_file() else path
    if isinstance(values, str):
        values = {"class_path": values}
    if not isinstance(values, Mapping) or not isinstance(values.get("class_path"), str):
        raise SettingError(f"{display_name} names no class. Add class_path.")
    if unknown := [key for key in values if key not in ("class_path", "init_args")]:
        raise SettingError(f"{display_name} has the key {unknown[0]}. Put settings under init_args.")
    section = {"class_path": full_path(kind, values["class_path"]), "init_args": {**(values.get("init_args") or {})}}
    if kind == "data" and not isinstance(source, Mapping) and "name" not in section["init_args"]:
        setting = class_parser(class_of("data", section["class_path"]), "data").actions.get("data.name")
        if setting is not None and setting.required:
            section["init_args"]["name"] = Path(path).stem
    return section


def class_of(kind: str, path: str) -> type:
    """Import and return the class of the data or of the model (``kind``), also from the working folder."""
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


def _section_of_backbone(name: str) -> Settings | None:
    """Return the section of a model by its hub id or its folder; None for other names."""
    path = Path(name)
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
    if name in names("model"):
        inform(f"model {name} is the folder {path.absolute()}, not the short name.")
    for short, (backbone, _) in backbones().items():
        if backbone == name:
            return section_of("model", short)
    config = model_config(name)
    family, model_type = family_of(config), config.get("model_type")
    reads_pictures = set(config.get("architectures") or ()) & set(READS_PICTURES.values())
    is_unread = reads_pictures or (model_type and model_type not in READ_BY_ENCODER)
    if family == full_path("model", "Encoder") and is_unread:
        families = listing([entry.family.rpartition(".")[2] for entry in TABLE])
        raise ModelError(f"model {name} is a {model_type}, which no family can read. The families are {families}.")
    return {"class_path": family, "init_args": {"backbone": name}}


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
    """Return the content of config.json of a model, by its folder or hub id; empty if it cannot be read."""
    try:
        with quiet():
            return PretrainedConfig.get_config_dict(name)[0]
    except Exception:  # loading the model reports it
        return {}

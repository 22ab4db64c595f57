"""What short names stand for: ``mnli`` is ``configs/data/mnli.yaml``. Data and models by their names."""

import re
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from transformers import PretrainedConfig

from heedful.assembly.making import checked, made, read_settings
from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.families import family_of, import_path, stand_ins
from heedful.lightning_modules.pretrained.backbones import is_hub_id, quiet
from heedful.records import ModelError, SettingError
from heedful.records.made import class_path
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.named_configs import DEFAULTS, backbones, config_path, names
from heedful.records.storage.schema import whole
from heedful.records.storage.yaml_files import SettingsLoader, parse_yaml, read_text, read_yaml
from heedful.reports.runs import short_name

KIND_OF: dict[str, type] = {"data": PairedData, "model": Classifier}

Section = dict[str, Any]  # "class_path", "init_args" and "dict_kwargs", as config.yaml has them


def load_data(source: Any = DEFAULTS["data"], /, **settings: Any) -> PairedData:
    """Data by a short name, from a file of settings, or from rows in memory.

    Args:
        source: A short name such as "mnli"; a YAML file; the name or the import path of a data module; or the rows
            themselves, as ``path`` of ``PairedText`` takes them: a frame of pandas or polars, a table of Arrow, a
            data set of Hugging Face, a list of dictionaries, or a mapping of splits to these.
        **settings: Settings of the data module, which win over those of the file. Where a setting has settings of its
            own, as ``hub`` has, it may be a mapping of them.

    Returns:
        The data module, which has read nothing yet.

    Raises:
        HeedfulError: The name stands for nothing, or a setting is unknown, missing or of another type.

    Examples:
        >>> data = load_data("planted", n_train=30, n_validation=10)
        >>> data.setup("fit")
        >>> len(data.pool), data.task.labels
        (10, ('entailment', 'neutral', 'contradiction'))
    """
    if not isinstance(source, str | PathLike) and not is_section(source):
        settings = {"path": source, **settings}
        source = "PairedText"
    return cast(PairedData, _loaded("data", source, settings))


def load_model(source: str | PathLike[str] | Section = DEFAULTS["model"], /, **settings: Any) -> Classifier:
    """A model by a short name, by its id on the hub or its folder, or from a file of settings.

    Args:
        source: A short name such as "minilm"; an id of the hub, or the folder of a model, whose config.json says which
            family opens it; a YAML file; or the name or the import path of a classifier.
        **settings: Settings of the classifier, which win over those of the file.

    Returns:
        The classifier, which has loaded no weights yet.

    Raises:
        HeedfulError: The name stands for nothing, the folder is not that of a model, or a setting is unknown, missing
            or of another type.

    Examples:
        >>> model = load_model("minilm", learning_rate=2e-5)
        >>> type(model).__name__, model.learning_rate
        ('Encoder', 2e-05)
    """
    return cast(Classifier, _loaded("model", source, settings))


def _loaded(kind: str, source: Any, settings: Mapping[str, Any]) -> Any:
    loaded = made(section_of(kind, source, settings), (KIND_OF[kind],), (kind,))
    loaded.given = frozenset(settings)
    return loaded


def is_section(value: Any) -> bool:
    """Whether a value names a class and its settings."""
    return isinstance(value, Mapping) and "class_path" in value


def section_of(kind: str, source: Any, settings: Mapping[str, Any] | None = None) -> Section:
    """The class and the settings that a name stands for, with other settings on top.

    Args:
        kind: "data" or "model".
        source: As ``load_data`` or ``load_model`` takes it, but for rows; or such a section.
        settings: Those that win.

    Raises:
        HeedfulError: The name stands for nothing, or its file is not as it should be.
    """
    if is_section(source):
        return _with(kind, source, settings or {})
    name = fspath(source)
    more = dict(settings or {})
    if kind == "model" and (form := backbone_form(name)):
        name = form[0]
        more = form[1] | more
    path = config_path(kind, name)
    return _with(kind, _content(kind, path), more)


def _with(kind: str, section: Section, settings: Mapping[str, Any]) -> Section:
    own = section.get("init_args") or {}
    return {**section, "class_path": whole(kind, section["class_path"]), "init_args": {**own, **settings}}


def _content(kind: str, value: str) -> Section:
    """What stands in a YAML file, once it was checked; or in JSON, or for a class."""
    if value.startswith("{"):
        values = parse_yaml(value, f"{value[:40]}...", SettingsLoader)
    elif not Path(value).is_file():
        return {"class_path": value}
    else:
        values = read_settings(value, f"{kind} {value}", KIND_OF[kind], (kind,))
    return {"class_path": values} if isinstance(values, str) else values


def fitting(section: Section, data: PairedData) -> Section:
    """A model that came by a name, in the family that takes its place on such data; its settings stay.

    Args:
        section: Its class and settings: see ``section_of``.
        data: The data that it is for.
    """
    meant = stand_ins().get((class_path(type(data)), whole("model", section["class_path"])))
    return {**section, "class_path": meant} if meant else section


def augmented(data: PairedData, name: str) -> PairedData:
    """Data as an experiment says, such as "counterfactual": once more, with its settings as if the user chose them.

    Args:
        data: The data, which have read nothing yet.
        name: The short name of the experiment, or its YAML file.

    Raises:
        HeedfulError: The name stands for nothing, or it says more than settings of the data.
    """
    path = config_path("augment", name)
    text = path if path.startswith("{") else read_text(path, f"augment {name}")
    values = parse_yaml(text, f"augment {name}", SettingsLoader)
    settings = values.get("data") if isinstance(values, dict) and values.keys() == {"data"} else None
    if not isinstance(settings, dict) or not settings.keys() <= {"init_args"}:
        raise SettingError(
            f"augment {name} names more than settings of the data. Keep data: {{init_args: ...}} in its file."
        )
    return data.with_settings(**checked(type(data), settings.get("init_args") or {}, ("data",)))


def class_named(value: str, kind: str, in_section: bool = False) -> str | None:
    """The import path of the class that a YAML file, JSON or a class path names; None if none is.

    Args:
        value: The file, the JSON or the class path.
        kind: "data" or "model".
        in_section: Whether the file has a section of that name, as those of --config.
    """
    class_path: Any = value
    if value.startswith("{") or Path(value).is_file():
        content = parse_yaml(value, f"{value[:40]}...") if value.startswith("{") else read_yaml(value, value)
        section = content
        if in_section:
            section = content.get(kind) if isinstance(content, dict) else None
        class_path = section.get("class_path") if isinstance(section, dict) else section
    return whole(kind, class_path) if isinstance(class_path, str) else None


def backbone_form(name: str) -> tuple[str, dict[str, Any]] | None:
    """What a model stands for that is named by its id on the hub or by its folder; None of other names.

    Args:
        name: The name; a named model with this backbone brings its settings.

    Returns:
        A short name or the import path of a family, and settings of it.

    Raises:
        HeedfulError: It is a folder of something else, or a path where there is none.
    """
    if name in names("model") or name.startswith("{"):
        return None
    path = Path(name)
    if path.is_dir() and not (path / "config.json").is_file():
        if (path / "config.yaml").is_file():
            raise ModelError(f"model {name} is a run. Use init_from of train.py, or checkpoint of evaluate.py.")
        raise ModelError(f"model {name} has no config.json. Name the folder of a whole model.")
    if not path.is_dir():
        if "/" not in name or path.suffix in (".yaml", ".yml", ".json"):
            return None
        if not is_hub_id(name):
            raise ModelError(f"model {name} is not a folder that exists, and cannot be a model of the hub.")
    for form_name, (backbone, _) in backbones().items():
        if backbone == name:
            return form_name, {}
    return import_path(family_of(model_config(name))), {"backbone": name}


def model_folder(backbone: str, class_path: str) -> str:
    """What the folder of a model's results is called: its short name, that of the run that it is from, or its id."""
    if name := short_name(backbone, class_path):
        return name
    run = Path(backbone).resolve()
    if run.parts[-2:] == ("checkpoints", "backbone"):  # exported by a run: named as that run
        of_run = run.parents[1].name
        return run.parents[3].name if re.fullmatch(r"version_\d+", of_run) else of_run
    return (folder_name(backbone) or class_path.rpartition(".")[2]).lower()


def model_config(name: str | Path) -> dict[str, Any]:
    """The config.json of a model, by its short name, its folder or its id on the hub; empty where there is none."""
    try:
        with quiet():
            return PretrainedConfig.get_config_dict(name)[0]
    except Exception:  # which is said when the model is loaded
        return {}

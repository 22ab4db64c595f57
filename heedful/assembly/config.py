"""Parse all settings of a run, from files, the command line and Python, and create the data, model and callbacks that
they describe.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, cast

from jsonargparse import Namespace
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.assembly.parser import TRAINER_KINDS, build_parser
from heedful.assembly.settings import (
    SEED,
    EvaluationSettings,
    RunSettings,
    TrainingSettings,
    name_list,
    several,
)
from heedful.assembly.short_names import (
    CLASSES,
    OUR_PACKAGES,
    as_section,
    class_of,
    imported,
    not_supported,
    section_of,
)
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Evaluation
from heedful.callbacks.evaluations import shown_evaluations
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import BasePredictor
from heedful.lightning_modules.pretrained.backbones import allowed_packages
from heedful.lightning_modules.registry import stand_in
from heedful.records import HeedfulError, SettingError, listing, require_seed
from heedful.records.arguments import IN_MEMORY, class_path, plain
from heedful.records.numbers.metric_name import direction_of
from heedful.records.parser import InMemory, Parser, class_parser, construct, constructor_value, parsed, require_kinds
from heedful.records.storage.named_configs import DEFAULTS, config_path
from heedful.records.storage.yaml_files import parse_yaml, read_text


class Layer(NamedTuple):
    """Settings from one source, such as a file. A later layer overrides an earlier one.

    Attributes:
        values: The settings, nested as in config.yaml.
        where: Name of the source, with which error messages begin; "" for the call itself.
        is_trusted: Whether the user named the source in the call, so that its classes may come from any module.
    """

    values: Mapping[str, Any]
    where: str = ""
    is_trusted: bool = True


@dataclass
class Call:
    """The arguments of a call of ``train`` or ``evaluate``, from Python or from the command line.

    Attributes:
        model: A name, a path, a hub id, a section (class and settings) or a model; None for the model in ``layers``, or
            else the default model.
        data: A name, a path, a section, rows or a data module; None for the data in ``layers``, or else the default
            data.
        augment: A name in configs/experiment.
        debug: A name in configs/debug.
        partial: The only part that the model receives.
        slices: Columns whose values break down the results.
        layers: Settings from saved runs and from files; later layers override earlier ones.
        settings: All other settings of the call, nested. An object, such as an evaluation, may replace its settings.
        words: Settings on a command line, such as ``["--data.hold_out", "3"]``.
        resume: Folder of the run to resume; None for a new run.
    """

    model: Any = None
    data: Any = None
    augment: str | PathLike[str] | None = None
    debug: str | None = None
    partial: str | None = None
    slices: Sequence[str] | str | None = None
    layers: Sequence[Layer] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    words: Sequence[str] = ()
    resume: str | None = None


@dataclass(frozen=True)
class Config:
    """All settings of a run, parsed and checked.

    Attributes:
        evaluating: Whether the run evaluates; if not, it trains.
        classes: Maps "data" to the class of the data module, and "model" to the class of the model.
        values: The settings, complete and of the right types.
        live: Objects that the caller passed instead of settings: maps "data", "model" or the name of an evaluation to
            the object.
        resume: Folder of the run to resume; None for a new run.
    """

    evaluating: bool
    classes: Mapping[str, type]
    values: Namespace
    live: Mapping[str, Any]
    resume: str | None = None

    @property
    def parser(self) -> Parser:
        """The parser of all settings for these classes of data and model."""
        return build_parser(self.evaluating, self.classes["data"], self.classes["model"])

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as config.yaml stores them; objects that YAML cannot express are replaced by a
        placeholder.
        """
        record = cast(dict[str, Any], _as_yaml_value(self.values))
        registered = {kind.metric.name: kind for kind in shown_evaluations(self.evaluating)}
        foreign = [name for name, kind in registered.items() if name in self.live and type(self.live[name]) is not kind]
        record |= dict.fromkeys(foreign, IN_MEMORY)
        for kind, owner in self.classes.items():
            record[kind] = {"class_path": class_path(owner), "init_args": record.pop(kind, {})}
        record["data"]["init_args"].pop("seed", None)  # equals the seed of the run, which has its own key
        unrecorded = {"output": None, "ckpt_path": None, "allow_changed_data": False}
        return record | {name: value for name, value in unrecorded.items() if name in record}

    def run_settings(self) -> RunSettings:
        """Return the settings of the run itself, such as seed, evaluations, output and checkpoint: all that do not
        belong to the data, the model, the Trainer or an evaluation.
        """
        kind = EvaluationSettings if self.evaluating else TrainingSettings
        values = {name: self.values[name] for name in vars(kind()) if name != "seed"}
        return kind(seed=self.values[SEED], **constructor_value(values))

    def objects(self) -> "Objects":
        """Build the data, the model, the evaluations and the callbacks; objects that the caller passed are used as they
        are.

        Raises:
            HeedfulError: An object cannot be built from its settings.
        """
        try:
            instances = self.parser.instantiate(self.values.clone())
        except HeedfulError:
            raise
        except (
            MisconfigurationException,
            ImportError,
            TypeError,
            ValueError,
        ) as error:  # raised by a class of Lightning
            raise SettingError(f"trainer: {error}") from error
        trainer = constructor_value(instances["trainer"])
        callbacks = several(trainer["callbacks"])
        trainer["callbacks"] = [item for item in callbacks if not isinstance(item, Evaluation)]
        live = {item.name: item for item in (*callbacks, *self.live.values()) if isinstance(item, Evaluation)}
        classes = {kind.metric.name: kind for kind in shown_evaluations(self.evaluating)}
        built = {n: kind(**constructor_value(instances.get(n) or {})) for n, kind in classes.items() if n not in live}
        data, model = (
            self.live.get(kind) or self.classes[kind](**constructor_value(instances.get(kind) or {}))
            for kind in CLASSES
        )
        if data.seed != (seed := self.values[SEED]):
            wrong = f"data.seed {data.seed} is not the seed of the run, {seed}, and {type(data).__name__} takes none."
            raise SettingError(f"{wrong} Add a parameter seed to its constructor, and pass it to the base class.")
        group, group_class = ("prompt", Prompting) if self.evaluating else ("checkpoint", BestCheckpoint)
        evaluations = [(built | live)[name] for name in dict.fromkeys([*classes, *live])]
        return Objects(model, data, evaluations, trainer, group_class(**constructor_value(instances[group])))


class Objects(NamedTuple):
    """The objects that a run needs.

    Attributes:
        model: The model.
        data: The data module.
        evaluations: The evaluations.
        trainer: Arguments of Lightning's Trainer, including callbacks.
        group: A ``BestCheckpoint`` in training; a ``Prompting`` (settings of the prompts) in an evaluation.
    """

    model: BasePredictor
    data: PairedData
    evaluations: list[Evaluation]
    trainer: dict[str, Any]
    group: Any


def resolve(evaluating: bool, call: Call) -> Config:
    """Parse all settings of a call. Settings on the command line override YAML files, and settings from Python override
    both.

    Raises:
        SettingError: A setting is unknown, missing or of another type, or a name is unknown.
    """
    live, settings = _separate_objects(evaluating, call)
    layers = [_without_placeholders(layer, settings, call.words) for layer in call.layers]
    layers += [_named_layer(kind, name) for kind in ("augment", "debug") if (name := getattr(call, kind)) is not None]
    sections = {kind: _find_section(kind, getattr(call, kind), [*layers, Layer(settings)]) for kind in CLASSES}
    _require_trusted([*layers, *(Layer(section, "", trusted) for section, _, trusted in sections.values())], call)
    _import_callbacks([*layers, Layer(settings)], call.words)
    classes = _classes(sections, live)
    parser = build_parser(evaluating, classes["data"], classes["model"])
    _drop_foreign(sections["model"][0], classes["model"], parser)
    values = Namespace()
    for kind, (section, where, _) in sections.items():
        values = parsed(parser, {kind: section["init_args"]}, values, where)
    for layer in layers:
        values = parsed(parser, _without_class_sections(layer.values), values, layer.where)
    if call.words:
        words, nested = _split_words(call.words, parser)
        values = parsed(parser, nested, parser.parse_args(words, namespace=values, defaults=False), "")
    require_kinds(values.get("trainer"), TRAINER_KINDS, "trainer")
    values = parsed(parser, _without_class_sections(settings), values, "")
    _settle_seed(values, parser)
    _settle_modes(values)
    values["evaluations"] = name_list(values.get("evaluations"))
    for kind in CLASSES:
        parsed_values = values.get(kind) or Namespace()
        if kind in live and not _is_unchanged(live[kind], parsed_values, sections[kind][0]["init_args"]):
            live.pop(kind)  # built again from the changed settings
    return Config(evaluating, classes, parser.parse_object(values), live, call.resume)


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
    return cast(PairedData, _load("data", source, settings))


def load_model(
    source: str | PathLike[str] | Mapping[str, Any] = DEFAULTS["model"], /, **settings: Any
) -> BasePredictor:
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
    return cast(BasePredictor, _load("model", source, settings))


def _load(kind: str, source: Any, settings: Mapping[str, Any]) -> Any:
    section, where, _ = _find_section(kind, source, ())
    owner = class_of(kind, section["class_path"])
    return construct(owner, kind, {**section["init_args"], **_wrap_objects(settings)}, where)


def _separate_objects(evaluating: bool, call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the objects in a call from its settings.

    Returns:
        The objects by name ("data", "model" or the name of an evaluation); and the settings of the call, nested, in
        which each object is replaced by the arguments that created it.
    """
    live: dict[str, Any] = {
        kind: getattr(call, kind) for kind, base in CLASSES.items() if isinstance(getattr(call, kind), base)
    }
    settings = dict(call.settings)
    of_data = {"partial": call.partial, "slices": name_list(call.slices)}
    settings["data"] = dict(settings.get("data") or {}) | {k: v for k, v in of_data.items() if v is not None}
    if isinstance(only := settings.get("evaluations"), list | tuple):
        _take_evaluations(only, live, settings)
        settings["evaluations"] = [item.name if isinstance(item, Evaluation) else item for item in only]
    trainer = dict(settings.get("trainer") or {})
    if isinstance(callbacks := trainer.get("callbacks"), Evaluation | list | tuple):
        callbacks = several(callbacks)
        _take_evaluations(callbacks, live, settings)
        settings["trainer"] = {**trainer, "callbacks": [item for item in callbacks if not isinstance(item, Evaluation)]}
    evaluations = [kind.metric.name for kind in shown_evaluations(evaluating)]
    live |= {name: settings[name] for name in evaluations if isinstance(settings.get(name), Evaluation)}
    objects = {name: live[name] for name in evaluations if name in live}
    objects |= {name: item for name, item in settings.items() if isinstance(item, Prompting | BestCheckpoint)}
    settings |= {name: getattr(item, "arguments", plain(item)) for name, item in objects.items()}
    return live, {name: value for name, value in settings.items() if value is not None and value != {}}


def _take_evaluations(listed: Sequence[Any], live: dict[str, Any], settings: Mapping[str, Any]) -> None:
    """Add the evaluation objects in the list ``listed`` to the mapping ``live``; raise SettingError for a repeated
    name.
    """
    for evaluation in (item for item in listed if isinstance(item, Evaluation)):
        if evaluation.name in live or settings.get(evaluation.name) is not None:
            raise SettingError(f"This call has two evaluations called {evaluation.name}. Leave one of them out.")
        registered = EVALUATIONS.get(evaluation.name)
        if registered is None or registered.has_settings:
            live[evaluation.name] = evaluation
        elif type(evaluation) is not registered or evaluation.arguments:
            raise SettingError(
                f"{evaluation.name} has no settings, and is the same in every run. Give your evaluation another name."
            )


def _without_placeholders(layer: Layer, settings: Mapping[str, Any], words: Sequence[str]) -> Layer:
    """Return the layer without placeholders, which a saved config.yaml has in place of Python objects.

    The sections of data and model do not change. ``settings`` are the settings that the call passes in Python;
    ``words`` are the settings on the command line, such as ``["--trainer.callbacks", "..."]``.

    Raises:
        SettingError: A setting has a placeholder, and neither ``settings`` nor ``words`` contain the setting again.
    """
    readable: dict[str, Any] = {}
    for name, value in layer.values.items():
        if name in CLASSES or IN_MEMORY not in str(value):
            readable[name] = value
        elif isinstance(value, Mapping):
            readable[name] = {key: inner for key, inner in value.items() if IN_MEMORY not in str(inner)}
            lost = [key for key in value if key not in readable[name] and key not in (settings.get(name) or {})]
            lost = [key for key in lost if not any(word.startswith(f"--{name}.{key}") for word in words)]
            if lost:
                raise SettingError(f"{layer.where}: {name}.{lost[0]} was {IN_MEMORY}. Pass the object again.")
        elif name not in settings:
            raise SettingError(f"{layer.where}: {name} was {IN_MEMORY}. Pass the object again.")
    return layer._replace(values=readable)


def _named_layer(kind: str, name: str | PathLike[str]) -> Layer:
    """Read the settings of ``--augment NAME`` (a file in configs/experiment) or ``--debug NAME`` (a file in
    configs/debug).
    """
    path, where = config_path(kind, fspath(name)), f"{kind} {fspath(name)}"
    values = parse_yaml(read_text(path, where), where)
    if not isinstance(values, Mapping) or (kind == "augment" and values.keys() != {"data"}):
        raise SettingError(f"{where} has more than settings of the data. Keep data: {{init_args: ...}} in it.")
    return Layer(values, where)


def _find_section(kind: str, source: Any, layers: Sequence[Layer]) -> tuple[dict[str, Any], str, bool]:
    """Find the section (class and settings) of the data or of the model.

    Args:
        kind: "data" or "model".
        source: The argument ``data`` or ``model`` of the call; None if the call has no such argument.
        layers: Settings of saved runs, files and the call. Without ``source``, the last layer with a section applies;
            if no layer has a section, the default applies.

    Returns:
        The section (class_path and init_args); the beginning of error messages about the section, such as "data mnli",
        or "" for none; and whether the section is trusted, as for :class:`Layer`.
    """
    if isinstance(source, CLASSES[kind]):
        arguments = _wrap_objects(cast(Any, source).arguments)
        return {"class_path": class_path(type(source)), "init_args": arguments}, "", True
    if isinstance(source, type):
        name = source.__name__
        raise SettingError(
            f"{kind}: {name} is a class. Pass an object, as {name}(...), or the import path of the class."
        )
    if hasattr(source, "prepare_data") or hasattr(source, "forward"):  # of pytorch_lightning, lightning or torch
        raise not_supported(kind, type(source).__name__)
    if kind == "data" and source is not None and not isinstance(source, str | PathLike) and not _is_section(source):
        source = {"class_path": "PairedText", "init_args": {"path": InMemory(source)}}
    if source is not None:
        where = f"{kind} {fspath(source)}" if isinstance(source, str | PathLike) else ""
        section = section_of(kind, source)
        return _named_by_file(section, source) if kind == "data" and where else section, where, True
    for layer in reversed(layers):
        values = layer.values.get(kind)
        if isinstance(values, str):
            return section_of(kind, values), layer.where, layer.is_trusted
        if _is_section(values):
            return as_section(kind, values, f"{layer.where}, {kind}"), layer.where, layer.is_trusted
    return section_of(kind, DEFAULTS[kind]), "", True


def _named_by_file(section: dict[str, Any], source: str | PathLike[str]) -> dict[str, Any]:
    """Name the data after their YAML file: add the file's name, without extension, as the setting ``name``.

    ``section`` has the class and the settings of the data; ``source`` is the name or path from which it was read.

    Returns:
        The section with the name. An equal section if ``source`` is no YAML file, if the section already has a name, or
        if the class of the data does not require one.
    """
    file = Path(config_path("data", fspath(source)))
    if file.suffix not in (".yaml", ".yml") or "name" in section["init_args"]:
        return section
    setting = class_parser(class_of("data", section["class_path"]), "data").actions.get("data.name")
    name = {"name": file.stem} if setting is not None and setting.required else {}
    return {**section, "init_args": name | section["init_args"]}


def _wrap_objects(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which rows and other objects that YAML cannot express are wrapped in :class:`InMemory`, so
    that the parser accepts them.
    """
    hidden: dict[str, Any] = {}
    for name, value in settings.items():
        is_rows = name == "path" and not isinstance(value, str | PathLike | None)
        plain_value = IN_MEMORY if is_rows else plain(value)
        hidden[name] = InMemory(value) if IN_MEMORY in str(plain_value) and not isinstance(value, str) else plain_value
    return hidden


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) and "class_path" in value


def _classes(sections: Mapping[str, Any], live: dict[str, Any]) -> dict[str, type]:
    """Return the class of the data module under "data", and the class of the model under "model".

    The registry may replace the class of the model for some data, such as Encoder by Reader for reading comprehension.
    ``live`` maps "data" and "model" to the objects that the caller passed instead of settings. A passed model that is
    bound to a task keeps its class. A passed model whose class is replaced is removed from ``live``, so that a model of
    the new class is built.
    """
    data = type(live["data"]) if "data" in live else class_of("data", sections["data"][0]["class_path"])
    model_path = sections["model"][0]["class_path"]
    if "model" in live and (live["model"].task is not None or stand_in(data, model_path) == model_path):
        return {"data": data, "model": type(live["model"])}
    live.pop("model", None)
    return {"data": data, "model": class_of("model", stand_in(data, model_path))}


def _drop_foreign(section: dict[str, Any], model: type, parser: Parser) -> None:
    """If a model's section names another class than ``model``, drop the settings in it that ``model`` lacks."""
    if section["class_path"] != class_path(model):
        settings = section["init_args"]
        section["init_args"] = {name: settings[name] for name in settings if f"model.{name}" in parser.names}


def _without_class_sections(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without the sections of data and model that name a class, which were read before.

    Removed are a short name, such as "mnli", and a mapping with "class_path". A mapping without "class_path" stays.
    """
    plain_settings = dict(values)
    for kind in CLASSES:
        section = plain_settings.pop(kind, None)
        if isinstance(section, Mapping) and not _is_section(section):
            plain_settings[kind] = section.get("init_args", section)
    return plain_settings


def _require_trusted(layers: Sequence[Layer], call: Call) -> None:
    """Raise SettingError if a saved config.yaml names a class from an unknown module: one that is not part of Heedful
    or Lightning, not named or allowed by the call, and not imported yet.
    """
    trusted = allowed_packages | {
        path.partition(".")[0] for layer in layers if layer.is_trusted for path in _class_paths(layer.values)
    }
    trusted |= {path.partition(".")[0] for path in _class_paths(call.settings)}
    trusted |= {path.partition(".")[0] for path in _trainer_classes(call.words)}
    unknown = [
        (layer.where, path)
        for layer in layers
        if not layer.is_trusted
        for path in _class_paths(layer.values)
        if "." in path and path.partition(".")[0] not in {*OUR_PACKAGES, *trusted, *sys.modules}
    ]
    if unknown:
        paths = dict.fromkeys(path for _, path in unknown)
        allowed = dict.fromkeys(f"allow_package {path.partition('.')[0]}" for path in paths)
        raise SettingError(
            f"{unknown[0][0]} names {listing(list(paths))}, from outside of Heedful and Lightning. If you trust this "
            f"code, add {listing(list(allowed))}."
        )


def _import_callbacks(layers: Sequence[Layer], words: Sequence[str]) -> None:
    """Import the modules of callbacks before the parser is built, since a module may register evaluations."""
    paths = [path for layer in layers for path in _class_paths(layer.values.get("trainer") or {})]
    for path in [*paths, *_trainer_classes(words, "trainer.callbacks")]:
        if "." in path and path.partition(".")[0] not in OUR_PACKAGES:
            imported(path)


def _trainer_classes(words: Sequence[str], setting: str = "trainer.") -> Iterator[str]:
    """Yield the import paths in the values of options, such as ``--trainer.callbacks``, that begin with ``setting``."""
    for name, value in pairwise([*words, ""]):
        if name.startswith(f"--{setting}"):
            yield from re.findall(r"[A-Za-z_]\w*(?:\.\w+)+", name.partition("=")[2] or value)


def _class_paths(values: Any) -> Iterator[str]:
    if isinstance(values, Mapping):
        if isinstance(values.get("class_path"), str):
            yield values["class_path"]
        values = list(values.values())
    for inner in values if isinstance(values, list | tuple) else ():
        yield from _class_paths(inner)


def _split_words(words: Sequence[str], parser: Parser) -> tuple[list[str], dict[str, Any]]:
    """Split a command line into words for the parser, and settings with lists or mappings as values.

    jsonargparse would convert a list or a mapping of the wrong type to a text.

    Returns:
        The words for the parser; and the other settings as nested mappings.
    """
    parser_words: list[str] = []
    nested: dict[str, Any] = {}
    remaining = list(words)
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        if name.startswith("--") and not equals and remaining and not remaining[0].startswith("--"):
            equals, value = "=", remaining.pop(0)
        setting = name.removeprefix("--")
        if value[:1] in ("{", "[") and setting in parser.names and not parser.takes_text(setting):
            *groups, last = setting.split(".")
            inner = nested
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[last] = parse_yaml(value, setting)
        else:
            parser_words.append(f"{name}{equals}{value}")
    return parser_words, nested


def _settle_seed(values: Namespace, parser: Parser) -> None:
    """Set the seed of the data to the seed of the run; raise SettingError if the settings have another seed for the
    data.
    """
    seed = require_seed(values.get(SEED, RunSettings.seed))
    of_data = values.get("data.seed", seed)
    if of_data != seed:
        raise SettingError(f"data.seed {of_data} is not the seed of the run, {seed}. Set seed {of_data}.")
    values[SEED] = seed
    if "data.seed" in parser.names:
        values["data.seed"] = seed


def _settle_modes(values: Namespace) -> None:
    """Set ``mode`` of callbacks that monitor a metric: "max" if a higher value is better, else "min". A mode that the
    settings contain stays.
    """
    if values.get("trainer.callbacks") is None:
        return
    values["trainer.callbacks"] = callbacks = several(values["trainer.callbacks"])
    for callback in callbacks:
        settings: Any = callback.get("init_args") if isinstance(callback, Namespace) else None
        direction = direction_of(str(settings.get("monitor"))) if settings else None
        if direction is not None and callback.class_path.endswith(("EarlyStopping", "ModelCheckpoint")):
            settings["mode"] = settings.get("mode", direction)


def _is_unchanged(live: Any, values: Namespace, arguments: Mapping[str, Any]) -> bool:
    """Whether the data module or model ``live``, created with ``arguments``, already has the parsed settings
    ``values``, so that it need not be built again.
    """
    settings = {name: value for name, value in vars(values).items() if name != "seed"}
    same = all(name in arguments and _same(value, arguments[name]) for name, value in settings.items())
    seed = getattr(live, "seed", None)
    return same and values.get("seed", seed) == seed


def _same(value: Any, argument: Any) -> bool:
    return value is argument or plain(constructor_value(value)) == plain(argument)


def _as_yaml_value(value: Any) -> Any:
    """Convert a parsed setting to a value that YAML can express, for config.yaml; an object in memory becomes a
    placeholder.
    """
    if isinstance(value, InMemory):
        return IN_MEMORY
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(name): _as_yaml_value(inner) for name, inner in value.items()}
    return [_as_yaml_value(inner) for inner in value] if isinstance(value, list | tuple) else plain(value)

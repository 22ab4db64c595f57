"""From the settings of a call (files, words, Python) to the objects of a run, and back to config.yaml."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from os import PathLike, fspath
from typing import Any, cast

from jsonargparse import Namespace
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.accelerators import Accelerator
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins import CheckpointIO, ClusterEnvironment, LayerSync, Precision
from pytorch_lightning.profilers import Profiler
from pytorch_lightning.strategies import Strategy
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from heedful.assembly.job import Job, Stage
from heedful.assembly.loading import CLASSES, OUR_PACKAGES, class_of, load_object, names_class, section_of
from heedful.assembly.settings import (
    SEED,
    EvaluationSettings,
    Settings,
    TrainerDefaults,
    TrainingSettings,
    complete_evaluations,
    imported,
    name_list,
    named_evaluation,
    record_of_evaluations,
    several,
)
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Evaluation
from heedful.callbacks.evaluations import shown_evaluations
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Predictor
from heedful.lightning_modules.pretrained import allowed_packages
from heedful.lightning_modules.registry import stand_in
from heedful.parser import (
    Parser,
    class_parser,
    construct,
    constructor_value,
    parsed,
    recorded,
    require_kinds,
    section,
    with_integers_first,
)
from heedful.records import SettingError, listing, require_seed
from heedful.records.arguments import IN_MEMORY, class_path, expressible, is_importable
from heedful.records.numbers import direction_of
from heedful.records.storage.named_configs import DEFAULTS, config_path
from heedful.records.storage.yaml_files import parse_yaml, read_text

Layers = list[tuple[str, Settings]]  # (name of a source, such as a file, and its settings); later ones override
PLUGINS = (CheckpointIO, ClusterEnvironment, LayerSync, Precision)
TRAINER_KINDS = (Callback, Logger, Profiler, Strategy, Accelerator, *PLUGINS)  # classes that settings may name
OBJECTS = (PairedData, Predictor, Evaluation, BestCheckpoint, Prompting)


def assemble(
    stage: Stage,
    call: Mapping[str, Any],
    files: Sequence[tuple[str, Mapping[str, Any]]] = (),
    words: Sequence[str] = (),
    saved: tuple[str, Mapping[str, Any]] | None = None,
) -> Job:
    """Create the objects of a run from all settings: ``call`` overrides ``files``, and ``files`` override ``saved``.

    Args:
        stage: "fit" or "validate".
        call: The arguments of ``train`` or ``evaluate``: objects, names or settings; None for arguments not given.
        files: Names of files, for messages, with their settings.
        words: Settings on a command line, such as ``["--data.hold_out", "3"]``.
        saved: The config.yaml of a run. Its classes are imported only if they are Heedful's or Lightning's, or if the
            other arguments name their package.

    Raises:
        SettingError: A setting is unknown, missing or of another type, or a name is unknown.
    """
    live, settings = _split_objects(call)
    layers = [(where, dict(values)) for where, values in [("", DEFAULTS), *([saved] if saved else []), *files]]
    for kind in [kind for kind in ("data", "model", "augment", "debug") if names_class(settings.get(kind))]:
        source = settings.pop(kind)
        where = f"{kind} {fspath(source)}" if isinstance(source, str | PathLike) else ""
        layers.append((where, {kind: source} if kind in CLASSES else _named_layer(kind, fspath(source))))
    if isinstance(slices := settings.get("slices"), str):
        settings["slices"] = name_list(slices)
    if of_data := {name: settings.pop(name) for name in ("partial", "slices") if name in settings}:
        layers.append(("", {"data": {"init_args": of_data}}))
    layers.append(("", settings))
    lost: list[str] = []
    if saved is not None:
        lost = [f"{saved[0]}: {name}" for name in _drop_placeholders(layers[1][1])]
        _require_trusted(saved, [*layers[2:], ("", live)], words)
    data = _settle_class("data", layers, live)
    model = _settle_class("model", layers, live, data)
    if re.search("evaluations", f"{words} {layers}"):
        _import_evaluations(layers, words)  # before the parser is built, since a module may register evaluations
    kinds = {kind.metric.name: kind for kind in shown_evaluations(stage == "validate")}
    classes = {"data": data, "model": model}
    parser = build_parser(stage, *(None if kind in live else classes[kind] for kind in classes), tuple(kinds.values()))
    values = Namespace()
    for where, of_layer in layers:
        values = parsed(parser, of_layer, values, where)
    values = _parse_words(words, parser, values)
    for place in lost:
        if (name := place.rpartition(" ")[2]) not in values and name.partition(".")[0] not in live:
            raise SettingError(f"{place} was {IN_MEMORY}. Pass the object again.")
    require_kinds(values.get("trainer"), TRAINER_KINDS, "trainer")
    if values.get("trainer.callbacks") is not None:
        _settle_modes(values)
    return _job(stage, parser, parser.parse_object(values), classes, kinds, live)


@cache
def build_parser(
    stage: str, data: type | None, model: type | None, evaluations: tuple[type[Evaluation], ...]
) -> Parser:
    """Return a parser of the settings of a run, its Trainer and these classes; None for an object that exists already.

    ``stage`` is "fit" or "validate": a training has settings of checkpoints, and an evaluation settings of prompts.
    """
    parser = Parser()
    of_run, group, name = (
        (TrainingSettings, BestCheckpoint, "checkpoint")
        if stage == "fit"
        else (EvaluationSettings, Prompting, "prompt")
    )
    parser.add_class_arguments(Trainer, "trainer", instantiate=False)
    parser.set_defaults({f"trainer.{name}": value for name, value in vars(TrainerDefaults()).items()})
    parser.add_class_arguments(of_run, None)
    classes = {kind.metric.name: kind for kind in evaluations} | {name: group, "data": data, "model": model}
    for prefix, kind in classes.items():
        if kind is not None:
            parser.add_class_arguments(kind, prefix, instantiate=False, skip={"loader"})
    return with_integers_first(parser)


def _split_objects(call: Mapping[str, Any]) -> tuple[dict[str, Any], Settings]:
    """Separate a call into objects by name ("data", "model", "checkpoint", "prompt" or an evaluation), and all other
    arguments, as nested settings.
    """
    settings = {name: value for name, value in call.items() if value is not None}
    live = {
        kind: load_object(kind, settings.pop(kind), {})
        for kind in ("model", "data")
        if not names_class(settings.get(kind, ""))
    }
    for name in {"partial", "slices", "augment", "debug"} & settings.keys():
        if "data" in live and (name != "debug" or "data" in _named_layer("debug", settings["debug"])):
            raise _would_change("data", name, name)
    listed = name_list(settings.get("evaluations"))
    direct = {name: item for name, item in settings.items() if isinstance(item, OBJECTS)}
    live |= direct
    for item in (item for item in listed or () if isinstance(item, Evaluation)):
        if item.name in live or item.name in settings:
            raise SettingError(f"This call has two evaluations called {item.name}. Leave one of them out.")
        live[item.name] = item
    if listed is not None:
        settings["evaluations"] = [item if isinstance(item, str) else _name_or_path(item) for item in listed]
    return live, {name: value for name, value in settings.items() if name not in direct}


def _name_or_path(item: Any) -> str:
    """Return the import path of a class of evaluations in the user's code, and the name of any other evaluation."""
    is_path = isinstance(item, type) and is_importable(item) and not item.__module__.startswith("heedful.")
    return class_path(item) if is_path else item.metric.name


def _would_change(kind: str, name: str, display_name: str) -> SettingError:
    return SettingError(f"{display_name} would change the {kind} that you passed. Pass load_{kind}(..., {name}=...).")


def _named_layer(kind: str, name: str) -> Settings:
    """Read the settings of ``augment`` (a file in configs/experiment) or ``debug`` (a file in configs/debug)."""
    where = f"{kind} {name}"
    values = parse_yaml(read_text(config_path(kind, name), where), where)
    if not isinstance(values, Mapping) or (kind == "augment" and values.keys() != {"data"}):
        raise SettingError(f"{where} has more than settings of the data. Keep data: {{init_args: ...}} in it.")
    return dict(values)


def _settle_class(kind: str, layers: Layers, live: Mapping[str, Any], data: type | None = None) -> type:
    """Return the class of the data or of the model, and reduce the sections in ``layers`` to settings of this class.

    The last layer that names a class replaces the sections before it. For a class of ``data``, the registry may replace
    the class of the model, such as Encoder by Reader; settings that the new class lacks are then dropped.
    """
    if kind in live:
        for where, values in layers:
            if not names_class(section := values.pop(kind, "")):
                name = next(iter(section.get("init_args", section)))
                raise _would_change(kind, name, f"{where}: {kind}.{name}" if where else f"{kind}.{name}")
        model, owner = live[kind], cast(type, type(live[kind]))
        needed = class_path(owner) if data is None or model.task else stand_in(class_path(data), class_path(owner))
        if data is not None and needed != class_path(owner):
            family = needed.rpartition(".")[2]
            raise SettingError(f"model: {data.__name__} needs {family}, not {owner.__name__}. Pass the model by name.")
        return owner
    last = max(n for n, (_, values) in enumerate(layers) if names_class(values.get(kind)))
    for _, values in layers[:last]:
        values.pop(kind, None)
    for _, values in layers[last + 1 :]:
        if isinstance(values.get(kind), Mapping):
            values[kind] = values[kind].get("init_args", values[kind])
    where, values = layers[last]
    form = section_of(kind, values[kind], where)
    path = form["class_path"] if data is None else stand_in(class_path(data), form["class_path"])
    owner, values[kind] = class_of(kind, path), form["init_args"]
    if path != form["class_path"]:
        names = class_parser(owner, kind).names
        values[kind] = {name: value for name, value in values[kind].items() if f"{kind}.{name}" in names}
    return owner


def _drop_placeholders(settings: Settings) -> list[str]:
    """Remove settings of the Trainer and of evaluations that were objects in memory, and return their dotted names."""
    lost: list[str] = []
    for name, value in [*settings.items()]:
        if name in CLASSES or IN_MEMORY not in str(value):
            continue
        if isinstance(value, Mapping):
            settings[name] = {key: inner for key, inner in value.items() if IN_MEMORY not in str(inner)}
            lost += [f"{name}.{key}" for key in value if key not in settings[name]]
        else:
            lost.append(name)
            del settings[name]
    return lost


def _require_trusted(saved: tuple[str, Mapping[str, Any]], further: Layers, words: Sequence[str]) -> None:
    """Raise SettingError if a saved config.yaml names a class that is neither Heedful's nor Lightning's, unless its
    package is allowed or named by another source of settings.
    """
    paths = [path for _, values in further for path in _class_paths(values)] + list(_paths_in_words(words))
    trusted = {*OUR_PACKAGES, *allowed_packages, *(path.partition(".")[0] for path in paths)}
    unsafe = (path for path in _class_paths(saved[1]) if "." in path and path.partition(".")[0] not in trusted)
    if unknown := list(dict.fromkeys(unsafe)):
        allowed = dict.fromkeys(f"allow_package {path.partition('.')[0]}" for path in unknown)
        raise SettingError(
            f"{saved[0]} names {listing(unknown)}, from outside of Heedful and Lightning. If you trust this code, add "
            f"{listing(list(allowed))}."
        )


def _class_paths(values: Any) -> Iterator[str]:
    """Yield the import paths of the classes that nested settings name, and of the classes of objects in them."""
    if isinstance(values, OBJECTS):
        yield class_path(type(values))
    elif isinstance(values, Mapping):
        if isinstance(path := values.get("class_path"), str):
            yield path
        for name, inner in values.items():
            if name in (*CLASSES, "evaluations") and isinstance(inner, str | list | tuple):
                yield from (item for item in name_list(inner) if isinstance(item, str) and "." in item)
            else:
                yield from _class_paths(inner)
    elif isinstance(values, list | tuple):
        for inner in values:
            yield from _class_paths(inner)


def _paths_in_words(words: Sequence[str], setting: str = r"trainer\.|evaluations") -> Iterator[str]:
    """Yield the import paths in the values of options that begin with ``setting``, a regular expression."""
    for name, value in pairwise([*words, ""]):
        if re.match(f"--({setting})", name):
            yield from re.findall(r"[A-Za-z_]\w*(?:\.\w+)+", name.partition("=")[2] or value)


def _import_evaluations(layers: Layers, words: Sequence[str]) -> None:
    """Import the modules of evaluations that are not Heedful's."""
    paths = list(_paths_in_words(words, "evaluations"))
    for _, values in layers:
        paths += _class_paths({name: inner for name, inner in values.items() if name not in CLASSES})
    for path in paths:
        if "." in path and path.partition(".")[0] not in OUR_PACKAGES:
            imported(path)


def _parse_words(words: Sequence[str], parser: Parser, values: Namespace) -> Namespace:
    """Parse the words of a command line, and return the settings merged into ``values``."""
    remaining, plain_words = list(words), []
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        if name.startswith("--") and not equals and remaining and not remaining[0].startswith("--"):
            equals, value = "=", remaining.pop(0)
        setting = name.removeprefix("--")
        if value[:1] in ("{", "[") and setting in parser.names and not parser.takes_text(setting):
            nested = parse_yaml(value, setting)  # jsonargparse would convert a list of a wrong type to a text
            for group in reversed(setting.split(".")):
                nested = {group: nested}
            values = parsed(parser, nested, values, "")
        else:
            plain_words.append(f"{name}{equals}{value}")
    return parser.parse_args(plain_words, namespace=values, defaults=False) if plain_words else values


def _settle_modes(values: Namespace) -> None:
    """Set ``mode`` of callbacks that monitor a metric to its better direction, unless the settings have a mode."""
    values["trainer.callbacks"] = callbacks = several(values["trainer.callbacks"])
    for callback in callbacks:
        settings: Any = callback.get("init_args") if isinstance(callback, Namespace) else None
        direction = direction_of(str(settings.get("monitor"))) if settings else None
        if direction is not None and callback.class_path.endswith(("EarlyStopping", "ModelCheckpoint")):
            settings["mode"] = settings.get("mode", direction)


def _job(
    stage: Stage,
    parser: Parser,
    values: Namespace,
    classes: Mapping[str, type],
    kinds: Mapping[str, type[Evaluation]],
    live: Mapping[str, Any],
) -> Job:
    """Create the objects from parsed settings."""
    try:
        instances = constructor_value(parser.instantiate(values.clone()))
    except (MisconfigurationException, ImportError, TypeError, ValueError) as error:  # of a class of Lightning
        raise error if isinstance(error, SettingError) else SettingError(f"trainer: {error}") from error
    data, model = (live.get(kind) or classes[kind](**instances.get(kind, {})) for kind in CLASSES)
    trainer = instances["trainer"]
    trainer["callbacks"] = several(trainer["callbacks"])
    objects = [item for item in live.values() if isinstance(item, Evaluation)]
    if (only := instances["evaluations"]) is not None:
        instances["evaluations"] = name_list(only)
        only = [_name_of_class(name, objects) if "." in name else name for name in instances["evaluations"]]
    configured = {item.name for item in objects}
    objects += [kind(**instances.get(name, {})) for name, kind in kinds.items() if name not in configured]
    evaluations, only = complete_evaluations(stage == "validate", objects, only)
    job = Job(stage, model, data, evaluations, only, trainer, require_seed(values[SEED]), {}, instances["output"])
    if stage == "fit":
        job.best = live.get("checkpoint") or BestCheckpoint(**instances["checkpoint"])
        job.allow_changed_data = instances["allow_changed_data"]
    else:
        job.prompting = live.get("prompt") or Prompting(**instances["prompt"])
        job.checkpoint, job.dry_run = instances["checkpoint"], instances["dry_run"]
    job.record = _record(job, values.trainer, instances["evaluations"], kinds, live)
    return job


def _name_of_class(path: str, objects: list[Any]) -> str:
    """Return the name of the evaluation at an import path; unless it is registered, add an instance to ``objects``."""
    owner = named_evaluation(path)
    if EVALUATIONS.get(owner.metric.name) is not owner:
        objects.append(construct(owner, owner.metric.name, {}))
    return owner.metric.name


def _record(
    job: Job, trainer: Namespace, evaluations: list[str] | None, kinds: Mapping[str, type], live: Mapping[str, Any]
) -> Settings:
    """Return all settings as config.yaml stores them; :data:`IN_MEMORY` replaces objects that YAML cannot express."""
    record = {SEED: job.seed, "trainer": recorded(trainer)}
    known = [item for item in job.evaluations if type(item) is kinds.get(item.name) or live.get(item.name) is item]
    record |= {**record_of_evaluations(known, evaluations), "output": None}
    if job.stage == "fit":
        record |= {"allow_changed_data": False, "checkpoint": section(job.best, "checkpoint")["init_args"]}
    else:
        record |= {"checkpoint": job.checkpoint, "dry_run": job.dry_run, "prompt": expressible(job.prompting)}
    return record | {"data": section(job.data, "data"), "model": section(job.model, "model")}

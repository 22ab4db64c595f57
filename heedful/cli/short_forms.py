"""Short forms of the command line: ``--data mnli`` is ``--data configs/data/mnli.yaml``."""

import json
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from heedful.cli.model_forms import backbone_form
from heedful.cli.runs import classes_in_configs, split_configs
from heedful.lightning_modules.families import stand_ins
from heedful.records import HeedfulError
from heedful.records.errors import nearest
from heedful.records.storage.named_configs import named_configs
from heedful.records.storage.schema import ROOMS, present, whole
from heedful.records.storage.yaml_files import parse_yaml, read_yaml

FOLDER_OF = {"data": "data", "model": "model", "augment": "experiment"}
SETTINGS = ("partial", "slices")  # of the data
ENDPOINT = "--endpoint"  # of --endpoint NAME, and --endpoint.max_requests N
HELP = ("--data.help", "--model.help")
DEFAULTS = {"data": "planted", "model": "minilm"}


def names(kind: str) -> list[str]:
    """The short names of a kind ("data", "model", "augment"): the files of its folder in configs/,
    of the working folder and of the package."""
    return list(named_configs(FOLDER_OF[kind]))


def description(evaluating: bool) -> str:
    """The first lines of --help."""
    other = {"data": "a YAML file", "model": "a YAML file, a hub id, or the folder of a model"}
    forms = [f"--{kind} NAME ({', '.join(names(kind))}, or {other[kind]})" for kind in ("data", "model")]
    if evaluating:
        task = "Measure a trained classifier on all examples, in full precision."
        forms += ["--checkpoint RUN (or one of its checkpoints, which brings its model and its data)"]
        forms += ["--endpoint NAME (a model behind the server that OPENAI_BASE_URL names; --endpoint.SETTING VALUE)"]
    else:
        task = "Train a classifier over paired inputs, and watch whether it heeds every part of them."
        forms += [f"--augment NAME ({', '.join(names('augment'))})", "--partial PART (train on one part alone)"]
    forms.append("--slices COLUMN,COLUMN (accuracy and attentiveness by the values of these columns)")
    settings = (
        "--data.help NAME and --model.help NAME explain the settings of a short name, or of a class listed below."
    )
    return f"{task} Short forms: {'; '.join(forms)}. {settings}"


def config_path(kind: str, name: str) -> str:
    """The file that a short name stands for; a path or a class stays as it is.

    Raises:
        HeedfulError: An unknown name; the message has the nearest that is known.
    """
    if file := named_configs(FOLDER_OF[kind]).get(name):
        return str(file)
    if name.endswith((".yaml", ".yml", ".json")) or name.startswith("{"):
        if not name.startswith("{") and not Path(name).is_file():
            raise HeedfulError("missing-file", f"--{kind} {name} does not exist.")
        return name
    if name.lower().removesuffix(".gz").endswith(("csv", "tsv", "jsonl", "parquet")):
        do = f"Name its kind, as in --data mnli --data.path {name}."
        raise HeedfulError("unknown-name", f"--{kind} {name} is a file of data.", do)
    if kind != "augment" and re.fullmatch(r"\w+(\.\w+)+", name):
        return present(name)
    if kind != "augment" and name in import_module(ROOMS[kind]).__all__:
        return whole(kind, name)
    near = nearest(name.lower(), names(kind))
    do = f"Do you mean {near}?" if near else "See --help for all names."
    more = " It takes a folder, or OWNER/NAME of the hub, too." if kind == "model" else ""
    raise HeedfulError("unknown-name", f"--{kind} {name} is not known.{more}", do)


def _helped(flag: str, name: str, of_command: str | None) -> str:
    """--data.help or --model.help, of the class of a short name, of another class, or by default of the command's."""
    kind = flag.removeprefix("--").removesuffix(".help")
    named = class_named(config_path(kind, name), kind) if name else of_command
    return f"{flag}={named}" if named else flag


def class_named(value: str, kind: str, in_section: bool = False) -> str | None:
    """The import path of the class that a YAML file, JSON or a class path names; None if none is.

    Args:
        value: The file, the JSON or the class path.
        kind: "data" or "model".
        in_section: Whether the file has a section of that name, as those of --config.
    """
    config = value
    if value.startswith("{") or Path(value).is_file():
        config = parse_yaml(value, f"{value[:40]}...") if value.startswith("{") else read_yaml(value, value)
        if in_section:
            config = config.get(kind) if isinstance(config, dict) else None
        config = config.get("class_path") if isinstance(config, dict) else config
    return whole(kind, config) if isinstance(config, str) else None


def of_endpoint(argv: Sequence[str]) -> list[str]:
    """Take ``--endpoint NAME`` for ``--model endpoint --model.name NAME``, and its settings for those of the model.

    Example:
        >>> of_endpoint(["--endpoint", "gpt", "--endpoint.max_requests=9"])
        ['--model', 'endpoint', '--model.name', 'gpt', '--model.max_requests=9']
    """
    taken: list[str] = []
    for argument in argv:
        flag, has_value, value = argument.partition("=")
        if flag == ENDPOINT:
            taken += ["--model", "endpoint", "--model.name", *([value] if has_value else [])]
        elif flag.startswith(f"{ENDPOINT}."):
            taken.append(f"--model.{flag.removeprefix(ENDPOINT)[1:]}{has_value}{value}")
        else:
            taken.append(argument)
    return taken


def expand(argv: Sequence[str]) -> list[str]:
    """Short forms to LightningCLI's own arguments: configs, then the files of short forms, then single settings.

    Example:
        >>> [a.rsplit("/", 1)[-1] for a in expand(["--data.path", "d", "--data", "mnli", "--partial", "hypothesis"])]
        ['--data', 'mnli.yaml', '--model', 'minilm.yaml', '--data.path', 'd', '--data.partial', 'hypothesis']
    """
    short: dict[str, str] = {}
    rest: list[str] = []
    helps: dict[str, str] = {}
    argv = of_endpoint(argv)
    while argv:
        flag, has_value, value = argv.pop(0).partition("=")
        if flag.removeprefix("--") in (*FOLDER_OF, *SETTINGS) and flag.startswith("--"):
            if not has_value and (not argv or argv[0].startswith("--")):
                raise HeedfulError("missing-setting", f"{flag} has no value.", "Write a name behind it.")
            short[flag.removeprefix("--")] = value if has_value else argv.pop(0)
        elif flag in HELP:
            helps[flag] = argv.pop(0) if argv and not has_value and not argv[0].startswith("--") else value
        else:
            rest.append(flag + has_value + value)
    classes = classes_in_configs(rest)
    configs, rest = split_configs(rest)
    short = {kind: name for kind, name in DEFAULTS.items() if kind not in set().union(*classes.values())} | short
    model = short.get("model", "{")
    backbone = []
    own = model in names("model") or model.startswith("{")
    if form := None if own else backbone_form(model):
        short["model"] = form[1]
        backbone = form[2:]
    first = [a for path in configs if classes[path] for a in ("--config", path)]
    first += [a for kind in ("data", "model") if kind in short for a in (f"--{kind}", config_path(kind, short[kind]))]
    named = {
        kind: [class_named(path, kind, in_section=True) for path in configs if kind in classes[path]]
        for kind in DEFAULTS
    }
    named |= {kind: [class_named(config_path(kind, short[kind]), kind)] for kind in DEFAULTS if kind in short}
    if meant := stand_ins().get(tuple(found[-1] for found in named.values())):
        first += ["--model", meant]  # which keeps the settings
        named["model"] = [meant]
    first += backbone
    if "augment" in short:
        first += ["--config", config_path("augment", short["augment"])]
    first += [a for path in configs if not classes[path] for a in ("--config", path)]  # settings, on top of the classes
    rest += [_helped(flag, name, (named.get(flag[2:-5]) or [None])[-1]) for flag, name in helps.items()]
    if "slices" in short:
        short["slices"] = json.dumps([column for column in re.split(r"[\s,]+", short["slices"].strip("[] ")) if column])
    return first + rest + [a for name in SETTINGS if name in short for a in (f"--data.{name}", short[name])]

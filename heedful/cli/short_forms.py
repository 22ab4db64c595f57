"""Short forms of the command line: ``--data mnli`` is ``--data configs/data/mnli.yaml``."""

import json
import re
from collections.abc import Sequence

from heedful.assembly.names import backbone_form, class_named
from heedful.cli.runs import classes_in_configs, split_configs, take_all
from heedful.lightning_modules.families import stand_ins
from heedful.records import SettingError
from heedful.records.storage.named_configs import DEFAULTS, FOLDER_OF, config_path, names

SETTINGS = ("partial", "slices")  # of the data
ENDPOINT = "--endpoint"  # of --endpoint NAME, and --endpoint.max_requests N
HELP = ("--data.help", "--model.help")


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


def _helped(flag: str, name: str, of_command: str | None) -> str:
    """--data.help or --model.help, of the class of a short name, of another class, or by default of the command's."""
    kind = flag.removeprefix("--").removesuffix(".help")
    class_path = class_named(config_path(kind, name), kind) if name else of_command
    return f"{flag}={class_path}" if class_path else flag


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
    argv = of_endpoint(argv)
    short: dict[str, str] = {}
    rest: list[str] = []
    helps: dict[str, str] = {}
    while argv:
        flag, has_value, value = argv.pop(0).partition("=")
        if flag.removeprefix("--") in (*FOLDER_OF, *SETTINGS) and flag.startswith("--"):
            if not has_value and (not argv or argv[0].startswith("--")):
                raise SettingError(f"{flag} has no value. Write a name behind it.")
            short[flag.removeprefix("--")] = value if has_value else argv.pop(0)
        elif flag in HELP:
            helps[flag] = argv.pop(0) if argv and not has_value and not argv[0].startswith("--") else value
        else:
            rest.append(flag + has_value + value)
    classes = classes_in_configs(rest)
    configs, rest = split_configs(rest)
    short = {kind: name for kind, name in DEFAULTS.items() if kind not in set().union(*classes.values())} | short
    backbone = []
    if "model" in short and (form := backbone_form(short["model"])):
        short["model"] = form[0]
        backbone = [word for name, value in form[1].items() for word in (f"--model.{name}", value)]
    first = [a for path in configs if classes[path] for a in ("--config", path)]
    first += [a for kind in ("data", "model") if kind in short for a in (f"--{kind}", config_path(kind, short[kind]))]
    class_paths = {
        kind: [class_named(path, kind, in_section=True) for path in configs if kind in classes[path]]
        for kind in DEFAULTS
    }
    class_paths |= {kind: [class_named(config_path(kind, short[kind]), kind)] for kind in DEFAULTS if kind in short}
    if meant := stand_ins().get(tuple(paths[-1] for paths in class_paths.values())):
        first += ["--model", meant]  # which keeps the settings
        class_paths["model"] = [meant]
    first += backbone
    if "augment" in short:
        first += ["--config", config_path("augment", short["augment"])]
    first += [a for path in configs if not classes[path] for a in ("--config", path)]  # settings, on top of the classes
    rest += [_helped(flag, name, (class_paths.get(flag[2:-5]) or [None])[-1]) for flag, name in helps.items()]
    if "slices" in short:
        short["slices"] = json.dumps([column for column in re.split(r"[\s,]+", short["slices"].strip("[] ")) if column])
    rest += [a for name in SETTINGS if name in short for a in (f"--data.{name}", short[name])]
    return first + rest + _folder_of_logger(rest)


def _folder_of_logger(words: Sequence[str]) -> list[str]:
    """Words that have a logger write into the folder of the run, where it wants one and none is named."""
    loggers, _ = take_all(words, "--trainer.logger")
    is_given = any(re.match(r"--trainer\.logger\.(init_args\.)?save_dir\b", word) for word in words)
    wants = bool(loggers) and loggers[-1].rpartition(".")[2] in ("CSVLogger", "TensorBoardLogger")
    return ["--trainer.logger.save_dir="] if wants and not is_given else []

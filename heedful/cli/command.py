"""The command ``heedful``: its subcommands, their options and help, and the messages of errors.

torch and Lightning are imported only by the subcommands that need them, after the names of settings have been checked.
"""

import re
import signal
import sys
import sysconfig
import traceback
from argparse import SUPPRESS, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from shlex import quote
from textwrap import fill
from typing import Any, NoReturn

from heedful.cli.signatures import Setting, attribute_of, settings_of, source_of
from heedful.command_lines import WIDTH, CommandParser, command_name, command_words, exit_on_broken_pipe
from heedful.lazy import explaining_imports
from heedful.lightning_modules.registry import stand_in
from heedful.parser import dump, unknown_message
from heedful.records import HeedfulError, SettingError
from heedful.records.errors import nearest
from heedful.records.messages import rank
from heedful.records.storage.named_configs import DEFAULTS, config_path
from heedful.records.storage.results import folder_name
from heedful.records.storage.schema import full_path
from heedful.records.storage.yaml_files import parse_yaml, read_yaml
from heedful.stopping import Stopped, listen

COMMANDS = {  # the module and the function that takes the words of the command
    "train": (f"{__name__}:train", "train a classifier, and measure whether it uses every part"),
    "evaluate": (f"{__name__}:evaluate", "measure a trained model on all examples"),
    "measure": (f"{__name__}:measure", "measure a Python function, or any model, on rows"),
    "list": ("heedful.cli.list_names:main", "names that --data, --model and --evaluations take"),
    "compare": ("heedful.cli.compare:main", "print the numbers of one run, or compare runs"),
    "matrix": ("heedful.reports.matrix:main", "tabulate models by data sets, as papers do"),
    "page": ("heedful.reports.page.command:main", "write one HTML page about runs, to share"),
    "rank": ("heedful.reports.ranking:main", "predict by attributions which model generalises best"),
    "suite": ("heedful.cli.suite:main", "run a recipe: train, evaluate and rank many models"),
    "rescore": ("heedful.reports.rescore:main", "compute results.json again from the rows of a run"),
    "sheet": ("heedful.reports.sheet:main", "write sheets on which people label swapped examples"),
    "figure": ("heedful.cli.figure:main", "draw a figure of runs"),
}
IN_PYTHON = {"inputs": "write_inputs", "write_inputs": "write_inputs", "score": "score"}  # functions without a command
Group = tuple[str, str, Mapping[str, Setting]]  # title, prefix of the names such as "data.", and settings by name
OPTIONS = {  # options of train and evaluate with a short name: placeholder of the value, and help
    "data": ("NAME", "mnli, rte, ..., a YAML file or a class (planted)"),
    "model": ("NAME", "minilm, ..., a hub id, a folder, a YAML file or a class (minilm)"),
    "partial": ("PART", "the only part that the model receives"),
    "slices": ("COLUMN,COLUMN", "columns whose values break the numbers down"),
    "endpoint": ("NAME", "a model of the server OPENAI_BASE_URL; its settings are --endpoint.temperature, ..."),
    "config": ("FILE", "settings from a YAML file, such as the config.yaml of a run; repeatable"),
    "output": ("DIR", "folder of the results; by default a new folder in runs/"),
    "allow_package": ("NAME", "Python package that may provide weights and classes of a saved run; repeatable"),
}
OPTIONS_OF = {
    "train": {
        "augment": ("NAME", "counterfactual, or another file in configs/experiment"),
        "debug": ("NAME", "try a run: fast, overfit or profile"),
        "init_from": ("RUN", "train the model of a finished run further"),
        "resume": ("RUN", "resume a run, or start it if it does not exist"),
        "ckpt_path": ("last", "the same as --resume, with --output RUN"),
    },
    "evaluate": {"checkpoint": ("RUN", "a run or a checkpoint: its model and, by default, its data")},
}
CLASSES_OF = {  # the class, or the function, with each group of settings
    "train": {
        "": "heedful.assembly.settings.TrainingSettings",
        "checkpoint": "heedful.callbacks.BestCheckpoint",
        "trainer": "pytorch_lightning.Trainer",
    },
    "evaluate": {
        "": "heedful.assembly.settings.EvaluationSettings",
        "prompt": "heedful.datamodules.prompting.Prompting",
        "trainer": "pytorch_lightning.Trainer",
    },
    "measure": {"": "heedful.assembly.measuring.measure"},
}
ABOUT = {
    "train": "Train a classifier over paired inputs, and measure after every epoch whether it uses every part of them.",
    "evaluate": "Measure a model on all examples and in full precision.",
    "measure": "Measure whether any model uses every part of its input, as heedful.measure does.",
}
EXAMPLES = {
    "train": [
        ("", "MiniLM on the generated data, in minutes"),
        ("--data mnli --augment counterfactual", "MNLI from the hub, with counterfactual examples"),
        ("--data mnli --data.path DIR --partial hypothesis", "a model that reads only the hypothesis"),
        ("--trainer.max_epochs 3 --trainer.devices 2", "three epochs, in two processes"),
    ],
    "evaluate": [
        ("--checkpoint runs/mnli/minilm/plain/version_0", "the model of a run"),
        ("--data rte --checkpoint RUN --attentiveness.draws 10", "on other data"),
        ("--data mnli --model FacebookAI/roberta-large-mnli", "a model of the hub"),
    ],
    "measure": [
        ("mine:predict rows.csv --parts text,question", "the function predict, or an Endpoint, in mine.py"),
        ("MODEL_FOLDER rte --attentiveness.draws 3", "a model of transformers, on data by name"),
    ],
}
ALIASES = {
    r"^--endpoint[.]": "--model.",
    r"^(--[\w.]+?)[.]init_args(?=[.])": r"\1",
    r"^--seed(?=$|=)": "--seed_everything",
}
STARTS = {"init_from", "resume", "ckpt_path", "checkpoint"}  # options that name a run
NOT_WORDS = {"predict", "rows", "answers", "trainer"}  # arguments of heedful.measure that are no options
FROM_FILES = (*STARTS, "config", "allow_package")  # options that bring settings which the command line does not show


def run(*words: str) -> None:
    """Run the command line of the process.

    Args:
        *words: Words to insert before the arguments: "train" for train.py.
    """
    with explaining_errors():
        main([*words, *sys.argv[1:]])


@contextmanager
def explaining_errors() -> Iterator[None]:
    """Context manager in which an error of the user ends the process with one sentence and exit status 2, and signal N
    ends it with status 128 + N; a bug keeps its traceback.
    """
    listen()
    try:
        with exit_on_broken_pipe(), explaining_imports():
            yield
    except Stopped as stop:
        _end(str(stop), stop.code)
    except KeyboardInterrupt:
        _end("stopped by Ctrl-C.", 128 + signal.SIGINT)
    except Exception as error:
        message = explanation(error)
        if message is None:
            raise
        if (cause := error.__cause__) is not None and _is_of_user(cause):
            traceback.print_exception(cause)
        print(f"{command_name()}: {message}", file=sys.stderr, flush=True)
        sys.exit(2)


def main(argv: Sequence[str]) -> None:
    """Run a subcommand of ``heedful``.

    Args:
        argv: Name and arguments of the subcommand.

    Raises:
        HeedfulError: The name is unknown, or the subcommand fails.
    """
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
        return
    if name in IN_PYTHON:
        raise SettingError(f"There is no command {name!r}. Call heedful.{IN_PYTHON[name]} in Python.")
    if name not in COMMANDS:
        near = nearest(name, COMMANDS)
        raise SettingError(f"There is no command {name!r}. {f'Do you mean {near}?' if near else 'See heedful --help.'}")
    module, _, function = COMMANDS[name][0].partition(":")
    getattr(import_module(module), function)(words)


def overview() -> str:
    """Return the text of ``heedful --help``."""
    width = max(map(len, COMMANDS)) + 2
    commands = (f"  {name:<{width}}{summary}" for name, (_, summary) in COMMANDS.items())
    return "\n".join(["usage: heedful COMMAND ...", "", *commands, "", "Options of a command: heedful COMMAND --help"])


def train(words: Sequence[str]) -> None:
    """Train a model with the settings on a command line; print its numbers and the commands to run next."""
    run = _run("train", words)
    if run is None or rank() != 0 or not run.content:
        return
    if run.was_finished:
        print(f"{run.folder} is finished, and stays as it is.")
    run.show()
    if run.checkpoint is not None:
        path = run.folder if run.checkpoint.name in ("best.ckpt", "last.ckpt") else run.checkpoint
        saved = import_module("heedful.records.storage.run_settings").run_settings(run.folder)
        packages = sorted({saved[kind]["class_path"].partition(".")[0] for kind in DEFAULTS} - {"heedful"})
        allowed = [word for package in packages for word in ("--allow_package", package)]
        print("Measure all examples:", *command_words("evaluate"), "--checkpoint", quote(str(path)), *allowed)
        if any(run.folder.glob("events.out.tfevents.*")):
            print(f"Curves: tensorboard --logdir {quote(str(run.folder.parent))}")


def evaluate(words: Sequence[str]) -> None:
    """Evaluate a model with the settings on a command line, and print its numbers."""
    _show(_run("evaluate", words))


def measure(words: Sequence[str]) -> None:
    """Measure any model with the arguments on a command line, save the results, and print them."""
    arguments = settings_of("heedful.assembly.measuring.measure")
    parser = CommandParser("measure", ABOUT["measure"], EXAMPLES["measure"])
    parser.add_argument("predict", metavar="MODEL", help="MODULE:FUNCTION, the folder of a model, a hub id, or a run")
    parser.add_argument("rows", metavar="ROWS", help="a file (csv, tsv, jsonl, parquet), or data by name")
    for name in arguments.keys() - NOT_WORDS:
        parser.add_argument(f"--{name}", metavar="VALUE", help=SUPPRESS)
    parser.add_argument("--allow_package", metavar="NAME", help="Python packages that may provide weights")
    if {"-h", "--help"} & {*words}:
        parser.print_help()
        _print_settings("measure", Namespace(**dict.fromkeys(NOT_WORDS)))
        return
    options, further = parser.parse_known_args(list(words))
    settings = {name: _argument(name, text, arguments) for name, text in vars(options).items() if text is not None}
    predict = settings.pop("predict")
    is_function = ":" in predict and not Path(predict).exists()
    module, _, name = predict.rpartition(".")
    if not is_function and name != "py" and Path(f"{module}.py").is_file():
        raise SettingError(f"{predict}: name a function as {module}:{name}.")
    results = import_module("heedful.assembly.measuring").measure(
        _function(predict) if is_function else predict, settings.pop("rows"), **settings, **_nested(further, arguments)
    )
    of_prompts = results if isinstance(results, list) else [results]
    if of_prompts[0].folder is None:
        model = folder_name(predict.partition(":")[2] if is_function else Path(predict).absolute().name)
        run_folder = import_module("heedful.callbacks.outputs.run_folder")
        folder = run_folder.new_version(Path("runs", of_prompts[0].content["data"], model, "measured"))
        of_prompts = [each.save(folder / each.unsaved.name) for each in of_prompts]
    for each in of_prompts:
        each.page()
    _show(of_prompts)


def _show(results: Any) -> None:
    """Print results, with several prompts a summary, or the number of requests of a dry run."""
    if results is None or rank() != 0:
        return
    of_prompts = results if isinstance(results, list) else [results]
    if len(of_prompts) > 1 and not any(each.content["counts"].get("unlabelled") for each in of_prompts):
        compare = import_module("heedful.reports.compare")
        compare.print_prompts([str(each.folder) for each in of_prompts])
        return
    for each in of_prompts:
        each.show() if hasattr(each, "show") else print(each)


def _run(name: str, words: Sequence[str]) -> Any:
    """Train or evaluate (``name``), and return the results; None if the words ask for help or settings."""
    options, settings = split_options(name, words)
    if options.help:
        _print_settings(name, options)
        return None
    del options.help
    _require_known(name, options, settings)
    values = vars(options)
    files, packages, prints_settings = (values.pop(key) for key in ("config", "allow_package", "print_config"))
    starts = {key: values.pop(key) for key in STARTS & values.keys()}
    module = import_module(f"heedful.assembly.{'training' if name == 'train' else 'evaluation'}")
    with import_module("heedful.assembly.trainers").session(packages):
        job = module.job_of(values, files, settings, **starts)
        if prints_settings:
            print(dump(job.record), end="")
            return None
        return module.run(job)


def split_options(name: str, words: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Parse the options of "train" or "evaluate" that have a short name, and return them with all other words.

    Example:
        >>> options, words = split_options("evaluate", ["--data", "mnli", "--seed", "3", "--attentiveness.draws=3"])
        >>> options.data, words
        ('mnli', ['--seed_everything', '3', '--attentiveness.draws=3'])
    """
    parser = CommandParser(name, ABOUT[name], EXAMPLES[name], add_help=False)
    if not command_name().startswith("heedful"):
        parser.prog = f"python {command_name()}"
    for option, (metavar, about) in (OPTIONS_OF[name] | OPTIONS).items():
        repeats: dict[str, Any] = {"action": "append", "default": []} if "repeatable" in about else {}
        parser.add_argument(f"--{option}", metavar=metavar, help=about, **repeats)
    parser.add_argument("--print_config", action="store_true", help="print all settings in YAML, and run nothing")
    parser.add_argument("-h", "--help", action="store_true", help="print all settings of these data and this model")
    options, settings = parser.parse_known_args(list(words))
    if options.help:
        parser.print_help()
    for pattern, setting in ALIASES.items():
        settings = [re.sub(pattern, setting, word) for word in settings]
    if "--dry_run" in settings and "".join(settings[settings.index("--dry_run") + 1 :][:1])[:2] in ("", "--"):
        settings[settings.index("--dry_run")] = "--dry_run=true"
    if options.endpoint is not None:
        if options.model not in (None, "endpoint"):
            raise SettingError(f"model {options.model} and endpoint {options.endpoint} exclude each other. Name one.")
        options.model = "endpoint"
        settings += ["--model.name", options.endpoint]
    del options.endpoint
    return options, settings


def _source(name: str, options: Namespace, group: str) -> str | None:
    """Return the import path of the class with a group of settings, such as "data"; None if the parser must tell it."""
    if group in CLASSES_OF[name]:
        return CLASSES_OF[name][group]
    if group not in DEFAULTS:
        names = source_of("heedful.callbacks.evaluations")[1]
        path = names.get(group) or f"heedful.callbacks.evaluations.{group.title().replace('_', '')}"
        if name == "train" and attribute_of(path, "in_training") != "True":
            raise LookupError(path)
        return path
    source = getattr(options, group) or DEFAULTS[group]
    if "/" in source or Path(source).exists():
        return None
    path = config_path(group, source)
    content: Any = read_yaml(path, path) if path.endswith(".yaml") else {"class_path": path}
    class_name = content.get("class_path") if isinstance(content, Mapping) else None
    family = full_path(group, class_name) if isinstance(class_name, str) else None
    data = _source(name, options, "data") if family and group == "model" else None
    return stand_in(data, family) if data and family else family


def _require_known(name: str, options: Namespace, words: Sequence[str]) -> None:
    """Raise SettingError for the first word that names no setting, if the source of the classes can tell."""
    names = [word[2:].partition("=")[0].removesuffix("+") for word in words if word.startswith("--") and word != "--"]
    if any(getattr(options, option, None) for option in FROM_FILES) or {"evaluations", "trainer.callbacks"} & {*names}:
        return  # which may bring other settings and evaluations
    for group in DEFAULTS:
        _source(name, options, group)  # raises for an unknown name
    for setting in names:
        group, _, key = setting.rpartition(".") if setting.count(".") < 2 else setting.partition(".")
        try:
            source = _source(name, options, group)
            is_known = source is None or key.partition(".")[0] in settings_of(source)
        except LookupError:
            is_known = False
        if not is_known:
            names = [f"{prefix}{key}" for _, prefix, settings in _groups(name, options) for key in settings]
            raise SettingError(unknown_message(setting, [*vars(options), *names]))


def _groups(name: str, options: Namespace) -> Iterator[Group]:
    """Yield all settings of a command that are not among its options."""
    modules = source_of("heedful.callbacks.evaluations")[1]
    kinds = [kind for kind, path in modules.items() if path.startswith("heedful.callbacks.evaluations.")]
    kinds = [kind for kind in kinds if ".registry." not in modules[kind]]
    with_settings = [kind for kind in kinds if attribute_of(modules[kind], "has_settings") != "False"]
    evaluations = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower() for kind in with_settings]
    for group in (*CLASSES_OF[name], *(DEFAULTS if "data" in options else ()), *evaluations):
        with suppress(LookupError):
            source = _source(name, options, group)
            settings = settings_of(source) if source else {}
            if group == "trainer":
                settings = settings | settings_of("heedful.assembly.settings.TrainerDefaults")
            settings = {key: value for key, value in settings.items() if group or key not in options}
            title = f"{group} {(source or '').rpartition('.')[2]}".strip() if group in DEFAULTS else group
            yield title, f"{group}." if group else "", settings


def _print_settings(name: str, options: Namespace) -> None:
    for title, prefix, settings in _groups(name, options):
        if settings:
            print(f"\nSettings{f' of {title}' if title else ''}:")
        for key, setting in settings.items():
            is_literal = re.match(r"True|False|[^\w]|\d", setting.default or "")  # no name of a constant
            default = f" = {setting.default}" if is_literal else ""
            head = f"  --{prefix}{key} {setting.kind.removesuffix(' | None')}{default}"
            print(head if len(head) <= WIDTH else f"{head[: WIDTH - 4]} ...")
            about = re.sub(r":\w+:`~?|`", "", setting.about)
            if about:
                print(fill(about, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6))


def _argument(name: str, text: str, arguments: Mapping[str, Setting]) -> Any:
    """Convert an argument of ``measure``: numbers, null, "a,b" to a list, and "a=x,b=y" to a mapping."""
    kind = arguments[name].kind if name in arguments else "str"
    if text == "null":
        return None
    if re.match("int|float", kind):
        try:
            return int(text) if kind.startswith("int") else float(text)
        except ValueError:
            raise SettingError(
                f"{name}: {text} is not {'an integer' if kind.startswith('int') else 'a number'}."
            ) from None
    if not re.search("Sequence|Mapping|Labels", kind):
        return text
    words = [word.strip() for word in text.split(",") if word.strip()]
    pairs = [word.partition("=") for word in words]
    if not re.search("Mapping|Labels", kind) or not any(equals for _, equals, _ in pairs):
        return words
    if not all(equals for _, equals, _ in pairs):
        raise SettingError(f"{name} {text}: write NAME=VALUE for all names or for none.")
    return {first: second for first, _, second in pairs}


def _nested(words: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert words such as ``--attentiveness.draws 3`` to nested settings such as {"attentiveness": {"draws": 3}}."""
    settings: dict[str, Any] = {}
    remaining = list(words)
    while remaining:
        name, equals, value = remaining.pop(0).partition("=")
        group, dot, key = name.removeprefix("--").partition(".")
        if not dot or not name.startswith("--"):
            raise SettingError(unknown_message(name.removeprefix("--"), [*arguments]))
        if not equals and not remaining:
            raise SettingError(f"{group}.{key} needs a value.")
        settings.setdefault(group, {})[key] = parse_yaml(value if equals else remaining.pop(0), f"{group}.{key}")
    return settings


def _function(path: str) -> Any:
    """Import a function by "module:name" or "module.py:name", also from a module in the working folder."""
    module, _, name = path.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module.removesuffix(".py")), name)
    except HeedfulError:
        raise
    except Exception as error:  # an import may raise anything
        raise SettingError(
            f"{path} cannot be imported ({type(error).__name__}: {error}). Name a function as MODULE:FUNCTION."
        ) from error


def explanation(error: BaseException | None) -> str | None:
    """Return the message for the user if an exception, or one of its causes, is a user's error; None for a bug.

    An error that was handled when the exception was raised is no cause, except for a lost connection to another
    process, which usually follows from an error in this process.
    """
    is_lost = False
    while error is not None:
        if isinstance(error, HeedfulError):
            return str(error)
        lost = getattr(sys.modules.get("torch.distributed"), "DistError", ())
        is_lost = is_lost or isinstance(error, lost) or "gloo/transport" in str(error)
        error = error.__cause__ or (error.__context__ if is_lost else None)
    return "Another process of this command ended: see above, or it was killed or out of memory." if is_lost else None


def _is_of_user(error: BaseException) -> bool:
    """Whether an exception comes from code that is neither Heedful's nor an installed package's nor Python's."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    libraries = (str(Path(__file__).parents[1]), *installed, "<")  # <frozen importlib._bootstrap>
    return not all(frame.filename.startswith(libraries) for frame in traceback.extract_tb(error.__traceback__))


def _end(message: str, status: int) -> NoReturn:
    if rank() == 0:
        print(f"{command_name()}: {message}", file=sys.stderr, flush=True)
    sys.exit(status)

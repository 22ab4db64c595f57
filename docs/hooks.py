"""Hooks of mkdocs: the reference pages are generated from the code when the site is built."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from inspect import isclass, isroutine
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from mkdocs.structure.files import File, Files

import heedful
import heedful.datamodules
import heedful.lightning_modules
from heedful import datamodules
from heedful.assembly.config import TRAINER_KINDS
from heedful.assembly.settings import EvaluationSettings, TrainingSettings
from heedful.callbacks import EVALUATIONS, BestCheckpoint
from heedful.cli.command import COMMANDS, main
from heedful.datamodules import PairedData
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import Predictor
from heedful.parser import class_parser
from heedful.reports.flags import FLAGS

HEADS = {
    "commands": """\
# Commands

Exit status: 0 after success, 2 after a user error, 130 after Ctrl-C, 143 after SIGTERM.
""",
    "data": """\
# Data sets

Data sets that `--data NAME` finds. Without a network, pass local files with `--data.path`. [Your data](../your_data.md)
shows how to add one. `help`, `med` and `nlixy` name non-entailment *neutral*, so that models keep their head of three
classes. `hans` has two classes; `hans-three` is for models of MNLI.
""",
    "models": """\
# Models

Models that `--model NAME` finds. `--model ID_OR_FOLDER` takes any other model that `AutoModelForSequenceClassification`
can load. [Train](../train.md#kinds-of-input) explains the families, [Language models](../language_models.md) those
that answer prompts.
""",
    "flags": """\
# Flags

A flag next to a number says why not to trust it. Tables show a letter and the footnote, pages show the caution.
""",
    "settings": """\
# Settings

On a command line a setting is written `--data.hold_out 3`, in Python `load_data(NAME, hold_out=3)`, in
YAML below `data: {init_args: ...}`. `python train.py --data NAME --model NAME --help` prints the settings of one data
set, one model and Lightning's Trainer; `--print_config` shows values.
""",
    "api": """\
# Python

`import heedful` loads no torch: names are resolved when they are first used.
""",
}
CONFIGS = Path(__file__).parents[1] / "configs"
GUIDES = {  # the page that explains a command
    "train": "train.md",
    "evaluate": "evaluate.md",
    "measure": "your_model.md",
    "inputs": "your_model.md#from-a-file-of-answers",
    "score": "your_model.md#from-a-file-of-answers",
    "page": "evaluate.md#a-page-to-send",
    "rank": "evaluations/attributions.md",
    "suite": "evaluate.md#recipes",
    "list": "reference/data.md",
}
READ = "evaluate.md#read-the-results"  # the page of every other command


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for path, write in PAGES.items():
        files.append(File.generated(config, path, content=write()))
    return files


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Lines of a Markdown table; the first row is the header."""
    for i, row in enumerate(rows):
        yield "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"
        if i == 0:
            yield "|" + "---|" * len(row)


def commands() -> str:
    """Every command with its help."""
    guides = {name: f"[{path.partition('.')[0]}](../{path})" for name in COMMANDS for path in [GUIDES.get(name, READ)]}
    rows = ((f"[{name}](#{name})", what, guides[name]) for name, (_, what) in COMMANDS.items())
    lines = [HEADS["commands"], *table(("command", "purpose", "guide"), *rows)]
    for name in COMMANDS:
        lines += ["", f"## {name}", "", "```text", help_of(name), "```"]
    return "\n".join([*lines, ""])


def help_of(name: str) -> str:
    """The text of ``heedful NAME --help``."""
    command = mock.patch.object(sys, "argv", ["heedful", name])
    with command, contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        main([name, "--help"])
    return text.getvalue().strip()


def data_sets() -> str:
    """The files in configs/data."""
    rows = []
    for name, config, about in configs("data"):
        values = config.get("init_args", {})
        source = values.get("hub", {}).get("id", "`data.path`")
        if name.startswith("planted"):
            task = getattr(datamodules, config["class_path"])().task
            values, source = {"parts": task.parts, "default_label": task.default_label}, "generated"
        rows.append(
            (f"`{name}`", ", ".join(values.get("parts", ())), str(values.get("default_label", "")), source, about)
        )
    head = ("name", "parts", "default label", "source", "description")
    return "\n".join([HEADS["data"], *table(head, *rows), ""])


def models() -> str:
    """The files in configs/model."""
    rows = (
        (f"`{name}`", config["class_path"], config.get("init_args", {}).get("backbone", ""), about)
        for name, config, about in configs("model")
    )
    return "\n".join([HEADS["models"], *table(("name", "family", "backbone", "description"), *rows), ""])


def configs(kind: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, content and description (the first comment) for every file in a folder of configs/."""
    for path in sorted((CONFIGS / kind).glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        about = " ".join(line[1:].strip() for line in text[: text.index("class_path")].splitlines())
        yield path.stem, yaml.safe_load(text), about.partition(". ")[0].removesuffix(".")


def flags() -> str:
    """The table of flags."""
    rows = ((f"`{name}`", flag.short, flag.warning) for name, flag in FLAGS.items())
    return "\n".join([HEADS["flags"], *table(("flag", "footnote", "caution"), *rows), ""])


def api() -> str:
    """Directives of mkdocstrings for every public function and class."""
    public = [getattr(heedful, name) for name in heedful.__all__]
    kinds = sorted((value for value in public if isclass(value) or isroutine(value)), key=isclass)
    return "\n".join([HEADS["api"], *(f"::: {value.__module__}.{value.__qualname__}\n" for value in kinds)])


def sections() -> Iterator[tuple[str, str, type]]:
    """Title, prefix of the settings and class for every section of the settings."""
    yield from [("Training", "", TrainingSettings), ("Evaluation", "", EvaluationSettings)]
    for module, prefix, base in (
        (heedful.datamodules, "data.", PairedData),
        (heedful.lightning_modules, "model.", Predictor),
    ):
        for kind in (getattr(module, name) for name in module.__all__):
            if isinstance(kind, type) and issubclass(kind, base) and not issubclass(kind, TRAINER_KINDS):
                yield kind.__name__, prefix, kind
    for name, kind in {**EVALUATIONS, "checkpoint": BestCheckpoint, "prompt": Prompting}.items():
        yield name, f"{name}.", kind


def settings() -> str:
    """Every setting with its default, by class."""
    lines = [HEADS["settings"]]
    for title, prefix, kind in sections():
        rows = [
            (f"`{prefix}{name.removeprefix('x.')}`", f"`{action.default}`", (action.help or "").replace("%", ""))
            for name, action in class_parser(kind, "x").actions.items()
        ]
        if rows:
            lines += ["", f"## {title}", "", *table(("setting", "default", "meaning"), *rows)]
    return "\n".join([*lines, ""])


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands,
    "reference/data.md": data_sets,
    "reference/models.md": models,
    "reference/flags.md": flags,
    "reference/settings.md": settings,
    "reference/api.md": api,
}

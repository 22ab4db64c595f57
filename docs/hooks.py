"""Hooks of mkdocs: the page of settings is written when the site is built."""

from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

import heedful.datamodules
import heedful.lightning_modules
from heedful.assembly.parser import SEED, TRAINER_KINDS, build_parser
from heedful.callbacks import EVALUATIONS, BestCheckpoint
from heedful.datamodules import PairedData, PairedText
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import BasePredictor, Encoder
from heedful.records.parser import Parser, class_parser

PREFACE = """\
# Settings

Every setting with its default, by class. On a command line a setting is written `--data.hold_out 3`, in Python
`data={"hold_out": 3}`, in YAML under `data: {init_args: ...}`. `python train.py --data NAME --model NAME --help all`
prints the settings of one data set, one model and Lightning's Trainer; `--print_config` shows values.
"""


def on_files(files: Files, config: Any) -> Files:
    """Add settings.md."""
    files.append(File.generated(config, "settings.md", content=page()))
    return files


def parsers() -> Iterator[tuple[str, Parser]]:
    """Title and parser for every section of the page."""
    for title, evaluating in (("Training", False), ("Evaluation", True)):
        yield title, build_parser(evaluating, PairedText, Encoder)
    for module, name, base in (
        (heedful.datamodules, "data", PairedData),
        (heedful.lightning_modules, "model", BasePredictor),
    ):
        kinds = [getattr(module, kind) for kind in module.__all__]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, base) and not issubclass(kind, TRAINER_KINDS):
                yield kind.__name__, class_parser(kind, name)
    for name, kind in {**EVALUATIONS, "checkpoint": BestCheckpoint, "prompt": Prompting}.items():
        yield name, class_parser(kind, name)


def page() -> str:
    """The page of settings, in Markdown."""
    lines = [PREFACE]
    for title, parser in parsers():
        is_run = title in ("Training", "Evaluation")
        if rows := list(_rows(parser, is_run)):
            lines += ["", f"## {title}", "", "| setting | default | meaning |", "|---|---|---|", *rows]
    return "\n".join([*lines, ""])


def _rows(parser: Parser, only_of_run: bool) -> Iterator[str]:
    for dest, action in parser.actions.items():
        if not only_of_run or "." not in dest:
            name = "seed" if dest == SEED else dest
            meaning = " ".join((action.help or "").replace("%", "").split()).replace("|", "\\|")
            yield f"| `{name}` | `{action.default}` | {meaning} |"

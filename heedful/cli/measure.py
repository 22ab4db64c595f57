"""The command that measures a function of the user's, or any model, on rows: :func:`heedful.measure` from a shell."""

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.records import SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.storage.folder_names import folder_name

LISTS = ("parts", "labels", "swap", "keeps", "by", "evaluations")
NUMBERS = {"draws": (int, 5), "precision": (float, None), "batch_size": (int, 64), "seed": (int, 0)}  # and defaults
TOLD = {  # setting: what is written behind it, and what it means
    "parts": ("NAME,NAME", "columns that the model reads; or PART=COLUMN,PART=COLUMN"),
    "default_label": ("LABEL", "the answer to parts that have nothing to do with each other"),
    "label": ("COLUMN", "column of the gold label; null for none (label)"),
    "labels": ("NAME,NAME", "the labels, in the order of the model's outputs"),
    "swap": ("PART,A+B", "parts that must matter; by default all but --keeps"),
    "keeps": ("PART", "parts that must not matter"),
    "same": ("HOW", "when two free texts are one answer: normalised or exact"),
    "cluster": ("COLUMN", "equal values are one cluster of the intervals"),
    "by": ("COLUMN", "numbers by the values of a column, too"),
    "uid": ("COLUMN", "column of a unique id"),
    "name": ("NAME", "what results call the data (rows)"),
    "quoting": ("false", "quotes in csv and tsv files are characters"),
    "draws": ("K", "counterfactuals of an example and part"),
    "precision": ("W", "half width of an interval that is precise enough, as 0.02"),
    "batch_size": ("N", "most inputs that the model gets at once"),
    "evaluations": ("NAME,NAME", "only these measurements"),
    "seed": ("N", "all that is random follows from it"),
    "output": ("DIR", "folder for the results; by default a new one in runs/"),
}


def main(argv: list[str]) -> Callable[[], None]:
    """Look at the words; what is returned measures, and shows the results.

    Raises:
        HeedfulError: A word is not an argument, or a file does not exist.
    """
    options = vars(_parser().parse_args(argv))
    predict, rows, settings = options["predict"], options["rows"], settings_of(options, TOLD)
    return partial(_measured, predict, rows, settings)


def _measured(predict: str, rows: str, settings: dict[str, Any]) -> None:
    is_function = ":" in predict and not Path(predict).exists()
    heedful = import_module("heedful")  # imports torch and Lightning
    results = heedful.measure(_function(predict) if is_function else predict, rows, **settings)
    if results.folder is None:
        model = folder_name(predict.partition(":")[2] if is_function else Path(predict).absolute().name)
        run_folder = import_module("heedful.callbacks.outputs.run_folder")
        results = results.save(run_folder.new_version(Path("runs", results.content["data"], model, "measured")))
    results.page()
    results.show()


def settings_of(options: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The settings of these names that were given, as :func:`heedful.measure` takes them."""
    return {name: _value(name, options[name]) for name in names if options[name] is not None}


def add_settings(parser: CommandParser, names: Iterable[str]) -> None:
    """Have a parser take these settings of :func:`heedful.measure`."""
    for name in names:
        value, meaning = TOLD[name]
        kind, default = NUMBERS.get(name, (str, None))
        if default is not None:
            meaning = f"{meaning} ({default})"
        parser.add_argument(f"--{name}", metavar=value, type=kind, help=meaning)


def _value(name: str, text: Any) -> Any:
    """A setting as :func:`heedful.measure` takes it."""
    if name == "label" and text == "null":
        return None
    if name == "quoting":
        return text.lower() != "false"
    if name not in LISTS:
        return text
    words = [word.strip() for word in text.split(",") if word.strip()]
    pairs = [word.partition("=") for word in words]
    if name not in ("parts", "labels") or not any(equals for _, equals, _ in pairs):
        return words
    if not all(equals for _, equals, _ in pairs):
        raise SettingError(f"{name} {text} names some as NAME=VALUE, and others not. Write all of them in one way.")
    return {first: second for first, _, second in pairs}


def _function(path: str) -> Any:
    """The function that ``module:name`` names, of a module in the working folder or an installed one.

    Raises:
        HeedfulError: There is no such module, or no such function in it.
    """
    module, _, name = path.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # whatever the module does when it is imported
        raise SettingError(
            f"{path} cannot be imported ({type(error).__name__}: {error}). Name a function as MODULE:FUNCTION."
        ) from error


def _parser() -> CommandParser:
    parser = CommandParser(
        "measure",
        "Measure whether any model heeds every part of its input, as heedful.measure does.",
        [
            (
                "mine:predict rows.csv --parts text,question",
                "the function predict of mine.py, or an Endpoint there",
            ),
            ("MODEL_FOLDER rte", "a model of transformers, on data that --data knows"),
        ],
    )
    told = "MODULE:FUNCTION, the folder of a model, an id on the hub, or a run"
    parser.add_argument("predict", metavar="MODEL", help=told)
    parser.add_argument("rows", metavar="ROWS", help="a file (csv, tsv, jsonl, parquet), or data by name")
    add_settings(parser, TOLD)
    return parser

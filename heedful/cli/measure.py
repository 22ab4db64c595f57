"""``heedful measure``: :func:`heedful.measure` of a Python function or of any model."""

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
SETTINGS = {  # name: metavar and help
    "parts": ("NAME,NAME", "columns that the model reads; or PART=COLUMN,PART=COLUMN"),
    "default_label": ("LABEL", "the label of unrelated parts, such as neutral"),
    "label": ("COLUMN", "column of the gold label; null for none (label)"),
    "labels": ("NAME,NAME", "the labels, in the order of the model's outputs"),
    "swap": ("PART,A+B", "parts that must matter; by default all but --keeps"),
    "keeps": ("PART", "parts that must not matter"),
    "same": ("HOW", "equality of free texts: normalised or exact"),
    "cluster": ("COLUMN", "column of the clusters of intervals"),
    "by": ("COLUMN", "break the numbers down by a column"),
    "uid": ("COLUMN", "column of a unique id"),
    "name": ("NAME", "name of the data in results (rows)"),
    "quoting": ("false", "quotes in csv and tsv files are characters"),
    "draws": ("K", "counterfactuals per example and part"),
    "precision": ("W", "sufficient half width of an interval, such as 0.02"),
    "batch_size": ("N", "maximum number of inputs per call of the model"),
    "evaluations": ("NAME,NAME", "only these evaluations; see heedful list"),
    "seed": ("N", "seed of everything random"),
    "output": ("DIR", "folder of the results; by default a new folder in runs/"),
}


def main(argv: list[str]) -> Callable[[], None]:
    """Parse the words; the returned function measures and prints the results.

    Raises:
        HeedfulError: A word is not an argument.
    """
    options = vars(_parser().parse_args(argv))
    predict, rows, settings = options["predict"], options["rows"], settings_of(options, SETTINGS)
    return partial(_measure, predict, rows, settings)


def _measure(predict: str, rows: str, settings: dict[str, Any]) -> None:
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
    """The named settings on the command line, for :func:`heedful.measure`."""
    return {name: _value(name, options[name]) for name in names if options[name] is not None}


def add_settings(parser: CommandParser, names: Iterable[str]) -> None:
    """Add the named settings of :func:`heedful.measure` to a parser."""
    for name in names:
        metavar, about = SETTINGS[name]
        kind, default = NUMBERS.get(name, (str, None))
        about += "" if default is None else f" ({default})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=about)


def _value(name: str, text: Any) -> Any:
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
        raise SettingError(f"{name} {text}: write NAME=VALUE for all names or for none.")
    return {first: second for first, _, second in pairs}


def _function(path: str) -> Any:
    """Import the function ``module:name``, also from the working folder."""
    module, _, name = path.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)
    except Exception as error:  # an import may raise anything
        raise SettingError(
            f"{path} cannot be imported ({type(error).__name__}: {error}). Name a function as MODULE:FUNCTION."
        ) from error


def _parser() -> CommandParser:
    parser = CommandParser(
        "measure",
        "Measure whether any model uses every part of its input, as heedful.measure does.",
        [
            ("mine:predict rows.csv --parts text,question", "the function predict, or an Endpoint, in mine.py"),
            ("MODEL_FOLDER rte", "a model of transformers, on data by name"),
        ],
    )
    about = "MODULE:FUNCTION, the folder of a model, a hub id, or a run"
    parser.add_argument("predict", metavar="MODEL", help=about)
    parser.add_argument("rows", metavar="ROWS", help="a file (csv, tsv, jsonl, parquet), or data by name")
    add_settings(parser, SETTINGS)
    return parser

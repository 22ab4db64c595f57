"""``heedful measure``: measure whether a model, such as a Python function, uses every part of its input."""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.records import HeedfulError, SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.storage.folder_names import folder_name

LISTS = ("parts", "labels", "swap", "keeps", "by", "evaluations")
NUMBERS = {
    "draws": (int, 5),
    "precision": (float, None),
    "batch_size": (int, 64),
    "seed": (int, 0),
}  # types and defaults
SETTINGS = {  # name: metavar and help
    "parts": ("NAME,NAME", "columns that the model reads; or PART=COLUMN,PART=COLUMN"),
    "default_label": ("LABEL", "the label of unrelated parts, such as neutral"),
    "label": ("COLUMN", "column of the gold label; null for none (label)"),
    "labels": ("NAME,NAME", "the labels, in the order of the model's outputs; or LABEL=SPELLING,LABEL=SPELLING"),
    "swap": ("PART,A+B", "parts that must matter; by default all but --keeps"),
    "keeps": ("PART", "parts that must not matter"),
    "same": ("HOW", "equality of free texts: normalised or exact"),
    "cluster": ("COLUMN", "column of the clusters of intervals"),
    "by": ("COLUMN", "break the numbers down by a column"),
    "uid": ("COLUMN", "column of a unique id"),
    "name": ("NAME", "name of the data in results (rows)"),
    "draws": ("K", "counterfactuals per example and part"),
    "precision": ("W", "sufficient half width of an interval, such as 0.02"),
    "batch_size": ("N", "maximum number of inputs per call of the model"),
    "evaluations": ("NAME,NAME", "only these evaluations; see heedful list"),
    "seed": ("N", "seed of everything random"),
    "allow_package": ("NAME,NAME", "Python packages that may provide weights"),
    "output": ("DIR", "folder of the results; by default a new folder in runs/"),
}


def main(argv: list[str]) -> Callable[[], None]:
    """Parse the arguments, and return a function that measures and prints the results.

    Raises:
        HeedfulError: An argument is unknown.
    """
    options = vars(_parser().parse_args(argv))
    settings = {name: _value(name, options[name]) for name in SETTINGS if options[name] is not None}
    return partial(_measure, options["predict"], options["rows"], settings)


def _measure(predict: str, rows: str, settings: dict[str, Any]) -> None:
    is_function = ":" in predict and not Path(predict).exists()
    module, _, name = predict.rpartition(".")
    if not is_function and name != "py" and Path(f"{module}.py").is_file():
        raise SettingError(f"{predict}: name a function as {module}:{name}.")
    heedful = import_module("heedful")  # imports torch and Lightning
    results = heedful.measure(_function(predict) if is_function else predict, rows, **settings)
    if results.folder is None:
        model = folder_name(predict.partition(":")[2] if is_function else Path(predict).absolute().name)
        run_folder = import_module("heedful.callbacks.outputs.run_folder")
        results = results.save(run_folder.new_version(Path("runs", results.content["data"], model, "measured")))
    results.page()
    results.show()


def _value(name: str, text: Any) -> Any:
    """Convert "a,b" to a list, "a=x,b=y" to a mapping, and the label "null" to None; other values stay as they are.

    ``name`` is the name of the option.
    """
    if name not in LISTS:
        return None if name == "label" and text == "null" else text
    words = [word.strip() for word in text.split(",") if word.strip()]
    pairs = [word.partition("=") for word in words]
    if name not in ("parts", "labels") or not any(equals for _, equals, _ in pairs):
        return words
    if not all(equals for _, equals, _ in pairs):
        raise SettingError(f"{name} {text}: write NAME=VALUE for all names or for none.")
    return {first: second for first, _, second in pairs}


def _function(path: str) -> Any:
    """Import a function by "module:name" or "module.py:name", also from a module in the working folder."""
    module, _, name = path.partition(":")
    module = module.removesuffix(".py")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)
    except HeedfulError:
        raise
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
    for name, (metavar, about) in SETTINGS.items():
        kind, default = NUMBERS.get(name, (str, None))
        suffix = "" if default is None else f" ({default})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=about + suffix)
    return parser

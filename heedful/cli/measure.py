"""The command that measures a function of the user's, or any model, on rows: :func:`heedful.measure` from a shell."""

import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.records import HeedfulError
from heedful.records.command_lines import CommandParser

LISTS = ("parts", "labels", "swap", "keeps", "by", "evaluations")
NUMBERS = {"draws": 5, "batch_size": 64, "seed": 0}  # and their defaults
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
    "draws": ("K", "counterfactuals of an example and part"),
    "batch_size": ("N", "most inputs that the model gets at once"),
    "evaluations": ("NAME,NAME", "only these measurements"),
    "seed": ("N", "all that is random follows from it"),
    "output": ("DIR", "folder for the results"),
}


def main(argv: list[str]) -> None:
    """Measure, and show the results.

    Raises:
        HeedfulError: A word is not an argument, or a file does not exist.
    """
    options = vars(_parser().parse_args(argv))
    predict, rows = options.pop("predict"), options.pop("rows")
    settings: dict[str, Any] = {name: _value(name, text) for name, text in options.items() if text is not None}
    if Path(rows).suffix and not Path(rows).exists():
        raise HeedfulError("missing-file", f"{rows} does not exist.")
    import_module("heedful.cli.messages").guarded(partial(_measured, predict, rows, settings))


def _measured(predict: str, rows: str, settings: dict[str, Any]) -> None:
    model = _function(predict) if ":" in predict and not Path(predict).exists() else predict
    import_module("heedful").measure(model, rows, **settings).show()


def _value(name: str, text: Any) -> Any:
    """A setting as :func:`heedful.measure` takes it."""
    if name == "label" and text == "null":
        return None
    if name not in LISTS:
        return text
    words = [word.strip() for word in text.split(",") if word.strip()]
    return dict(word.split("=", 1) for word in words) if any("=" in word for word in words) else words


def _function(named: str) -> Any:
    """The function that ``module:name`` names, of a module in the working folder or an installed one.

    Raises:
        HeedfulError: There is no such module, or no such function in it.
    """
    module, _, name = named.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        wrong = f"{named} cannot be imported ({type(error).__name__}: {error})."
        raise HeedfulError("unknown-name", wrong, "Name a function as MODULE:FUNCTION.") from error


def _parser() -> CommandParser:
    parser = CommandParser(
        "measure",
        "Measure whether any model heeds every part of its input, as heedful.measure does.",
        [
            ("mine:predict rows.csv --parts text,question", "the function predict of mine.py"),
            ("MODEL_FOLDER rte", "a model of transformers, on data that --data knows"),
        ],
    )
    told = "MODULE:FUNCTION, the folder of a model, an id on the hub, or a run"
    parser.add_argument("predict", metavar="MODEL", help=told)
    parser.add_argument("rows", metavar="ROWS", help="a file (csv, tsv, jsonl, parquet), or data by name")
    for name, (value, meaning) in TOLD.items():
        if name in NUMBERS:
            meaning = f"{meaning} ({NUMBERS[name]})"
        parser.add_argument(f"--{name}", metavar=value, type=int if name in NUMBERS else str, help=meaning)
    return parser

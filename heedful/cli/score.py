"""The command that measures a model by its answers to the inputs that ``heedful inputs`` wrote."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from heedful.records.command_lines import CommandParser


def main(argv: list[str]) -> Callable[[], None]:
    """Parse the words; the function that is returned measures, and shows the results.

    Raises:
        HeedfulError: A word is not an argument.
    """
    parser = CommandParser(
        "score",
        'Measure a model by its answers to the inputs that heedful inputs wrote. A line is {"id": ..., "answer": '
        'LABEL}, {"id": ..., "probs": {LABEL: P, ...}}, or one of the output of a batch; "" means no answer. A line '
        "with an error, or without an answer, is a failed request: its input has no answer yet.",
        [
            ("inputs.jsonl answers.jsonl", "the results that heedful measure would give"),
            ("batch.jsonl output-1.jsonl output-2.jsonl -o FOLDER", "answers in several files"),
        ],
    )
    parser.add_argument("inputs", metavar="INPUTS", help="the file of inputs, beside its .meta.json")
    parser.add_argument("answers", nargs="+", metavar="ANSWERS", help="files of answers")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder of the results; by default a new one in runs/")
    return partial(_score, parser.parse_args(argv))


def _score(options: Any) -> None:
    versions = (Path("runs", "answers", f"version_{n}") for n in count())
    output = options.output or next(folder for folder in versions if not folder.exists())
    import_module("heedful").score(options.inputs, options.answers, output=output).show()

"""The command that makes results of answers to the inputs that ``heedful inputs`` has written."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.records import DataError
from heedful.records.command_lines import CommandParser


def main(argv: list[str]) -> Callable[[], None]:
    """Look at the words; what is returned makes the results, and shows them.

    Raises:
        HeedfulError: A word is not an argument, or a file does not exist.
    """
    options = _parser().parse_args(argv)
    for file in (options.inputs, *options.answers):
        if not Path(file).exists():
            raise DataError(f"{file} does not exist.")
    return partial(_score, options)


def _score(options: Any) -> None:
    heedful = import_module("heedful")
    heedful.score(options.inputs, options.answers, partial=options.partial, output=options.output).show()


def _parser() -> CommandParser:
    parser = CommandParser(
        "score",
        'Make results of answers to the inputs that heedful inputs wrote. A line is {"id": ..., "answer": LABEL}, '
        '{"id": ..., "probs": {LABEL: P, ...}}, or one of the output of a batch; "" is no answer. A line with an '
        "error, or without an answer, is a request that failed: the input has none.",
        [
            ("inputs.jsonl answers.jsonl", "the results that evaluate.py would make"),
            ("inputs.jsonl part-1.jsonl part-2.jsonl -o results", "answers in several files"),
            ("batch.jsonl batch_output.jsonl --partial", "where some requests have failed"),
        ],
    )
    parser.add_argument("inputs", metavar="INPUTS", help="the file of inputs, with the one beside it")
    parser.add_argument("answers", nargs="+", metavar="ANSWERS", help="files of answers, as .jsonl")
    told = "score the examples of which every input has an answer; all numbers are flagged"
    parser.add_argument("--partial", action="store_true", help=told)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder of the results; by default a new one in runs/")
    return parser

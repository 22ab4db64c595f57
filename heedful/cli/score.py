"""``heedful score``: measure a model by a file of its answers to the inputs of ``heedful inputs``."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from heedful.records.command_lines import CommandParser


def main(argv: list[str]) -> Callable[[], None]:
    """Parse the arguments, and return a function that measures and prints the results.

    Raises:
        HeedfulError: An argument is unknown.
    """
    parser = CommandParser(
        "score",
        'Measure a model by its answers to the inputs of heedful inputs. A line is {"id": ..., "answer": LABEL}, '
        '{"id": ..., "probs": {LABEL: P, ...}}, or a line of the output of a batch; the answer "" means no answer. '
        "A line with an error, or without an answer, is a failed request.",
        [
            ("inputs.jsonl answers.jsonl", "the same results as heedful measure"),
            ("batch.jsonl output-1.jsonl output-2.jsonl -o FOLDER", "answers in several files"),
        ],
    )
    parser.add_argument("inputs", metavar="INPUTS", help="the file of inputs; INPUTS.meta.json is needed as well")
    parser.add_argument("answers", nargs="+", metavar="ANSWERS", help="files of answers")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder of the results (in runs/answers)")
    return partial(_score, parser.parse_args(argv))


def _score(options: Any) -> None:
    versions = (Path("runs", "answers", f"version_{n}") for n in count())
    output = options.output or next(folder for folder in versions if not folder.exists())
    import_module("heedful").score(options.inputs, options.answers, output=output).show()

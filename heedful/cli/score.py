"""``heedful score``: results of answers to the inputs that ``heedful inputs`` has written."""

import argparse

from heedful.assembly.answers_from_files import score

EXAMPLES = """\
examples:
  heedful score inputs.jsonl answers.jsonl
  heedful score inputs.jsonl part-1.jsonl part-2.jsonl -o results
  heedful score batch.jsonl batch_output.jsonl --partial

A line of the answers is {"id": ..., "answer": LABEL}, {"id": ..., "probs":
{LABEL: P, ...}}, or one of the output of a batch; "" is no answer. A line with
an error, or without an answer, is a request that failed: the input has none.
"""


def main(argv: list[str]) -> None:
    """Make the results, and show them."""
    options = _parser().parse_args(argv)
    score(options.inputs, options.answers, partial=options.partial, output=options.output).show()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heedful score",
        description="Make results of answers to the inputs that heedful inputs wrote.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("inputs", help="the file of inputs, with the one beside it")
    parser.add_argument("answers", nargs="+", help="files of answers, as .jsonl")
    told = "score the examples of which every input has an answer; all numbers are flagged"
    parser.add_argument("--partial", action="store_true", help=told)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="by default a new one in runs/")
    return parser

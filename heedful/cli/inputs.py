"""``heedful inputs``: every input that an evaluation may need, in a file, for a model that is not at hand."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heedful.assembly.answers_from_files import write_inputs
from heedful.assembly.endpoint import Endpoint
from heedful.assembly.input_files import FORMS, beside
from heedful.assembly.names import load_data
from heedful.records import HeedfulError
from heedful.records.storage.yaml_files import SettingsLoader, parse_yaml

EXAMPLES = """\
settings of the data, an evaluation, --endpoint and --prompt follow a dot:
  heedful inputs --data snli --data.path FILE -o inputs.jsonl
  heedful inputs --data my.csv --parts premise hypothesis -o inputs.jsonl
  heedful inputs --data rte --attentiveness.draws 2 -o batch.jsonl \\
      --format openai-batch --endpoint gpt-4o-mini --endpoint.max_tokens 4

Answer {"id": ..., "parts": {...}} by a line {"id": ..., "answer": LABEL} or
{"id": ..., "probs": {LABEL: P, ...}}; heedful score --help says the rest.
"""
GROUPS = "data", "endpoint", "prompt"  # settings of others are those of an evaluation


def main(argv: list[str]) -> None:
    """Write the file, and say what is in it."""
    parser = _parser()
    options, rest = parser.parse_known_args(argv)
    groups = _groups(rest, parser)
    if (options.format == "openai-batch") != (options.endpoint is not None):
        wrong = "--format openai-batch and --endpoint NAME, which says whom to ask, go together."
        raise HeedfulError("missing-setting", wrong, "Give both, or neither.")
    of = {name: groups.pop(name, {}) for name in GROUPS}
    if of["endpoint"] and options.endpoint is None:
        raise HeedfulError("idle-setting", "§endpoint names no model, and has settings.", "Add --endpoint NAME.")
    is_rows = options.parts is not None or Path(options.data).is_file() and not options.data.endswith((".yaml", ".yml"))
    if is_rows and of["data"]:
        wrong = f"§data.{next(iter(of['data']))} is for data by a name, and {options.data} is a file of rows."
        raise HeedfulError("idle-setting", wrong, "Leave it out, or name the kind of the data.")
    written = write_inputs(
        options.data if is_rows else load_data(options.data, **of["data"]),
        options.output,
        options.parts,
        options.default_label,
        label=options.label,
        labels=options.labels,
        swap=options.swap,
        keeps=options.keeps,
        evaluations=options.evaluations.split(",") if options.evaluations else None,
        seed=options.seed_everything,
        endpoint=None if options.endpoint is None else Endpoint(model=options.endpoint, **of["endpoint"]),
        prompt=of["prompt"] or None,
        **groups,
    )
    print(f"{written}. Keep {beside(options.output).name} beside it.")


def _groups(words: Sequence[str], parser: argparse.ArgumentParser) -> dict[str, dict[str, Any]]:
    """Settings with a dot, such as ``--data.path FILE`` or ``--data.path=FILE``, by their group."""
    groups: dict[str, dict[str, Any]] = {}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        group, dot, name = flag.removeprefix("--").partition(".")
        if not flag.startswith("--") or not dot or not (equals or rest):
            parser.error(f"unrecognized arguments: {flag}")
        groups.setdefault(group, {})[name] = _value(value if equals else rest.pop(0))
    return groups


def _value(text: str) -> Any:
    """A setting as YAML has it; a text as it is, as one with a part in braces."""
    try:
        found = parse_yaml(text, text, SettingsLoader)
    except HeedfulError:
        return text
    is_text = isinstance(found, str) or (isinstance(found, Mapping) and None in found.values())
    return text if is_text else found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heedful inputs",
        description="Write every input that an evaluation may need, for a model that runs elsewhere.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s --data D -o FILE [settings]",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--data", required=True, help="a name that evaluate.py knows, or a file of rows")
    add("-o", "--output", required=True, help="the file to write")
    add("--format", choices=tuple(FORMS), default="jsonl", help="by default %(default)s")
    add("--parts", nargs="+", help="of a file of rows: the columns that a model reads")
    add("--label", default="label", help="of a file of rows: the column of gold labels")
    add("--labels", nargs="+", help="of a file of rows: the labels")
    add("--default_label", help="answer to parts that have nothing to do with each other")
    add("--swap", nargs="+", metavar="PART", help="parts that must matter")
    add("--keeps", nargs="+", metavar="PART", default=[], help="parts that must not matter")
    add("--evaluations", help="only these, with commas; by default all of evaluate.py")
    add("--seed_everything", type=int, default=0, metavar="SEED", help="as of evaluate.py, by default 0")
    add("--endpoint", metavar="NAME", help="the model that a batch asks")
    return parser

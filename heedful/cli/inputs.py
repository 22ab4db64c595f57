"""The command that writes every input that an evaluation may need, for a model that is not at hand."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.cli.measure import add_settings, settings_of
from heedful.records import HeedfulError, SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.storage.yaml_files import parse_yaml

FORMATS = ("jsonl", "openai-batch")
OF_ROWS = ("parts", "default_label", "label", "labels", "swap", "keeps", "same", "cluster", "by", "uid", "name")
GROUPS = "data", "endpoint", "prompt"  # settings of others are those of an evaluation


def main(argv: list[str]) -> Callable[[], None]:
    """Look at the words; what is returned writes the file, and says what is in it.

    Raises:
        HeedfulError: A word is not an argument, or a name or a file is not known.
    """
    options, rest = _parser().parse_known_args(argv)
    groups = _groups(rest)
    if (options.format == "openai-batch") != (options.endpoint is not None):
        raise SettingError(
            "--format openai-batch and --endpoint NAME, which says whom to ask, go together. Give both, or neither."
        )
    of = {name: groups.pop(name, {}) for name in GROUPS}
    if of["endpoint"] and options.endpoint is None:
        raise SettingError("endpoint names no model, and has settings. Add --endpoint NAME.")
    if idle := sorted({"cache", "concurrency", "max_requests", "timeout"} & of["endpoint"].keys()):
        raise SettingError(f"endpoint.{idle[0]} changes nothing: no request is sent. Leave it out.")
    is_rows = options.parts is not None or Path(options.data).is_file() and not options.data.endswith((".yaml", ".yml"))
    if is_rows and of["data"]:
        raise SettingError(
            f"data.{next(iter(of['data']))} is for data by a name, and {options.data} is a file of rows. Leave it "
            "out, or name the kind of the data."
        )
    settings = settings_of(vars(options), (*OF_ROWS, "evaluations")) | groups
    settings["seed"] = options.seed_everything
    return partial(_write, options, is_rows, of, settings)


def _write(options: Any, is_rows: bool, of: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    heedful = import_module("heedful")
    data = options.data if is_rows else heedful.load_data(options.data, **of["data"])
    endpoint = None if options.endpoint is None else heedful.Endpoint(model=options.endpoint, **of["endpoint"])
    written = heedful.write_inputs(data, options.output, endpoint=endpoint, prompt=of["prompt"] or None, **settings)
    print(f"{written}. Keep {written.path.name}.meta.json beside it.")


def _groups(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings with a dot, such as ``--data.path FILE`` or ``--data.path=FILE``, by their group."""
    groups: dict[str, dict[str, Any]] = {}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        group, dot, name = flag.removeprefix("--").partition(".")
        if not flag.startswith("--") or not dot or not (equals or rest):
            raise SettingError(f"Unrecognized arguments: {flag}. See heedful inputs --help.")
        groups.setdefault(group, {})[name] = _value(value if equals else rest.pop(0))
    return groups


def _value(text: str) -> Any:
    """A setting as YAML has it; a text as it is, as one with a part in braces."""
    try:
        value = parse_yaml(text, text)
    except HeedfulError:
        return text
    is_text = isinstance(value, str) or (isinstance(value, Mapping) and None in value.values())
    return text if is_text else value


def _parser() -> CommandParser:
    parser = CommandParser(
        "inputs",
        "Write every input that an evaluation may need, for a model that runs elsewhere. heedful score makes results "
        'of its answers: a line {"id": ..., "answer": LABEL} or {"id": ..., "probs": {LABEL: P, ...}} for each. '
        "Settings of the data, an evaluation, the endpoint and the prompt follow a dot.",
        [
            ("--data snli --data.path FILE -o inputs.jsonl", "data that evaluate.py knows"),
            ("--data my.csv --parts premise,hypothesis -o inputs.jsonl", "rows of your own"),
            ("--data rte --format openai-batch --endpoint NAME -o batch.jsonl", "requests of OpenAI's batch API"),
        ],
        usage="heedful inputs --data D -o FILE [settings]",
    )
    parser.add_argument("--data", required=True, metavar="D", help="a name that evaluate.py knows, or a file of rows")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help="of the file (%(default)s)")
    parser.add_argument("--endpoint", metavar="NAME", help="the model that a batch asks")
    add_settings(parser, (*OF_ROWS, "evaluations"))
    parser.add_argument("--seed_everything", type=int, default=0, metavar="N", help="as of evaluate.py (%(default)s)")
    return parser

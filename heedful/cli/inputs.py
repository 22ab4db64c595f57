"""``heedful inputs``: write the inputs of an evaluation for a model that runs elsewhere."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heedful.cli.measure import add_settings, settings_of
from heedful.records import SettingError
from heedful.records.command_lines import CommandParser
from heedful.records.storage.yaml_files import parse_yaml

BATCH = "openai-batch"
SETTINGS = ("parts", "default_label", "label", "labels", "swap", "keeps", "same", "cluster", "by", "uid", "name")
SETTINGS += ("draws", "evaluations", "seed")  # settings of heedful.measure


def main(argv: list[str]) -> Callable[[], None]:
    """Parse the arguments, and return a function that writes the file.

    Raises:
        HeedfulError: An argument is unknown, or has no value.
    """
    parser = CommandParser(
        "inputs",
        "Write each input that an evaluation may need, for a model that runs elsewhere; heedful score reads its "
        "answers. Settings of the data, the evaluations, the endpoint and the prompt have a dot, as in --data.path.",
        [
            ("--data snli --data.path FILE -o inputs.jsonl", "data by name"),
            ("--data my.csv --parts premise,hypothesis -o inputs.jsonl", "a file of rows"),
            (f"--data rte --format {BATCH} --endpoint NAME -o batch.jsonl", "requests for OpenAI's batch API"),
        ],
        usage="heedful inputs --data D -o FILE [settings]",
    )
    parser.add_argument("--data", required=True, metavar="D", help="data by name, or a file of rows")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--format", choices=("jsonl", BATCH), default="jsonl", help="format of the file (%(default)s)")
    parser.add_argument("--endpoint", metavar="NAME", help="name of the model in the batch")
    add_settings(parser, SETTINGS)
    options, remaining = parser.parse_known_args(argv)
    groups = _groups(remaining)
    if (options.format == BATCH) != (options.endpoint is not None) or ("endpoint" in groups and not options.endpoint):
        raise SettingError(f"--format {BATCH} and --endpoint NAME require each other.")
    return partial(_write, options, groups)


def _write(options: Any, groups: dict[str, dict[str, Any]]) -> None:
    heedful = import_module("heedful")
    data, endpoint = options.data, None
    if options.parts is None and (data.endswith((".yaml", ".yml")) or not Path(data).is_file()):
        data = heedful.load_data(data, **groups.pop("data", {}))
    if options.endpoint is not None:
        endpoint = heedful.Endpoint(model=options.endpoint, **groups.pop("endpoint", {}))
    settings = settings_of(vars(options), SETTINGS) | groups
    inputs = heedful.write_inputs(data, options.output, endpoint=endpoint, **settings)
    print(f"{options.output}: {inputs:,} inputs. heedful score needs {options.output}.meta.json as well.")


def _groups(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings such as ``--data.path FILE`` or ``--data.path=FILE``, by the name before the dot."""
    groups: dict[str, dict[str, Any]] = {}
    remaining = iter(words)
    for word in remaining:
        flag, equals, value = word.partition("=")
        group, _, name = flag.removeprefix("--").partition(".")
        text = value if equals else next(remaining, None)
        if not flag.startswith("--") or not name or text is None:
            raise SettingError(f"Unrecognized arguments: {word}. See heedful inputs --help.")
        groups.setdefault(group, {})[name] = _value(text)
    return groups


def _value(text: str) -> Any:
    """Parse YAML; a text with parts in braces, as in a prompt, stays a text."""
    try:
        value = parse_yaml(text, text)
    except SettingError:
        return text
    return text if isinstance(value, str) or (isinstance(value, dict) and None in value.values()) else value

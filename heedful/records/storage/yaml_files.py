"""Read YAML files: settings, in which a repeated key is an error, and word lists."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from heedful.records.errors import DataError, SettingError
from heedful.records.storage.files import open_file

PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE = "tag:yaml.org,2002:merge"


class SettingsLoader(PARSER):  # type: ignore[misc, valid-type]
    """Loader by the core schema of YAML 1.2: 1e-5 and 010 are decimal; dates, 12:30, 1_000, yes and no are texts."""

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if tag.endswith((":null", ":merge"))]
        for first, forms in PARSER.yaml_implicit_resolvers.items()
    }

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        """Convert an integer: decimal, octal after 0o, hexadecimal after 0x."""
        return int(node.value, {"0o": 8, "0x": 16}.get(node.value[:2], 10))

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Raise ConstructorError if a mapping repeats a key, before merge keys (``<<``) are expanded."""
        if not hasattr(node, "is_flat"):
            node.is_flat = True  # type: ignore[attr-defined]
            keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE]
            counts = Counter((key.tag, key.value) for key in keys)  # the number 1 and the text "1" are different keys
            if repeated := [key for key in reversed(keys) if counts[key.tag, key.value] > 1]:
                raise ConstructorError(None, None, f"the key {repeated[0].value!r} is repeated", repeated[0].start_mark)
        super().flatten_mapping(node)


BOOL = re.compile(r"(true|True|TRUE|false|False|FALSE)$")
FLOAT = re.compile(
    r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)
INTEGER = re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$")
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:bool", BOOL, list("tTfF"))
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:int", INTEGER, list("-+0123456789"))
SettingsLoader.add_constructor("tag:yaml.org,2002:int", SettingsLoader.construct_integer)
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def parse_yaml(text: str, display_name: str) -> Any:
    """Parse a YAML text; raises SettingError, about ``display_name``, if it is not valid."""
    try:
        return SettingsLoader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SettingError(f"{display_name} is not valid YAML: {problem}{line}.") from None


def read_yaml(path: str, display_name: str) -> Any:
    return parse_yaml(read_text(path, display_name), display_name)


def read_text(path: str, display_name: str) -> str:
    """Read a text file in UTF-8; error messages begin with ``display_name``."""
    with open_file(path, display_name) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{display_name} is not UTF-8: {error.reason}. Save the file as UTF-8.") from None


def word_lists(module: str) -> dict[str, Any]:
    """Read the YAML file beside a module (its ``__file__``); all scalars are texts, even "no" and "1"."""
    return yaml.load(Path(module).with_suffix(".yaml").read_text("utf-8"), Loader=yaml.BaseLoader)

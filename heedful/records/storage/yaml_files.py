"""YAML files of settings: a key that stands twice would silently count once, and is refused."""

import re
from collections import Counter
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from heedful.records.errors import DataError, SettingError
from heedful.records.storage.files import open_file

PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE = "tag:yaml.org,2002:merge"


class SettingsLoader(PARSER):  # type: ignore[misc, valid-type]
    """Reads YAML 1.2: 1e-5 is a number, dates are texts, and so are yes, no, on and off, which are labels."""

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in forms if not tag.endswith((":float", ":timestamp", ":bool"))]
        for first, forms in PARSER.yaml_implicit_resolvers.items()
    }

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Refuse a key that stands twice, before merge keys add those of other mappings."""
        if not hasattr(node, "is_flat"):
            node.is_flat = True  # type: ignore[attr-defined]
            keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.tag != MERGE]
            counts = Counter((key.tag, key.value) for key in keys)  # a number in quotes is another key
            if twice := [key for key in reversed(keys) if counts[key.tag, key.value] > 1]:
                raise ConstructorError(None, None, f"the key {twice[0].value!r} is repeated", twice[0].start_mark)
        super().flatten_mapping(node)


BOOL = re.compile(r"(true|True|TRUE|false|False|FALSE)$")
FLOAT = re.compile(
    r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
)
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:bool", BOOL, list("tTfF"))
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def parse_yaml(text: str, display_name: str) -> Any:
    """The values of YAML; ``display_name`` begins the message.

    Raises:
        HeedfulError: It is not YAML, or a key stands twice.
    """
    try:
        return SettingsLoader(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SettingError(f"{display_name} is not valid YAML: {problem}{line}.") from None


def read_yaml(path: str, display_name: str) -> Any:
    """The values of a YAML file; ``display_name`` begins the message.

    Raises:
        HeedfulError: See :func:`read_text`; or it is not YAML that can be read.
    """
    return parse_yaml(read_text(path, display_name), display_name)


def read_text(path: str, display_name: str) -> str:
    """The text of a file of settings; ``display_name`` begins the message.

    Raises:
        HeedfulError: It is not a file, or not UTF-8.
    """
    with open_file(path, display_name) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{display_name} is not UTF-8: {error.reason}. Save the file as UTF-8.") from None

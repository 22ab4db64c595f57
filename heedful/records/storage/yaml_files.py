"""YAML files of settings: a key that stands twice would silently count once, and is refused."""

import re
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
        loader = SettingsLoader(text)
        node = loader.get_single_node()
        _require_unique(node)
        return None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise SettingError(f"{display_name} is not valid YAML: {problem}{line}.") from None


def _require_unique(root: yaml.Node | None) -> None:
    """Refuse a mapping in which a key stands twice; an alias is the node that it names."""
    nodes, seen = [root], set()
    while nodes:
        node = nodes.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
            continue
        keys = set()
        for key, value in node.value:
            nodes.append(value)
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            if (key.tag, key.value) in keys:  # a number in quotes is another key
                raise ConstructorError(None, None, f"the key {key.value!r} stands twice in one place", key.start_mark)
            keys.add((key.tag, key.value))


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

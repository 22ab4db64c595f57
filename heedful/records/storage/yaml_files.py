"""YAML files of settings: a key that stands twice would silently count once, and is refused."""

import re
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from heedful.records.errors import DataError, SettingError
from heedful.records.storage.files import open_file

LARGEST = 2**22  # bytes of a file of settings
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MERGE = "tag:yaml.org,2002:merge"


class SettingsLoader(PARSER):  # type: ignore[misc, valid-type]
    """Reads YAML 1.2: 1e-5 is a number, dates are texts, and so are yes, no, on and off, which are labels."""


OF_NUMBERS = re.compile(
    r"[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|"
    r"\.(inf|Inf|INF))$|\.[0-9_]+([eE][-+][0-9]+)?$|\.(nan|NaN|NAN)$"
)
SettingsLoader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if not tag.endswith((":float", ":timestamp", ":bool"))]
    for first, forms in PARSER.yaml_implicit_resolvers.items()
}
SettingsLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
SettingsLoader.add_implicit_resolver("tag:yaml.org,2002:float", OF_NUMBERS, list("-+0123456789."))


def examine(text: str) -> None:
    """Go through YAML without making anything of it.

    Raises:
        yaml.YAMLError: It is not YAML, a key stands twice in one mapping, or a value holds itself.
    """
    _look_through(yaml.compose(text, Loader=PARSER), (), set())


def _look_through(node: yaml.Node | None, outer: tuple[yaml.Node, ...], seen: set[int]) -> None:
    """Check a node and what it holds; an alias is the node that it names, which is looked through once."""
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    if any(node is other for other in outer):
        raise ConstructorError(None, None, "a value holds itself", node.start_mark)
    for inner in _values(node) if isinstance(node, yaml.MappingNode) else node.value:
        _look_through(inner, (*outer, node), seen)
    seen.add(id(node))


def _values(mapping: yaml.MappingNode) -> list[yaml.Node]:
    """The values of a mapping, none of whose keys stands twice."""
    keys = set()
    for key, _ in mapping.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        if (key.tag, key.value) in keys:  # a number in quotes is another key
            raise ConstructorError(None, None, f"the key {key.value!r} stands twice in one place", key.start_mark)
        keys.add((key.tag, key.value))
    return [value for _, value in mapping.value]


def parse_yaml(text: str, display_name: str) -> Any:
    """The values of YAML; ``display_name`` begins the message.

    Raises:
        HeedfulError: It is not YAML, a key stands twice, or a value holds itself.
    """
    try:
        examine(text)
        return yaml.load(text, Loader=SettingsLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that no calendar has is a ValueError
        raise SettingError(f"{display_name} is not valid YAML: {_first(error)}.") from None


def read_yaml(path: str, display_name: str) -> Any:
    """The values of a YAML file; ``display_name`` begins the message.

    Raises:
        HeedfulError: See :func:`read_text`; or it is not YAML that can be read.
    """
    return parse_yaml(read_text(path, display_name), display_name)


def read_text(path: str, display_name: str) -> str:
    """The text of a file of settings; ``display_name`` begins the message.

    Raises:
        HeedfulError: It is not a file, too large, or not UTF-8.
    """
    with open_file(path, display_name) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SettingError(f"{display_name} has more than {LARGEST >> 20} MiB. Check that it is a file of settings.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{display_name} is not UTF-8: {error.reason}. Save the file as UTF-8.") from None


def _first(error: Exception) -> str:
    """The fault and its line, without the lines of the file that a YAMLError quotes."""
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    said = problem or (str(error).splitlines() or [type(error).__name__])[0]
    return f"{said} (line {mark.line + 1})" if mark is not None else said

"""The parser of settings: jsonargparse, with texts that stay texts, and objects in memory as values."""

import re
import sys
from collections.abc import Mapping
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

import yaml
from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

from heedful.records.errors import SettingError, nearest

DEFAULTS: dict[str, Any] = {"exit_on_error": False, "allow_abbrev": False, "add_help": False}
LONGEST = 60  # characters of a value or of a type in a message
PROBLEMS = (  # of a class that a setting names, in the words of jsonargparse
    r"(?:Option|Key) '[\w.]+' is not (?:accepted|expected)",
    r"arguments are required: [\w.]+",
    r"""Key ["'][\w.]+["'] is required""",
)
TYPE = re.compile(r"<class '(?:\w+\.)*(\w+)'>|(?:\w+\.)+(?=\w)")  # the name of a type without its module

set_parsing_settings(
    import_path_denylist=[],  # no further modules; naming any enforces the list of jsonargparse, such as os and pickle
    validate_subclass_spec_in_any=False,  # a setting of any type holds data and no class
    instantiate_subclass_spec_in_any=False,
)


class Text(str):
    """A text from Python or YAML. jsonargparse would read a plain str as YAML: "null" would become None."""

    __slots__ = ()


class InMemory:
    """Hides a live object, such as rows, from the parser, which would walk through it.

    Args:
        value: The object.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


class Parser(ArgumentParser):
    """A parser without abbreviations and without ``--help`` that raises :class:`SettingError`.

    Attributes:
        nested: The nested settings that are being parsed, for messages.
    """

    nested: Mapping[str, Any] = {}

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **DEFAULTS | settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise SettingError(_readable(message, self)) from None

    @cached_property
    def actions(self) -> dict[str, Any]:
        """Actions by the dotted names of their settings."""
        return {action.dest: action for action in self._actions if action.dest in self.names}

    @cached_property
    def names(self) -> list[str]:
        """Dotted names of all settings."""
        names = [action.dest for action in self._actions]
        groups = {name.partition(".")[0] for name in names if "." in name}
        return [name for name in names if name not in groups and not name.endswith(".help")]

    def takes_text(self, name: str) -> bool:
        """Whether a setting may be a text."""
        hint = getattr(self.actions[name], "_typehint", str)
        return hint is str or (get_origin(hint) in (Union, UnionType) and str in get_args(hint))

    def has_group(self, name: str) -> bool:
        """Whether some settings begin with this name and a dot."""
        return any(setting.startswith(f"{name}.") for setting in self.names)


@cache
def class_parser(owner: type, name: str) -> Parser:
    """The parser of the settings of one class alone, under a name such as "data"."""
    parser = Parser()
    parser.add_class_arguments(owner, name, instantiate=False, skip={"loader"})
    return with_integers_first(parser)


def with_integers_first(parser: Parser) -> Parser:
    """Reorder unions of a parser so that int comes before float and str, and accept hidden objects as rows."""
    for action in parser._actions:
        hint = getattr(action, "_typehint", None)
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
        if hint is not None and action.dest in ("data.path", "data.same"):
            action._typehint = hint | InMemory  # type: ignore[attr-defined]
        elif int in members:  # 1 batch is not 1.0, which means all; typing returns an equal union in another order
            action._typehint = Union.__getitem__((int, *(member for member in members if member is not int)))  # type: ignore[attr-defined]
    return parser


def texts(value: Any) -> Any:
    """Settings for the parser: texts stay texts, numpy scalars and paths become plain values."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, Path):
        return Text(str(value))
    if isinstance(value, Mapping):
        return {name: texts(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [texts(inner) for inner in value]
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape else value


def require_known(parser: Parser, values: Mapping[str, Any]) -> None:
    """Refuse settings that do not exist.

    Args:
        parser: The parser.
        values: Nested settings.

    Raises:
        SettingError: A setting is unknown; the message has the nearest known one.
    """
    for name, inner in values.items():
        if name in parser.names:
            continue
        if not parser.has_group(name):
            raise SettingError(_unknown(name, parser))
        if not isinstance(inner, Mapping):
            raise SettingError(f"{name}: {inner!r} is not a mapping of settings.")
        for inner_name in inner:
            dotted = f"{name}.{inner_name}"
            if dotted not in parser.names and not parser.has_group(dotted):
                raise SettingError(_unknown(dotted, parser))


def _unknown(name: str, parser: Parser) -> str:
    """The message for an unknown setting."""
    group, _, last = name.rpartition(".")
    if group and not parser.has_group(group):
        group, last = "", name.partition(".")[0]
    candidates = [setting for setting in parser.names if setting.rpartition(".")[0] == group]
    if not group:
        candidates += sorted({setting.partition(".")[0] for setting in parser.names if "." in setting})
    near = nearest(last, [setting.removeprefix(f"{group}.") for setting in candidates])
    subject = f"{group} has no setting {last}" if group else f"There is no setting {name}"
    return f"{subject} (did you mean {near}?)." if near else f"{subject}. The page Settings of the docs lists all."


def require_kinds(values: Any, kinds: tuple[type, ...], name: str = "") -> None:
    """Refuse settings that name a function or a foreign class: nothing is called because a configuration names it.

    Args:
        values: Parsed settings, without defaults: some defaults of Lightning are functions.
        kinds: The classes that may be named, and whose subclasses may be.
        name: The dotted name of the settings.

    Raises:
        SettingError: There is one.
    """
    if isinstance(values, Namespace | Mapping):
        items = vars(values) if isinstance(values, Namespace) else values
        if isinstance(path := items.get("class_path"), str):
            module, _, class_name = path.rpartition(".")
            owner = getattr(sys.modules.get(module), class_name, None)  # imported by the parser
            if not (isinstance(owner, type) and issubclass(owner, kinds)):
                raise SettingError(f"{name}: {path} is not a class that a setting may name.")
        for key, inner in items.items():
            require_kinds(inner, kinds, name if key == "init_args" else f"{name}.{key}".lstrip("."))
    elif isinstance(values, list | tuple):
        for inner in values:
            require_kinds(inner, kinds, name)
    elif callable(values) and not isinstance(values, (*kinds, PathLike)):
        path = f"{values.__module__}.{getattr(values, '__qualname__', type(values).__qualname__)}"
        raise SettingError(f"{name}: {path} is a function. Name a class.")


def _readable(message: str, parser: Parser) -> str:
    """The message of jsonargparse in one sentence that begins with the setting."""
    flat = " ".join(message.split())
    if match := re.match(r"[Uu]nrecognized arguments: (\S+)", flat):
        word = match[1].partition("=")[0]
        if not word.startswith("--"):
            return f"{match[1]!r} follows no setting. Put quotes around a value with blanks."
        return _unknown(word.removeprefix("--").replace("init_args.", ""), parser)
    if match := re.match(r"argument --([\w.]+): expected", flat):
        return f"{match[1]} needs a value."
    if (key := re.match(r'Parser key "([\w.]+)"', flat)) is None:
        return f"{flat[:200].rstrip('.')}."
    name, value = key[1], re.search(r"(?:Given value|Got value): (.*)", flat)
    shown_value = str(value[1] if value else _value_of(parser.nested, name))[:LONGEST]
    if problem := re.search("|".join(PROBLEMS), flat):
        return f"{name}: {problem[0].rstrip('.')}."
    if re.search(r"import path|No module named|has no attribute", flat):
        classes = [kind for kind in dir(sys.modules.get("pytorch_lightning.callbacks")) if kind[0].isupper()]
        near = nearest(shown_value, classes)
        return f"{name}: there is no class {shown_value}{f' (did you mean {near}?)' if near else ''}."
    expected = TYPE.sub(lambda match: match[1] or "", str(getattr(parser.actions.get(name), "_typehint", "valid")))
    return f"{name}: {shown_value} is not of type {expected.replace(' | ', ' or ')[:LONGEST]}."


def _value_of(nested: Any, name: str) -> Any:
    """The value of a dotted name in nested mappings; None if there is none."""
    for key in name.split("."):
        nested = nested.get(key) if isinstance(nested, Mapping) else None
    return nested


def parsed(parser: Parser, values: Mapping[str, Any], before: Namespace, where: str) -> Namespace:
    """A namespace with the settings of a layer on top."""
    values = {name: inner for name, inner in values.items() if inner != {}}  # an evaluation without settings
    if not values:
        return before
    parser.nested = values
    try:
        require_known(parser, values)
        return parser.parse_object(texts(values), namespace=before, defaults=False, _skip_validation=True)
    except SettingError as error:
        raise error.at(where) if where else error from None


def construct(owner: type, name: str, settings: Mapping[str, Any], where: str = "") -> Any:
    """An object of a class from its settings, checked by the parser.

    Args:
        owner: The class.
        name: Prefix of the settings in messages, such as "model".
        settings: The settings.
        where: Prefix of messages, such as a file.

    Raises:
        SettingError: A setting is unknown, missing or of another type.
    """
    parser = class_parser(owner, name)
    values = parsed(parser, {name: settings} if settings else {}, Namespace(), where)
    parser.parse_object(values)  # nothing is missing
    return owner(**unwrapped(parser.instantiate(values).get(name) or {}))


def unwrapped(value: Any) -> Any:
    """A parsed value for a constructor: plain texts, mappings and live objects."""
    if isinstance(value, InMemory):
        return value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, dict):
        return {str(name): unwrapped(inner) for name, inner in value.items()}
    return [unwrapped(inner) for inner in value] if isinstance(value, list) else value


class _Dumper(yaml.SafeDumper):
    """Quotes texts that YAML 1.2 reads as numbers, and writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


NUMBER_LIKE = re.compile(r"[-+]?[\d.][\d._]*(e[-+]?\d+)?", re.IGNORECASE)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "'" if NUMBER_LIKE.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(values: Mapping[str, Any]) -> str:
    """Settings as YAML that reads back to the same values."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)

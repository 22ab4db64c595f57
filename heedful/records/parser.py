"""The parser of settings: jsonargparse, with texts that stay texts, live objects, and messages in words of settings."""

import re
import sys
from collections.abc import Mapping
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import yaml
from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

from heedful.records.errors import SettingError, nearest

LONGEST = 60  # characters of a value in a message

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
    """A parser that raises :class:`SettingError`, in the words of settings rather than of Python's types.

    Attributes:
        given: The nested settings that it parses at present.
    """

    given: Mapping[str, Any] = {}

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise SettingError(_readable(message, self)) from None

    @cached_property
    def actions(self) -> dict[str, Any]:
        """Actions by the dotted names of their settings."""
        return {action.dest: action for action in self._actions if action.dest in self.names}

    @cached_property
    def names(self) -> list[str]:
        """Dotted names of all settings."""
        every = [action.dest for action in self._actions]
        groups = {name.partition(".")[0] for name in every if "." in name}
        return [name for name in every if name not in groups and not name.endswith(".help")]

    def takes_text(self, name: str) -> bool:
        """Whether a text is a value of a setting."""
        hint = getattr(self.actions[name], "_typehint", str)
        return hint is str or (get_origin(hint) in (Union, UnionType) and str in get_args(hint))

    def has_group(self, name: str) -> bool:
        """Whether some settings begin with this name and a dot."""
        return any(other.startswith(f"{name}.") for other in self.names)


@cache
def class_parser(owner: type, name: str) -> Parser:
    """The parser of the settings of one class alone, under a name such as "data"."""
    parser = Parser(exit_on_error=False, allow_abbrev=False, add_help=False)
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
            others = [member for member in members if member is not int]
            action._typehint = Union.__getitem__((int, *others))  # type: ignore[attr-defined]
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
            whole = f"{name}.{inner_name}"
            if whole not in parser.names and not parser.has_group(whole):
                raise SettingError(_unknown(whole, parser))


def _unknown(name: str, parser: Parser) -> str:
    """The message for an unknown setting."""
    group, _, last = name.rpartition(".")
    if group and not parser.has_group(group):
        group, last = "", name.partition(".")[0]
    known = [other for other in parser.names if other.rpartition(".")[0] == group]
    if not group:
        known += sorted({other.partition(".")[0] for other in parser.names if "." in other})
    near = nearest(last, [other.removeprefix(f"{group}.") for other in known])
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
    """A message of jsonargparse in one or two sentences."""
    flat = " ".join(message.split())
    if match := re.match(r"[Uu]nrecognized arguments: (\S+)", flat):
        word = match[1].partition("=")[0]
        if not word.startswith("--"):
            return f"{match[1]!r} follows no setting. Put quotes around a value with blanks."
        return _unknown(word.removeprefix("--").replace("init_args.", ""), parser)
    if match := re.match(r"argument --([\w.]+): expected", flat):
        return f"{match[1]} needs a value."
    if match := re.match(r'Parser key "([\w.]+)"', flat):
        return _misfit(match[1], message, parser)
    return f"{flat[:200].rstrip('.')}."


def _misfit(name: str, message: str, parser: Parser) -> str:
    """The message for a value of another type, or for a class that cannot be built."""
    owner = match[1] if (match := re.search(r"class_path['=:\" ]+[\w.]*?(\w+)'", message)) else ""
    if match := re.search(r"(?:Option|Key) '([\w.]+)' is not (?:accepted|expected)", message):
        return f"{name}: {owner or 'the class'} has no setting {match[1]}."
    if match := re.search(r"""arguments are required: ([\w., ]+)|Key ["']([\w.]+)["'] is required""", message):
        return f"{name}: {owner or 'the class'} lacks {(match[1] or match[2]).rstrip('.')}."
    given = re.search(r"(?:Given value|Got value): (.*)\Z", message, re.DOTALL)
    value = " ".join(given[1].split()) if given else str(_at(parser.given, name))
    shown = value if len(value) <= LONGEST else f"{value[:LONGEST]}..."
    if re.search(r"dot import path|not a subclass|No module named|has no attribute", message):
        callbacks = dir(sys.modules.get("pytorch_lightning.callbacks"))
        near = nearest(value, [kind for kind in callbacks if kind[0].isupper()])
        return f"{name}: there is no class {shown}{f' (did you mean {near}?)' if near else ''}."
    hint = next((getattr(action, "_typehint", None) for action in parser._actions if action.dest == name), None)
    return f"{name}: {shown} is not {described(hint)}."


def _at(values: Any, name: str) -> Any:
    """The value at a dotted name in nested settings."""
    for part in name.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def described(hint: Any) -> str:
    """The name of a type in a message.

    Example:
        >>> described(Union[int, None]), described(Literal["max", "min"])
        ('int or None', 'max or min')
    """
    if get_origin(hint) in (Union, UnionType):
        members = [described(member) for member in get_args(hint) if member is not InMemory]
        return " or ".join(dict.fromkeys(choice for member in members for choice in member.split(" or ")))
    if get_origin(hint) is Literal:
        return " or ".join(map(str, get_args(hint)))
    if args := get_args(hint):
        return f"{getattr(get_origin(hint), '__name__', hint)} of {', '.join(map(described, args))}"
    if hint is NoneType:
        return "None"
    return getattr(hint, "__name__", str(hint))


def parsed(parser: Parser, values: Mapping[str, Any], before: Namespace, where: str) -> Namespace:
    """A namespace with the settings of a layer on top."""
    values = {name: inner for name, inner in values.items() if inner != {}}  # an evaluation without settings
    if not values:
        return before
    parser.given = values
    try:
        require_known(parser, values)
        return parser.parse_object(texts(values), namespace=before, defaults=False, _skip_validation=True)
    except SettingError as error:
        raise error.at(where) if where else error from None


@cache
def _function_parser(function: Any, skip: tuple[str, ...]) -> Parser:
    parser = Parser(exit_on_error=False, allow_abbrev=False, add_help=False)
    parser.add_function_arguments(function, skip=set(skip), fail_untyped=False)
    return parser


def require_types(function: Any, arguments: Mapping[str, Any], skip: tuple[str, ...]) -> None:
    """Refuse arguments of other types than a function takes.

    Args:
        function: The function.
        arguments: Its arguments by name.
        skip: Parameters that take many types.

    Raises:
        SettingError: An argument has another type.
    """
    parser = _function_parser(function, skip)
    parser.given = {name: value for name, value in arguments.items() if name in parser.names}
    parser.parse_object(texts(parser.given))


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
    made = parser.instantiate(values)
    return owner(**unwrapped(made.get(name) or {}))


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

"""Parse settings with jsonargparse, but leave texts unconverted, accept Python objects, and shorten error messages."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import yaml
from jsonargparse import ArgumentParser, Namespace, _loaders_dumpers, set_parsing_settings

from heedful.records.arguments import IN_MEMORY, class_path, expressible
from heedful.records.errors import SettingError, nearest, suggestion
from heedful.records.storage.yaml_files import SettingsLoader

DEFAULTS: dict[str, Any] = {"exit_on_error": False, "allow_abbrev": False, "add_help": False}
LONGEST = 60  # characters of a value or of a type in a message
MOST_LISTED = 20  # settings that a message lists
OF_LIGHTNING = {"trainer.callbacks": "a callback", "trainer.logger": "a logger"}  # the package lightning has others
PROBLEMS = (  # messages of jsonargparse about the settings of a class
    r"(?:Option|Key) '[\w.]+' is not (?:accepted|expected)",
    r"arguments are required: [\w.]+",
    r"""Key ["'][\w.]+["'] is required""",
)
WORDS: dict[Any, str] = {int: "an integer (int)", float: "a number (float)", bool: "true or false", str: "a text"}
TYPE = re.compile(r"<class '(?:\w+\.)*(\w+)'>|(?:\w+\.)+(?=\w)")  # removes the module from the name of a type

set_parsing_settings(
    import_path_denylist=[],  # enforces jsonargparse's own list of modules that may not be named, such as os and pickle
    validate_subclass_spec_in_any=False,  # a setting of type Any holds data, never a class
    instantiate_subclass_spec_in_any=False,
)


class Text(str):
    """A text that jsonargparse does not parse as YAML; a plain str such as "null" would become None."""

    __slots__ = ()


@contextmanager
def _yaml_1_2() -> Iterator[None]:
    """Have jsonargparse read values by YAML 1.2; other parsers in the process keep YAML 1.1."""
    jsonargparse: Any = _loaders_dumpers  # the loader is private, and jsonargparse has no public one for some types
    before, jsonargparse.yaml_default_loader = jsonargparse.yaml_default_loader, SettingsLoader
    try:
        yield
    finally:
        jsonargparse.yaml_default_loader = before


class Parser(ArgumentParser):
    """A jsonargparse parser that raises :class:`SettingError`; it has neither abbreviations nor ``--help``.

    Attributes:
        nested: The settings that are being parsed, as nested mappings, for error messages.
    """

    nested: Mapping[str, Any] = {}

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **DEFAULTS | settings)

    def parse_args(self, *args: Any, **settings: Any) -> Namespace:  # type: ignore[override]
        with _yaml_1_2():
            return super().parse_args(*args, **settings)

    def parse_object(self, *args: Any, **settings: Any) -> Namespace:
        with _yaml_1_2():
            return super().parse_object(*args, **settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        raise SettingError(_readable(message, self)) from None

    @cached_property
    def actions(self) -> dict[str, Any]:
        """Maps the dotted name of each setting, such as "data.path", to the argparse action that parses it."""
        return {action.dest: action for action in self._actions if action.dest in self.names}

    @cached_property
    def names(self) -> list[str]:
        """The dotted names of all settings, such as "data.path"."""
        names = [action.dest for action in self._actions]
        groups = {name.partition(".")[0] for name in names if "." in name}
        return [name for name in names if name not in groups and not name.endswith(".help")]

    def takes_text(self, name: str) -> bool:
        """Whether the setting with a dotted name, such as "data.path", accepts any text."""
        hint = getattr(self.actions[name], "_typehint", str)
        return hint is str or (get_origin(hint) in (Union, UnionType) and str in get_args(hint))

    def has_group(self, name: str) -> bool:
        """Whether any setting begins with this name and a dot."""
        return any(setting.startswith(f"{name}.") for setting in self.names)


@cache
def class_parser(owner: Any, name: str) -> Parser:
    """Create a parser for the constructor arguments of a class, with a prefix, as in "data.path"."""
    parser = Parser()
    parser.add_class_arguments(owner, name, instantiate=False, skip={"loader"})
    return with_integers_first(parser)


def with_integers_first(parser: Parser) -> Parser:
    """Change a parser in place, and return it: a setting with several types tries int first."""
    for action in parser._actions:
        hint = getattr(action, "_typehint", None)
        members = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
        if int in members:  # limit_val_batches=1 is one batch, 1.0 is all; __getitem__ keeps the order of the types
            action._typehint = Union.__getitem__((int, *(member for member in members if member is not int)))  # type: ignore[attr-defined]
    return parser


def protected_texts(value: Any) -> Any:
    """Convert settings for the parser: texts and paths to :class:`Text`, and NumPy scalars to Python numbers."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, Path):
        return Text(str(value))
    if isinstance(value, Mapping):
        return {name: protected_texts(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [protected_texts(inner) for inner in value]
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape else value


def require_known(parser: Parser, values: Mapping[str, Any]) -> None:
    """Raise SettingError for an unknown setting in nested mappings, such as ``{"data": {"path": "mnli"}}``."""
    for name, inner in values.items():
        if name in parser.names:
            continue
        if not parser.has_group(name):
            raise SettingError(unknown_message(name, parser.names))
        if not isinstance(inner, Mapping):
            raise SettingError(f"{name}: {inner!r} is not a mapping of settings.")
        for inner_name in inner:
            dotted = f"{name}.{inner_name}"
            if dotted not in parser.names and not parser.has_group(dotted):
                raise SettingError(unknown_message(dotted, parser.names))


def unknown_message(name: str, known: Sequence[str]) -> str:
    """Return the error message for an unknown setting, which suggests a similar setting; names are dotted."""
    group, _, last = name.rpartition(".")
    if group and not any(setting.startswith(f"{group}.") for setting in known):
        group, last = "", name.partition(".")[0]
    candidates = [setting for setting in known if setting.rpartition(".")[0] == group]
    if not group:
        candidates += sorted({setting.partition(".")[0] for setting in known if "." in setting})
    names = [setting.removeprefix(f"{group}.") for setting in candidates]
    near = nearest(last, names)
    subject = f"{group} has no setting {last}" if group else f"There is no setting {name}"
    if near:
        return f"{subject} (did you mean {near}?)."
    listed = (
        f"Its settings are {', '.join(names)}"
        if group and 0 < len(names) <= MOST_LISTED
        else "The documentation (Settings) lists all"
    )
    return f"{subject}. {listed}."


def require_kinds(values: Any, kinds: tuple[type, ...], name: str = "") -> None:
    """Raise SettingError if a parsed setting names a function, or a class that is no subclass of ``kinds``, since it
    could run arbitrary code.
    """
    if isinstance(values, Namespace | Mapping):
        items = vars(values) if isinstance(values, Namespace) else values
        if isinstance(path := items.get("class_path"), str):
            module, _, class_name = path.rpartition(".")
            owner = getattr(sys.modules.get(module), class_name, None)  # imported by the parser
            if not (isinstance(owner, type) and issubclass(owner, kinds)):
                raise SettingError(f"{name}: {path} is not an allowed class.")
        for key, inner in items.items():
            require_kinds(inner, kinds, name if key == "init_args" else f"{name}.{key}".lstrip("."))
    elif isinstance(values, list | tuple):
        for inner in values:
            require_kinds(inner, kinds, name)
    elif callable(values) and not isinstance(values, (*kinds, PathLike)):
        path = f"{values.__module__}.{getattr(values, '__qualname__', type(values).__qualname__)}"
        raise SettingError(f"{name}: {path} is a function. Name a class.")


def _readable(message: str, parser: Parser) -> str:
    """Shorten an error message of jsonargparse to one sentence that begins with the name of the setting."""
    flat = " ".join(message.split())
    if match := re.match(r"[Uu]nrecognized arguments: --([\w.]+)", flat):
        return unknown_message(match[1].replace("init_args.", ""), parser.names)
    if (key := re.match(r'Parser key "([\w.]+)"', flat)) is None:
        return f"{flat[:200].rstrip('.')}."
    name, value = key[1], re.search(r"(?:Given value|Got value): (.*)", flat)
    shown_value = str(value[1].split(" - ")[0] if value else _value_of(parser.nested, name))[:LONGEST]
    if problem := re.search("|".join(PROBLEMS), flat):
        return f"{name}: {problem[0].rstrip('.')}."
    if re.search(r"import path|No module named|has no attribute", flat):
        classes = [kind for kind in dir(sys.modules.get("pytorch_lightning.callbacks")) if kind[0].isupper()]
        return f"{name}: there is no class {shown_value}. {suggestion(shown_value, classes)}"
    if name in OF_LIGHTNING:
        return f"{name}: {shown_value} is not {OF_LIGHTNING[name]} of pytorch_lightning, whose classes are needed here."
    expected = _in_words(getattr(parser.actions.get(name), "_typehint", "a valid value"))
    if expected.startswith("a list") and " or " not in expected and "[" not in shown_value:
        return f"{name}: {shown_value} is not a list. Write [{shown_value}]."
    return f"{name}: {shown_value} is not {expected}."


def _in_words(hint: Any) -> str:
    """Describe a type in words, such as "an integer (int) or null" for ``int | None``."""
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = dict.fromkeys(_in_words(member) for member in members if member is not type(None))
        return " or ".join([*kinds, *(["null"] if type(None) in members else [])])
    if origin is Literal:
        return " or ".join(str(member) for member in members)
    if origin in (list, tuple, Sequence, Iterable):
        return "a list"
    if origin in (dict, Mapping):
        return "a mapping"
    return WORDS.get(hint) or TYPE.sub(lambda match: match[1] or "", str(hint))


def _value_of(nested: Any, name: str) -> Any:
    """Look up a dotted name, such as "data.path", in nested mappings; None if it is missing."""
    for key in name.split("."):
        nested = nested.get(key) if isinstance(nested, Mapping) else None
    return nested


def parsed(parser: Parser, values: Mapping[str, Any], before: Namespace, where: str) -> Namespace:
    """Parse nested settings, and return them merged into the settings ``before``; errors begin with ``where``."""
    values = {name: inner for name, inner in values.items() if inner != {}}  # an evaluation without settings
    if not values:
        return before
    parser.nested = values
    try:
        require_known(parser, values)
        return parser.parse_object(protected_texts(values), namespace=before, defaults=False, _skip_validation=True)
    except SettingError as error:
        raise error.at(where) if where else error from None


def construct(owner: type, name: str, settings: Mapping[str, Any], where: str = "") -> Any:
    """Check constructor arguments with a parser, and create an object of a class.

    Args:
        owner: The class.
        name: Prefix of the settings in messages, such as "model".
        settings: The arguments; objects that YAML cannot express, such as rows, are not checked.
        where: Start of error messages, such as a file.

    Raises:
        SettingError: A setting is unknown, missing or of a wrong type.
    """
    parser = class_parser(owner, name)
    objects = {
        key: value for key, value in settings.items() if _is_object(key, value) and f"{name}.{key}" in parser.names
    }
    expressible = {key: recorded(value) for key, value in settings.items() if key not in objects}
    values = parsed(parser, {name: expressible} if expressible else {}, Namespace(), where)
    parser.parse_object(values)  # raises an error for a missing setting
    return owner(**{**constructor_value(parser.instantiate(values).get(name) or {}), **objects})


def section(instance: Any, name: str) -> dict[str, Any]:
    """Return the class and all constructor arguments of an object, with defaults, as config.yaml stores them."""
    owner: Any = type(instance)
    arguments = recorded(class_parser(owner, name).get_defaults()).get(name) or {}
    for key in arguments.keys() & instance.arguments.keys():
        value = instance.arguments[key]
        arguments[key] = IN_MEMORY if _is_object(key, value) else recorded(value)
    return {"class_path": class_path(type(instance)), "init_args": arguments}


def recorded(value: Any) -> Any:
    """Convert a parsed setting to a value that YAML can express; an object in memory becomes a placeholder."""
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(name): recorded(inner) for name, inner in value.items()}
    return [recorded(inner) for inner in value] if isinstance(value, list | tuple) else expressible(value)


def _is_object(name: str, value: Any) -> bool:
    """Whether YAML cannot express an argument; rows are recognised without a look at every row."""
    if name == "path":
        files = value.values() if isinstance(value, Mapping) else [value]
        return not all(isinstance(file, str | PathLike | None) for file in files)
    return not isinstance(value, str) and IN_MEMORY in str(expressible(value))


def constructor_value(value: Any) -> Any:
    """Convert a parsed value to a constructor argument: :class:`Text` to str, and a namespace to a dictionary."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, dict):
        return {str(name): constructor_value(inner) for name, inner in value.items()}
    return [constructor_value(inner) for inner in value] if isinstance(value, list) else value


class _Dumper(yaml.SafeDumper):
    """YAML writer that quotes texts which YAML 1.2 reads as numbers, and that writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


NUMBER_LIKE = re.compile(r"[-+]?[\d.][\d._]*(e[-+]?\d+)?|0o[0-7]+", re.IGNORECASE)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "'" if NUMBER_LIKE.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(values: Mapping[str, Any]) -> str:
    """Convert settings to a YAML text, which is parsed to the same values again."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)

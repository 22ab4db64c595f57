"""Which setting the parser does not take, where it stands, and what it takes.

jsonargparse says so in the words of Python's types. Here its arguments are given to it one by one, and what is wrong
with the first that it refuses is read from the type hints of its settings.
"""

import dataclasses
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import yaml
from jsonargparse import Namespace

from heedful.assembly.library_errors import first_sentence
from heedful.cli.allowed_classes import KINDS
from heedful.cli.messages import Parser, Refusal, root
from heedful.records import HeedfulError
from heedful.records.errors import SETTING, nearest
from heedful.records.storage.schema import ROOMS, present
from heedful.records.storage.yaml_files import parse_yaml

OF_A_CLASS = ("class_path", "init_args", "dict_kwargs")
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
LONGEST = 60  # characters of a value that are shown
IN_QUOTES = 'Put it in quotes, as "yes": YAML reads yes, no, on and off as true and false.'

Place = tuple[Any, ...]  # the names of a setting, from the outermost one, with positions in lists
Settings = dict[str, Any]  # name to type hint, or to the settings of a group


def parsed(parser: Parser, args: Sequence[str]) -> Namespace:
    """Parse a command line.

    Args:
        parser: The parser.
        args: The command line, expanded.

    Raises:
        HeedfulError: An argument is refused; the message names the setting, what was given and what it takes.
    """
    try:
        config = parser.parse_args(args)
    except Refusal as refusal:
        raise next(_errors(parser, args), refusal) from None
    for error in _gaps(config, parser.settings(), ()):
        raise error
    return config


def _errors(parser: Parser, args: Sequence[str]) -> Iterator[HeedfulError]:
    """What is wrong with each argument, and then what is missing."""
    settings = parser.settings()
    config = Namespace()
    words: list[str] = []  # from the beginning: of what was parsed, some cannot be parsed again
    for argument in _arguments(args):
        words += argument.words
        after = parser.with_arguments(words)
        refused = any(isinstance(found, Refusal) for found in (after, parser.with_arguments(argument.words, config)))
        if not argument.words[0].startswith("--"):
            yield HeedfulError("unknown-setting", f"{argument.words[0]!r} stands behind no flag.")
        context = Context(() if argument.file else argument.typed, config)
        for fault in _faults(argument.content, settings, (), context) if argument.file or refused else ():
            if argument.file or argument.text or fault.code == "unknown-setting":
                yield argument.error(fault)
        if refused and not argument.text:
            yield HeedfulError("missing-setting", f"{argument.flag} has no value.", "Write one behind it.")
        if isinstance(after, Refusal):
            wrong = f"{argument.flag} {_short(argument.text)} is refused: {first_sentence(root(after))}"
            yield HeedfulError("bad-setting", wrong)
            return
        config = after
    yield from _gaps(config, settings, ())


def _arguments(args: Sequence[str]) -> Iterator["Argument"]:
    """Each flag with its value; what follows no flag stands alone."""
    rest = [word for word in args if word.partition("=")[0] != "--print_config"]  # which would print it now
    while rest:
        flag = rest.pop(0)
        takes = flag.startswith("--") and "=" not in flag and rest and not rest[0].startswith("--")
        yield Argument([flag, rest.pop(0)] if takes else [flag])


class Fault(NamedTuple):
    """What is wrong at a place.

    Attributes:
        place: Where.
        code: The code of the refusal.
        wrong: What is wrong; a flag stands for ``{flag}``, and what was given for ``{given}``.
        do: What to do.
    """

    place: Place
    code: str
    wrong: str
    do: str = ""


class Argument:
    """A flag of a command line with its value.

    Args:
        words: The flag, and its value if that is a word of its own.

    Attributes:
        text: The value; of a file of settings what stands in it.
        file: The flag with the file of settings, if it is one.
        typed: The names in the flag; settings of a class are typed behind its name, without "init_args".
        content: What the flag and its value say, as a file of settings would say it.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words
        flag, _, value = words[0].partition("=")
        self.text = words[1] if words[1:] else value
        self.file = ""
        *outer, last = flag.removeprefix("--").removesuffix("+").split(".")
        names = [*(name for name in outer if name != "init_args"), last]
        if names[0] in (*ROOMS, "config") and not names[1:] and os.path.isfile(self.text):
            self.file = f"{flag} {self.text}"
            self.text = Path(self.text).read_text(encoding="utf-8-sig")
        self.flag = _flag(tuple(names))
        self.typed: Place = () if names == ["config"] else tuple(names)
        self.root: yaml.Node | None = None
        self.content: Any = self.text
        try:
            self.content = parse_yaml(self.text, flag)
            self.root = yaml.compose(self.text, Loader=yaml.SafeLoader)
        except HeedfulError:  # a text that is not YAML is a text
            pass
        for name in reversed(self.typed):
            self.content = {name: self.content}

    def error(self, fault: Fault) -> HeedfulError:
        """A fault with its flag, the value there and, in a file, its line."""
        line, node = 1, self.root
        for name in fault.place[len(self.typed) :]:
            if isinstance(node, yaml.MappingNode):
                inner = [(key.start_mark.line + 1, value) for key, value in node.value if key.value == str(name)]
            else:
                inner = [(value.start_mark.line + 1, value) for value in node.value[name : name + 1]]
            line, node = inner[0] if inner else (line, node)
        text = self.text[node.start_mark.index : node.end_mark.index] if node else self.text
        wrong = fault.wrong.format(flag=_flag(fault.place), given=_short(text))
        error = HeedfulError(fault.code, wrong, fault.do)
        return error.at(f"{self.file}, line {line}") if self.file else error


def _short(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def _flag(place: Place) -> str:
    """The flag that sets what stands at a place; with a section sign, as those of a model may be of an endpoint."""
    flag = ".".join(str(name) for name in place if name != "init_args" and not isinstance(name, int))
    return f"§{flag}" if SETTING.match(f"§{flag}") else f"--{flag}"


class Context(NamedTuple):
    """What is known beside a value.

    Attributes:
        typed: The names in its flag; none in a file.
        before: What was set at its place before.
    """

    typed: Place
    before: Any

    def inside(self, *names: str) -> "Context":
        """The context of a setting in it."""
        before = self.before
        for name in names:
            before = before[-1] if isinstance(before, list) and before else before
            before = before.get(name) if isinstance(before, Namespace | dict) else None
        return self._replace(before=before)


@cache
def _parser_of(kind: type) -> Parser:
    """A parser of the settings of a class."""
    parser = Parser(exit_on_error=False)
    parser.add_class_arguments(kind, fail_untyped=False)
    return parser


def _members(hint: Any) -> tuple[Any, ...]:
    """The types that a setting may be of."""
    is_union = get_origin(hint) in (Union, types.UnionType)
    return tuple(inner for member in get_args(hint) for inner in _members(member)) if is_union else (hint,)


def _kinds(hint: Any) -> tuple[type, ...]:
    """The classes that have settings of their own among them."""
    known = [member for member in _members(hint) if isinstance(member, type)]
    return tuple(kind for kind in known if dataclasses.is_dataclass(kind) or issubclass(kind, KINDS))


def _of(hint: Any, origins: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the first list or the first mapping holds that a setting may be; nothing if it may be none."""
    found = [get_args(member) for member in _members(hint) if get_origin(member) in origins]
    return found[0] if found else ()


def _faults(given: Any, hint: Any, place: Place, context: Context) -> Iterator[Fault]:
    """What is wrong with a value, and inside it."""
    kinds = _kinds(hint)
    if isinstance(hint, dict):
        yield from _faults_of_group(given, hint, place, context)
    elif isinstance(given, dict) and kinds:
        yield from _faults_of_class(given, kinds, place, context)
    elif isinstance(given, dict | list) and _of(hint, MAPPINGS if isinstance(given, dict) else LISTS):
        yield from _faults_inside(given, hint, place, context)
    elif isinstance(given, str) and kinds and not os.path.isfile(given) and str not in _members(hint):
        if isinstance(found := _named(given, kinds), Fault):
            yield found._replace(place=place)
    elif not _takes(hint, given) or (given is None and place == context.typed):  # which a file may leave out
        yield Fault(place, "bad-setting", f"{{flag}} {{given}} is not {_words(hint)}.", _remedy(given, hint))


def _faults_inside(given: Any, hint: Any, place: Place, context: Context) -> Iterator[Fault]:
    """What is wrong in a list or in a mapping."""
    if isinstance(given, list):
        for position, value in enumerate(given):
            yield from _faults(value, _of(hint, LISTS)[0], (*place, position), context)
        return
    for name, value in given.items():
        yield from _faults(value, _of(hint, MAPPINGS)[1], (*place, name), context.inside(name))


def _faults_of_group(given: Any, settings: Settings, place: Place, context: Context) -> Iterator[Fault]:
    """What is wrong with the settings of a group, or of a class."""
    if not isinstance(given, dict):
        subject = "{flag} {given}" if place else "The file"
        yield Fault(place, "bad-setting", f"{subject} does not name settings.", "Write NAME: VALUE for each.")
        return
    for name, value in given.items():
        if name in settings:
            yield from _faults(value, settings[name], (*place, name), context.inside(name))
        else:
            near = nearest(str(name), settings)
            meant = (*place, near) if near else () if place else _within(str(name), settings, context)
            yield _unknown((*place, name), _flag(meant) if meant else None)


def _unknown(place: Place, meant: str | None) -> Fault:
    do = f"Do you mean {meant}?" if meant else ""
    return Fault(place, "unknown-setting", "There is no setting {flag}.", do)


def _within(name: str, settings: Settings, context: Context) -> Place:
    """The setting of a group whose name, or its beginning, was given without the group."""
    groups = {group: inner for group, inner in settings.items() if isinstance(inner, dict)}
    for kind in ROOMS:
        owner = _class(context.inside(kind, "class_path").before, KINDS)
        groups |= {kind: _parser_of(owner).settings()} if owner else {}
    of = {setting: group for group in sorted(groups, reverse=True) for setting in groups[group]}
    near = nearest(name, [setting for setting in of if setting.startswith(name)])
    return (of[near], near) if near else ()


def _faults_of_class(given: Any, kinds: tuple[type, ...], place: Place, context: Context) -> Iterator[Fault]:
    """What is wrong with a class and its settings."""
    is_typed = len(place) < len(context.typed) and not given.keys() & {*OF_A_CLASS}
    is_plain = dataclasses.is_dataclass(kinds[0])  # whose name is not given
    owner = kinds[0]
    if not is_plain:
        path = given.get("class_path")
        named = _named(context.inside("class_path").before if path is None else path, kinds)
        if not isinstance(named, type):
            yield named._replace(place=place if path is None else (*place, "class_path"))
            return
        owner = named
    if not is_plain and not is_typed:
        for name in given.keys() - {*OF_A_CLASS}:
            yield _unknown((*place, name), nearest(str(name), OF_A_CLASS))
        place = (*place, "init_args")
        given = given.get("init_args") or {}
    yield from _faults_of_group(given, _parser_of(owner).settings(), place, context.inside("init_args"))
    if is_plain and not is_typed and (lacking := _parser_of(owner).lacking(given)):
        yield Fault(place, "missing-setting", f"{{flag}} {{given}} lacks {', '.join(lacking)}.")


def _class(path: str | None, kinds: tuple[type, ...]) -> Any:
    """What an import path stands for, or the name alone of a class of these kinds; None where there is nothing."""
    module, _, name = present(path or "").rpartition(".")
    return getattr(sys.modules.get(module), name, None) if module else _subclasses(kinds).get(name)


def _subclasses(kinds: Iterable[type]) -> dict[str, type]:
    """The classes of these kinds, of all modules that are imported."""
    inner = {kind.__name__: kind for kind in kinds}
    return inner | {name: found for kind in kinds for name, found in _subclasses(kind.__subclasses__()).items()}


def _named(path: Any, kinds: tuple[type, ...]) -> type | Fault:
    """The class of these kinds that a name stands for, or what is wrong with it."""
    kind = " or ".join(kind.__name__ for kind in kinds)
    if path is None:
        return Fault((), "missing-setting", f"{{flag}} does not say which {kind} it is.", "Name it with class_path.")
    found = _class(str(path), kinds)
    if found is None:
        near = nearest(str(path).rpartition(".")[2], _subclasses(kinds))
        do = f"Do you mean {near}?" if near else f"Name a {kind}."
        return Fault((), "unknown-name", "{flag} {given} is not a class that can be imported.", do)
    if not (isinstance(found, type) and issubclass(found, kinds)):
        return Fault((), "foreign-class", "{flag} {given} is of another kind.", f"Name a class of {kind}.")
    return found


def _takes(hint: Any, value: Any) -> bool:
    """Whether a value is of a type."""
    parser = Parser(exit_on_error=False)
    parser.add_argument("--setting", type=hint)
    try:
        parser.parse_object({"setting": value})
    except Refusal:
        return False
    return True


def _words(hint: Any) -> str:
    """The types that a setting may be of, in words."""
    members = _members(hint)
    choices = [str(choice) for member in members if get_origin(member) is Literal for choice in get_args(member)]
    words = ["a list"] if _of(hint, LISTS) else []
    words += ["a mapping"] if _of(hint, MAPPINGS) or any(map(dataclasses.is_dataclass, members)) else []
    words += [f"a {kind.__name__}" for kind in _kinds(hint) if not dataclasses.is_dataclass(kind)]
    words += [word for kind, word in WORDS.items() if kind in members and not (kind is int and float in members)]
    words += [f"one of {', '.join(dict.fromkeys(choices))}"] if choices else []
    return " or ".join(words) or "what this setting takes"


def _remedy(given: Any, hint: Any) -> str:
    """How a value is written, where that is not plain."""
    if isinstance(given, bool) and str in _members(hint):
        return IN_QUOTES
    form = _form(given, hint)
    return f"Write it as in '{form}'." if form else ""


def _form(given: Any, hint: Any) -> str:
    """A value of a type that is written with brackets or braces; nothing of others."""
    if inner := _of(hint, LISTS):
        return f"[{_form(given, inner[0]) or (given if str in _members(inner[0]) else 'VALUE')}]"
    if kinds := _kinds(hint):
        is_plain = dataclasses.is_dataclass(kinds[0])
        return f"{{{next(iter(_parser_of(kinds[0]).settings())) if is_plain else 'class_path'}: VALUE}}"
    return "{NAME: VALUE}" if _of(hint, MAPPINGS) else ""


def _gaps(value: Any, hint: Any, place: Place) -> Iterator[HeedfulError]:
    """What is missing in a configuration: settings that a class needs, the class itself, or those of a whole group."""
    flag = _flag(place)
    if isinstance(hint, dict):
        if not isinstance(value, Namespace):
            yield HeedfulError("bad-setting", f"{flag} {value} does not name settings.", "Write NAME: VALUE for each.")
            return
        for name, inner in hint.items():
            yield from _gaps(value.get(name), inner, (*place, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _gaps(inner, hint, place)
    elif isinstance(value, Namespace) and isinstance(owner := _named(value.get("class_path"), KINDS), type):
        settings = value.get("init_args") or Namespace()
        try:
            parser = _parser_of(owner)
        except ValueError:  # of a class with settings that no parser can show
            return
        if lacking := parser.lacking(settings):
            told = f"{flag} {owner.__name__} lacks {', '.join(lacking)}."
            yield HeedfulError("missing-setting", told, f"Add {_flag((*place, lacking[0]))}.")
        yield from _gaps(settings, parser.settings(), place)
    elif value is None and place in [(kind,) for kind in ROOMS]:
        yield HeedfulError("missing-setting", f"{flag} does not say what it is.", "Name it with class_path.")

"""Which setting the parser does not take, where it stands, and what it takes.

jsonargparse says so in the words of Python's types. Here its arguments are given to it one by one, and what is wrong
with the first that it refuses is read from the type hints of its settings.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import Namespace

from heedful.assembly.library_errors import first_sentence
from heedful.assembly.making import KINDS
from heedful.cli.messages import Parser, Refusal, root
from heedful.records import HeedfulError, SettingError
from heedful.records.settings.faults import Context, Fault, Grammar, Place, Settings, setting_named
from heedful.records.storage.schema import ROOMS
from heedful.records.storage.yaml_files import composed, found_at, parse_yaml

LONGEST = 60  # characters of a value that are shown


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
        refused = any(
            isinstance(attempt, Refusal) for attempt in (after, parser.with_arguments(argument.words, config))
        )
        if not argument.words[0].startswith("--"):
            yield SettingError(f"{argument.words[0]!r} stands behind no flag.")
        context = Context(() if argument.file else argument.typed, config)
        for fault in GRAMMAR.faults(argument.content, settings, (), context) if argument.file or refused else ():
            if argument.file or argument.text or fault.is_unknown:
                yield argument.error(fault)
        if refused and not argument.text:
            yield SettingError(f"{argument.flag} has no value. Write one behind it.")
        if isinstance(after, Refusal):
            wrong = f"{argument.flag} {_short(argument.text)} is refused: {first_sentence(root(after))}"
            yield SettingError(wrong)
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
            self.file = f"{flag.removeprefix('--')} {self.text}"
            self.text = Path(self.text).read_text(encoding="utf-8-sig")
        self.flag = setting_named(tuple(names))
        self.typed: Place = () if names == ["config"] else tuple(names)
        self.root: yaml.Node | None = None
        self.content: Any = self.text
        try:
            self.content = parse_yaml(self.text, flag)
            self.root = composed(self.text)
        except HeedfulError:  # a text that is not YAML is a text
            pass
        for name in reversed(self.typed):
            self.content = {name: self.content}

    def error(self, fault: Fault) -> HeedfulError:
        """A fault with its flag, the value there and, in a file, its line."""
        line, node = found_at(self.root, fault.place[len(self.typed) :])
        text = self.text[node.start_mark.index : node.end_mark.index] if node else self.text
        wrong = fault.wrong.format(flag=setting_named(fault.place), given=_short(text))
        error = SettingError(f"{wrong} {fault.do}".rstrip())
        return error.at(f"{self.file}, line {line}") if self.file else error


def _short(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


@cache
def _parser_of(kind: type) -> Parser:
    """A parser of the settings of a class."""
    parser = Parser(exit_on_error=False)
    parser.add_class_arguments(kind, fail_untyped=False)
    return parser


class _Words(Grammar):
    """Settings as words of a command line or in YAML, which jsonargparse reads."""

    def settings(self, kind: type) -> Settings:
        return _parser_of(kind).settings()

    def lacking(self, kind: type, given: Any) -> list[str]:
        return _parser_of(kind).lacking(given)

    def takes(self, hint: Any, value: Any) -> bool:
        parser = Parser(exit_on_error=False)
        parser.add_argument("--setting", type=hint)
        try:
            parser.parse_object({"setting": value})
        except Refusal:
            return False
        return True


GRAMMAR = _Words(KINDS)


def _gaps(value: Any, hint: Any, place: Place) -> Iterator[HeedfulError]:
    """What is missing in a configuration: settings that a class needs, the class itself, or those of a whole group."""
    flag = setting_named(place)
    if isinstance(hint, dict):
        if not isinstance(value, Namespace):
            yield SettingError(f"{flag} {value} does not name settings. Write NAME: VALUE for each.")
            return
        for name, inner in hint.items():
            yield from _gaps(value.get(name), inner, (*place, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _gaps(inner, hint, place)
    elif isinstance(value, Namespace) and isinstance(owner := GRAMMAR.named(value.get("class_path"), KINDS), type):
        settings = value.get("init_args") or Namespace()
        try:
            parser = _parser_of(owner)
        except ValueError:  # of a class with settings that no parser can show
            return
        if lacking := parser.lacking(settings):
            told = f"{flag} {owner.__name__} lacks {', '.join(lacking)}."
            yield SettingError(f"{told} Add {setting_named((*place, lacking[0]))}.")
        yield from _gaps(settings, parser.settings(), place)
    elif value is None and place in [(kind,) for kind in ROOMS]:
        yield SettingError(f"{flag} does not say what it is. Name it with class_path.")

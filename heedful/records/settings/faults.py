"""What is wrong with given settings, by the type hints of the classes that take them."""

import dataclasses
import os
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from heedful.records.errors import nearest
from heedful.records.made import IN_PYTHON
from heedful.records.storage.schema import ROOMS, present

OF_A_CLASS = ("class_path", "init_args", "dict_kwargs")
LISTS = (list, tuple, Sequence, Iterable)
MAPPINGS = (dict, Mapping)
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
IN_QUOTES = 'Put it in quotes, as "yes": YAML reads yes, no, on and off as true and false.'

Place = tuple[Any, ...]  # the names of a setting, from the outermost one, with positions in lists
Settings = Mapping[str, Any]  # name to type hint, or to the settings of a group


class Fault(NamedTuple):
    """What is wrong at a place.

    Attributes:
        place: Where.
        wrong: What is wrong; the setting stands for ``{flag}``, and what was given for ``{given}``.
        do: What to do.
        is_unknown: Whether there is no such setting.
    """

    place: Place
    wrong: str
    do: str = ""
    is_unknown: bool = False


class Context(NamedTuple):
    """What is known beside a value.

    Attributes:
        typed: The names in its flag; none in a file and in Python.
        before: What was set at its place before.
    """

    typed: Place = ()
    before: Any = None

    def inside(self, *names: str) -> "Context":
        """The context of a setting in it."""
        before = self.before
        for name in names:
            before = before[-1] if isinstance(before, list) and before else before
            before = before.get(name) if hasattr(before, "get") else None
        return self._replace(before=before)


NOTHING = Context()


def setting_named(place: Place) -> str:
    """A setting as a message names it; positions in lists are left out."""
    return ".".join(str(name) for name in place if name != "init_args" and not isinstance(name, int))


def members(hint: Any) -> tuple[Any, ...]:
    """The types that a setting may be of."""
    is_union = get_origin(hint) in (Union, types.UnionType)
    return tuple(inner for member in get_args(hint) for inner in members(member)) if is_union else (hint,)


def held(hint: Any, origins: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the first list or the first mapping holds that a setting may be; nothing if it may be none."""
    arguments = [get_args(member) for member in members(hint) if get_origin(member) in origins]
    return arguments[0] if arguments else ()


def subclasses(kinds: Iterable[type]) -> dict[str, type]:
    """The classes of these kinds, of all modules that are imported."""
    inner = {kind.__name__: kind for kind in kinds}
    return inner | {name: subclass for kind in kinds for name, subclass in subclasses(kind.__subclasses__()).items()}


class Grammar(ABC):
    """How settings are written, and what is wrong with those that are given.

    Args:
        kinds: The kinds of classes that a setting may name.
        is_yaml: Whether they stand in YAML, to which others may add; else all of them are given, in Python.
    """

    def __init__(self, kinds: tuple[type, ...], is_yaml: bool = True) -> None:
        self.all_kinds = kinds
        self.is_yaml = is_yaml

    @abstractmethod
    def settings(self, kind: type) -> Settings:
        """The settings of a class: name to type hint."""

    @abstractmethod
    def takes(self, hint: Any, value: Any) -> bool:
        """Whether a value that holds no other settings is of a type."""

    @abstractmethod
    def lacking(self, kind: type, given: Any) -> list[str]:
        """The names of the settings that a class needs and that are not given."""

    def module(self, name: str) -> ModuleType | None:
        """The module of a class that is named by its import path."""
        return sys.modules.get(name)

    def kinds(self, hint: Any) -> tuple[type, ...]:
        """The classes that have settings of their own among the types that a setting may be of."""
        classes = [member for member in members(hint) if isinstance(member, type)]
        return tuple(kind for kind in classes if dataclasses.is_dataclass(kind) or issubclass(kind, self.all_kinds))

    def faults(self, given: Any, hint: Any, place: Place = (), context: Context = NOTHING) -> Iterator[Fault]:
        """What is wrong with a value, and inside it.

        Args:
            given: The value.
            hint: Its type, or the settings of a group.
            place: Where it stands.
            context: What is known beside it.
        """
        kinds = self.kinds(hint)
        if _is_in_python(given) and str not in members(hint):
            yield _lost(place)
        elif isinstance(hint, dict):
            yield from self._faults_of_group(given, hint, place, context)
        elif isinstance(given, Mapping) and kinds:
            yield from self._faults_of_class(given, kinds, place, context)
        elif isinstance(given, Mapping | list | tuple) and held(hint, _like(given)):
            yield from self._faults_inside(given, hint, place, context)
        elif isinstance(given, str) and kinds and not os.path.isfile(given) and str not in members(hint):
            class_or_fault = self.named(given, kinds)
            if isinstance(class_or_fault, Fault):
                yield class_or_fault._replace(place=place)
            elif not self.is_yaml:
                yield from self._faults_of_class({"class_path": given}, kinds, place, context)
        elif not self.takes(hint, given) or (given is None and place == context.typed):  # which a file may leave out
            wrong = f"{{flag}} {{given}} is not {self._words(hint)}."
            yield Fault(place, wrong, self._remedy(given, hint))

    def faults_of_settings(self, owner: type, given: Any, place: Place = ()) -> Iterator[Fault]:
        """What is wrong with the settings of a class, and which of them are missing."""
        yield from self._faults_of_group(given, dict(self.settings(owner)), place, NOTHING)
        yield from self._gaps(owner, given, place)

    def _faults_inside(self, given: Any, hint: Any, place: Place, context: Context) -> Iterator[Fault]:
        """What is wrong in a list or in a mapping."""
        if not isinstance(given, Mapping):
            for position, value in enumerate(given):
                yield from self.faults(value, held(hint, LISTS)[0], (*place, position), context)
            return
        for name, value in given.items():
            yield from self.faults(value, held(hint, MAPPINGS)[1], (*place, name), context.inside(name))

    def _faults_of_group(self, given: Any, settings: Settings, place: Place, context: Context) -> Iterator[Fault]:
        """What is wrong with the settings of a group, or of a class."""
        if not isinstance(given, Mapping):
            yield _lost(place) if _is_in_python(given) else _no_settings(place)
            return
        for name, value in given.items():
            if name in settings:
                yield from self.faults(value, settings[name], (*place, name), context.inside(name))
            else:
                near = nearest(str(name), settings)
                meant = (*place, near) if near else () if place else self._within(str(name), settings, context)
                yield _unknown((*place, str(name)), setting_named(meant) if meant else None)

    def _within(self, name: str, settings: Settings, context: Context) -> Place:
        """The setting of a group whose name, or its beginning, was given without the group."""
        groups = {group: inner for group, inner in settings.items() if isinstance(inner, dict)}
        for kind in ROOMS:
            owner = self._class(context.inside(kind, "class_path").before, self.all_kinds)
            groups |= {kind: dict(self.settings(owner))} if owner else {}
        of = {setting: group for group in sorted(groups, reverse=True) for setting in groups[group]}
        near = nearest(name, [setting for setting in of if setting.startswith(name)])
        return (of[near], near) if near else ()

    def _faults_of_class(self, given: Any, kinds: tuple[type, ...], place: Place, context: Context) -> Iterator[Fault]:
        """What is wrong with a class and its settings."""
        is_typed = len(place) < len(context.typed) and not given.keys() & {*OF_A_CLASS}
        is_plain = dataclasses.is_dataclass(kinds[0])  # whose name is not given
        owner: type = kinds[0]
        outer = place
        if not is_plain:
            path = given.get("class_path")
            class_or_fault = self.named(context.inside("class_path").before if path is None else path, kinds)
            if isinstance(class_or_fault, Fault):
                yield class_or_fault._replace(place=place if path is None else (*place, "class_path"))
                return
            owner = class_or_fault
        if not is_plain and not is_typed:
            for name in given.keys() - {*OF_A_CLASS}:
                yield _unknown((*place, str(name)), nearest(str(name), OF_A_CLASS))
            more = given.get("dict_kwargs")
            if more is not None and not isinstance(more, Mapping):
                yield _no_settings((*place, "dict_kwargs"))
            place = (*place, "init_args")
            given = given.get("init_args") or {}
        yield from self._faults_of_group(given, dict(self.settings(owner)), place, context.inside("init_args"))
        if isinstance(given, Mapping) and (is_plain or not self.is_yaml) and not is_typed:
            yield from self._gaps(owner, given, outer)

    def _gaps(self, owner: type, given: Any, place: Place) -> Iterator[Fault]:
        """The settings that a class needs and that are not given."""
        if not (lacking := self.lacking(owner, given)):
            return
        is_plain = dataclasses.is_dataclass(owner)
        subject = "{given}" if is_plain else owner.__name__
        do = "" if is_plain else f"Add {setting_named((*place, lacking[0]))}."
        yield Fault(place, f"{{flag}} {subject} lacks {', '.join(lacking)}.", do)

    def named(self, path: Any, kinds: tuple[type, ...]) -> type | Fault:
        """The class of these kinds that a name stands for, or what is wrong with it."""
        kind = " or ".join(kind.__name__ for kind in kinds)
        if path is None:
            do = "Name it with class_path."
            return Fault((), f"{{flag}} does not say which {kind} it is.", do)
        named_class = self._class(str(path), kinds)
        if named_class is None:
            near = nearest(str(path).rpartition(".")[2], subclasses(kinds))
            do = f"Do you mean {near}?" if near else f"Name a {kind}."
            return Fault((), "{flag} {given} is not a class that can be imported.", do)
        if not (isinstance(named_class, type) and issubclass(named_class, kinds)):
            return Fault((), "{flag} {given} is of another kind.", f"Name a class of {kind}.")
        return named_class

    def _class(self, path: str | None, kinds: tuple[type, ...]) -> Any:
        """What an import path stands for, or the name alone of a class of these kinds; None where there is nothing."""
        module, _, name = present(path or "").rpartition(".")
        return getattr(self.module(module), name, None) if module else subclasses(kinds).get(name)

    def _words(self, hint: Any) -> str:
        """The types that a setting may be of, in words."""
        of = members(hint)
        choices = [str(choice) for member in of if get_origin(member) is Literal for choice in get_args(member)]
        words = ["a list"] if held(hint, LISTS) else []
        words += ["a mapping"] if held(hint, MAPPINGS) or any(map(dataclasses.is_dataclass, of)) else []
        words += [f"a {kind.__name__}" for kind in self.kinds(hint) if not dataclasses.is_dataclass(kind)]
        words += [word for kind, word in WORDS.items() if kind in of and not (kind is int and float in of)]
        words += [f"one of {', '.join(dict.fromkeys(choices))}"] if choices else []
        return " or ".join(words) or "what this setting takes"

    def _remedy(self, given: Any, hint: Any) -> str:
        """How a value is written, where that is not plain."""
        if isinstance(given, bool) and str in members(hint) and self.is_yaml:
            return IN_QUOTES
        form = self._form(given, hint)
        return f"Write it as in '{form}'." if form else ""

    def _form(self, given: Any, hint: Any) -> str:
        """A value of a type that is written with brackets or braces; nothing of others."""
        mark = "" if self.is_yaml else '"'
        if inner := held(hint, LISTS):
            shown = f"{mark}{given}{mark}" if str in members(inner[0]) else "VALUE"
            return f"[{self._form(given, inner[0]) or shown}]"
        if kinds := self.kinds(hint):
            is_plain = dataclasses.is_dataclass(kinds[0])
            return f"{{{mark}{next(iter(self.settings(kinds[0]))) if is_plain else 'class_path'}{mark}: VALUE}}"
        return f"{{{mark}NAME{mark}: VALUE}}" if held(hint, MAPPINGS) else ""


def _like(given: Any) -> tuple[Any, ...]:
    """The types that hold what a list or a mapping holds."""
    return MAPPINGS if isinstance(given, Mapping) else LISTS


def _unknown(place: Place, meant: str | None) -> Fault:
    do = f"Do you mean {meant}?" if meant else ""
    return Fault(place, "There is no setting {flag}.", do, is_unknown=True)


def _is_in_python(given: Any) -> bool:
    """Whether a value stands for one that no file can hold."""
    return isinstance(given, str) and given == IN_PYTHON


def _lost(place: Place) -> Fault:
    do = "Give it in Python, or name another one."
    return Fault(place, "{flag} was made in Python, and no file holds it.", do)


def _no_settings(place: Place) -> Fault:
    subject = "{flag} {given}" if place else "The file"
    return Fault(place, f"{subject} does not name settings.", "Write NAME: VALUE for each.")

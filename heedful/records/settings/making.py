"""Objects from settings that are given in Python, or that stand in a file of a run."""

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import reduce
from importlib import import_module
from numbers import Integral, Real
from operator import or_
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from heedful.records.errors import HeedfulError, SettingError
from heedful.records.made import Made, settings_of
from heedful.records.settings.faults import (
    LISTS,
    MAPPINGS,
    Fault,
    Grammar,
    Place,
    Settings,
    held,
    members,
    setting_named,
)

LONGEST = 60  # characters of a value that are shown
LASTS = re.compile(r"(?:(?P<days>-?\d+) days?, )?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d+)?)")
NUMBERS = {int: Integral, float: Real}  # as numpy's are


class InPython(Grammar):
    """Settings as Python values, by the type hints and the defaults of the classes that have them.

    Example:
        >>> class Pairs:
        ...     def __init__(self, name: str, sizes: list[int] | None = None) -> None:
        ...         self.sizes = sizes
        >>> InPython((Pairs,)).made(Pairs, {"name": "a", "sizes": (1, 2)}).sizes
        [1, 2]
    """

    def __init__(self, kinds: tuple[type, ...], is_yaml: bool = False) -> None:
        super().__init__(kinds, is_yaml)

    def settings(self, kind: type) -> Settings:
        return {name: setting.hint for name, setting in settings_of(kind).items()}

    def lacking(self, kind: type, given: Any) -> list[str]:
        return [name for name, setting in settings_of(kind).items() if setting.is_needed and given.get(name) is None]

    def takes(self, hint: Any, value: Any) -> bool:
        return any(_is_of(member, value, self.takes) for member in members(hint))

    def module(self, name: str) -> ModuleType | None:
        try:
            return None if name.startswith(".") else import_module(name)
        except (ImportError, ValueError):
            return None

    def section(self, given: Any, kinds: tuple[type, ...], place: Place = ()) -> Any:
        """The object that a section of a configuration stands for; an object of these kinds stays what it is.

        Args:
            given: "class_path", "init_args" and "dict_kwargs"; or the name of a class alone.
            kinds: The kinds that it may be of.
            place: Where the section stands, as ("data",).

        Raises:
            HeedfulError: A setting is of another type, unknown or missing, or a class is of none of the kinds.
        """
        hint = reduce(or_, kinds)
        _refuse_first(self.faults(given, hint, place), given, place)
        return self.converted(given, hint)

    def made(self, kind: type, settings: Mapping[str, Any], place: Place = ()) -> Any:
        """An object of a class from its settings, which are checked before anything is made of them.

        Raises:
            HeedfulError: See :meth:`section`.
        """
        _refuse_first(self.faults_of_settings(kind, settings, place), settings, place)
        return self._object(kind, settings)

    def checked(self, kind: type, settings: Mapping[str, Any], place: Place = ()) -> dict[str, Any]:
        """Some settings of a class, as its ``__init__`` takes them; others may be missing.

        Raises:
            HeedfulError: See :meth:`section`.
        """
        hints = dict(self.settings(kind))
        self.require(settings, hints, place)
        return {name: self.converted(value, hints[name]) for name, value in settings.items()}

    def require(self, given: Mapping[str, Any], hints: Settings, place: Place = ()) -> None:
        """Refuse settings that are not of these types, or unknown.

        Raises:
            HeedfulError: There is one; the message names the first.
        """
        _refuse_first(self.faults(given, dict(hints), place), given, place)

    def converted(self, value: Any, hint: Any) -> Any:
        """A value that was checked, as what takes it has it: objects for what names a class, and the like."""
        kinds = self.kinds(hint)
        if isinstance(value, Mapping) and kinds:
            return self._from_section(value, kinds)
        if isinstance(value, Mapping) and (inner := held(hint, MAPPINGS)):
            return {name: self.converted(each, inner[1]) for name, each in value.items()}
        if isinstance(value, list | tuple) and (inner := held(hint, LISTS)):
            of_lists = [get_origin(member) for member in members(hint) if get_origin(member) in LISTS]
            return (tuple if {*of_lists} == {tuple} else list)(self.converted(each, inner[0]) for each in value)
        if isinstance(value, str) and kinds and isinstance(class_or_fault := self.named(value, kinds), type):
            return self._object(class_or_fault, {})
        return _as_number(_as_text(value, hint), hint)

    def _from_section(self, section: Mapping[str, Any], kinds: tuple[type, ...]) -> Any:
        if dataclasses.is_dataclass(kinds[0]):
            return self._object(kinds[0], section)
        named_class = self.named(section["class_path"], kinds)
        return self._object(named_class, section.get("init_args") or {}, section.get("dict_kwargs") or {})

    def _object(self, kind: Any, settings: Mapping[str, Any], more: Mapping[str, Any] | None = None) -> Any:
        hints = self.settings(kind)
        given = {name: self.converted(value, hints[name]) for name, value in settings.items()} | dict(more or {})
        _require_taken(kind, more or {})
        made = kind(**given)
        if not isinstance(made, Made) and not dataclasses.is_dataclass(kind):
            made.made_of = given
        return made


def _require_taken(kind: type, more: Mapping[str, Any]) -> None:
    """Refuse settings beside those of a class, where it hands none on."""
    inits = [vars(owner)["__init__"] for owner in kind.__mro__ if inspect.isfunction(vars(owner).get("__init__"))]
    parameters = [inspect.signature(init).parameters.values() for init in inits]
    if more and not all(any(p.kind is p.VAR_KEYWORD for p in each) for each in parameters):
        raise SettingError(f"There is no setting {next(iter(more))} of {kind.__name__}.")


def refusal(fault: Fault, given: str) -> HeedfulError:
    """A fault as a refusal.

    Args:
        fault: What is wrong.
        given: What was given there, as a text.
    """
    line = " ".join(given.split())
    shown = line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
    wrong = fault.wrong.format(flag=setting_named(fault.place), given=shown)
    return SettingError(f"{wrong} {fault.do}".rstrip())


def _refuse_first(faults: Iterable[Fault], given: Any, place: Place) -> None:
    """Raise the first of the faults of values that stand at a place, if there is one."""
    for fault in faults:
        value = given
        for name in fault.place[len(place) :]:
            value = value[name]
        raise refusal(fault, json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value))


def _is_of(hint: Any, value: Any, takes: Callable[[Any, Any], bool]) -> bool:
    """Whether a value is of a type that is no union; ``takes`` says it of what it holds."""
    origin = get_origin(hint)
    if origin is Literal:
        return any(type(choice) is type(value) and choice == value for choice in get_args(hint))
    if origin in LISTS or hint in LISTS:
        inner = held(hint, LISTS) or (Any,)
        return isinstance(value, list | tuple) and all(takes(inner[0], each) for each in value)
    if origin in MAPPINGS or hint in MAPPINGS:
        inner = held(hint, MAPPINGS) or (Any, Any)
        return isinstance(value, Mapping) and all(takes(inner[1], each) for each in value.values())
    if hint in (bool, *NUMBERS):
        return isinstance(value, NUMBERS.get(hint, bool)) and (hint is bool or not isinstance(value, bool))
    if hint is timedelta and isinstance(value, str):
        return LASTS.fullmatch(value) is not None
    if hint in (str, Path):
        return isinstance(value, str | PathLike)
    if origin is Callable or hint is Callable:
        return callable(value)
    kind = origin or hint  # PathLike of PathLike[str]
    try:
        return kind is Any or not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # of a protocol, which cannot be asked
        return True


def _as_text(value: Any, hint: Any) -> Any:
    """A path as a text, where a setting takes texts alone; a text as a span of time, where that is meant."""
    of = members(hint)
    if isinstance(value, PathLike) and str in of and Path not in of:
        return fspath(value)
    if isinstance(value, str) and timedelta in of and (lasts := LASTS.fullmatch(value)):
        return timedelta(**{unit: float(n) for unit, n in lasts.groupdict().items() if n})
    return value


def _as_number(value: Any, hint: Any) -> Any:
    """A number of another library as one of Python's, and a whole number as a float where only these are taken."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    of = members(hint)
    if float in of and not (int in of and isinstance(value, Integral)):
        return float(value)
    return int(value) if int in of and isinstance(value, Integral) else value

"""What is made of settings remembers them: a run writes config.yaml from the objects that it is made of."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from functools import cache
from os import PathLike, fspath
from typing import Any, NamedTuple, Self, get_type_hints

import numpy as np

IN_PYTHON = "(made in Python)"  # stands in config.yaml for a value that no YAML can hold
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Made:
    """Base of the classes that a configuration names: data, models, evaluations.

    Attributes:
        made_of: The settings that it was made of, as they were given: name to value.
        given: Those of them that a user chose; a file of settings may have named the others.
    """

    made_of: Mapping[str, Any]
    given: frozenset[str]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        kind: Any = cls
        bound = dict(zip(_in_order(kind), args, strict=False)) | kwargs
        made.__dict__.update(made_of=bound, given=frozenset(bound))
        return made

    def with_settings(self, **changed: Any) -> Self:
        """The same once more, with some settings changed, which count as chosen by the user."""
        made = type(self)(**{**self.made_of, **changed})
        made.given = self.given | changed.keys()
        return made


class Setting(NamedTuple):
    """A setting of a class.

    Attributes:
        default: What it is where nobody names it; ``inspect.Parameter.empty`` of one that is needed.
        hint: Its type.
    """

    default: Any
    hint: Any

    @property
    def is_needed(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty


def _init_of(kind: type) -> Any:
    """The ``__init__`` that a class has itself; None where it has that of another."""
    init = vars(kind).get("__init__")
    return inspect.unwrap(init) if inspect.isfunction(init) else None


@cache
def _own_parameters(kind: Any) -> dict[str, inspect.Parameter]:
    """The parameters of the ``__init__`` of a class, without ``self``."""
    parameters = dict(inspect.signature(kind.__init__).parameters)
    parameters.pop(next(iter(parameters), ""), None)
    return {name: parameter for name, parameter in parameters.items() if parameter.kind not in VARIABLE}


@cache
def _in_order(kind: Any) -> list[str]:
    """The names that arguments without a name go to; ``*args`` hands the others on to the class above."""
    names: list[str] = []
    hidden: set[str] = set()
    for owner in kind.__mro__:
        if (init := _init_of(owner)) is None:
            continue
        parameters = list(inspect.signature(init).parameters.values())[1:]
        names += [p.name for p in parameters if p.kind in POSITIONAL and p.name not in hidden]
        if not any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
            break
        hidden |= _handed_on(init, owner, kind)
    return names


@cache
def settings_of(kind: Any) -> Mapping[str, Setting]:
    """The settings of a class by name.

    Where ``__init__`` takes ``**kwargs``, the settings of the class above are among them, but for those that it hands
    on by itself.

    Example:
        >>> class Base:
        ...     def __init__(self, parts: list[str], seed: int = 0) -> None: ...
        >>> class Pairs(Base):
        ...     def __init__(self, name: str, **kwargs: object) -> None:
        ...         super().__init__(["left", "right"], **kwargs)
        >>> list(settings_of(Pairs))
        ['name', 'seed']
    """
    settings_by_name: dict[str, Setting] = {}
    hidden: set[str] = set()
    for owner in kind.__mro__:
        if (init := _init_of(owner)) is None:
            continue
        parameters = list(inspect.signature(init).parameters.values())[1:]
        hints = _hints(init)
        factories = _factories(owner)
        own = {
            p.name: Setting(factories.get(p.name, p.default), hints.get(p.name, Any))
            for p in parameters
            if p.kind not in VARIABLE
        }
        settings_by_name |= {
            name: setting for name, setting in own.items() if name not in hidden | settings_by_name.keys()
        }
        if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
            break
        hidden |= _handed_on(init, owner, kind)
    return settings_by_name


def _factories(kind: Any) -> dict[str, Any]:
    """What a data class makes anew where nobody names it, such as an empty mapping; its signature does not say."""
    of_class = fields(kind) if is_dataclass(kind) else ()
    return {one.name: one.default_factory() for one in of_class if one.default_factory is not MISSING}


def _hints(init: Any) -> dict[str, Any]:
    try:
        return get_type_hints(init)
    except NameError:  # of a library, imported for type checkers alone
        return {}


def _handed_on(init: Any, owner: type, kind: type) -> set[str]:
    """The parameters of the class above that an ``__init__`` sets by itself, or drops."""
    above = next((c for c in kind.__mro__[kind.__mro__.index(owner) + 1 :] if _init_of(c)), object)
    names = list(_own_parameters(above))
    handed: set[str] = set()
    try:
        source = textwrap.dedent(inspect.getsource(init))
    except OSError:  # typed at a prompt
        return handed
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            positional = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
            handed |= {*names[: len(positional)], *(keyword.arg for keyword in node.keywords if keyword.arg)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "drop":
            handed |= {str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)}
    return handed


def defaults_of(kind: type) -> dict[str, Any]:
    """The settings of a class that have a default, as config.yaml has them."""
    return {name: plain(setting.default) for name, setting in settings_of(kind).items() if not setting.is_needed}


def section(made: Any, in_python: Collection[str] = ()) -> dict[str, Any]:
    """An object as config.yaml names it: its class and all of its settings, defaults included.

    Args:
        made: The object.
        in_python: Settings that no YAML can hold, whatever they are.
    """
    kind: Any = type(made)
    values = settings(made, in_python)
    own = {name: value for name, value in values.items() if name in settings_of(kind)}
    more = {name: value for name, value in values.items() if name not in own}
    return {"class_path": class_path(kind), "init_args": own} | ({"dict_kwargs": more} if more else {})


def settings(made: Any, in_python: Collection[str] = ()) -> dict[str, Any]:
    """All settings of an object, defaults included, as config.yaml has them; see :func:`section`."""
    own = {name: IN_PYTHON if name in in_python else plain(value) for name, value in made.made_of.items()}
    return defaults_of(type(made)) | own


def class_path(kind: type) -> str:
    """The import path of a class, the shortest under which its package shows it."""
    parts = kind.__module__.split(".")
    shown = [".".join(parts[:n]) for n in range(2 if parts[0] == "heedful" else 1, len(parts) + 1)]
    public = (name for name in shown if getattr(sys.modules.get(name), kind.__name__, None) is kind)
    return f"{next(public, kind.__module__)}.{kind.__qualname__}"


def plain(value: Any) -> Any:
    """A value as a YAML file holds it; :data:`IN_PYTHON` for what none can hold."""
    if hasattr(value, "made_of"):
        return section(value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PathLike):
        value = fspath(value)
    if isinstance(value, str | timedelta):
        text = str(value)
        return text if text.isascii() or _is_unicode(text) else IN_PYTHON
    for kind in (bool, int, float):  # a class of somebody else that is one of these is that in a file
        if isinstance(value, kind):
            return kind(value)
    return None if value is None else IN_PYTHON


def _is_unicode(text: str) -> bool:
    """Whether a text can be written: half a character cannot, as stands for a byte in the name of a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

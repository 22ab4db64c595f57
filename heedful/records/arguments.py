"""Classes that record their constructor arguments, and such arguments as plain values for a YAML file."""

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from os import PathLike, fspath
from typing import Any, Self

import numpy as np

IN_MEMORY = "(in memory)"  # the placeholder in config.yaml of an object that YAML cannot hold


class RecordsArguments:
    """Base of data modules, models and evaluations: the arguments that an object was constructed with.

    Attributes:
        arguments: Parameter name to argument, without defaults.

    Example:
        >>> class Pairs(RecordsArguments):
        ...     def __init__(self, name: str, seed: int = 0, **kwargs: int) -> None: ...
        >>> Pairs("mnli", seed=3, folds=5).arguments
        {'name': 'mnli', 'seed': 3, 'folds': 5}
    """

    arguments: Mapping[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        instance = super().__new__(cls)
        instance.__dict__["arguments"] = dict(zip(_positional(cls), args, strict=False)) | kwargs
        return instance

    def with_arguments(self, **changed: Any) -> Self:
        """A new object of the same class, constructed with some arguments changed."""
        return type(self)(**{**self.arguments, **changed})


def _positional(kind: type) -> list[str]:
    """Names of the positional parameters of a class; ``*args`` continues with the parameters of its base class."""
    names: list[str] = []
    for owner in (owner for owner in kind.__mro__ if "__init__" in vars(owner)):
        parameters = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        names += [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        if not any(one.kind is one.VAR_POSITIONAL for one in parameters):
            break
    return names


def class_path(kind: type) -> str:
    """The import path of a class, the shortest under which its package shows it."""
    parts = kind.__module__.split(".")
    modules = [".".join(parts[:n]) for n in range(2 if parts[0] == "heedful" else 1, len(parts) + 1)]
    public = (name for name in modules if getattr(sys.modules.get(name), kind.__name__, None) is kind)
    return f"{next(public, kind.__module__)}.{kind.__qualname__}"


def plain(value: Any) -> Any:
    """A value for YAML; :data:`IN_MEMORY` for an object that YAML cannot hold."""
    if isinstance(value, RecordsArguments):
        return {"class_path": class_path(type(value)), "init_args": plain(value.arguments)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic | Enum):
        return plain(value.item() if isinstance(value, np.generic) else value.value)
    if isinstance(value, str | PathLike | timedelta):
        return fspath(value) if isinstance(value, PathLike) else str(value)
    for kind in (bool, int, float):  # a subclass of one of these is that in a file
        if isinstance(value, kind):
            return kind(value)
    return None if value is None else IN_MEMORY

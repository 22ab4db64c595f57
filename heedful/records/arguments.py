"""Classes that record their constructor arguments, and conversion of arguments to plain values."""

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from os import PathLike, fspath
from typing import Any, Self

import numpy as np

IN_MEMORY = "(in memory)"  # placeholder in config.yaml for objects that YAML cannot express


class RecordsArguments:
    """Base class of data modules, models and evaluations, which records constructor arguments.

    Attributes:
        arguments: Maps parameter names to arguments, without defaults.

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
        """Construct a new object of the same class with some arguments changed."""
        return type(self)(**{**self.arguments, **changed})


def _positional(kind: type) -> list[str]:
    """Names of the positional parameters of a class; ``*args`` continues in the base class."""
    names: list[str] = []
    for owner in (owner for owner in kind.__mro__ if "__init__" in vars(owner)):
        parameters = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        names += [item.name for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
        if not any(item.kind is item.VAR_POSITIONAL for item in parameters):
            break
    return names


def class_path(kind: type) -> str:
    """The shortest import path of a class."""
    parts = kind.__module__.split(".")
    modules = [".".join(parts[:n]) for n in range(2 if parts[0] == "heedful" else 1, len(parts) + 1)]
    public = (name for name in modules if getattr(sys.modules.get(name), kind.__name__, None) is kind)
    return f"{next(public, kind.__module__)}.{kind.__qualname__}"


def plain(value: Any) -> Any:
    """Convert a value for YAML; :data:`IN_MEMORY` replaces objects that YAML cannot express."""
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
    for kind in (bool, int, float):  # and their subclasses
        if isinstance(value, kind):
            return kind(value)
    return None if value is None else IN_MEMORY

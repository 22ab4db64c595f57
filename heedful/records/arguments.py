"""Record the constructor arguments of an object, and convert arguments to values that YAML can express."""

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from os import PathLike, fspath
from typing import Any, Self

import numpy as np

IN_MEMORY = "(in memory)"  # placeholder in config.yaml for an object that YAML cannot express


class RecordsArguments:
    """Base class that records the constructor arguments of its instances.

    Example:
        >>> class Pairs(RecordsArguments):
        ...     def __init__(self, name: str, seed: int = 0, **kwargs: int) -> None: ...
        >>> Pairs("mnli", seed=3, folds=5).arguments
        {'name': 'mnli', 'seed': 3, 'folds': 5}
    """

    arguments: Mapping[str, Any]  # of the call, without defaults

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        instance = super().__new__(cls)
        names = [*inspect.signature(cls.__init__).parameters][1:]
        instance.__dict__["arguments"] = dict(zip(names, args, strict=False)) | kwargs
        return instance

    def with_arguments(self, **changed: Any) -> Self:
        """Construct a new object of this class from the recorded arguments, updated by ``changed``."""
        return type(self)(**{**self.arguments, **changed})


def class_path(kind: type) -> str:
    """The shortest path from which a class can be imported, such as "heedful.datamodules.PairedText"."""
    parts = kind.__module__.split(".")
    modules = [".".join(parts[:n]) for n in range(2 if parts[0] == "heedful" else 1, len(parts) + 1)]
    public = (name for name in modules if getattr(sys.modules.get(name), kind.__name__, None) is kind)
    return f"{next(public, kind.__module__)}.{kind.__qualname__}"


def is_importable(kind: type) -> bool:
    """Whether another process can import a class: it is neither local nor defined in a notebook or a script."""
    return kind.__module__ != "__main__" and getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


def expressible(value: Any) -> Any:
    """Convert a value to types that YAML can express; any other object becomes the text :data:`IN_MEMORY`."""
    if isinstance(value, RecordsArguments):
        return {"class_path": class_path(type(value)), "init_args": expressible(value.arguments)}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: expressible(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(name): expressible(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [expressible(inner) for inner in value]
    if isinstance(value, np.generic | Enum):
        return expressible(value.item() if isinstance(value, np.generic) else value.value)
    if isinstance(value, str | PathLike | timedelta):
        return fspath(value) if isinstance(value, PathLike) else str(value)
    for kind in (bool, int, float):  # and their subclasses
        if isinstance(value, kind):
            return kind(value)
    return None if value is None else IN_MEMORY

"""Packages whose names are found when they are first used, so that importing a package imports no module of it."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Its name.
        homes: Public name to the module that has it.
    """

    def getattr_(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_


def import_all(package: str) -> None:
    """Import every public name of a package: ``__subclasses__`` of a base class lists those that were imported."""
    module = import_module(package)
    for name in module.__all__:
        getattr(module, name)

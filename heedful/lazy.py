"""Lazy imports: a package imports each of its public names when the name is first used."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package, which import and list its public names.

    The public names are those that the package imports under ``if TYPE_CHECKING``.

    Args:
        package: Name of the package.
        file: ``__file__`` of the package.
    """
    homes: dict[str, str] = {}
    for block in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If):
            imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
            homes |= {alias.name: str(node.module) for node in imports for alias in node.names}

    def getattr_(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_

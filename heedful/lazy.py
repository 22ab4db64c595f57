"""Lazy imports: a package imports each of its public names when the name is first used."""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

UNBUILT = "operator torchvision::nms does not exist"


@contextmanager
def explaining_imports() -> Iterator[None]:
    """Context manager that says what to do if an import fails because torchvision is built for another torch, or
    because Git cloned Heedful without links.

    Raises:
        HeedfulError: One of these imports failed.
    """
    try:
        yield
    except (ImportError, RuntimeError) as error:
        from heedful.records.errors import RunError  # imports pyarrow, through heedful.records

        cause: BaseException | None = error
        while cause is not None:
            if UNBUILT in str(cause):
                raise RunError(
                    f"torchvision is not built for this torch ({UNBUILT}). Run make install in a clone; elsewhere, "
                    "uninstall torchvision and timm, which only timm's models of pictures need."
                ) from error
            cause = cause.__cause__ or cause.__context__
        name = getattr(error, "name", None) or ""
        if name.startswith("heedful.") and Path(__file__).with_name(name.removeprefix("heedful.")).is_file():
            raise RunError(
                f"{name} cannot be imported: its folder needs a symbolic link, and this clone has none. Clone Heedful "
                "with git clone -c core.symlinks=true."
            ) from error
        raise


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
        with explaining_imports():
            return getattr(import_module(homes[name]), name)

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_

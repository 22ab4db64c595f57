"""Find the folders callbacks/, datamodules/, lightning_modules/ and configs/, which are at the top of a clone.

In a clone, heedful/ has links to these folders; in an installed package, heedful/ contains the folders. If git wrote
text files instead of links, as on Windows, an import finder leads to the folders.
"""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
LINKED = ("callbacks", "datamodules", "lightning_modules")  # and configs, which is no package


def folder(name: str) -> Path:
    """Return the path of "callbacks", "datamodules", "lightning_modules" or "configs"."""
    return (HERE.parent / name if (HERE / name).is_file() else HERE / name).resolve()


class Finder:
    """Finds packages such as ``heedful.callbacks`` for import in a clone by Git without support for symbolic links.

    In such a clone, ``heedful/callbacks`` is a text file, and no symbolic link to the folder ``callbacks``.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, room = name.partition(".")
        if package != __package__ or room not in LINKED or not (HERE / room).is_file():
            return None
        return spec_from_file_location(name, folder(room) / "__init__.py")


sys.meta_path.insert(0, Finder)  # before one that finds another checkout, as of an editable install

"""The version number of the file formats of results.json, rows and caches of answers."""

import json
from collections.abc import Mapping
from typing import Any

from heedful.records.errors import RunError

SCHEMA = 10  # no other version can be read
ENTRY = "heedful"  # key of Heedful's entry in the metadata of files and in config.json of exported models
ROOMS = {"data": "heedful.datamodules", "model": "heedful.lightning_modules"}


def require_schema(content: Any, display_name: str) -> dict[str, Any]:
    """Check the version of a file's content, and return the content without the version.

    Args:
        content: The content, with the version under "schema".
        display_name: Name of the file, at the start of messages.

    Raises:
        RunError: If the version is missing or is not :data:`SCHEMA`.
    """
    if not isinstance(content, Mapping) or "schema" not in content:
        raise RunError(f"{display_name} is damaged, or not from Heedful: it has no 'schema'. Evaluate again.")
    number = content["schema"]
    if number != SCHEMA or isinstance(number, bool):
        raise RunError(
            f"{display_name} has the schema {json.dumps(number, default=str)[:20]}, not {SCHEMA}. Evaluate again, or "
            "install the version of Heedful that wrote it."
        )
    return {key: value for key, value in content.items() if key != "schema"}


def full_path(kind: str, class_path: str) -> str:
    """Complete the name of one of Heedful's classes to its import path; import paths are returned unchanged.

    Args:
        kind: "data" or "model".
        class_path: Name or import path of the class.

    Example:
        >>> full_path("model", "Encoder")
        'heedful.lightning_modules.Encoder'
    """
    return class_path if "." in class_path else f"{ROOMS[kind]}.{class_path}"

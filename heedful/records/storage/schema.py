"""The schema of what a run writes: results.json, the rows and answers of servers hold its number."""

import json
from collections.abc import Mapping
from typing import Any

from heedful.records.errors import RunError

SCHEMA = 9  # rises when the version before could not read what is written; no other is read
ENTRY = "heedful"  # of the metadata of files, and of the config.json of an exported model
ROOMS = {"data": "heedful.datamodules", "model": "heedful.lightning_modules"}


def require_schema(content: Any, display_name: str) -> dict[str, Any]:
    """The content of a file, without the number of its schema.

    Args:
        content: The values in it.
        display_name: The file; begins the message.

    Raises:
        RunError: It has no number, or another than :data:`SCHEMA`.
    """
    if not isinstance(content, Mapping) or "schema" not in content:
        raise RunError(f"{display_name} was not written by Heedful, or is damaged: it has no 'schema'. Evaluate again.")
    number = content["schema"]
    if number != SCHEMA or isinstance(number, bool):
        raise RunError(
            f"{display_name} has the schema {json.dumps(number, default=str)[:20]}, and {SCHEMA} is read. Evaluate "
            "again, or install the version of Heedful that wrote it."
        )
    return {key: value for key, value in content.items() if key != "schema"}


def full_path(kind: str, class_path: str) -> str:
    """The import path of a class that may be given by its name alone.

    Args:
        kind: "data" or "model".
        class_path: Its import path, or its name alone.

    Example:
        >>> full_path("model", "Encoder")
        'heedful.lightning_modules.Encoder'
    """
    return class_path if "." in class_path else f"{ROOMS[kind]}.{class_path}"

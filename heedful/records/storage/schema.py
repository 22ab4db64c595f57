"""Versions: of Heedful, with its title, and of the file formats of results.json, rows and caches of answers."""

import json
from collections.abc import Mapping
from typing import Any

from heedful.records.errors import RunError

VERSION = "0.1.0"  # setup.cfg reads it
TITLE = "Heedful: does a classifier heed every part of its input?"
AUTHORS = "Heedful developers"

SCHEMA = 11  # no other version can be read
ENTRY = "heedful"  # key of Heedful's entry in the metadata of files and in config.json of exported models
ROOMS = {"data": "heedful.datamodules", "model": "heedful.lightning_modules"}


def require_schema(content: Any, display_name: str) -> dict[str, Any]:
    """Return the content of a file without its version, "schema"; raise RunError unless that is :data:`SCHEMA`."""
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
    """Complete the name of a class, of the kind "data" or "model", to its import path; an import path is unchanged."""
    return class_path if "." in class_path else f"{ROOMS[kind]}.{class_path}"

"""The schema of what a run writes, and how what earlier versions wrote is read: the one place that knows their names.

results.json, the rows and run.json hold the number :data:`SCHEMA`. It rises when a later version could not be read by
an earlier one. All numbers since 4 are read.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from heedful.records.errors import RunError

SCHEMA = 8
EARLIEST = 4  # whose number stood under "format"
WRITTEN = "written"  # the number in a file, beside what was read of it
ENTRY = "heedful"  # of the metadata of files, and of the config.json of an exported model
FORMER_ENTRY = "heed"  # the same when the project was called Heed
FORMER_ROOMS = re.compile(r"(callbacks|datamodules|lightning_modules)\.")  # how import paths began at that time
ROOMS = {"data": "heedful.datamodules", "model": "heedful.lightning_modules"}


def of_today(values: Any, display_name: str) -> dict[str, Any]:
    """The content of a file under the present schema.

    Args:
        values: The values in it.
        display_name: The file; begins the message.

    Returns:
        The values, with the present number as "schema", and the number that stood there as "written".

    Raises:
        HeedfulError: It has no number, or one that this version does not read.
    """
    if not isinstance(values, Mapping) or not {"schema", "format"} & values.keys():
        raise RunError(
            f"{display_name} was not written by Heedful, or is damaged: it has no 'schema'. Bring the file back, or "
            "evaluate again."
        )
    content = {key: value for key, value in values.items() if key not in ("schema", "format")}
    number = values.get("schema", values.get("format"))
    if isinstance(number, bool) or not isinstance(number, int) or not EARLIEST <= number <= SCHEMA:
        newer = isinstance(number, int) and number > SCHEMA
        raise RunError(
            f"{display_name} has the schema {json.dumps(number, default=str)[:20]}, and {EARLIEST} to {SCHEMA} are "
            f"read. {'Install the version of Heedful that wrote it, or a later one.' if newer else 'Evaluate again.'}"
        )
    return {"schema": SCHEMA, **content, WRITTEN: number}


def as_written(content: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`of_today` has read, as it goes back into its file: under the number that stood there."""
    others = {key: value for key, value in content.items() if key != WRITTEN}
    return others | ({"schema": content[WRITTEN]} if WRITTEN in content else {})


def own_entry(metadata: Mapping[bytes, bytes] | None) -> bytes | None:
    """Heedful's entry in the metadata of a file or of a column; None where there is none."""
    entries = metadata or {}
    return entries.get(ENTRY.encode(), entries.get(FORMER_ENTRY.encode()))


def present(class_path: str) -> str:
    """The import path of today for one that may be of an earlier version.

    Example:
        >>> present("datamodules.PairedText"), present("mine.PairedText")
        ('heedful.datamodules.PairedText', 'mine.PairedText')
    """
    return f"heedful.{class_path}" if FORMER_ROOMS.match(class_path) else class_path


def whole(kind: str, class_path: str) -> str:
    """The import path of a class that may be named in short.

    Args:
        kind: "data" or "model".
        class_path: Its import path, of today or of an earlier version, or its name alone.

    Example:
        >>> whole("model", "Encoder")
        'heedful.lightning_modules.Encoder'
    """
    return present(class_path) if "." in class_path else f"{ROOMS[kind]}.{class_path}"


def with_present_classes(config: Any) -> Any:
    """A configuration as YAML gives it, with the import paths of today."""
    if isinstance(config, dict):
        return {
            key: present(value) if key == "class_path" and isinstance(value, str) else with_present_classes(value)
            for key, value in config.items()
        }
    return [with_present_classes(value) for value in config] if isinstance(config, list) else config

"""YAML of unknown origin: looked through before anything is made of it.

A few lines of YAML can stand for more values than fit into any memory, as an alias repeats what it names; and a key
that stands twice silently counts once.
"""

from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from heedful.records.errors import HeedfulError
from heedful.records.storage.files import open_file

LARGEST = 2**22  # bytes of a file of settings
MOST_VALUES = 100_000  # aliases written out
DEEPEST = 100
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
REPEATED = "stands twice in one place"


@dataclass
class _Open:
    """A list or mapping that has begun: the name for aliases, the values before it, and the keys so far."""

    anchor: str | None
    start: int
    is_mapping: bool
    keys: set[tuple[str, bool]] = field(default_factory=set)
    items: int = 0


def examine(text: str) -> None:
    """Go through YAML without making anything of it.

    Raises:
        HeedfulError: It is nested too deeply, or stands for too many values; the message begins with a verb.
        yaml.YAMLError: It is not YAML, or a key stands twice in one mapping.
    """
    values = 0
    sizes: dict[str | None, int] = {}
    opened: list[_Open] = []
    for event in yaml.parse(text, Loader=PARSER):
        if isinstance(event, yaml.CollectionEndEvent):
            closed = opened.pop()
            sizes[closed.anchor] = values - closed.start
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        values += 1
        if opened:
            _count_key(opened[-1], event)
        if isinstance(event, yaml.AliasEvent):
            if any(outer.anchor == event.anchor for outer in opened):
                raise HeedfulError(f"holds a value that contains itself (*{event.anchor})")
            values += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Open(event.anchor, values, isinstance(event, yaml.MappingStartEvent)))
        if len(opened) > DEEPEST:
            raise HeedfulError(f"is nested more than {DEEPEST} deep")
        if values > MOST_VALUES:
            raise HeedfulError(f"stands for more than {MOST_VALUES:,} values, aliases (*name) counted each time")


def _count_key(outer: _Open, event: yaml.NodeEvent) -> None:
    is_key = outer.is_mapping and outer.items % 2 == 0
    outer.items += 1
    if is_key and isinstance(event, yaml.ScalarEvent) and event.value != "<<":
        key = event.value, bool(event.style)  # a number in quotes is another key
        if key in outer.keys:
            problem = f"the key {event.value!r} {REPEATED}"
            mark = event.start_mark
            raise ConstructorError(None, None, problem, mark)  # type: ignore[arg-type]  # the stubs forget libyaml's marks
        outer.keys.add(key)


def parse_yaml(text: str, named: str) -> Any:
    """The values of YAML; ``named`` begins the message.

    Raises:
        HeedfulError: It is not YAML, a key stands twice, or it stands for too much.
    """
    try:
        examine(text)
    except HeedfulError as error:
        raise HeedfulError(f"{named} {error}, as no sound settings do.") from None
    except yaml.YAMLError as error:
        raise HeedfulError(f"{named} is not valid YAML: {_first(error)}.") from None
    try:
        return yaml.load(text, Loader=PARSER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that no calendar has is a ValueError
        raise HeedfulError(f"{named} is not valid YAML: {_first(error)}.") from None


def read_yaml(path: str, named: str) -> Any:
    """The values of a YAML file; ``named`` begins the message.

    Raises:
        HeedfulError: It is not a file, too large, not UTF-8, or not YAML that can be read.
    """
    with open_file(path, named) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise HeedfulError(f"{named} has more than {LARGEST >> 20} MiB, and should be a file of settings.")
    try:
        return parse_yaml(content.decode("utf-8-sig"), named)
    except UnicodeDecodeError as error:
        raise HeedfulError(f"{named} is not valid YAML: it is not UTF-8 ({error.reason}).") from None


def _first(error: Exception) -> str:
    """The fault and its line, without the lines of the file that a YAMLError quotes."""
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None)
    said = problem or (str(error).splitlines() or [type(error).__name__])[0]
    return f"{said} (line {mark.line + 1})" if mark is not None else said

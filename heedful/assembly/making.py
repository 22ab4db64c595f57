"""What a run is made of: objects from settings, of which classes, and what the settings say of Lightning's.

A setting names a class by its import path, or by its name alone. It must be a data module, a classifier, or one of the
kinds that Lightning's Trainer takes; nothing else is made, and no function is called because a setting names it.
"""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, get_origin, get_type_hints

from pytorch_lightning import Callback
from pytorch_lightning.accelerators import Accelerator
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins import CheckpointIO, ClusterEnvironment, LayerSync, Precision
from pytorch_lightning.profilers import Profiler
from pytorch_lightning.strategies import Strategy

from heedful.datamodules import PairedData
from heedful.lightning_modules import Classifier
from heedful.records import SettingError
from heedful.records.settings.faults import MAPPINGS, Place, Settings, held, members
from heedful.records.settings.making import InPython, refusal
from heedful.records.storage.yaml_files import SettingsLoader, composed, found_at, parse_yaml, read_text

PLUGINS = (CheckpointIO, ClusterEnvironment, LayerSync, Precision)
KINDS = (PairedData, Classifier, Callback, Logger, Profiler, Strategy, Accelerator, *PLUGINS)


class _Ours(InPython):
    """Settings in Python, where the path of data may be rows in memory as well."""

    def settings(self, kind: type) -> Settings:
        by_name = super().settings(kind)
        return {**by_name, "path": str | Any} if issubclass(kind, PairedData) and "path" in by_name else by_name


GRAMMAR = _Ours(KINDS)
IN_FILES = InPython(KINDS, is_yaml=True)  # to which settings in Python may add


def made(section: Any, kinds: tuple[type, ...], place: Place) -> Any:
    """The object that a section of a configuration stands for.

    Args:
        section: "class_path", "init_args" and "dict_kwargs", as config.yaml has them; or the name of a class alone. The
            settings may be objects; an object of these kinds stays what it is.
        kinds: The kinds that it may be of, some of :data:`KINDS`.
        place: Where the section stands, as ("data",); it begins the names of settings in messages.

    Returns:
        The object. It has the settings as ``made_of``.

    Raises:
        HeedfulError: A setting is of another type, unknown or missing, or a class is of none of the kinds.
    """
    return GRAMMAR.section(section, kinds, place)


def read_settings(path: str, display_name: str, hint: Any, place: Place = ()) -> Any:
    """What stands in a YAML file of settings, checked.

    Args:
        path: The file.
        display_name: What the user wrote; begins the message.
        hint: The type of what it holds, or the settings of a group by name.
        place: Where that stands among all settings.

    Raises:
        HeedfulError: It cannot be read, or a setting is unknown or of another type; the message has the line.
    """
    text = read_text(path, display_name)
    values = parse_yaml(text, display_name, SettingsLoader)
    root = composed(text)
    for fault in IN_FILES.faults(values, hint, place):
        line, node = found_at(root, fault.place[len(place) :])
        given = text[node.start_mark.index : node.end_mark.index] if node else text
        raise refusal(fault, given).at(f"{display_name}, line {line}")
    return values


def require_types(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of other types than a function takes, but for settings, which what they are of checks itself.

    Raises:
        HeedfulError: There is one; the message names it.
    """
    hints = {name: hint for name, hint in get_type_hints(function).items() if name in arguments}
    own = {name: hint for name, hint in hints.items() if not (GRAMMAR.kinds(hint) and held(hint, MAPPINGS))}
    GRAMMAR.require({name: arguments[name] for name in own}, own)
    for name, hint in own.items():
        takes_paths = any(get_origin(member) is PathLike for member in members(hint))
        if isinstance(arguments[name], PathLike) and not takes_paths:
            raise SettingError(f"{name} {arguments[name]} is a path. Give a text.")


def made_of(kind: type, settings: Mapping[str, Any], place: Place) -> Any:
    """An object of a class from its settings, as those of an evaluation; see :func:`made`."""
    return GRAMMAR.made(kind, settings, place)


def checked(kind: type, settings: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Some settings of a class, as those of Lightning's Trainer, with objects for what names a class."""
    return GRAMMAR.checked(kind, settings, place)

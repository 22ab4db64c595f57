"""Which classes a configuration may name.

A YAML file or an argument names a class by its import path. It must be a data module, a classifier, or one of the
kinds that Lightning's Trainer takes; nothing else is instantiated, and no function is called because a configuration
names it. To see of which kind a class is, its module has to be imported, which runs what stands at the top of that
module: a configuration of unknown origin can have any module imported that Python finds, but for those that can do
harm by themselves (``os``, ``subprocess``, ``pickle`` and the like), which jsonargparse refuses to name.
"""

import inspect
import os
import sys
from typing import Any

import torch
from jsonargparse import Namespace, set_parsing_settings

from heedful.assembly.making import KINDS
from heedful.records import SettingError

set_parsing_settings(
    import_path_denylist=[],  # beside those that jsonargparse denies, none; and these are refused
    validate_subclass_spec_in_any=False,  # a setting of any type holds data and no class
    instantiate_subclass_spec_in_any=False,
)


def require_kinds(config: Any, flag: str = "-", owner: type | None = None) -> None:
    """Look through a parsed configuration before anything in it is instantiated.

    Args:
        config: What the parser made, in which functions stand as themselves.
        flag: Where in the configuration this is.
        owner: The class that has this as a setting.

    Raises:
        HeedfulError: It names a class of none of the kinds, or a function.
    """
    if isinstance(config, Namespace | dict):
        items = vars(config) if isinstance(config, Namespace) else config
        if isinstance(items.get("class_path"), str):
            module, _, class_name = items["class_path"].rpartition(".")
            owner = getattr(sys.modules.get(module), class_name, None)  # imported by the parser, if it may be at all
            if not (isinstance(owner, type) and issubclass(owner, KINDS)):
                raise SettingError(f"-{flag} {items['class_path']} may not be named.")
        for key, value in items.items():
            if not str(key).startswith("__"):  # that is how the parser notes from which file a section came
                require_kinds(value, flag if key == "init_args" else f"{flag}.{key}".replace("-.", "-"), owner)
    elif isinstance(config, list | tuple | set):
        for item in config:
            require_kinds(item, flag, owner)
    elif _is_function(config) and not _is_default(config, flag.rsplit(".", 1)[-1], owner):
        function = getattr(config, "__qualname__", type(config).__qualname__)
        raise SettingError(f"-{flag}: {config.__module__}.{function} is a function. Name a class.")


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, os.PathLike | torch.device)  # these can be called as well


def _is_default(value: Any, name: str, owner: type | None) -> bool:
    """Whether a class itself, and no configuration, gives a setting this value."""
    made = [vars(kind).get("__init__") for kind in (owner.__mro__ if owner else ())]
    settings = [inspect.signature(init).parameters.get(name) for init in made if inspect.isfunction(init)]
    return any(setting is not None and setting.default is value for setting in settings)

"""Where a name that the command line does not know stands, and which known one is nearest to it."""

import inspect
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import yaml
from jsonargparse import ArgumentParser

from heedful import datamodules, lightning_modules
from heedful.cli.short_forms import DEFAULTS, class_named
from heedful.records import HeedfulError
from heedful.records.errors import nearest
from heedful.records.storage.schema import whole

CLASSES = {"data": datamodules, "model": lightning_modules}
OF_A_CLASS = ("class_path", "init_args", "dict_kwargs")
MANY = 8  # names that a message lists


def located(error: HeedfulError, parser: ArgumentParser, args: Sequence[str]) -> HeedfulError:
    """A better message for a command line that the parser refused, where a name in it or in its files is unknown.

    Args:
        error: The refusal.
        parser: The parser.
        args: The command line, expanded.
    """
    groups = _groups(parser)
    named = {flag: _class(flag, args) for flag in DEFAULTS}
    for flag, path in zip(args, args[1:], strict=False):
        if flag in ("--data", "--model", "--config") and not path.startswith("{") and Path(path).is_file():
            prefix = "" if flag == "--config" else flag.removeprefix("--")
            root = yaml.compose(Path(path).read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
            setting = re.match(r"--[\w.]*?(\w+): .*quotes", error.args[0])
            unquoted = _unquoted(root, setting[1]) if setting else ()
            for line, said in (*_faults(root, prefix, groups, named), *unquoted):
                return HeedfulError(f"{flag} {path}, line {line}: {said}")
    for arg in args:
        flag = arg.partition("=")[0].removesuffix("+").replace("init_args.", "")
        group, _, name = flag.removeprefix("--").partition(".")
        name = name.partition(".")[0]
        if not arg.startswith("--") or (name or group) not in error.args[0]:  # the refusal is about something else
            continue
        known = _settings(named[group]) if group in named else groups.get(group, ())
        if name and known and name not in known and (near := nearest(name, known)):
            return HeedfulError(f"--{group}.{name}: there is no such setting; do you mean --{group}.{near}?")
        if group not in groups and (near := nearest(group, groups) or _within(group, groups, named)):
            return HeedfulError(f"--{group}: there is no such setting; do you mean --{near}?")
    return error


def _groups(parser: ArgumentParser) -> dict[str, set[str]]:
    """The first part of each setting's name to what may follow it."""
    groups: dict[str, set[str]] = {name: set() for name in (*DEFAULTS, "config")}
    for name in list(parser.get_defaults(skip_validation=True).keys()):
        group, _, rest = name.partition(".")
        groups.setdefault(group, set()).update([rest.partition(".")[0]] if rest else [])
    return groups


def _within(name: str, groups: dict[str, set[str]], named: dict[str, type | None]) -> str | None:
    """The setting of a group whose name, or its beginning, was given without the group."""
    inner = groups | {kind: _settings(of_heedful) for kind, of_heedful in named.items()}
    of = {setting: group for group in sorted(inner, reverse=True) for setting in inner[group]}
    setting = nearest(name, [setting for setting in of if setting.startswith(name)])
    return f"{of[setting]}.{setting}" if setting else None


def _class(kind: str, args: Sequence[str]) -> type | None:
    """The class of Heedful that a command names for its data or its model, the last of several."""
    found = None
    for flag, value in zip(args, args[1:], strict=False):
        if flag in (f"--{kind}", "--config"):
            name = class_named(value, kind, in_section=flag == "--config")
            found = _of_heedful(name) or found
    return found


def _of_heedful(path: str | None) -> type | None:
    """The class of an import path, of a module that is imported."""
    module, _, last = (path or "").rpartition(".")
    found = getattr(sys.modules.get(module), last, None)
    return found if inspect.isclass(found) else None


def _settings(kind: type | None) -> set[str]:
    """The names of the settings of a class, those that it hands on to its bases among them."""
    inits = [vars(base).get("__init__") for base in (kind.__mro__ if kind else ())]
    names = {name for init in inits if inspect.isfunction(init) for name in inspect.signature(init).parameters}
    return names - {"self", "args", "kwargs"}


def _faults(
    node: yaml.Node, prefix: str, groups: dict[str, set[str]], named: dict[str, type | None]
) -> Iterator[tuple[int, str]]:
    """(Line, what is wrong there) of each name that is not known in a section of a file; "" for the whole file."""
    if not isinstance(node, yaml.MappingNode):
        return
    if prefix in CLASSES:
        yield from _faults_of_class(node, prefix, named)
        return
    known = groups[prefix] if prefix else groups
    for key, value in node.value:
        if known and key.value not in known:
            yield key.start_mark.line + 1, _unknown(key.value, known)
        elif not prefix:
            yield from _faults(value, key.value, groups, named)


def _faults_of_class(node: yaml.MappingNode, kind: str, named: dict[str, type | None]) -> Iterator[tuple[int, str]]:
    """(Line, what is wrong there) in the section of the data or of the model: its class, and the settings of that."""
    values = {key.value: value for key, value in node.value}
    of_class = values.get("class_path")
    if of_class is None:
        heedful_class = named[kind]
        if heedful_class is None:
            name = "PairedText" if kind == "data" else "Encoder"
            yield 1, f"no class_path says what it is, as in class_path: {CLASSES[kind].__name__}.{name}."
    else:
        heedful_class = _of_heedful(whole(kind, of_class.value))
        if heedful_class is None and (near := _near_class(kind, of_class.value)):
            yield of_class.start_mark.line + 1, f"there is no {of_class.value}; do you mean {near}?"
    settings = _settings(heedful_class)
    for key, value in node.value:
        if key.value not in OF_A_CLASS:
            yield key.start_mark.line + 1, _unknown(key.value, OF_A_CLASS)
        elif key.value == "init_args" and settings:
            yield from _faults_of_settings(value, settings)


def _near_class(kind: str, path: str) -> str | None:
    """The class of Heedful that is nearest to a name, in short if that is; None of a class of somebody else's."""
    module, _, last = whole(kind, path).rpartition(".")
    if module != CLASSES[kind].__name__:
        return None
    near = nearest(last, CLASSES[kind].__all__)
    return f"{module}.{near}" if near and "." in path else near


def _faults_of_settings(node: yaml.Node, settings: set[str]) -> Iterator[tuple[int, str]]:
    """(Line, what is wrong there) of each setting that a class does not have."""
    if isinstance(node, yaml.MappingNode):
        for key, _ in node.value:
            if key.value not in settings:
                yield key.start_mark.line + 1, _unknown(key.value, settings)


def _unquoted(node: yaml.Node | None, setting: str, inside: bool = False) -> Iterator[tuple[int, str]]:
    """(Line, what is wrong there) of each text of a setting that YAML reads as true or false."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _unquoted(value, setting, inside or key.value == setting)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _unquoted(value, setting, inside)
    elif inside and node is not None and node.tag == "tag:yaml.org,2002:bool":
        said = "false" if yaml.safe_load(node.value) is False else "true"
        yield node.start_mark.line + 1, f'YAML reads {node.value} as {said}: put it in quotes, "{node.value}".'


def _unknown(name: str, known: Collection[str]) -> str:
    if near := nearest(name, known):
        return f"there is no setting {name!r} here; do you mean {near!r}?"
    more = ", ..." if len(known) > MANY else ""
    return f"there is no setting {name!r} here; there are {', '.join(sorted(known)[:MANY])}{more}."

"""Read the settings of classes and functions from their source, since importing them may import torch and Lightning."""

import ast
import re
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Setting(NamedTuple):
    """A parameter of a function or of a constructor.

    Attributes:
        kind: The annotation, as in the source.
        default: The default, as in the source; None for a required parameter.
        about: The description in the docstring, without line breaks.
    """

    kind: str
    default: str | None
    about: str


@cache
def settings_of(path: str) -> dict[str, Setting]:
    """Map the names of the parameters of a class or a function to the parameters.

    Parameters of base classes are included, unless the constructor of the class passes them itself.

    Args:
        path: The import path.

    Raises:
        LookupError: There is no source of such a class or function.
    """
    module, node = _definition(path)
    if isinstance(node, ast.FunctionDef):
        return _parameters(node, _descriptions(node))
    abouts = _descriptions(node)
    init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if init is None:
        fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and node.decorator_list]
        found = {ast.unparse(item.target): (ast.unparse(item.annotation), item.value) for item in fields}
        own = {
            name: Setting(kind, value and ast.unparse(value), abouts.get(name, ""))
            for name, (kind, value) in found.items()
        }
    else:
        own = _parameters(init, abouts | _descriptions(init))
    for base in node.bases if init is None or init.args.kwarg else ():
        try:
            inherited = settings_of(f"{module}.{ast.unparse(base)}")
        except LookupError:  # of another package, without source
            continue
        for name, setting in own.items():
            if not setting.about and name in inherited:
                own[name] = setting._replace(about=inherited[name].about)
        passed = _passed(init, [*inherited]) if init else set()
        own |= {name: setting for name, setting in inherited.items() if name not in own and name not in passed}
    return own


def attribute_of(path: str, name: str) -> str | None:
    """Return the value, as in the source, of an attribute of a class or its base classes; None if there is none.

    Args:
        path: The import path of the class.
        name: The name of the attribute.

    Raises:
        LookupError: There is no source of such a class.
    """
    module, node = _definition(path)
    for item in node.body:
        if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            if name in map(ast.unparse, targets):
                return ast.unparse(item.value)
    for base in getattr(node, "bases", ()):
        with suppress(LookupError):
            return attribute_of(f"{module}.{ast.unparse(base)}", name)
    return None


def imported_names(module: str) -> dict[str, str]:
    """Map the names that a module imports, also under ``if TYPE_CHECKING``, to their import paths."""
    body = _tree(module).body
    body = [inner for item in body for inner in (item.body if isinstance(item, ast.If) else [item])]
    return {
        alias.asname or alias.name: f"{item.module}.{alias.name}"
        for item in body
        if isinstance(item, ast.ImportFrom)
        for alias in item.names
    }


def _definition(path: str) -> tuple[str, ast.ClassDef | ast.FunctionDef]:
    """Find the definition of a class or function, through the imports of the module that ``path`` names."""
    module, _, name = path.rpartition(".")
    for item in _tree(module).body:
        if isinstance(item, ast.ClassDef | ast.FunctionDef) and item.name == name:
            return module, item
    if name not in (imports := imported_names(module)):
        raise LookupError(path)
    return _definition(imports[name])


@cache
def _tree(module: str) -> ast.Module:
    """Parse the source of a module, without importing a package that contains the module."""
    package, *names = module.split(".")
    spec = find_spec(package) if package else None
    places = list(spec.submodule_search_locations or [spec.origin]) if spec else []
    for place in map(Path, places):
        for file in (place.joinpath(*names).with_suffix(".py"), place.joinpath(*names, "__init__.py"), place):
            if file.is_file() and file.suffix == ".py":
                return ast.parse(file.read_text(encoding="utf-8"))
    raise LookupError(module)


def _parameters(function: ast.FunctionDef, abouts: dict[str, str]) -> dict[str, Setting]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = [*zip(positional, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return {
        each.arg: Setting(ast.unparse(each.annotation) if each.annotation else "", value and ast.unparse(value),
                          abouts.get(each.arg, ""))
        for each, value in pairs
        if each.arg != "self"
    }  # fmt: skip


def _passed(init: ast.FunctionDef, names: list[str]) -> set[str]:
    """Return the parameters of the base class, among ``names``, that a constructor passes to it explicitly."""
    passed: set[str] = set()
    for call in ast.walk(init):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
            passed |= {*names[: len(call.args)], *(keyword.arg for keyword in call.keywords if keyword.arg)}
    return passed


def _descriptions(node: ast.ClassDef | ast.FunctionDef) -> dict[str, str]:
    """Map the names in the section Args of a docstring, else in Attributes, to their descriptions."""
    text = ast.get_docstring(node) or ""
    section = re.search(r"^(?:Args|Attributes):\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
    lines = section[1] if section else ""
    entries = re.findall(r"^ {4}(\w+)(?: \(.*?\))?:((?:.*\n?)(?:^ {5,}.*\n?|^\n)*)", lines, re.MULTILINE)
    return {name: " ".join(about.split()) for name, about in entries}

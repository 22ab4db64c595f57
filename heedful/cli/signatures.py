"""Read the settings of classes and functions from their source, since importing them may import torch and Lightning."""

import ast
import re
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

PERTURBATION = "heedful.callbacks.evaluations.perturbation.Perturbation"


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
    if is_perturbation(node):
        first, *further = _parameters(node, node).items()
        own = settings_of(PERTURBATION)
        own = {name: setting for name, setting in own.items() if name == "max_examples" or "rng" in dict(further)}
        return own | {name: setting for name, setting in further if name != "rng"}
    init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    settings = _parameters(node, init if isinstance(node, ast.ClassDef) else node)
    for base in getattr(node, "bases", ()) if init is None or init.args.kwarg else ():
        try:
            inherited = settings_of(f"{module}.{ast.unparse(base)}")
        except LookupError:  # of another package, without source
            continue
        settings = {
            name: setting if setting.about else setting._replace(about=inherited.get(name, setting).about)
            for name, setting in settings.items()
        }
        passed: set[str] = set()  # by the constructor to the base class
        for call in ast.walk(init) if init else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                passed |= {*[*inherited][: len(call.args)], *(str(keyword.arg) for keyword in call.keywords)}
        settings |= {
            name: setting for name, setting in inherited.items() if name not in settings and name not in passed
        }
    return settings


def attribute_of(path: str, name: str) -> str | None:
    """Return the value, as in the source, of an attribute of a class or its base classes; None if there is none.

    Args:
        path: The import path of the class.
        name: The name of the attribute.

    Raises:
        LookupError: There is no source of such a class.
    """
    module, node = _definition(path)
    if is_perturbation(node):
        return attribute_of(PERTURBATION, name)
    for item in node.body:
        if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            if name in map(ast.unparse, targets):
                return ast.unparse(item.value)
    for base in getattr(node, "bases", ()):
        with suppress(LookupError):
            return attribute_of(f"{module}.{ast.unparse(base)}", name)
    return None


def is_perturbation(node: ast.AST) -> bool:
    """Whether the node defines a function that the decorator ``perturbation`` turns into an evaluation."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(isinstance(each, ast.Call) and ast.unparse(each.func).endswith("perturbation") for each in decorators)


@cache
def source_of(module: str) -> tuple[ast.Module, dict[str, str]]:
    """Parse a module, without importing a package that contains it.

    Returns:
        The syntax tree; and the import paths of the names that the module imports, also under ``if TYPE_CHECKING``.

    Raises:
        LookupError: There is no source of such a module.
    """
    package, *names = module.split(".")
    spec = find_spec(package) if package else None
    places = [Path(str(place)) for place in (spec.submodule_search_locations or [spec.origin] if spec else [])]
    files = [file for place in places for file in (place, place.joinpath(*names, "__init__.py"))]
    files += [place.joinpath(*names).with_suffix(".py") for place in places]
    if (file := next((file for file in files if file.suffix == ".py" and file.is_file()), None)) is None:
        raise LookupError(module)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    items = [inner for item in tree.body for inner in (item.body if isinstance(item, ast.If) else [item])]
    imports = [(item.module, alias) for item in items if isinstance(item, ast.ImportFrom) for alias in item.names]
    return tree, {alias.asname or alias.name: f"{origin}.{alias.name}" for origin, alias in imports}


def _definition(path: str) -> tuple[str, ast.ClassDef | ast.FunctionDef]:
    """Find the definition of a class or function, through the imports of the module that ``path`` names."""
    module, _, name = path.rpartition(".")
    tree, imports = source_of(module)
    for item in tree.body:
        if isinstance(item, ast.ClassDef | ast.FunctionDef) and item.name == name:
            return module, item
    if name not in imports:
        raise LookupError(path)
    return _definition(imports[name])


def _parameters(node: ast.ClassDef | ast.FunctionDef, function: ast.FunctionDef | None) -> dict[str, Setting]:
    """Return the parameters of a function or a constructor; without both, the fields of a dataclass."""
    if function is None:
        fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and node.decorator_list]
        found = [(ast.unparse(item.target), item.annotation, item.value) for item in fields]
    else:
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(positional) - len(arguments.defaults)) + [*arguments.defaults, *arguments.kw_defaults]
        pairs = zip([*positional, *arguments.kwonlyargs], defaults, strict=True)
        found = [(each.arg, each.annotation, value) for each, value in pairs if each.arg != "self"]  # type: ignore[misc]
    abouts: dict[str, str] = {}
    for documented in (node, function or node):
        text = ast.get_docstring(documented) or ""
        section = re.search(r"^(?:Args|Attributes):\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
        entries = r"^ {4}(\w+)(?: \(.*?\))?:((?:.*\n?)(?:^ {5,}.*\n?|^\n)*)"
        abouts |= dict(re.findall(entries, section[1] if section else "", re.MULTILINE))
    return {
        name: Setting(*(item and ast.unparse(item) for item in parts), " ".join(abouts.get(name, "").split()))
        for name, *parts in found
    }

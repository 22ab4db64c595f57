"""Which room may import which: arrows point one way, nobody takes another's private names, one package has all."""

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "heedful"
GROUND = {"records"}
NUMBERS = GROUND | {"interventions"}
ALLOWED = {  # room: which it may import beside itself
    "records": set(),
    "interventions": GROUND,
    "metrics": NUMBERS,
    "datamodules": NUMBERS,
    "lightning_modules": NUMBERS,
    "reports": NUMBERS | {"metrics", "datamodules", "lightning_modules"},
    "callbacks": NUMBERS | {"metrics", "datamodules", "lightning_modules", "reports"},
    "assembly": NUMBERS | {"metrics", "datamodules", "lightning_modules", "reports", "callbacks"},
    "cli": NUMBERS | {"metrics", "datamodules", "lightning_modules", "reports", "callbacks", "assembly"},
}
LINKED = ("callbacks", "configs", "datamodules", "lightning_modules")  # folders of the top level
HOMES = {room: (PACKAGE / room).resolve() for room in ALLOWED}
FILES = sorted(path for home in HOMES.values() for path in home.rglob("*.py"))


class Import(NamedTuple):
    """One name that a module takes from another: ``name`` is empty for the module itself."""

    line: int
    module: str
    name: str


def module_of(path: Path) -> str:
    place = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT)
    return ".".join(["heedful", *place.with_suffix("").parts]).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """The syntax of a file, parsed once for all tests."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every import in a file, in functions too; a module that is imported by name stands for itself."""
    found: list[Import] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.append(Import(node.lineno, *((whole, "") if whole in MODULES else (node.module, alias.name))))
    return tuple(found)


def package(module: str) -> str:
    """The room of a module of ours, the first part of the name of another."""
    first, _, rest = module.partition(".")
    return (rest or first).partition(".")[0] if first == "heedful" else first


def tracked(*patterns: str) -> list[Path]:
    """The files of the checkout, without those that an earlier version wrote."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("this is not a checkout of git")
    paths = [ROOT / name for name in listed.stdout.decode().splitlines()]
    return [path for path in paths if path.is_file() and not path.is_relative_to(ROOT / "tests" / "frozen")]


def test_four_links_lead_to_the_folders_of_the_top_level():
    assert {path.name: os.readlink(path) for path in PACKAGE.iterdir() if path.is_symlink()} == {
        name: f"../{name}" for name in LINKED
    }


def test_nobody_imports_a_room_by_its_bare_name():
    """In no module, doctest, script of a test or page of the docs."""
    bare = re.compile(rf"(?:^|[>\"'`;])\s*(?:>>> )?(?:from|import) (?:{'|'.join(ALLOWED)})(?:[ .,;]|$)", re.MULTILINE)
    paths = tracked("*.py", "*.md")
    assert len(paths) > 400
    assert not {(str(path.relative_to(ROOT)), found[0]) for path in paths for found in bare.finditer(path.read_text())}


@pytest.mark.parametrize("name", ALLOWED)
def test_packages_import_only_what_lies_below(name):
    above = (set(ALLOWED) | {"heedful", "train", "evaluate", "tests", "benchmarks"}) - ALLOWED[name] - {name}
    wrong = [
        f"{path.relative_to(ROOT)}:{found.line} imports {found.module}"
        for path in FILES
        if package(module_of(path)) == name
        for found in imports(path)
        if package(found.module) in above
    ]
    assert not wrong


def test_no_circle_of_modules():
    """Over all modules of all packages, with names that serve type hints alone."""
    after = {
        name: {found.module for found in imports(path) if found.module in MODULES} - {name}
        for name, path in MODULES.items()
    }
    while free := {name for name, needs in after.items() if not needs & after.keys()}:
        after = {name: needs for name, needs in after.items() if name not in free}
    assert not after


def test_nobody_takes_private_names():
    wrong = [
        f"{path.relative_to(ROOT)}:{found.line} takes {found.module}.{found.name}"
        for path in FILES
        for found in imports(path)
        if package(found.module) in ALLOWED
        and any(part.startswith("_") for part in (*found.module.split("."), found.name))
    ]
    assert not wrong


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings in a file, but for docstrings."""
    docs = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def test_low_rooms_know_no_flags():
    """A message names a setting as ``data.hold_out``: see ``HeedfulError``."""
    low = ("records", "interventions", "metrics", "datamodules", "lightning_modules", "callbacks", "assembly")
    flag = re.compile(r"(?<!python train\.py )(?<!heedful train )--[a-z]")  # a whole command may be shown
    files = [path for path in FILES if package(module_of(path)) in low and path.stem != "command_lines"]
    found = {(path, *text) for path in files for text in texts(path)}
    assert not {f"{path.relative_to(ROOT)}:{line}: {text}" for path, line, text in found if flag.search(text)}


NAMED_TUPLES = ("_replace", "_asdict", "_fields")  # public: the underscore tells them from the fields


def private_parts(path: Path) -> Iterator[str]:
    """The private names that a file takes from libraries, and from objects that are not its own."""
    for node in nodes(path):
        own = ("self", "cls", "super")  # what a subclass takes from its base, a test of the subclass holds
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            if node.attr in NAMED_TUPLES:
                continue
            of = node.value.func if isinstance(node.value, ast.Call) else node.value
            if not (isinstance(of, ast.Name) and of.id in own):
                yield f"{path.relative_to(ROOT)}:{node.lineno} takes {ast.unparse(node)}"
    for found in imports(path):
        if found.name.startswith("_") or "._" in found.module:
            yield f"{path.relative_to(ROOT)}:{found.line} imports {found.module}.{found.name}"


def test_the_private_parts_of_libraries_are_in_one_file():
    entries = [ROOT / "train.py", ROOT / "evaluate.py"]
    assert not {
        line
        for path in (*FILES, *entries)
        # measured_functions.py has those of pipelines; those of jsonargparse are in heedful/parser.py, in no room
        if path.name not in ("lightning_internals.py", "measured_functions.py")
        for line in private_parts(path)
    }


@pytest.mark.parametrize("name", ["records", "interventions", "metrics"])
def test_the_ground_floors_know_no_lightning_and_no_torch(name):
    used = {package(f.module) for path in FILES if package(module_of(path)) == name for f in imports(path)}
    assert not used & {"pytorch_lightning", "lightning", "torch", "transformers"}


def imported_first(path: Path) -> Iterator[str]:
    """The modules that importing a file imports: not by its functions, and not for type hints."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module)


@pytest.mark.parametrize(
    "start",
    [
        "assembly.measured_functions",
        "assembly.measuring",
        "callbacks.engine.measure",
        *(f"lightning_modules.prompted.{name}" for name in ("causal_lm", "endpoint")),
    ],
)
def test_a_function_is_measured_without_lightning(start):
    """What these import, and what that imports."""
    waiting, seen = [f"heedful.{start}"], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            packages = [name.rpartition(".")[0]] if name.count(".") > 1 else []
            waiting += packages + (list(imported_first(MODULES[name])) if name in MODULES else [])
    assert len(seen) > 40
    assert not {name for name in seen if name.partition(".")[0] in ("pytorch_lightning", "lightning")}


OBJECTS = {"model", "data", "module", "pl_module", "classifier", "predictor", "datamodule", "function", "endpoint"}
OF_OTHERS = {"module.__class__", "function.__name__", "module.training"}  # of torch and of users, not of Heedful


def test_nobody_assigns_to_a_model_or_to_data_from_outside():
    found = set()
    for path in FILES:
        for node in nodes(path):
            targets = getattr(node, "targets", [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else [])
            for target in targets if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) else ():
                owner = ast.unparse(target).split(".")[:-1]
                if owner and owner[0] != "self" and OBJECTS & set(owner):
                    found.add(ast.unparse(target))
    assert found <= OF_OTHERS


def test_one_parser_reads_all_settings():
    using = {
        path.relative_to(ROOT).as_posix() for path in FILES if any(f.module == "jsonargparse" for f in imports(path))
    }
    assert using == {"heedful/assembly/config.py"}  # and heedful/parser.py, which is in no room


BY_HAND = {  # file that makes a Trainer, an EvaluationCallback or a RunFolder itself, and why
    "benchmarks/bare_runs.py": "runs without the checks of a command, for benchmarks and tests",
    "tests/assembly/test_callbacks_of_lightning.py": "a Trainer of the user's own",
    "tests/assembly/test_watch.py": "the Trainer of somebody else",
    "tests/callbacks/engine/test_measure.py": "the callbacks of a Trainer in every order",
    "tests/callbacks/engine/test_callback.py": "which evaluations it runs; a Trainer without data of ours is refused",
    "tests/callbacks/evaluations/test_perturbation.py": "a Trainer of the user's own",
    "tests/callbacks/outputs/test_run_folder.py": "a folder that is told to begin with another one",
    "tests/callbacks/test_progress.py": "the metrics of the progress bar without a run",
    "tests/lightning_modules/test_lightning_internals.py": "Lightning itself",
}


def test_runs_are_put_together_in_one_room():
    made = {"Trainer", "EvaluationCallback", "RunFolder"}
    by_hand = set()
    for path in tracked("*.py"):
        if not path.is_relative_to(PACKAGE / "assembly") and any(f"{name}(" in path.read_text() for name in made):
            called = {ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call)}
            if {name.rpartition(".")[2] for name in called - {"transformers.Trainer"}} & made:
                by_hand.add(path.relative_to(ROOT).as_posix())
    assert by_hand == BY_HAND.keys()


def test_libraries_that_few_runs_need_are_imported_by_the_functions_that_need_them():
    few = {"timm", "torchvision", "matplotlib", "datasets", "shap", "openai", "captum", "lime", "peft", "spacy", "gguf"}
    early = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])
        if package(module) in few
    }
    assert not early


def test_data_modules_know_no_tokenizer():
    used = {package(f.module) for path in FILES if package(module_of(path)) == "datamodules" for f in imports(path)}
    assert "transformers" not in used


LABELS = "heedful.reports.lines"  # derives labels from statistics
TAKES_APART = {"split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix", "startswith", "endswith"}


def test_nobody_takes_the_name_of_a_metric_apart():
    """Those who read metrics find them by the fields of their names."""
    found = set()
    for path in FILES:
        readers = package(module_of(path)) in ("reports", "callbacks") and module_of(path) != LABELS
        for node in nodes(path) if readers else ():
            called = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in TAKES_APART and node.args
            marks = [c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant)] if called else []
            if any(mark in ("/", "=", "_") for mark in marks):
                found.add(ast.unparse(node))
    no_names = {"operation.partition('_')", "pool.uid(0).partition('/')", "name.partition('/')"}
    assert found == no_names  # an operation, a uid, and the name of a count


def test_the_docs_name_files_that_exist():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    named = {(page.name, name) for page in pages for name in re.findall(r"`([\w/.]+\.py)\b", page.read_text())}
    assert named
    assert not {
        (page, name) for page, name in named if not ((ROOT / name).exists() or (ROOT / "tests" / name).exists())
    }

"""Every refusal has a code, every code is raised, tested and in the docs, and every message reads well."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from heedful.records.refusals import REFUSALS, with_tables

from refusals import faults_of

ROOT = Path(__file__).parents[2]
FOLDERS = [
    *(ROOT / "heedful" / room for room in ("assembly", "cli", "interventions", "metrics", "records", "reports")),
    *(ROOT / room for room in ("benchmarks", "callbacks", "datamodules", "lightning_modules")),
]
MODULES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
PLACEHOLDER = "x" * 10


def calls(path: Path, *names: str) -> Iterator[ast.Call]:
    """The calls of functions of these names in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) in names:
            yield node


def texts(node: ast.expr) -> list[str]:
    """The texts that an expression may be, with placeholders; none where it is not written there."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(v.value if isinstance(v, ast.Constant) else PLACEHOLDER for v in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return texts(body) + texts(orelse)
    return []


def codes(node: ast.expr) -> list[str]:
    return texts(node) if not isinstance(node, ast.Dict) else []


@cache
def raised() -> set[str]:
    """The codes that stand in the source; read when the first test asks, and not by each process that collects."""
    return {code for path in MODULES for call in calls(path, "HeedfulError") for code in codes(call.args[0])}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_refusal_has_a_code_and_a_message_that_reads_well(path: Path) -> None:
    faults = []
    for call in calls(path, "HeedfulError"):
        at = f"line {call.lineno}"
        given = codes(call.args[0])
        if len(call.args) < 2 or not (given or isinstance(call.args[0], ast.Attribute)):
            faults.append(f"{at}: has no code")
            continue
        faults += [f"{at}: {code!r} is not a code" for code in given if code not in REFUSALS]
        ends = texts(call.args[2]) if len(call.args) > 2 else [REFUSALS[code].do for code in given if code in REFUSALS]
        faults += [
            f"{at}: {end!r} does not begin a sentence" for end in ends if re.match(r"[a-z]", end.replace("x", "X"))
        ]
        faults += [
            f"{at}: {wrong!r} has no end" for wrong in texts(call.args[1]) if not wrong.endswith((".", PLACEHOLDER))
        ]
        for wrong in texts(call.args[1]):
            for end in ends or ["."]:
                faults += [f"{at}: {fault}" for fault in faults_of(f"{wrong} {end}", max(given, key=len, default=""))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("code", REFUSALS)
def test_each_code_is_raised_and_asked_for_by_a_test(code: str) -> None:
    assert code in raised(), "no refusal has this code"
    assert code in asked(), "no test asks for this code"


@cache
def asked() -> set[str]:
    """The codes that stand in tests."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    found = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return found & REFUSALS.keys()


@pytest.mark.parametrize(("code", "refusal"), REFUSALS.items(), ids=list(REFUSALS))
def test_what_to_do_is_a_sentence(code: str, refusal: tuple[str, str, str]) -> None:
    assert re.fullmatch(r"[A-Z].*\.", refusal[2])
    assert not faults_of(refusal[2], code)


def test_the_page_has_the_tables() -> None:
    page = (ROOT / "docs" / "refusals.md").read_text()
    assert all(page.count(f"| `{code}` |") == 1 for code in REFUSALS)
    assert with_tables(page) == page, "run: make refusals"

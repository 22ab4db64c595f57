"""Which package may import which: dependencies point one way."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ORDER = ["records", "interventions", "metrics", "datamodules", "lightning_modules", "callbacks"]
ALLOWED = {
    "records": set(),
    "interventions": {"records"},
    "metrics": {"records", "interventions"},
    "datamodules": {"records", "interventions"},
    "lightning_modules": {"records", "interventions"},
    "callbacks": {"records", "interventions", "metrics", "datamodules", "lightning_modules"},
}


def imported(package):
    """(file, top-level module) of every import in a package."""
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path.name, alias.name.split(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield path.name, node.module.split(".")[0]


@pytest.mark.parametrize("package", ORDER)
def test_packages_import_only_what_lies_below(package):
    others = {name for _, name in imported(package)} & (set(ORDER) | {"cli", "train", "evaluate"})
    assert others - {package} <= ALLOWED[package]


@pytest.mark.parametrize("package", ["records", "interventions", "metrics"])
def test_the_ground_floors_know_no_lightning_and_no_torch(package):
    assert not {name for _, name in imported(package)} & {"pytorch_lightning", "lightning", "torch", "transformers"}


def test_data_modules_know_no_tokenizer():
    assert "transformers" not in {name for _, name in imported("datamodules")}


def test_files_stay_short():
    long = {
        p.name: n for p in ROOT.glob("*/*.py") if p.parent.name in ORDER and (n := len(p.read_text().split("\n"))) > 320
    }
    assert not long

"""The package as users import it: lazy, with names that stay what they are, and found by tools that only read it."""

import ast
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

import heedful
from heedful import rooms

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "pytorch_lightning", "transformers", "timm", "matplotlib", "datasets", "PIL", "shap", "openai")
LAZY = ("heedful", "heedful.callbacks", "heedful.datamodules", "heedful.lightning_modules")
LIGHT = [*LAZY[1:], "heedful.records", "heedful.interventions", "heedful.metrics"]
LIGHT += [f"heedful.reports.{name}" for name in ("compare", "rescore", "figures.transitions", "page.command")]
FUNCTIONS = ("measure", "train", "evaluate")  # of the public interface, there or to come


def fresh(code: str, folder: Path = ROOT) -> str:
    """The output of a new interpreter, which finds the package in a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch computes without MKL")
def test_sums_do_not_depend_on_the_alignment_of_memory():
    """Where the process imported Heedful before its first product of matrices."""
    torch.manual_seed(0)
    inputs, weights = torch.randn(3, 64), torch.randn(1000, 64)

    def moved(matrix: torch.Tensor, by: int) -> torch.Tensor:
        memory = torch.empty(matrix.numel() + 32)
        start = -memory.data_ptr() // memory.element_size() % 16 + by
        return memory[start : start + matrix.numel()].view(matrix.shape).copy_(matrix)

    products = [torch.nn.functional.linear(moved(inputs, i), moved(weights, j)) for i in range(16) for j in range(16)]
    assert all(torch.equal(product, products[0]) for product in products)


@pytest.mark.slow
def test_importing_it_loads_no_room_and_the_ground_floors_nothing_heavy():
    code = f"""
import importlib, json, sys
import heedful
rooms = sorted(name for name in sys.modules if name.startswith("heedful"))
loaded = {{}}
for name in {("heedful", *LIGHT)}:
    importlib.import_module(name)
    loaded[name] = sorted(set({HEAVY}) & set(sys.modules))
print(json.dumps([rooms, loaded]))
"""
    own, loaded = json.loads(fresh(code))
    assert own == ["heedful", "heedful.lazy", "heedful.rooms", "heedful.torchvision_fix"]
    assert loaded == {name: [] for name in ("heedful", *LIGHT)}


def modules() -> Iterator[str]:
    """All modules of the package but for those that are commands."""
    for found in pkgutil.walk_packages(heedful.__path__, "heedful."):
        if not found.name.endswith("__main__"):
            yield found.name


def test_public_names_stay_what_they_are_after_every_module_was_imported():
    before = {name: getattr(heedful, name) for name in heedful.__all__}
    names = list(modules())
    assert len(names) > 200
    for name in names:
        import_module(name)
    assert {name: getattr(heedful, name) for name in heedful.__all__} == before
    assert not [name for name, value in before.items() if isinstance(value, ModuleType)]
    assert not [name for name in FUNCTIONS if f"heedful.{name}" in sys.modules]
    assert set(heedful.__all__) <= set(dir(heedful))


@pytest.mark.parametrize("package", LAZY)
def test_a_name_is_found_where_an_editor_finds_it(package):
    module = import_module(package)
    (block,) = [node for node in ast.parse(Path(module.__file__).read_text()).body if isinstance(node, ast.If)]
    homes = {alias.name: found.module for found in block.body for alias in found.names}
    assert homes.keys() == set(module.__all__) <= set(dir(module))
    assert {name: getattr(module, name) for name in module.__all__} == {
        name: getattr(import_module(home), name) for name, home in homes.items()
    }


def test_a_checkout_without_links_finds_its_rooms(tmp_path):
    """As git makes it where there are none: files that hold what the link would."""
    (tmp_path / "heedful").mkdir()
    for name in ("lazy.py", "rooms.py", "torchvision_fix.py", "__init__.py"):
        shutil.copy(ROOT / "heedful" / name, tmp_path / "heedful" / name)
    for name in (*rooms.LINKED, "configs"):
        (tmp_path / "heedful" / name).write_text(f"../{name}")
        (tmp_path / name).mkdir()
    (tmp_path / "callbacks" / "__init__.py").write_text("from heedful.callbacks.board import NAME")
    (tmp_path / "callbacks" / "board.py").write_text("NAME = __name__")
    code = "from heedful import callbacks, rooms; print(callbacks.NAME, rooms.folder('configs'), callbacks.__file__)"
    expected = ["heedful.callbacks.board", str(tmp_path / "configs"), str(tmp_path / "callbacks" / "__init__.py")]
    assert fresh(code, tmp_path).split() == expected


def test_the_lock_names_versions_and_no_folder():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 100
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []

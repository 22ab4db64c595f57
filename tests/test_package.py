"""The package as users import it: lazy, with names that stay what they are, and found by tools that only read it."""

import ast
import json
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

import heedful
from heedful import lazy

from refusals import refused

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "pytorch_lightning", "transformers", "timm", "matplotlib", "datasets", "PIL", "shap", "openai")
SLOW = ("torch", "pytorch_lightning", "transformers", "torchvision", "scipy.stats", "matplotlib", "datasets", "PIL")
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


def test_a_function_is_measured_without_torch():
    code = f"""
import sys, heedful
rows = [{{"premise": str(i), "hypothesis": str(i % 3), "label": "ab"[i % 2]}} for i in range(40)]
quiet = {{"enable_progress_bar": False}}
predict = lambda inputs: ["ab"[int(row["premise"]) % 2] for row in inputs]
result = heedful.measure(predict, rows, ["premise", "hypothesis"], "b", trainer=quiet)
print(result["attentiveness", "hypothesis"].value, [name for name in {SLOW} if name in sys.modules])
"""
    assert fresh(code) == "0.0 []\n"


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
    assert own == ["heedful", "heedful.lazy"]
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


def test_a_checkout_without_links_says_how_to_clone(tmp_path):
    """As git makes it where there are no links: files that hold the target of the link."""
    (tmp_path / "heedful").mkdir()
    for name in ("records", "assembly", "cli", "lazy.py", "__init__.py"):
        (tmp_path / "heedful" / name).symlink_to(ROOT / "heedful" / name)
    for name in ("callbacks", "datamodules", "lightning_modules", "configs"):
        (tmp_path / "heedful" / name).write_text(f"../{name}")
    others = "import sys\nsys.meta_path[:] = [each for each in sys.meta_path if 'editable' not in str(each).lower()]\n"
    code = others + "import heedful\ntry:\n    heedful.Watch\nexcept heedful.HeedfulError as error:\n    print(error)"
    told = fresh(code, tmp_path)
    assert "symbolic link" in told
    assert "git clone -c core.symlinks=true" in told


@pytest.mark.parametrize("error", [RuntimeError(lazy.UNBUILT), ImportError("Could not import module 'BertModel'.")])
def test_a_torchvision_of_another_torch_is_one_sentence(error):
    error.__cause__ = RuntimeError(lazy.UNBUILT) if isinstance(error, ImportError) else None
    with refused(heedful.RunError, "torchvision", "make install", "uninstall"), lazy.explaining_imports():
        raise error
    with pytest.raises(RuntimeError, match="other"), lazy.explaining_imports():
        raise RuntimeError("other")


MEND = ROOT / ".ci" / "mend_torchvision.py"


@pytest.mark.parametrize("works", [True, False])
def test_make_install_repairs_a_torchvision_of_another_torch_only(works, tmp_path, monkeypatch):
    file = tmp_path / "torchvision" / "_meta_registrations.py"
    file.parent.mkdir()
    file.write_text(before := "import torch.library\n\nworks = 1\n")
    (tmp_path / "torchvision_fix.pth").touch()
    stderr = "" if works else f"RuntimeError: {lazy.UNBUILT}"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], not works, "", stderr))
    assert runpy.run_path(str(MEND))["mend"](tmp_path) is not works
    assert sorted(path.name for path in tmp_path.iterdir()) == ["torchvision"]
    assert (file.read_text() == before) is works
    assert works or "qnms" in file.read_text().partition("works")[0]


def test_the_lock_names_versions_and_no_folder():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 100
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []

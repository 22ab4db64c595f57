"""The package as it is installed, from a wheel and editable, each in an environment of its own.

What it needs is that of the environment that runs the tests; Heedful itself is not in it.
"""

import json
import os
import pkgutil
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

import heedful

pytestmark = pytest.mark.slow  # three environments, with imports of torch in each

ROOT = Path(__file__).parents[2]
FROZEN = ROOT / "tests" / "frozen" / "schema_11"
QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"]
MODULES = """
import heedful, json, pkgutil
def names(paths, prefix):
    for found in pkgutil.iter_modules(paths, prefix):
        yield found.name
        if found.ispkg:
            yield from names([f"{path}/{found.name.rpartition('.')[2]}" for path in paths], found.name + ".")
print(json.dumps([heedful.__file__, sorted(names(list(heedful.__path__), "heedful."))]))
"""
IMPORTS = """
import importlib, sys
names = [name for name in sys.argv[1:] if not name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


class Environment(NamedTuple):
    """An environment in which Heedful is installed.

    Attributes:
        python: Its interpreter.
        site: The folder of its packages.
        gained: What the installation put into that folder.
        checkout: The folder that it was installed from.
    """

    python: Path
    site: Path
    gained: set[str]
    checkout: Path

    def run(self, folder: Path, *argv: str | Path) -> str:
        """The output of a command that runs in another folder than the checkout."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = kept | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
        command = [self.python, *argv]
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the files that git knows, and of new ones."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is not a checkout of git")
    folder = tmp_path_factory.mktemp("checkout")
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="module")
def install(tmp_path_factory, checkout):
    """Makes an environment and installs Heedful into it."""

    def made(*how: str) -> Environment:
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        (site,) = (folder / "lib").glob("python*/site-packages")
        (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        before = {path.name for path in site.iterdir()}
        pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
        installed = subprocess.run([*pip, "install", "--no-deps", *how], capture_output=True, text=True)
        assert installed.returncode == 0, installed.stderr
        return Environment(python, site, {path.name for path in site.iterdir()} - before, checkout)

    return made


@pytest.fixture(scope="module")
def from_wheel(install, checkout, tmp_path_factory) -> Environment:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, checkout]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return install(str(next(folder.glob("heedful-*.whl"))))


@pytest.fixture(scope="module")
def editable(install, checkout) -> Environment:
    return install("--editable", str(checkout))


def walked(paths: list[str], prefix: str = "heedful.") -> list[str]:
    """The names of all modules, found without importing any."""
    names = []
    for found in pkgutil.iter_modules(paths, prefix):
        names.append(found.name)
        if found.ispkg:
            names += walked([f"{path}/{found.name.rpartition('.')[2]}" for path in paths], f"{found.name}.")
    return sorted(names)


def test_clone_editable_install_and_wheel_have_the_same_modules(from_wheel, editable, tmp_path):
    of_clone = walked(list(heedful.__path__))
    assert len(of_clone) > 250
    for environment, home in ((from_wheel, from_wheel.site), (editable, editable.checkout)):
        file, modules = json.loads(environment.run(tmp_path, "-c", MODULES))
        assert Path(file).parent == home / "heedful"
        assert modules == of_clone


def test_the_environment_gains_one_name(from_wheel):
    (info,) = (name for name in from_wheel.gained if name.endswith(".dist-info"))
    assert from_wheel.gained == {"heedful", info}
    assert (from_wheel.site / info / "top_level.txt").read_text().split() == ["heedful"]


def test_all_its_modules_are_imported(from_wheel, tmp_path):
    names = walked([str(from_wheel.site / "heedful")])
    assert int(from_wheel.run(tmp_path, "-c", IMPORTS, *names)) > 200


def test_it_has_all_configurations_and_lists_of_words(from_wheel):
    for folder in ("configs", "datamodules", "heedful/interventions"):
        here = {path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*.yaml")}
        assert here
        inside = from_wheel.site / "heedful" / folder.removeprefix("heedful/")
        assert {path.relative_to(inside) for path in inside.rglob("*.yaml")} == here


def test_it_has_what_pages_are_made_of(from_wheel):
    here = {
        path.name
        for path in (ROOT / "heedful" / "reports" / "page").iterdir()
        if path.suffix != ".py" and path.is_file()
    }
    inside = from_wheel.site / "heedful" / "reports" / "page"
    assert {"page.css", "page.html", "page.js"} <= here
    assert here <= {path.name for path in inside.iterdir()}


def test_a_model_is_evaluated_in_another_folder_with_configurations_of_the_wheel(from_wheel, tmp_path):
    (tmp_path / "configs" / "data").mkdir(parents=True)
    (tmp_path / "configs" / "data" / "mine.yaml").write_text("class_path: Planted\ninit_args: {n_validation: 30}\n")
    model = ["--model", FROZEN / "models" / "classifier", "--model.max_length", "64", *QUIET]
    for data in ("planted", "mine"):
        settings = ["--data", data, "--evaluations", "accuracy,attentiveness", "--output", data]
        told = from_wheel.run(tmp_path, "-m", "heedful", "evaluate", *model, *settings)
        assert "attentiveness" in told
    results = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert results["metrics"]["accuracy/planted"]["n"] == 30
    assert "accuracy" in from_wheel.run(tmp_path, "-m", "heedful", "compare", "planted", "mine")
    assert "<h1>" in (tmp_path / "mine" / "report.html").read_text()


def test_two_processes_train(from_wheel, tmp_path):
    settings = ["--model.backbone", FROZEN / "models" / "bert", "--model.max_length", "64", "--data.n_train", "64"]
    settings += ["--data.n_validation", "20", "--trainer.max_epochs", "1", "--output", "run"]
    two = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    from_wheel.run(tmp_path, "-m", "heedful", "train", *settings, *two, *QUIET)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["processes"] == 2


@pytest.mark.parametrize("kind", ["from_wheel", "editable"])
def test_it_reads_what_earlier_versions_wrote(kind, request, tmp_path):
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests/helpers\naddopts = --import-mode=importlib\n")
    environment: Environment = request.getfixturevalue(kind)
    told = environment.run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/frozen")
    assert " passed" in told
    assert "failed" not in told

"""The check of types: it looks at the whole ground floor, and it sees mistakes."""

import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # programs that are started anew

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
PLACES = [Path(name) for name in SETTINGS["files"]]
MISUSE = """
from heedful.records import Example, MetricName, Task

Task("classification", ("premise",), ("yes", "no"))
MetricName("accuracy", "mnli").statistic + 1
Example("a", {}).label.upper()
"""
needs_mypy = pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed: make install")


def mypy(folder: Path, *words: str) -> list[str]:
    """The errors that mypy finds in a folder; it finds some."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", "cache", "--no-pretty", "--no-color-output", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr  # 0: nothing is wrong; 2: it could not begin
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    return [line for line in errors if "[import-untyped]" not in line]  # the copy has no links to the four folders


def sources(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def test_what_is_checked_is_there():
    """A link that leads nowhere, or a folder that has moved, would be checked without an error."""
    for place in PLACES:
        assert (ROOT / place).exists()
        assert not any((ROOT / path).is_symlink() for path in (place, *place.parents))
    assert {Path("heedful", name) for name in ("records", "interventions", "metrics", "__init__.py")} <= {*PLACES}
    assert sum(len(sources(ROOT / place)) for place in PLACES) > 100


@needs_mypy
def test_a_mistake_is_found_wherever_it_is_and_nothing_else(tmp_path):
    """In a copy of all that is checked, with a mistake at the end of one file in each of the places, and in its use."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    beside = [path.relative_to(ROOT) for path in (ROOT / "heedful").glob("*.py")]
    for path in {*beside, *(path.relative_to(ROOT) for place in PLACES for path in sources(ROOT / place))}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    planted = set()
    for place in PLACES:
        path = sources(tmp_path / place)[-1]
        text = path.read_text(encoding="utf-8") + 'PLANTED: int = "text"\n\n\ndef planted(x):\n    return x\n'
        path.write_text(text, encoding="utf-8")
        last = len(text.splitlines())
        name = path.relative_to(tmp_path)
        planted |= {(f"{name}:{last - 4}", "assignment"), (f"{name}:{last - 1}", "no-untyped-def")}
    (tmp_path / "misuse.py").write_text(MISUSE, encoding="utf-8")
    errors = mypy(tmp_path, *map(str, PLACES), "misuse.py")
    misused = [error.split(" error: ")[1] for error in errors if error.startswith("misuse.py:")]
    assert misused == [
        'Argument 1 to "Task" has incompatible type "str"; expected "TaskKind"  [arg-type]',
        'Unsupported operand types for + ("str" and "int")  [operator]',
        'Item "None" of "str | None" has no attribute "upper"  [union-attr]',
    ]
    errors = [error for error in errors if not error.startswith("misuse.py:")]
    assert {(error.split(": error: ")[0], error.rpartition("[")[2].rstrip("]")) for error in errors} == planted

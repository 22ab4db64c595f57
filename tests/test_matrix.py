"""The matrix itself: it stays outside of Heedful, every evaluation is in it, and what moved is named."""

import ast
import json
from pathlib import Path

import pytest

from tests import matrix

from registered import CLASSES

TESTS = Path(__file__).parent
LINES = [line for steps in matrix.CASES.values() for line in steps.values()]
NAMES = dict.fromkeys(("models", "data", "shared", "out"), "/folder")
BY_DEFAULT = {"answers"}  # of questions about a text, where no evaluation is named


def test_only_public_names_of_heedful_are_used():
    """The same files run other revisions, where modules lie elsewhere."""
    for path in [*TESTS.glob("matrix*.py"), *(TESTS / "helpers" / f"tiny_{kind}.py" for kind in ("models", "data"))]:
        tree = ast.parse(path.read_text())
        names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert [name for name in names if name.startswith("heedful")] == ["heedful"] * (
            path.name == "matrix_measure.py"
        )


def test_every_evaluation_is_named_by_a_case():
    words = [word for line in LINES for word in matrix.words(line, NAMES)]
    named = {name for i, word in enumerate(words) if word == "--evaluations" for name in words[i + 1].split(",")}
    settings = {word.removeprefix("--").partition(".")[0] for word in words}
    assert named | settings | BY_DEFAULT >= CLASSES


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1, "new": 2}, []),
        ({"a": {"b": 1}}, {"a": {}}, ["/a/b: gone"]),
        ({"a": {"b": [0.1, 0.2]}}, {"a": {"b": [0.1, 0.3]}}, ["/a/b/1: 0.2 -> 0.3"]),
        ({"a": [1]}, {"a": [1, 2]}, ["/a: [1] -> [1, 2]"]),
    ],
)
def test_differences(before, after, found):
    assert matrix.differences(before, after) == found


def test_what_moved_is_named_by_case(tmp_path, capsys):
    trees = {"csv": ({"all": {"n": 1}}, {"all": {"n": 2}}), "hans": ({"run": 1}, {"run": 1, "error": "run: it fell"})}
    trees |= {"timm": ({"run": 1}, {"run": 1}), "real_pairs": ({"skipped": "no data"}, {"run": 1})}
    for side, folder in enumerate(("before", "after")):
        (tmp_path / folder).mkdir()
        for name, both in trees.items():
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(both[side]))
    folders = tmp_path / "before", tmp_path / "after"
    assert matrix.compare(*folders, list(trees)) == 1
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if not line.startswith(" ")] == [
        "csv: 1 differences",
        "hans: 1 differences",
        "2 of 4 cases moved.",
    ]
    assert "/error: run: it fell" in printed
    assert matrix.compare(*folders, ["timm"]) == 0
    (tmp_path / "after" / "timm.json").unlink()
    assert matrix.compare(*folders, ["timm"]) == 1

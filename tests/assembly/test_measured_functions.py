"""Functions are measured with the same numbers where Lightning is not installed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heedful

ROOT = Path(__file__).parents[2]
PARTS = ["premise", "hypothesis"]
ROWS = [
    {"premise": f"Dog {i} runs.", "hypothesis": f"Animal {i % 9} moves.", "label": ["neutral", "entailment"][i % 2]}
    for i in range(60)
]
SCRIPT = f"""
import json, sys

class Blocked:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pytorch_lightning", "lightning_fabric", "lightning"):
            raise ImportError(f"{{name}} is not needed")

sys.meta_path.insert(0, Blocked)
import heedful

def predict(inputs):
    return ["entailment" if "1" in row["hypothesis"] else "neutral" for row in inputs]

result = heedful.measure(predict, {ROWS!r}, {PARTS!r}, "neutral", trainer={{"enable_progress_bar": False}})
result.save(sys.argv[1])
print(json.dumps(result.content["metrics"]))
"""


def predict(inputs: list[dict[str, Any]]) -> list[str]:
    return ["entailment" if "1" in row["hypothesis"] else "neutral" for row in inputs]


@pytest.mark.slow
def test_a_function_is_measured_and_saved_where_lightning_is_not_installed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "saved")]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    expected = heedful.measure(predict, ROWS, PARTS, "neutral", trainer={"enable_progress_bar": False}).content
    assert json.loads(done.stdout.splitlines()[-1]) == expected["metrics"]
    assert heedful.load(tmp_path / "saved").content["metrics"] == expected["metrics"]


def test_a_limit_leaves_some_of_the_rows() -> None:
    result = heedful.measure(predict, ROWS, PARTS, "neutral", trainer={"limit_val_batches": 1}, batch_size=10)
    assert (result.content["counts"]["examples"], result.content["counts"]["not_predicted"]) == (10, 50)

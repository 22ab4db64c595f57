"""``heedful inputs`` and ``heedful score`` as a user types them."""

import json
from pathlib import Path

import pytest

from heedful.cli.inputs import main as inputs
from heedful.cli.score import main as score

ROWS = [{"premise": f"p {i}", "hypothesis": f"h {i % 4}", "gold": ("yes", "no", "unsure")[i % 3]} for i in range(12)]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


@pytest.mark.slow
def test_a_file_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--parts premise,hypothesis --label gold --labels yes,no,unsure --default_label unsure --keeps hypothesis"
    inputs(["--data", "rows.jsonl", *words.split(), "-o", "inputs.jsonl", "--attentiveness.draws=2"])()
    lines = [json.loads(line) for line in Path("inputs.jsonl").read_text().splitlines()]
    assert f"inputs.jsonl: {len(lines)} inputs" in capsys.readouterr().out
    said = [{"id": line["id"], "answer": ("no", "yes")[len(line["parts"]["premise"]) % 2]} for line in lines]
    Path("answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said))
    score(["inputs.jsonl", "answers.jsonl"])()
    assert "attentiveness premise" in capsys.readouterr().out
    metrics = json.loads(Path("runs", "answers", "version_0", "results.json").read_text())["metrics"]
    assert "attentiveness/rows/hypothesis/kept" in metrics

"""``heedful inputs`` and ``heedful score`` as a user types them."""

import json
from pathlib import Path

import pytest

from heedful.assembly.input_files import FORMS
from heedful.cli.inputs import FORMATS
from heedful.cli.inputs import main as inputs
from heedful.cli.score import main as score
from heedful.records import HeedfulError, ModelError, SettingError

from refusals import refused


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def write_rows() -> None:
    rows = [
        {"premise": f"p {i}", "hypothesis": f"h {i % 4}", "gold": ("yes", "no", "unsure")[i % 3]} for i in range(12)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def answer(inputs: str = "inputs.jsonl", answers: str = "answers.jsonl") -> None:
    lines = [json.loads(line) for line in Path(inputs).read_text().splitlines()]
    said = [{"id": line["id"], "answer": ("no", "yes")[len(line["parts"]["premise"]) % 2]} for line in lines]
    Path(answers).write_text("".join(json.dumps(line) + "\n" for line in said))


@pytest.mark.slow
def test_a_file_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows()
    words = "--parts premise,hypothesis --label gold --labels yes,no,unsure --default_label unsure --keeps hypothesis"
    inputs(["--data", "rows.jsonl", *words.split(), "-o", "inputs.jsonl"])()
    printed = capsys.readouterr().out
    n = len(Path("inputs.jsonl").read_text().splitlines())
    assert f"inputs.jsonl: {n} inputs of 12 examples" in printed
    assert "inputs.jsonl.meta.json" in printed
    answer()
    score(["inputs.jsonl", "answers.jsonl", "-o", "scored"])()
    assert "attentiveness premise" in capsys.readouterr().out
    results = json.loads(Path("scored", "results.json").read_text())
    assert "attentiveness/rows/hypothesis/kept" in results["metrics"]


def test_the_formats_are_those_of_the_library() -> None:
    assert tuple(FORMS) == FORMATS


DATA = ["--data", "planted", "--data.n_validation", "9", "-o", "inputs.jsonl"]


@pytest.mark.parametrize(
    ("words", "error", "facts"),
    [
        ([*DATA, "--format", "openai-batch"], SettingError, ["endpoint NAME"]),
        ([*DATA, "--endpoint", "tiny"], SettingError, ["format openai-batch"]),
        ([*DATA, "--endpoint.read", "written"], SettingError, ["endpoint"]),
        ([*DATA, "--prompt.tuples", "1"], SettingError, ["prompt"]),
        (
            [*DATA, "--format", "openai-batch", "--endpoint", "tiny", "--endpoint.max_requests", "9"],
            SettingError,
            ["max_requests"],
        ),
        ([*DATA, "--data.n_validaton", "9"], SettingError, ["n_validation"]),
        ([*DATA, "--atentiveness.draws", "9"], SettingError, ["attentiveness"]),
        ([*DATA, "--evaluations", "acuracy"], SettingError, ["accuracy"]),
        ([*DATA, "--evaluations", "attributions"], ModelError, []),
        (["--data", "mnly", "-o", "x.jsonl"], SettingError, ["mnli"]),
        (["--data", "rows.jsonl", "-o", "x.jsonl"], SettingError, ["parts"]),
        (
            ["--data", "rows.jsonl", "--parts", "premise", "--data.path", "x", "-o", "x.jsonl"],
            SettingError,
            ["path"],
        ),
    ],
)
def test_what_is_refused(words: list[str], error: type[HeedfulError], facts: list[str]) -> None:
    write_rows()
    with refused(error, *facts):
        inputs(words)()
    assert not list(Path().glob("*inputs*"))


def test_settings_with_a_dot_are_typed_whole() -> None:
    for words in (["--data.n_validation"], ["n_validation=9"], ["--unknown", "9"]):
        with refused(SettingError, "Unrecognized arguments"):
            inputs([*DATA, *words])

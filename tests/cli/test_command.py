"""The command ``heedful``: help, imports, lists, requirements and measurements."""

import contextlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import heedful
from heedful.callbacks import EVALUATIONS
from heedful.callbacks.checkpoints.files import outline
from heedful.cli import command
from heedful.records import HeedfulError, RunError, SettingError
from heedful.records.storage.named_configs import names

from commands import results_of, run
from refusals import refused
from written_results import saved_rows

ROOT = Path(__file__).parents[2]
PAGES = [[name] for name in command.COMMANDS] + [[]]
LIGHT = """
import contextlib, io, json, sys
sys.argv[0] = "heedful"
from heedful.cli import command
heavy = {}
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            command.main(words)
        except SystemExit as stop:
            assert not stop.code
        except Exception as error:
            assert type(error).__name__.endswith("Error") and type(error).__module__ == "heedful.records.errors", error
            heavy["; ".join(words)] = str(error)
    assert "torch" not in sys.modules, words
print(json.dumps(heavy))
"""
Saved = Callable[..., pa.Table]


def test_functions_without_a_command_are_named() -> None:
    with refused(SettingError, "heedful.score"):
        command.main(["score", "answers.jsonl"])


@pytest.mark.parametrize("model", ["own_function.py:predict", "own_function.predict"])
def test_a_function_in_a_file_of_the_working_folder(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_function.py").write_text("def predict(rows):\n    return ['yes' for row in rows]\n")
    (tmp_path / "rows.csv").write_text("a,b,label\n" + "".join(f"a{i},b{i},yes\na{i},c{i},no\n" for i in range(6)))
    monkeypatch.chdir(tmp_path)
    words = ["measure", model, "rows.csv", "--parts", "a,b", "--draws", "1", "--output", "out"]
    if model == "own_function.predict":
        with refused(SettingError, "own_function:predict"):
            command.main(words)
    else:
        command.main(words)
        assert "attentiveness a" in capsys.readouterr().out


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_every_command_has_a_screen_of_help_and_refuses_unknown_options(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["heedful", *words])
    with contextlib.suppress(SystemExit):
        command.main([*words, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"usage: {' '.join(['heedful', *words])} ")
    assert len(lines) <= 48 or words[0] in ("train", "evaluate", "measure")  # their settings follow
    assert max(map(len, lines)) <= 80
    assert not any("`" in line for line in lines), "marks of a docstring are not for a terminal"
    assert not words or any(f"  heedful {words[0]}" in line for line in lines), "an example"
    with pytest.raises((HeedfulError, SystemExit)):
        command.main([*words, "--no_such_option"])


TYPOS = [
    ("train", "--modl x"),
    ("train", "--trainer.devics 2"),
    ("train", "--trainer.devics=2 --data mnli"),
    ("train", "--data.hold_uot 3"),
    ("train", "--data squad2 --model.span_lenght 3"),
    ("train", "--data infotabs --model t5 --model.scor mean"),
    ("train", "--table_rows.operations delete"),
    ("evaluate", "--chekpoint RUN"),
    ("evaluate", "--attentiveness.drws 3"),
    ("evaluate", "--endpoint gpt --endpoint.temprature 1"),
    ("evaluate", "--data mnl"),
]
UNSURE = [  # the parser decides
    "--modl x --config mine.yaml",
    "--model.lr x --model org/name",
    "--mine.draws 3 --evaluations mine.Evaluation",
    "--trainer.logger.save_dir x --trainer.logger TensorBoardLogger",
    "--model.init_args.learning_rate 1 --data.path x --seed 3",
]


@pytest.mark.parametrize(("name", "typo"), TYPOS)
def test_a_typo_is_found_before_torch_is_imported_with_the_message_of_the_parser(
    name: str, typo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = getattr(command, name)
    with monkeypatch.context() as patch:
        patch.setattr(command, "import_module", None)
        with pytest.raises(SettingError) as early:
            run(typo.split())
    monkeypatch.setattr(command, "_require_known", lambda name, options, words: None)
    with pytest.raises(SettingError) as late:
        run(typo.split())
    for error in early, late:
        assert re.split(r"[(.]", str(early.value))[0] in str(error.value)
    assert ("did you mean" in str(early.value)) == ("did you mean" in str(late.value))


@pytest.mark.parametrize("words", UNSURE)
def test_words_whose_classes_are_unknown_are_left_to_the_parser(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command._require_known("train", *command.split_options("train", words.split()))


def test_help_and_names_that_are_not_known_import_no_torch() -> None:
    words = [[*page, "--help"] for page in PAGES] + [["trian"], ["figure", "transition", "RUN"]]
    words += [["list", "data"], ["list", "models"]]
    ran = subprocess.run([sys.executable, "-c", LIGHT, json.dumps(words)], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    messages = json.loads(ran.stdout)
    assert "train?" in messages["trian"]
    assert "transitions?" in messages["figure; transition; RUN"]


@pytest.mark.parametrize(
    ("kind", "names"), [("data", names("data")), ("models", names("model")), ("evaluations", EVALUATIONS)]
)
def test_list_has_a_line_for_each_name(kind: str, names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["list", kind])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(names)
    assert all(len(line) <= 80 and len(line.split()) > 1 for line in lines)
    command.main(["list"])
    assert "\n".join([f"{kind}:", *lines]) in capsys.readouterr().out


def test_list_reads_files_that_are_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "data").mkdir(parents=True)
    (tmp_path / "configs" / "data" / "own.yaml").write_bytes("# Übungen.\n".encode("latin-1"))
    command.main(["list", "data"])
    assert re.search(r"^own +\S+bungen[.]$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("name", names("debug"))
def test_a_debug_run_measures_what_a_run_measures(
    name: str, tiny_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("pytorch_lightning"), "handlers", [caplog.handler])
    argv = ["--model", tiny_bert, "--model.max_length", 64, "--data.n_train", 600, "--data.n_validation", 12]
    shorter = {"fast": [], "overfit": ["--trainer.max_epochs", 3], "profile": ["--trainer.limit_train_batches", 3]}
    run(command.train, "--debug", name, *argv, *shorter[name], "--output", tmp_path / "run")
    assert results_of(tmp_path / "run")["metrics"]["attentiveness/planted/premise/eligible"]["n"] == 12
    steps = {"fast": 2, "overfit": 3, "profile": 3}  # of the last epoch
    assert outline(tmp_path / "run" / "checkpoints" / "best.ckpt")["global_step"] <= steps[name]
    assert ("Profiler Report" in caplog.text) == (name == "profile")


@pytest.fixture
def two(rows_of: Saved, tmp_path: Path) -> list[str]:
    """Folders of results of 60 examples, of which 40 and 55 are answered rightly."""
    for name, right in (("a", 40), ("b", 55)):
        saved_rows(tmp_path / name, rows_of({f"u{i:02}": ("yes", "yes" if i < right else "no") for i in range(60)}))
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def test_requirements_are_decided_on_the_bound(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Accuracy 40 of 60 is 66.7 % [53.3, 78.3], and 55 of 60 is 91.7 %."""
    command.main(["compare", "--require", "accuracy >= 0.5", "--require", "accuracy > 50 %", *two])
    assert capsys.readouterr().out.count(" holds.") == 4
    with refused(RunError, two[0], "does not hold"):
        command.main(["compare", "--require", "accuracy >= .6", *two])
    assert capsys.readouterr().out == f"{two[1]}: accuracy >= .6 holds.\n"
    with refused(RunError, two[0]):
        command.main(["compare", "--require", "accuracy >= .95", *two])
    assert two[1] in capsys.readouterr().out  # the requirement fails for both runs


def test_a_function_is_measured_from_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["heedful", "measure"])
    Path("shell.py").write_text("def predict(rows):\n    return ['yes' if '1' in row['a'] else 'no' for row in rows]\n")
    lines = (f"a {i},b {i},{'yes' if i % 3 else 'no'}" for i in range(60))
    Path("rows.csv").write_text("\n".join(["first,b,label", *lines]))
    words = [
        "shell:predict",
        "rows.csv",
        "--parts",
        "a=first,b=b",
        "--attentiveness.draws",
        "2",
        "--by",
        "label",
        "--output",
        "out",
    ]
    command.main(["measure", *words])
    assert "attentiveness a" in capsys.readouterr().out
    rows = [{"a": f"a {i}", "b": f"b {i}", "label": "yes" if i % 3 else "no"} for i in range(60)]
    predict = lambda inputs: ["yes" if "1" in row["a"] else "no" for row in inputs]  # noqa: E731
    same = heedful.measure(predict, rows, ["a", "b"], draws=2, by="label", trainer={"enable_progress_bar": False})
    assert heedful.load("out").content["metrics"] == same.content["metrics"]
    with refused(SettingError, "shell:gone cannot be imported"):
        command.main(["measure", "shell:gone", "rows.csv", "--parts", "a,b"])
    with refused(SettingError, "attentiveness", "drws"):
        command.main(["measure", "shell:predict", "rows.csv", "--parts", "a=first,b=b", "--attentiveness.drws", "2"])


def test_output_that_nobody_reads_ends_a_command_without_a_traceback() -> None:
    main = "from heedful.cli import command; command.main = lambda _: print('line\\n' * 100_000); command.run()"
    with subprocess.Popen(
        [sys.executable, "-c", main], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as ran:
        assert ran.stdout
        assert ran.stderr
        ran.stdout.close()
        assert ran.stderr.read() == b""
    assert ran.returncode == 1


def test_a_model_and_an_endpoint_exclude_each_other() -> None:
    with refused(SettingError, "model bert", "endpoint gpt"):
        command.split_options("evaluate", ["--data", "mnli", "--model", "bert", "--endpoint", "gpt"])
    assert command.split_options("evaluate", ["--endpoint", "gpt"])[1] == ["--model.name", "gpt"]

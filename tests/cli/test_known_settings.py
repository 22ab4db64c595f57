"""Misspelt names on a command line are found without torch and Lightning, and as the parser of settings finds them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.assembly.config import resolve
from heedful.cli.known_settings import TABLE, make_table, require_known_names
from heedful.cli.words import split_words
from heedful.records import SettingError

ROOT = Path(__file__).parents[2]
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
    "--modl x --model org/name",
    "--modl x --data mine.Data",
    "--mine.draws 3 --evaluations mine.Evaluation",
    "--trainer.logger.save_dir x --trainer.logger TensorBoardLogger",
    "--model.init_args.learning_rate 1 --data.path x --seed 3 --dry_run",
]


def test_the_table_has_the_settings_of_this_version():
    assert json.loads(TABLE.read_text()) == make_table(), "renew it: python -m heedful.cli.known_settings"


@pytest.mark.parametrize(("command", "typo"), TYPOS)
def test_a_typo_gets_the_message_of_the_parser(command, typo):
    with pytest.raises(SettingError) as early:
        require_known_names(command, typo.split())
    is_evaluation = command == "evaluate"
    with pytest.raises(SettingError) as late:
        resolve(is_evaluation, split_words(is_evaluation, typo.split())[1])
    assert str(early.value) == str(late.value)


@pytest.mark.parametrize("words", UNSURE)
def test_words_that_the_table_does_not_know_are_left_to_the_parser(words):
    require_known_names("evaluate" if "dry_run" in words else "train", words.split())


def test_another_version_of_lightning_is_left_to_the_parser(monkeypatch):
    monkeypatch.setattr("heedful.cli.known_settings.version", lambda package: "0.0")
    require_known_names("train", ["--modl", "x"])


def test_a_typo_imports_neither_torch_nor_lightning():
    blocked = "import sys; sys.modules.update(dict.fromkeys(['torch', 'pytorch_lightning', 'transformers']))"
    code = f"{blocked}; sys.argv[0] = 'train.py'; from heedful.cli.command import run; run('train')"
    ran = subprocess.run([sys.executable, "-c", code, "--modl", "x"], capture_output=True, text=True, cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (2, "train.py: There is no setting modl (did you mean model?).\n")

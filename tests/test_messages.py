"""What the command line says of mistakes: where they stand, and what to do instead."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException

import evaluate
import train
from heedful.cli.app import HeedfulCLI
from heedful.cli.messages import guarded, of_trainer
from heedful.cli.short_forms import expand
from heedful.lightning_modules.pretrained.backbones import load, resolve
from heedful.records import HeedfulError

from commands import run
from refusals import refused

MINE = """\
# mine
class_path: heedful.datamodules.PairedText
init_args:
  name: mine
  path: mine.tsv
  parts: {a: one, b: two}
  labels: {x: [0], z: [1]}
"""


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """Writes a file and returns what the command line says of it."""

    def refuse(flag: str, text: str) -> str:
        (tmp_path / "mine.yaml").write_text(text)
        monkeypatch.setattr(HeedfulCLI, "instantiate_trainer", lambda self: None)
        monkeypatch.setattr(sys, "argv", ["train.py"])
        with pytest.raises(HeedfulError) as caught:
            HeedfulCLI(False, folder=None, args=expand([flag, str(tmp_path / "mine.yaml")]))
        return str(caught.value).replace(f"{tmp_path}/", "")

    return refuse


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MINE.replace("parts:", "part:"), "line 6: there is no setting 'part' here; do you mean 'parts'?"),
        (MINE + "  max_trian: 5\n", "line 8: there is no setting 'max_trian' here; do you mean 'max_train'?"),
        (MINE.replace("class_path: heedful.datamodules.PairedText\n", ""), "line 1: no class_path says what it is"),
        (
            MINE.replace("PairedText", "PairedTexts"),
            "line 2: there is no heedful.datamodules.PairedTexts; do you mean heedful.datamod",
        ),
        (
            MINE.replace("heedful.datamodules.PairedText", "PairedTexts"),
            "line 2: there is no PairedTexts; do you mean PairedText?",
        ),
        (
            MINE.replace("heedful.datamodules.PairedText", "datamodules.PairedTexts"),
            "line 2: there is no datamodules.PairedTexts; do you mean heedful.datamod",
        ),
        (
            MINE.replace("init_args", "init_arg"),
            "line 3: there is no setting 'init_arg' here; do you mean 'init_args'?",
        ),
        (MINE + "  qwertyuiop: 5\n", "line 8: there is no setting 'qwertyuiop' here; there are "),
    ],
)
def test_a_mistake_in_a_file_of_data_has_its_line(refusal: Callable[..., str], text: str, told: str) -> None:
    assert f"--data mine.yaml, {told}" in refusal("--data", text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("trainer:\n  max_epoch: 3\n", "line 2: there is no setting 'max_epoch' here; do you mean 'max_epochs'?"),
        ("seed_evrything: 3\n", "line 1: there is no setting 'seed_evrything' here; do you mean 'seed_everything'?"),
        ("data:\n  init_args:\n    n_trian: 3\n", "line 3: there is no setting 'n_trian' here; do you mean 'n_train'?"),
        ("attentiveness: {draw: 3}\n", "line 1: there is no setting 'draw' here; do you mean 'draws'?"),
    ],
)
def test_a_mistake_in_a_configuration_has_its_line(refusal: Callable[..., str], text: str, told: str) -> None:
    assert refusal("--config", text) == f"--config mine.yaml, {told}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (MINE.replace("z: [1]", "z: [1, yes]"), 'line 7: YAML reads yes as true: put it in quotes, "yes".'),
        (MINE + "  default_label: No\n", 'line 8: YAML reads No as false: put it in quotes, "No".'),
        (
            MINE + "  verbalisers:\n    x: a\n    z: off\n",
            'line 10: YAML reads off as false: put it in quotes, "off".',
        ),
    ],
)
def test_a_word_that_yaml_does_not_read_as_text_has_its_line(refusal: Callable[..., str], text: str, told: str) -> None:
    assert refusal("--data", text) == f"--data mine.yaml, {told}"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["--data.labels", "{x: [yes], y: [1]}"], "--data.labels: expected str or int (got True); YAML reads yes, no,"),
        (
            ["--trainer.precision", "bf17"],
            "--trainer.precision: expected one of ['64', '32', '16', 'transformer-engine',",
        ),
        (["--seed_everything", "1e99"], "--seed_everything: expected bool or int (got 1e+99)."),
        (["--trainer.limit_val_batches", "x"], "--trainer.limit_val_batches: expected int or float (got x)."),
        (["--data.swap", "hypothesis"], "--data.swap: expected list, as in '[hypothesis]' (got hypothesis)."),
        (["--data.groups", "article"], "--data.groups: expected list, as in '[article]' (got article)."),
        (["--data.splits", "a.csv"], "--data.splits: expected dict, as in '{NAME: VALUE}' (got a.csv)."),
        (
            ["--trainer.callbacks", "Earlystopping"],
            "--trainer.callbacks: expected list, the name of a class (spelt as in",
        ),
    ],
)
def test_all_that_a_setting_may_be_is_said(monkeypatch: pytest.MonkeyPatch, settings: list[str], told: str) -> None:
    monkeypatch.setattr(HeedfulCLI, "instantiate_trainer", lambda self: None)
    with pytest.raises(HeedfulError) as caught:
        HeedfulCLI(False, folder=None, args=expand(["--data", "mnli", *settings]))
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("flag", "near"),
    [
        ("--data.max_trian", "--data.max_train"),
        ("--model.learing_rate", "--model.learning_rate"),
        ("--trainer.max_epch", "--trainer.max_epochs"),
        ("--modle", "--model"),
        ("--resum", "--resume"),
        ("--outpu", "--output"),
        ("--see", "--seed_everything"),
        ("--max_ep", "--trainer.max_epochs"),
        ("--checkpoint.mon", "--checkpoint.monitor"),
    ],
)
def test_the_nearest_flag_is_named(monkeypatch: pytest.MonkeyPatch, flag: str, near: str) -> None:
    monkeypatch.setattr(HeedfulCLI, "instantiate_trainer", lambda self: None)
    with pytest.raises(HeedfulError, match=f"{flag}: there is no such setting; do you mean {near}"):
        HeedfulCLI(False, folder=None, args=expand([flag, "5"]))


def test_a_misspelt_resume_leaves_the_run_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("kept")
    with pytest.raises(SystemExit) as stop:
        guarded(lambda: run(train.main, "--resum", tmp_path))
    assert stop.value.code == 2
    assert "--resum: there is no such setting; do you mean --resume?" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("config.yaml", "kept")]


@pytest.mark.parametrize("flag", ["resume", "init_from", "allow_package"])
def test_what_is_read_before_the_files_cannot_stand_in_one(refusal: Callable[..., str], flag: str) -> None:
    said = refusal("--config", f"{flag}: runs/x\n")
    assert said.startswith(f"{flag} is read before any file of settings: give it as --{flag} ")


@pytest.mark.parametrize("other", [["--print_config"], ["--trainer.callbacks+=ModelSummary"]])
def test_a_flag_that_is_right_is_not_blamed(monkeypatch: pytest.MonkeyPatch, other: list[str]) -> None:
    monkeypatch.setattr(HeedfulCLI, "instantiate_trainer", lambda self: None)
    with pytest.raises(HeedfulError, match="--data.max_train: expected int"):
        HeedfulCLI(False, folder=None, args=expand(["--data.max_train", "many", *other]))


SMALL = ["--model.max_length", "64", "--data.n_train", "32", "--data.n_validation", "9"]


def test_what_early_stopping_watches_is_looked_at_before_anything_is_trained(tiny_bert: Path, tmp_path: Path) -> None:
    stopping = ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor"]
    for metric in ("accuracy/mnli", "val_loss"):
        with refused("bad-monitor", f"trainer.callbacks.monitor {metric} ", "accuracy/planted"):
            run(train.main, "--model.backbone", tiny_bert, *SMALL, *stopping, metric, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["./nowhere", "runs/x", "here/x", "../x", "a/b/c", "/nowhere", "x/"])
def test_a_folder_that_does_not_exist_is_called_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeedfulError, match=f"backbone {name}: there is no such folder"):
        resolve(name)
    assert resolve("org/name") == "org/name"
    assert resolve("bert-base-uncased") == "bert-base-uncased"


def test_a_run_says_where_its_model_is(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "backbone").mkdir(parents=True)
    (tmp_path / "checkpoints" / "backbone" / "config.json").touch()
    with pytest.raises(HeedfulError, match=r"it has no config.json \(that of this run is .*checkpoints/backbone\)"):
        resolve(str(tmp_path))


@pytest.mark.parametrize(("value", "advised"), [("1", False), ("0", True)])
def test_what_is_set_already_is_not_advised(monkeypatch: pytest.MonkeyPatch, value: str, advised: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)

    def fail(*args: str, **kwargs: str) -> None:
        raise OSError("no such model")

    with pytest.raises(HeedfulError) as caught:
        load(fail, "org/name")
    assert ("HF_HUB_OFFLINE=1" in str(caught.value)) is advised
    assert str(caught.value).count(", or ") == 1


def test_an_evaluation_is_not_told_to_resume(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with pytest.raises(HeedfulError, match="holds a run already: name another folder.$"):
        run(evaluate.main, "--model.backbone", tiny_bert, "--output", tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        "No supported gpu backend found!",
        "`CUDAAccelerator` can not run on your system since the accelerator is not available. The following",
    ],
)
def test_a_machine_without_a_gpu_is_told_what_to_take(said: str) -> None:
    assert of_trainer(said).startswith(".accelerator: torch sees no GPU here; take --trainer.accelerator cpu")
    assert of_trainer(str(MisconfigurationException("One thing. Another `code`."))) == ": One thing."


GLOO = "[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:48005. This is typically caused by"


@pytest.mark.parametrize("error", [RuntimeError(GLOO), torch.distributed.DistBackendError("NCCL error in x.cpp:1")])
def test_a_process_whose_other_was_killed_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["train.py"])
    with pytest.raises(SystemExit) as ended:
        guarded(fail)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("train.py: another process of this command has ended: it was killed, had")


def test_an_error_of_another_kind_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(sys, "argv", ["train.py"])
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        guarded(fail)

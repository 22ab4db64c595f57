"""What the command line says of mistakes: where they stand, and what to do instead."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from heedful.assembly.library_errors import first_sentence
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.app import naming_flags
from heedful.cli.messages import guarded
from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.records import without_hub

from commands import job_of, run
from refusals import refused, told
from tiers import first_tier

MINE = """\
# mine
class_path: heedful.datamodules.PairedText
init_args:
  name: mine
  path: mine.tsv
  parts: {a: one, b: two}
  labels: {x: [0], z: [1]}
"""


Refusal = tuple[str, ...]  # a code, and facts of the message


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Parses a command line of train.py, and makes its parts."""

    def parse(*argv: str) -> None:
        job_of(monkeypatch, argv)

    return parse


@pytest.fixture
def parse_file(parse: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Writes mine.yaml into the working folder, and parses a command line that names it."""

    def parse_file(flag: str, text: str, *argv: str) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine.yaml").write_text(text)
        parse(flag, "mine.yaml", *argv)

    return parse_file


@pytest.mark.parametrize(
    ("text", "expected"),
    first_tier(
        6,
        [
            (MINE.replace("parts:", "part:"), ("unknown-setting", "line 6", "--data.part.", "--data.parts?")),
            (MINE + "  max_trian: 5\n", ("unknown-setting", "line 8", "--data.max_trian.", "--data.max_train?")),
            (MINE + "  qwertyuiop: 5\n", ("unknown-setting", "line 8", "--data.qwertyuiop.", "--help")),
            (MINE.replace("init_args", "init_arg"), ("unknown-setting", "line 3", "--data.init_arg.", "init_args?")),
            (
                MINE.replace("PairedText", "PairedTexts"),
                ("unknown-name", "line 2", "datamodules.PairedTexts", "PairedText?"),
            ),
            (MINE.replace("heedful.datamodules.PairedText", "PairedTexts"), ("unknown-name", "line 2", "PairedText?")),
            (
                MINE.replace("heedful.datamodules.PairedText", "datamodules.PairedTexts"),
                ("unknown-name", "line 2", "datamodules.PairedTexts", "PairedText?"),
            ),
            (
                MINE.replace("heedful.datamodules.PairedText", "nowhere.Mine"),
                ("unknown-name", "line 2", "nowhere.Mine"),
            ),
            (
                MINE.replace("class_path: heedful.datamodules.PairedText\n", ""),
                ("missing-setting", "line 1", "class_path"),
            ),
            (MINE.replace("  name: mine\n", ""), ("missing-setting", "--data", "PairedText", "name")),
            (MINE + "  max_train: many\n", ("bad-setting", "line 8", "--data.max_train many")),
            (
                MINE.replace("parts: {a: one, b: two}", "parts: [a]"),
                ("bad-setting", "line 6", "--data.parts [a]", "{NAME:"),
            ),
            (MINE + "  hub: 3\n", ("bad-setting", "line 8", "--data.hub 3", "{id:")),
            (MINE + "  hub: {id: 3}\n", ("bad-setting", "line 8", "--data.hub.id 3")),
            (MINE + "  mixture:\n    - {split: x, shre: 1}\n", ("unknown-setting", "line 9", "--data.mixture.share?")),
            (MINE + "  inoculation: 3\n", ("bad-setting", "--data.inoculation 3")),
            ("- a\n", ("bad-setting", "line 1", "--data - a", "class_path")),
            ("", ("missing-setting", "--data")),
            (MINE.replace("z: [1]", "z: [1, yes]"), ("bad-setting", "line 7", "--data.labels.z yes", '"yes"')),
            (MINE + "  default_label: No\n", ("bad-setting", "line 8", "--data.default_label No", '"yes"')),
            (
                MINE + "  verbalisers:\n    x: a\n    z: off\n",
                ("bad-setting", "line 10", "--data.verbalisers.z off", '"yes"'),
            ),
        ],
    ),
)
def test_a_mistake_in_a_file_of_data_has_its_line(
    parse_file: Callable[..., None], text: str, expected: Refusal
) -> None:
    with refused(*expected):
        parse_file("--data", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    first_tier(
        4,
        [
            (
                "trainer:\n  max_epoch: 3\n",
                ("unknown-setting", "line 2", "--trainer.max_epoch.", "--trainer.max_epochs?"),
            ),
            ("seed_evrything: 3\n", ("unknown-setting", "line 1", "--seed_evrything.", "--seed_everything?")),
            (
                "data:\n  init_args:\n    n_trian: 3\n",
                ("unknown-setting", "line 3", "--data.n_trian.", "--data.n_train?"),
            ),
            ("attentiveness: {draw: 3}\n", ("unknown-setting", "line 1", "--attentiveness.draws?")),
            ("trainer:\n  max_epochs: many\n", ("bad-setting", "line 2", "--trainer.max_epochs many")),
            (
                "model:\n  init_args:\n    learning_rate: fast\n",
                ("bad-setting", "line 3", "--model.learning_rate fast"),
            ),
            (
                "trainer:\n  callbacks:\n  - class_path: EarlyStopping\n    init_args: {monitor: x, patience: y}\n",
                ("bad-setting", "line 4", "--trainer.callbacks.patience y"),
            ),
            ("trainer:\n  callbacks:\n  - class_path: EarlyStoping\n", ("unknown-name", "line 3", "EarlyStopping?")),
            ("trainer: 3\n", ("bad-setting", "--trainer 3")),
            ("data: 3\n", ("bad-setting", "line 1", "--data 3", "class_path")),
            ("- a\n", ("bad-setting", "line 1")),
            ("", ("bad-setting", "line 1")),
        ],
    ),
)
def test_a_mistake_in_a_configuration_has_its_line(
    parse_file: Callable[..., None], text: str, expected: Refusal
) -> None:
    with refused(*expected):
        parse_file("--config", text)


CHOICES = "64, 32, 16, transformer-engine, transformer-engine-float16, 16-true, 16-mixed, bf16-true, bf16-mixed"
STOPPING = ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "x"]


@pytest.mark.parametrize(
    ("argv", "expected"),
    first_tier(
        3,
        [
            (["--data.labels", "{x: [yes], y: [1]}"], ("bad-setting", "--data.labels.x yes", '"yes"')),
            (["--trainer.precision", "bf17"], ("bad-setting", "--trainer.precision bf17", CHOICES)),
            (["--seed_everything", "1e99"], ("bad-setting", "--seed_everything 1e99", "true or false")),
            (["--trainer.limit_val_batches", "x"], ("bad-setting", "--trainer.limit_val_batches x")),
            (["--data.swap", "hypothesis"], ("bad-setting", "--data.swap hypothesis", "'[hypothesis]'")),
            (["--data.groups", "article"], ("bad-setting", "--data.groups article", "'[article]'")),
            (["--data.mixture", "3"], ("bad-setting", "--data.mixture 3", "'[{share: VALUE}]'")),
            (["--data.splits", "a.csv"], ("bad-setting", "--data.splits a.csv", "'{NAME: VALUE}'")),
            (["--data.path", "x", "--data.max_train", "many"], ("bad-setting", "--data.max_train many")),
            (["--data.max_train"], ("missing-setting", "--data.max_train")),
            (["--data.max_train="], ("missing-setting", "--data.max_train")),
            (["--data.prompts", "{p: {}}"], ("missing-setting", "--data.prompts.p {}", "question")),
            (["mnli"], ("unknown-setting", "'mnli'")),
            (["--trainer.callbacks", "Earlystopping"], ("unknown-name", "--trainer.callbacks", "EarlyStopping?")),
            (["--trainer.callbacks+=Nothing"], ("unknown-name", "--trainer.callbacks Nothing", "Callback")),
            (["--trainer.callbacks", "[LearningRateMonitor, Nope]"], ("unknown-name", "--trainer.callbacks Nope")),
            (["--trainer.callbacks", "os.system"], ("foreign-class", "--trainer.callbacks os.system")),
            (
                ["--trainer.callbacks", "EarlyStopping"],
                ("missing-setting", "EarlyStopping", "--trainer.callbacks.monitor"),
            ),
            ([*STOPPING, "--trainer.callbacks.patience", "y"], ("bad-setting", "--trainer.callbacks.patience y")),
            ([*STOPPING, "--trainer.callbacks.patient", "3"], ("unknown-setting", "--trainer.callbacks.patience?")),
            ([*STOPPING, "--trainer.callbacks.mode", "up"], ("unfit-trainer", "--trainer", "mode", "min", "max", "up")),
            (["--print_config", "--trainer.max_epochs", "x"], ("bad-setting", "--trainer.max_epochs x")),
            (["--print_config=x"], ("bad-setting", "--print_config", "x")),
            (["--Nope", "3"], ("unknown-setting", "--Nope.")),
            (["--seed_everything", "null"], ("bad-setting", "--seed_everything null", "true or false")),
            (["--data.class_path", "PairedTxt"], ("unknown-name", "--data.class_path PairedTxt", "PairedText?")),
            (["--data.init_args", "{max_train: x}"], ("bad-setting", "--data.max_train x")),
            (["--data.dict_kwargs", "3"], ("bad-setting", "--data.dict_kwargs")),
            (["--trainer.callbacks", "{class_path: 3}"], ("unknown-name", "--trainer.callbacks.class_path 3")),
            (["--trainer.callbacks", "a{b"], ("unknown-name", "--trainer.callbacks a{b")),
            (["--trainer.callbacks.monitor", "x"], ("missing-setting", "--trainer.callbacks", "Callback")),
            (["--endpoint", "x", "--endpoint.read", "y"], ("bad-setting", "--endpoint.read y", "written, first_token")),
            (["--endpoint", "x", "--endpoint.raed", "y"], ("unknown-setting", "--endpoint.raed.", "--endpoint.read?")),
        ],
    ),
)
def test_a_setting_is_named_with_what_was_given_and_what_it_takes(
    parse: Callable[..., None], argv: list[str], expected: Refusal
) -> None:
    with refused(*expected):
        parse("--data", "mnli", *argv)


@pytest.mark.parametrize(
    ("flag", "near"),
    first_tier(
        3,
        [
            ("--data.max_trian", "--data.max_train"),
            ("--model.learing_rate", "--model.learning_rate"),
            ("--trainer.max_epch", "--trainer.max_epochs"),
            ("--modle", "--model"),
            ("--resum", "--resume"),
            ("--outpu", "--output"),
            ("--see", "--seed_everything"),
            ("--max_ep", "--trainer.max_epochs"),
            ("--shortc", "--data.shortcut"),
            ("--checkpoint.mon", "--checkpoint.monitor"),
        ],
    ),
)
def test_the_nearest_flag_is_named(parse: Callable[..., None], flag: str, near: str) -> None:
    with refused("unknown-setting", f" {flag}.", f" {near}?"):
        parse(flag, "5")


def test_a_misspelt_resume_leaves_the_run_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("kept")
    with pytest.raises(SystemExit) as stop:
        guarded(lambda: run(train.main, "--resum", tmp_path))
    assert stop.value.code == 2
    told(capsys.readouterr().err, "unknown-setting", "--resum.", "--resume?")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("config.yaml", "kept")]


@pytest.mark.parametrize("flag", ["resume", "init_from", "allow_package"])
def test_what_is_read_before_the_files_cannot_stand_in_one(parse_file: Callable[..., None], flag: str) -> None:
    with refused("command-line-only", f"--{flag}"):
        parse_file("--config", f"{flag}: runs/x\n")


@pytest.mark.slow
@pytest.mark.parametrize("other", [["--print_config"], ["--trainer.callbacks+=ModelSummary"]])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_flag_that_is_right_is_not_blamed(parse: Callable[..., None], other: list[str], is_first: bool) -> None:
    wrong = ["--data.max_train", "many"]
    with refused("bad-setting", "--data.max_train many"):
        parse(*(other + wrong if is_first else wrong + other))


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
    with refused("missing-file", f"backbone {name}"):
        resolve(name)
    assert resolve("org/name") == "org/name"
    assert resolve("bert-base-uncased") == "bert-base-uncased"


def test_a_run_says_where_its_model_is(tmp_path: Path) -> None:
    (tmp_path / "checkpoints" / "backbone").mkdir(parents=True)
    (tmp_path / "checkpoints" / "backbone" / "config.json").touch()
    with refused("missing-weights", "config.json", "checkpoints/backbone"):
        resolve(str(tmp_path))


@pytest.mark.parametrize(("value", "advised"), [("1", False), ("0", True)])
def test_what_is_set_already_is_not_advised(monkeypatch: pytest.MonkeyPatch, value: str, advised: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert ("HF_HUB_OFFLINE=1" in without_hub("take another")) is advised


def test_an_evaluation_is_not_told_to_resume(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with refused("folder-taken", f"--output {tmp_path}") as caught:
        run(evaluate.main, "--model.backbone", tiny_bert, "--output", tmp_path)
    assert "--resume" not in str(caught.value)


@pytest.mark.parametrize("name", ["gpu", "cuda"])
def test_a_machine_without_a_gpu_is_told_what_to_take(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with refused("unfit-trainer", f"--trainer.accelerator {name}", "--trainer.accelerator cpu"), naming_flags():
        job_of(monkeypatch, ["--trainer.accelerator", name]).prepare()


def test_the_first_sentence_of_lightning_is_shown() -> None:
    assert first_sentence(ValueError("One thing, e.g. `this`. Another `code`.")) == "One thing, e.g. `this`."


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
    told(capsys.readouterr().err, "lost-process", "--resume RUN")


def test_an_error_of_another_kind_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(sys, "argv", ["train.py"])
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        guarded(fail)

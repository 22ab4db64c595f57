"""The same mistake is the same error on the command line and in Python."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import EarlyStopping, StochasticWeightAveraging

import heedful
from heedful.assembly.making import checked, made_of
from heedful.assembly.names import augmented, load_data, load_model
from heedful.callbacks import Attentiveness, BestCheckpoint
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.records import DataError, ModelError, RunError, SettingError

from commands import job_of, run
from refusals import refused


def data(source: str = "mnli", **settings: Any) -> Callable[[], Any]:
    return lambda: load_data(source, **settings)


def model(source: str = "minilm", **settings: Any) -> Callable[[], Any]:
    return lambda: load_model(source, **settings)


def trainer(**settings: Any) -> Callable[[], Any]:
    return lambda: checked(Trainer, settings, ("trainer",))


def of(kind: type, name: str, **settings: Any) -> Callable[[], Any]:
    return lambda: made_of(kind, settings, (name,))


MNLI = ["--data", "mnli"]
CALLBACK = "--trainer.callbacks"
MISTAKES = {  # what: the words of a command, the same in Python, and the class of the error
    "no number": ([*MNLI, "--data.max_train", "many"], data(max_train="many"), SettingError),
    "a part of one": ([*MNLI, "--data.max_train", "1.5"], data(max_train=1.5), SettingError),
    "yes where a number is wanted": ([*MNLI, "--data.batch_size", "true"], data(batch_size=True), SettingError),
    "a rate in words": (["--model.learning_rate", "fast"], model(learning_rate="fast"), SettingError),
    "a text where a list is wanted": ([*MNLI, "--data.swap", "premise"], data(swap="premise"), SettingError),
    "true where a text is wanted": ([*MNLI, "--data.labels", "{x: [yes]}"], data(labels={"x": [True]}), SettingError),
    "a wrong word": (["--data.augment", "counter"], data("planted", augment="counter"), SettingError),
    "another wrong word": (["--model.collapse", "max"], model(collapse="max"), SettingError),
    "a mapping that is none": ([*MNLI, "--data.hub", "3"], data(hub=3), SettingError),
    "a wrong value inside": ([*MNLI, "--data.hub", "{id: 3}"], data(hub={"id": 3}), SettingError),
    "a wrong name inside": ([*MNLI, "--data.mixture", "[{shre: 1}]"], data(mixture=[{"shre": 1}]), SettingError),
    "a name inside is missing": ([*MNLI, "--data.prompts", "{p: {}}"], data(prompts={"p": {}}), SettingError),
    "unknown": (["--data.n_trian", "3"], data("planted", n_trian=3), SettingError),
    "unknown of the model": (["--model.learing_rate", "3"], model(learing_rate=3), SettingError),
    "needed": (["--data", "PairedText"], data("PairedText"), SettingError),
    "no data": (["--data", "mnly"], data("mnly"), SettingError),
    "no model": (["--model", "minilmm"], model("minilmm"), SettingError),
    "no experiment": (["--augment", "x"], lambda: augmented(load_data(), "x"), SettingError),
    "no file of settings": (["--data", "nowhere.yaml"], data("nowhere.yaml"), DataError),
    "no folder": (["--model", "./nowhere"], model("./nowhere"), ModelError),
    "rows in a file": (["--data", "x.csv"], data("x.csv"), SettingError),
    "a run": (["--data", "runs/x"], data("runs/x"), SettingError),
    "another kind": (["--data", "os.system"], data("os.system"), SettingError),
    "a model for data": (
        ["--data", "heedful.lightning_modules.Encoder"],
        data("heedful.lightning_modules.Encoder"),
        SettingError,
    ),
    "no class": (["--data", "nowhere.Mine"], data("nowhere.Mine"), SettingError),
    "too small": (["--data.batch_size", "0"], data("planted", batch_size=0), SettingError),
    "too large": (["--model.warmup", "2"], model(warmup=2), SettingError),
    "not finite": (["--model.learning_rate", ".inf"], model(learning_rate=float("inf")), SettingError),
    "a name of a folder": (["--data.name", "a/b"], data("planted", name="a/b"), SettingError),
    "no part": (["--data.partial", "nothing"], data("planted", partial="nothing"), SettingError),
    "changes nothing": (
        ["--data.resample_counterfactuals", "true"],
        data("planted", resample_counterfactuals=True),
        SettingError,
    ),
    "of an evaluation": (["--attentiveness.draws", "x"], of(Attentiveness, "attentiveness", draws="x"), SettingError),
    "unknown of one": (["--attentiveness.draw", "1"], of(Attentiveness, "attentiveness", draw=1), SettingError),
    "too few draws": (["--attentiveness.draws", "0"], of(Attentiveness, "attentiveness", draws=0), SettingError),
    "of checkpoints": (["--checkpoint.monitr", "x"], of(BestCheckpoint, "checkpoint", monitr="x"), SettingError),
    "of the trainer": (["--trainer.max_epochs", "x"], trainer(max_epochs="x"), SettingError),
    "unknown of the trainer": (["--trainer.max_epoch", "3"], trainer(max_epoch=3), SettingError),
    "no precision": (["--trainer.precision", "bf17"], trainer(precision="bf17"), SettingError),
    "no callback": ([CALLBACK, "EarlyStoping"], trainer(callbacks="EarlyStoping"), SettingError),
    "no callback in a list": ([CALLBACK, "[Nope]"], trainer(callbacks=["Nope"]), SettingError),
    "a callback of another kind": ([CALLBACK, "os.system"], trainer(callbacks="os.system"), SettingError),
    "a callback lacks": ([CALLBACK, "EarlyStopping"], trainer(callbacks="EarlyStopping"), SettingError),
    "a callback is not named": (
        [f"{CALLBACK}.monitor", "x"],
        trainer(callbacks={"init_args": {"monitor": "x"}}),
        SettingError,
    ),
    "a logger of another kind": (
        ["--trainer.logger", "collections.Counter"],
        trainer(logger={"class_path": "collections.Counter"}),
        SettingError,
    ),
}


EACH_KIND = {  # the others of the command line are slow: each makes the whole parser
    "no number",
    "a wrong name inside",
    "true where a text is wanted",
    "a wrong word",
    "unknown",
    "needed",
    "no data",
    "another kind",
    "too small",
    "a callback lacks",
}


@pytest.mark.parametrize(
    "what", [what if what in EACH_KIND else pytest.param(what, marks=pytest.mark.slow) for what in MISTAKES]
)
def test_a_mistake_on_the_command_line(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words, _, error = MISTAKES[what]
    monkeypatch.chdir(tmp_path)
    with refused(error):
        job_of(monkeypatch, words)


@pytest.mark.parametrize("what", MISTAKES)
def test_the_same_mistake_in_python(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, in_python, error = MISTAKES[what]
    monkeypatch.chdir(tmp_path)
    with refused(error) as caught:
        in_python()
    assert "--" not in str(caught.value)


def test_a_setting_in_python_is_called_what_it_is_there() -> None:
    with pytest.raises(SettingError) as caught:
        load_data("planted", max_train="many")
    assert str(caught.value).startswith('data.max_train "many" is not a whole number.')


EPOCH = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}
RUNS = {  # what: the words of train.py, the same in Python, and the class of the error
    "no evaluation": (["--evaluations", "accurcy"], {"evaluations": ["accurcy"]}, SettingError),
    "evaluates nothing": (["--evaluations", "[]"], {"evaluations": []}, SettingError),
    "not in training": (["--evaluations", "attributions"], {"evaluations": ["attributions"]}, SettingError),
    "of what is not measured": (
        ["--evaluations", "accuracy", "--attentiveness.draws", "2"],
        {"evaluations": ["accuracy"], "attentiveness": {"draws": 2}},
        SettingError,
    ),
    "settings of nothing": (["--attentivenes.draws", "2"], {"attentivenes": {"draws": 2}}, SettingError),
    "no seed": (["--seed_everything", "-1"], {"seed": -1}, SettingError),
    "another seed of the data": (
        ["--seed_everything", "1", "--data.seed", "2"],
        {"seed": 1, "data": lambda: load_data("planted", n_train=8, n_validation=4, seed=2)},
        SettingError,
    ),
    "a folder that is taken": (["--output", "taken"], {"output": "taken"}, RunError),
    "a file for a folder": (["--output", "file"], {"output": "file"}, RunError),
    "no run": (["--resume", "nowhere"], {"resume": "nowhere"}, RunError),
    "not a run": (["--resume", "taken"], {"resume": "taken"}, RunError),
    "two folders": (["--resume", "x", "--output", "y"], {"resume": "x", "output": "y"}, SettingError),
    "last of nothing": (["--ckpt_path", "last"], {"ckpt_path": "last"}, SettingError),
    "no checkpoint": (["--ckpt_path", "no.ckpt"], {"ckpt_path": "no.ckpt"}, DataError),
    "no beginning": (["--init_from", "nowhere"], {"init_from": "nowhere", "model": None}, RunError),
    "two models": (
        ["--init_from", "taken", "--model", "minilm"],
        {"init_from": "taken", "model": "minilm"},
        SettingError,
    ),
    "nothing to train": (["--trainer.max_epochs", "0"], {"trainer": {"max_epochs": 0}}, SettingError),
    "no checkpoints": (
        ["--trainer.enable_checkpointing", "false"],
        {"trainer": {"enable_checkpointing": False}},
        SettingError,
    ),
    "no batch of a step": (
        ["--trainer.accumulate_grad_batches", "0"],
        {"trainer": {"accumulate_grad_batches": 0}},
        SettingError,
    ),
    "copied processes": (["--trainer.strategy", "ddp_spawn"], {"trainer": {"strategy": "ddp_spawn"}}, SettingError),
    "a GPU of Intel": (["--trainer.accelerator", "xpu"], {"trainer": {"accelerator": "xpu"}}, SettingError),
    "averaged weights": (
        ["--trainer.callbacks", "StochasticWeightAveraging", "--trainer.callbacks.swa_lrs", "0.1"],
        {"trainer": {"callbacks": StochasticWeightAveraging(0.1)}},
        SettingError,
    ),
    "stops by nothing": (
        ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "x"],
        {"trainer": {"callbacks": [EarlyStopping("x")]}},
        SettingError,
    ),
    "keeps by nothing": (["--checkpoint.monitor", "x"], {"checkpoint": {"monitor": "x"}}, SettingError),
    "other checkpoints": (["--checkpoint.dirpath", "x"], {"checkpoint": {"dirpath": "x"}}, SettingError),
    "nothing tests": (
        ["--trainer.limit_test_batches", "1"],
        {"trainer": {"limit_test_batches": 1}},
        SettingError,
    ),
    "no part": (["--partial", "premises"], {"partial": "premises"}, SettingError),
    "no column": (["--slices", "genre"], {"slices": ["genre"]}, DataError),
    "no experiment": (["--augment", "x"], {"augment": "x"}, SettingError),
    "of files that are not read": (
        ["--data", "mnli", "--data.path", "rows", "--data.quoting", "false"],
        {"data": lambda: load_data("mnli", path="rows", quoting=False)},
        SettingError,
    ),
}
AT_ONCE = {  # the others are slow
    "no evaluation",
    "of what is not measured",
    "another seed of the data",
    "a folder that is taken",
    "no run",
    "two models",
    "nothing to train",
    "averaged weights",
    "keeps by nothing",
    "of files that are not read",
    "no run to evaluate",
    "no training",
}
EVALUATIONS_ALONE = {  # the same of evaluate.py
    "no run to evaluate": (["--checkpoint", "nowhere"], {"checkpoint": "nowhere"}, RunError),
    "not a run to evaluate": (["--checkpoint", "taken"], {"checkpoint": "taken"}, RunError),
    "never trained": (["--model", "minilm"], {"model": "minilm", "checkpoint": None}, ModelError),
    "no requests": (["--dry_run"], {"dry_run": True}, SettingError),
    "no prompts": (["--prompt.tuples", "1"], {"prompt": {"tuples": 1}}, SettingError),
    "no wording": (["--prompt.wordngs", "[x]"], {"prompt": {"wordngs": ["x"]}}, SettingError),
    "no training": (["--trainer.max_epochs", "1"], {"trainer": {"max_epochs": 1}}, SettingError),
    "needs a path": (["--evaluations", "natural_logic"], {"evaluations": ["natural_logic"]}, SettingError),
    "all are measured": (
        ["--attentiveness.max_examples", "2"],
        {"attentiveness": {"max_examples": 2}},
        SettingError,
    ),
}


@pytest.fixture(scope="module")
def trained(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run."""
    model = load_model(tiny_bert, max_length=64)
    data = load_data("planted", n_train=8, n_validation=4)
    folder = tmp_path_factory.mktemp("trained") / "run"
    return heedful.train(model, data, trainer=EPOCH, output=folder, evaluations=["accuracy"]).folder


@pytest.mark.parametrize(
    "what",
    [what if what in AT_ONCE else pytest.param(what, marks=pytest.mark.slow) for what in (*RUNS, *EVALUATIONS_ALONE)],
)
def test_a_mistake_in_a_run_is_one_error_and_leaves_nothing(
    what: str, tiny_bert: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words, arguments, error = (RUNS | EVALUATIONS_ALONE)[what]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").touch()
    (tmp_path / "file").touch()
    (tmp_path / "rows").mkdir()
    for split in ("train", "validation_matched"):
        row = {"premise": f"A {split}.", "hypothesis": "It is.", "label": "neutral"}
        (tmp_path / "rows" / f"{split}.jsonl").write_text(json.dumps(row))
    before = sorted([*tmp_path.rglob("*"), *trained.rglob("*")])
    if what in RUNS:
        command, function = train.main, heedful.train
        named = [] if "--init_from" in words else ["--model", str(tiny_bert), "--model.max_length", "64"]
        named += [] if "--data" in words else ["--data.n_train", "8", "--data.n_validation", "4"]
        known = {"model": load_model(tiny_bert, max_length=64), "data": load_data("planted", n_train=8, n_validation=4)}
    else:
        command, function = evaluate.main, heedful.evaluate
        named = [] if {"--checkpoint", "--model"} & {*words} else ["--checkpoint", str(trained)]
        known = {"checkpoint": trained}
    with refused(error):
        run(command, *named, *words)
    known |= {name: value() if name == "data" else value for name, value in arguments.items()}
    known["trainer"] = {"accelerator": "cpu", "enable_progress_bar": False, **known.get("trainer", {})}
    with refused(error) as caught:
        function(**known)
    assert "--" not in str(caught.value)
    assert sorted([*tmp_path.rglob("*"), *trained.rglob("*")]) == before

"""The same mistake has the same code on the command line and in Python."""

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
from heedful.records import HeedfulError

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
MISTAKES = {  # what: the words of a command, the same in Python, and the code
    "no number": ([*MNLI, "--data.max_train", "many"], data(max_train="many"), "bad-setting"),
    "a part of one": ([*MNLI, "--data.max_train", "1.5"], data(max_train=1.5), "bad-setting"),
    "yes where a number is wanted": ([*MNLI, "--data.batch_size", "true"], data(batch_size=True), "bad-setting"),
    "a rate in words": (["--model.learning_rate", "fast"], model(learning_rate="fast"), "bad-setting"),
    "a text where a list is wanted": ([*MNLI, "--data.swap", "premise"], data(swap="premise"), "bad-setting"),
    "true where a text is wanted": ([*MNLI, "--data.labels", "{x: [yes]}"], data(labels={"x": [True]}), "bad-setting"),
    "a wrong word": (["--data.augment", "counter"], data("planted", augment="counter"), "bad-setting"),
    "another wrong word": (["--model.collapse", "max"], model(collapse="max"), "bad-setting"),
    "a mapping that is none": ([*MNLI, "--data.hub", "3"], data(hub=3), "bad-setting"),
    "a wrong value inside": ([*MNLI, "--data.hub", "{id: 3}"], data(hub={"id": 3}), "bad-setting"),
    "a wrong name inside": ([*MNLI, "--data.mixture", "[{shre: 1}]"], data(mixture=[{"shre": 1}]), "unknown-setting"),
    "a name inside is missing": ([*MNLI, "--data.prompts", "{p: {}}"], data(prompts={"p": {}}), "missing-setting"),
    "unknown": (["--data.n_trian", "3"], data("planted", n_trian=3), "unknown-setting"),
    "unknown of the model": (["--model.learing_rate", "3"], model(learing_rate=3), "unknown-setting"),
    "needed": (["--data", "PairedText"], data("PairedText"), "missing-setting"),
    "no data": (["--data", "mnly"], data("mnly"), "unknown-name"),
    "no model": (["--model", "minilmm"], model("minilmm"), "unknown-name"),
    "no experiment": (["--augment", "x"], lambda: augmented(load_data(), "x"), "unknown-name"),
    "no file of settings": (["--data", "nowhere.yaml"], data("nowhere.yaml"), "missing-file"),
    "no folder": (["--model", "./nowhere"], model("./nowhere"), "missing-file"),
    "rows in a file": (["--data", "x.csv"], data("x.csv"), "unknown-name"),
    "a run": (["--data", "runs/x"], data("runs/x"), "unknown-name"),
    "another kind": (["--data", "os.system"], data("os.system"), "foreign-class"),
    "a model for data": (
        ["--data", "heedful.lightning_modules.Encoder"],
        data("heedful.lightning_modules.Encoder"),
        "foreign-class",
    ),
    "no class": (["--data", "nowhere.Mine"], data("nowhere.Mine"), "unknown-name"),
    "too small": (["--data.batch_size", "0"], data("planted", batch_size=0), "bad-setting"),
    "too large": (["--model.warmup", "2"], model(warmup=2), "bad-setting"),
    "not finite": (["--model.learning_rate", ".inf"], model(learning_rate=float("inf")), "bad-setting"),
    "a name of a folder": (["--data.name", "a/b"], data("planted", name="a/b"), "bad-name"),
    "no part": (["--data.partial", "nothing"], data("planted", partial="nothing"), "unknown-name"),
    "changes nothing": (
        ["--data.resample_counterfactuals", "true"],
        data("planted", resample_counterfactuals=True),
        "idle-setting",
    ),
    "of an evaluation": (["--attentiveness.draws", "x"], of(Attentiveness, "attentiveness", draws="x"), "bad-setting"),
    "unknown of one": (["--attentiveness.draw", "1"], of(Attentiveness, "attentiveness", draw=1), "unknown-setting"),
    "too few draws": (["--attentiveness.draws", "0"], of(Attentiveness, "attentiveness", draws=0), "bad-setting"),
    "of checkpoints": (["--checkpoint.monitr", "x"], of(BestCheckpoint, "checkpoint", monitr="x"), "unknown-setting"),
    "of the trainer": (["--trainer.max_epochs", "x"], trainer(max_epochs="x"), "bad-setting"),
    "unknown of the trainer": (["--trainer.max_epoch", "3"], trainer(max_epoch=3), "unknown-setting"),
    "no precision": (["--trainer.precision", "bf17"], trainer(precision="bf17"), "bad-setting"),
    "no callback": ([CALLBACK, "EarlyStoping"], trainer(callbacks="EarlyStoping"), "unknown-name"),
    "no callback in a list": ([CALLBACK, "[Nope]"], trainer(callbacks=["Nope"]), "unknown-name"),
    "a callback of another kind": ([CALLBACK, "os.system"], trainer(callbacks="os.system"), "foreign-class"),
    "a callback lacks": ([CALLBACK, "EarlyStopping"], trainer(callbacks="EarlyStopping"), "missing-setting"),
    "a callback is not named": (
        [f"{CALLBACK}.monitor", "x"],
        trainer(callbacks={"init_args": {"monitor": "x"}}),
        "missing-setting",
    ),
    "a logger of another kind": (
        ["--trainer.logger", "collections.Counter"],
        trainer(logger={"class_path": "collections.Counter"}),
        "foreign-class",
    ),
}


ON_THE_COMMAND_LINE = {  # the others are slow: each makes the whole parser
    "a wrong name inside",
    "unknown",
}


@pytest.mark.parametrize(
    "what",
    [what if what in ON_THE_COMMAND_LINE else pytest.param(what, marks=pytest.mark.slow) for what in MISTAKES],
)
def test_a_mistake_on_the_command_line(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words, _, code = MISTAKES[what]
    monkeypatch.chdir(tmp_path)
    with refused(code):
        job_of(monkeypatch, words)


@pytest.mark.parametrize("what", MISTAKES)
def test_the_same_mistake_in_python(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, in_python, code = MISTAKES[what]
    monkeypatch.chdir(tmp_path)
    with refused(code) as caught:
        in_python()
    assert not [mark for mark in ("--", "§") if mark in str(caught.value)]


def test_a_setting_in_python_is_called_what_it_is_there() -> None:
    with pytest.raises(HeedfulError) as caught:
        load_data("planted", max_train="many")
    assert caught.value.wrong == '§data.max_train "many" is not a whole number.'
    assert str(caught.value).startswith('max_train "many" is not a whole number.')


EPOCH = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}
RUNS = {  # what: the words of train.py, the same in Python, and the code
    "no evaluation": (["--evaluations", "accurcy"], {"evaluations": ["accurcy"]}, "unknown-name"),
    "evaluates nothing": (["--evaluations", "[]"], {"evaluations": []}, "bad-setting"),
    "not in training": (["--evaluations", "attributions"], {"evaluations": ["attributions"]}, "idle-setting"),
    "of what is not measured": (
        ["--evaluations", "accuracy", "--attentiveness.draws", "2"],
        {"evaluations": ["accuracy"], "attentiveness": {"draws": 2}},
        "idle-setting",
    ),
    "settings of nothing": (["--attentivenes.draws", "2"], {"attentivenes": {"draws": 2}}, "unknown-setting"),
    "no seed": (["--seed_everything", "-1"], {"seed": -1}, "bad-setting"),
    "another seed of the data": (
        ["--seed_everything", "1", "--data.seed", "2"],
        {"seed": 1, "data": lambda: load_data("planted", n_train=8, n_validation=4, seed=2)},
        "clashing-settings",
    ),
    "a folder that is taken": (["--output", "taken"], {"output": "taken"}, "folder-taken"),
    "a file for a folder": (["--output", "file"], {"output": "file"}, "unwritable-file"),
    "no run": (["--resume", "nowhere"], {"resume": "nowhere"}, "missing-file"),
    "not a run": (["--resume", "taken"], {"resume": "taken"}, "not-a-run"),
    "two folders": (["--resume", "x", "--output", "y"], {"resume": "x", "output": "y"}, "clashing-settings"),
    "last of nothing": (["--ckpt_path", "last"], {"ckpt_path": "last"}, "missing-setting"),
    "no checkpoint": (["--ckpt_path", "no.ckpt"], {"ckpt_path": "no.ckpt"}, "missing-file"),
    "no beginning": (["--init_from", "nowhere"], {"init_from": "nowhere", "model": None}, "not-a-run"),
    "two models": (
        ["--init_from", "taken", "--model", "minilm"],
        {"init_from": "taken", "model": "minilm"},
        "clashing-settings",
    ),
    "nothing to train": (["--trainer.max_epochs", "0"], {"trainer": {"max_epochs": 0}}, "bad-setting"),
    "no checkpoints": (
        ["--trainer.enable_checkpointing", "false"],
        {"trainer": {"enable_checkpointing": False}},
        "unfit-trainer",
    ),
    "no batch of a step": (
        ["--trainer.accumulate_grad_batches", "0"],
        {"trainer": {"accumulate_grad_batches": 0}},
        "bad-setting",
    ),
    "copied processes": (["--trainer.strategy", "ddp_spawn"], {"trainer": {"strategy": "ddp_spawn"}}, "unfit-trainer"),
    "a GPU of Intel": (["--trainer.accelerator", "xpu"], {"trainer": {"accelerator": "xpu"}}, "unfit-trainer"),
    "averaged weights": (
        ["--trainer.callbacks", "StochasticWeightAveraging", "--trainer.callbacks.swa_lrs", "0.1"],
        {"trainer": {"callbacks": StochasticWeightAveraging(0.1)}},
        "unfit-trainer",
    ),
    "stops by nothing": (
        ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "x"],
        {"trainer": {"callbacks": [EarlyStopping("x")]}},
        "bad-monitor",
    ),
    "keeps by nothing": (["--checkpoint.monitor", "x"], {"checkpoint": {"monitor": "x"}}, "bad-monitor"),
    "other checkpoints": (["--checkpoint.dirpath", "x"], {"checkpoint": {"dirpath": "x"}}, "clashing-settings"),
    "nothing tests": (
        ["--trainer.limit_test_batches", "1"],
        {"trainer": {"limit_test_batches": 1}},
        "idle-setting",
    ),
    "no part": (["--partial", "premises"], {"partial": "premises"}, "unknown-name"),
    "no column": (["--slices", "genre"], {"slices": ["genre"]}, "missing-column"),
    "no experiment": (["--augment", "x"], {"augment": "x"}, "unknown-name"),
    "of files that are not read": (
        ["--data", "mnli", "--data.path", "rows", "--data.quoting", "false"],
        {"data": lambda: load_data("mnli", path="rows", quoting=False)},
        "idle-setting",
    ),
}
AT_ONCE = {  # the others are slow
    "another seed of the data",
    "a folder that is taken",
    "no run to evaluate",
    "no training",
}
EVALUATIONS_ALONE = {  # the same of evaluate.py
    "no run to evaluate": (["--checkpoint", "nowhere"], {"checkpoint": "nowhere"}, "missing-file"),
    "not a run to evaluate": (["--checkpoint", "taken"], {"checkpoint": "taken"}, "not-a-run"),
    "never trained": (["--model", "minilm"], {"model": "minilm", "checkpoint": None}, "untrained-head"),
    "no requests": (["--dry_run"], {"dry_run": True}, "idle-setting"),
    "no prompts": (["--prompt.tuples", "1"], {"prompt": {"tuples": 1}}, "idle-setting"),
    "no wording": (["--prompt.wordngs", "[x]"], {"prompt": {"wordngs": ["x"]}}, "unknown-setting"),
    "no training": (["--trainer.max_epochs", "1"], {"trainer": {"max_epochs": 1}}, "idle-setting"),
    "needs a path": (["--evaluations", "natural_logic"], {"evaluations": ["natural_logic"]}, "idle-setting"),
    "all are measured": (
        ["--attentiveness.max_examples", "2"],
        {"attentiveness": {"max_examples": 2}},
        "idle-setting",
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
def test_a_mistake_in_a_run_has_one_code_and_leaves_nothing(
    what: str, tiny_bert: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words, arguments, code = (RUNS | EVALUATIONS_ALONE)[what]
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
    with refused(code):
        run(command, *named, *words)
    known |= {name: value() if name == "data" else value for name, value in arguments.items()}
    known["trainer"] = {"accelerator": "cpu", "enable_progress_bar": False, **known.get("trainer", {})}
    with refused(code) as caught:
        function(**known)
    assert "--" not in str(caught.value)
    assert "§" not in str(caught.value)
    assert sorted([*tmp_path.rglob("*"), *trained.rglob("*")]) == before

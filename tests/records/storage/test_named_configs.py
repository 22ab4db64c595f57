"""Which file a short name stands for."""

import pytest

from heedful.records.storage.named_configs import CONFIGS, backbones, named_configs


@pytest.mark.parametrize("kind", ["data", "model", "experiment", "recipe"])
def test_the_package_has_its_own(monkeypatch, tmp_path, kind):
    monkeypatch.chdir(tmp_path)
    files = named_configs(kind)
    assert list(files) == sorted(path.stem for path in (CONFIGS / kind).glob("*.yaml"))
    assert all(path.is_file() for path in files.values())


def test_a_file_of_the_working_folder_comes_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "data").mkdir(parents=True)
    for name in ("mnli", "mine"):
        (tmp_path / "configs" / "data" / f"{name}.yaml").write_text("class_path: PairedText\n")
    files = named_configs("data")
    assert {name: files[name].resolve() for name in ("mnli", "mine")} == {
        name: tmp_path / "configs" / "data" / f"{name}.yaml" for name in ("mnli", "mine")
    }
    assert files["rte"] == CONFIGS / "data" / "rte.yaml"
    assert list(named_configs("model")) == sorted(path.stem for path in (CONFIGS / "model").iterdir())


def test_files_without_a_backbone_and_broken_files_are_left_out(monkeypatch, tmp_path, caplog):
    monkeypatch.chdir(tmp_path)
    folder_ = tmp_path / "configs" / "model"
    folder_.mkdir(parents=True)
    whole = "class_path: mine.Own\ninit_args: {backbone: own}"
    for name, text in {"a": "[1]", "b": "class_path: 3", "c": "init_args: 3", "d": whole, "e": ""}.items():
        (folder_ / f"{name}.yaml").write_text(text)
    found = backbones()
    assert found.keys() & {*"abcde"} == {"d"}
    assert found["d"] == ("own", "mine.Own")
    assert found["bert"] == ("google-bert/bert-base-uncased", "heedful.lightning_modules.Encoder")
    (folder_ / "a.yaml").write_text("a: [")
    (folder_ / "b.yaml").write_bytes(b"\xff")
    with caplog.at_level("INFO"):
        assert backbones() == found
    assert all(f"configs/model/{name}.yaml" in caplog.text for name in "ab")

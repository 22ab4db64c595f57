"""Data and models by their names, in Python: as the command line has them."""

from pathlib import Path
from typing import Any

import pytest
from transformers import PretrainedConfig

import heedful
from heedful.assembly import names
from heedful.assembly.names import augmented, fitting, load_data, load_model, section_of
from heedful.datamodules import PairedText, Planted
from heedful.lightning_modules import Encoder
from heedful.records import ModelError, SettingError
from heedful.records.made import section

from refusals import refused

WORDS = {"name": "m", "parts": {"a": "x", "b": "y"}, "labels": {"u": [0], "v": [1]}}


@pytest.mark.parametrize("name", names.names("data"))
def test_data_by_each_short_name_know_their_file_from_what_a_user_chose(name: str, tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("yes\nno\n")
    chosen: dict[str, Any] = {"batch_size": 7} if name == "planted" else {"batch_size": 7, "path": tmp_path}
    data = load_data(name, **chosen)
    assert (data.given, data.batch_size) == (chosen.keys(), 7)
    assert set(data.made_of) > set(data.given)
    assert section(heedful.load_data(section(data))) == section(data)


def test_the_column_of_peoples_answers_is_not_what_a_user_chose() -> None:
    data = load_data("vqa2")
    assert (data.answered, data.given) == ("answers", frozenset())


@pytest.mark.parametrize("name", names.names("model"))
def test_models_by_each_short_name(name: str) -> None:
    model = load_model(name, **({"name": "gpt"} if name == "endpoint" else {}))
    assert model.given == ({"name"} if name == "endpoint" else frozenset())
    assert type(model).__name__ == section_of("model", name)["class_path"].rpartition(".")[2]


def test_settings_win_over_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text("class_path: datamodules.Planted\ninit_args: {n_train: 5, n_validation: 6, unrelated: 1e-2}\n")
    for source in (file, str(file), "mine.yaml"):
        data = load_data(source, n_train=7)
        assert data.made_of == {"n_train": 7, "n_validation": 6, "unrelated": 0.01}
        assert data.given == {"n_train"}
    (tmp_path / "configs" / "data").mkdir(parents=True)
    file.rename(tmp_path / "configs" / "data" / "own.yaml")
    assert load_data("own").made_of["n_train"] == 5


def test_a_mistake_in_a_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("class_path: Planted\ninit_args:\n  n_train: many\n")
    with refused(SettingError, f"data {file}, line 3", "n_train many"):
        load_data(file, n_train=7)
    file.write_text("class_path: PairedText\ninit_args:\n  default_label: no\n")
    with refused(SettingError, "line 3", "default_label no", '"yes"'):
        load_data(file)


def test_nested_settings_are_mappings_or_objects() -> None:
    mnli = load_data("mnli", inoculation={"path": "x.csv", "n": 5}, augment="inoculation")
    assert (mnli.inoculation.n, mnli.hub.subset) == (5, "mnli")
    again = load_data("mnli", inoculation=mnli.inoculation, augment="inoculation", path=Path("x"))
    assert again.inoculation is mnli.inoculation
    assert again.made_of["path"] == "x"


@pytest.mark.parametrize("rows", [[{"x": "p", "y": "q", "label": 0}], {"train": [], "validation": []}])
def test_rows_are_data_with_their_settings(rows: Any) -> None:
    data = load_data(rows, **WORDS)
    assert type(data) is PairedText
    assert data.made_of["path"] is rows
    assert data.given == {"path", *WORDS}
    with refused(SettingError, "PairedText", "name, parts, labels"):
        load_data(rows)


def test_data_and_models_by_their_classes() -> None:
    assert type(load_data("Planted", n_train=5)) is Planted
    assert type(load_data("heedful.datamodules.Planted")) is Planted
    assert type(load_data("datamodules.Planted")) is Planted
    assert load_model("Encoder", backbone="a/b").made_of == {"backbone": "a/b"}


def test_a_model_by_its_folder_or_its_id(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_model(tiny_bert, max_length=9).made_of == {"backbone": str(tiny_bert), "max_length": 9}
    monkeypatch.setattr(PretrainedConfig, "get_config_dict", lambda name: ({"model_type": "t5"}, {}))
    model = load_model("org/x")
    assert (type(model).__name__, model.made_of, model.given) == ("Seq2Seq", {"backbone": "org/x"}, frozenset())
    assert section_of("model", "google-bert/bert-base-uncased") == section_of("model", "bert")


def test_a_run_is_not_the_folder_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with refused(ModelError, f"model {tmp_path} is a run", "init_from", "checkpoint"):
        load_model(tmp_path)


def test_data_of_another_kind_bring_their_family() -> None:
    minilm = section_of("model", "minilm", {"learning_rate": 1e-5})
    assert fitting(minilm, Planted()) == minilm
    meant = fitting(minilm, load_data("squad2"))
    assert meant == minilm | {"class_path": "heedful.lightning_modules.Reader"}
    assert meant["init_args"]["learning_rate"] == 1e-5


def test_an_experiment_changes_settings_of_the_data(tmp_path: Path) -> None:
    plain = load_data("planted", n_train=5)
    data = augmented(plain, "counterfactual")
    assert (plain.augment, data.augment, data.given) == (None, "counterfactual", {"n_train", "augment"})
    with refused(SettingError, "counterfactal", "counterfactual?"):
        augmented(plain, "counterfactal")
    file = tmp_path / "mine.yaml"
    for text in ("data: {init_args: {}}\nmodel: {init_args: {}}", "data: {class_path: Planted}", "3"):
        file.write_text(text)
        with refused(SettingError, file):
            augmented(plain, str(file))
    file.write_text("data: {init_args: {agment: counterfactual}}")
    with refused(SettingError, "agment", "augment?"):
        augmented(plain, str(file))


def test_public_names() -> None:
    assert heedful.load_data is load_data
    assert heedful.load_model is load_model
    assert type(heedful.load_model("minilm")) is Encoder

"""What names stand for: short names, YAML files, classes, folders of models and hub ids."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import PretrainedConfig

from heedful.assembly.config import Call, load_data, load_model, resolve
from heedful.assembly.short_names import section_of
from heedful.records import ModelError, SettingError

from refusals import refused

FAMILIES = [
    ("bert", "BertForMaskedLM", "Encoder"),
    ("t5", "T5ForConditionalGeneration", "Seq2Seq"),
    ("vilt", "ViltForMaskedLM", "Vilt"),
    ("blip", "BlipForQuestionAnswering", "BlipAnswers"),
    ("llama", "LlamaForCausalLM", "CausalLM"),
    ("llama", "LlamaForSequenceClassification", "Encoder"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str, str], Path]:
    """The folder of a model that holds its config alone."""

    def write(model_type: str, architecture: str) -> Path:
        config = {"model_type": model_type, "architectures": [architecture]}
        (tmp_path / "config.json").write_text(json.dumps(config))
        return tmp_path

    return write


@pytest.mark.parametrize(("model_type", "architecture", "family"), FAMILIES)
def test_a_folder_names_its_family(
    folder: Callable[[str, str], Path], model_type: str, architecture: str, family: str
) -> None:
    path = folder(model_type, architecture)
    expected = {"class_path": f"heedful.lightning_modules.{family}", "init_args": {"backbone": str(path)}}
    assert section_of("model", path) == section_of("model", str(path)) == expected


@pytest.mark.parametrize(("data", "family"), [("squad2", "Reader"), ("mnli", "Encoder")])
def test_a_family_stands_in_on_data_of_another_kind(folder: Callable[[str, str], Path], data: str, family: str) -> None:
    path = folder("bert", "BertForMaskedLM")
    config = resolve(False, Call(model=path, data=data))
    assert config.classes["model"].__name__ == family
    assert config.values.model.backbone == str(path)


def test_a_folder_wins_over_a_short_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert section_of("model", "roberta")["init_args"]["backbone"] != "roberta"
    (tmp_path / "roberta").mkdir()
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
    (tmp_path / "roberta" / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    with caplog.at_level("INFO"):
        section = section_of("model", "roberta")
    assert section == {"class_path": "heedful.lightning_modules.Seq2Seq", "init_args": {"backbone": "roberta"}}
    assert "is the folder" in caplog.text


def test_a_hub_id_names_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]}
    monkeypatch.setattr(PretrainedConfig, "get_config_dict", lambda name: (config, {}))
    assert section_of("model", "owner/some-t5")["class_path"] == "heedful.lightning_modules.Seq2Seq"


def test_the_hub_id_of_a_named_model_has_its_settings() -> None:
    assert section_of("model", "google-t5/t5-base") == section_of("model", "t5")


@pytest.mark.parametrize("name", ["Planted", "heedful.datamodules.Planted", "datamodules.Planted"])
def test_a_class_is_named_in_short_and_in_full(name: str) -> None:
    assert load_data(name, n_train=3).arguments["n_train"] == 3


def test_files_of_the_working_folder_are_names_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "data").mkdir(parents=True)
    text = "class_path: Planted\ninit_args: {n_train: 5, unrelated: 1e-2}\n"
    (tmp_path / "configs" / "data" / "own.yaml").write_text(text)
    (tmp_path / "mine.yaml").write_text(text)
    for source in ("own", "mine.yaml", tmp_path / "mine.yaml"):
        arguments = load_data(source, n_train=7).arguments
        assert (arguments["n_train"], arguments["unrelated"]) == (7, 0.01)


def test_a_file_without_a_name_gives_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = "{parts: {premise: premise, hypothesis: hypothesis}, labels: {yes: [], no: []}}"
    (tmp_path / "mine.yaml").write_text(f"class_path: PairedText\ninit_args: {settings}\n")
    assert [load_data(source).name for source in ("mine.yaml", tmp_path / "mine.yaml")] == ["mine", "mine"]
    assert load_data("mine.yaml", name="other").name == "other"
    call = Call(data="mine.yaml", model={"class_path": "Encoder", "init_args": {"backbone": "x"}})
    assert resolve(False, call).as_dict()["data"]["init_args"]["name"] == "mine"


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").touch()
    (tmp_path / "empty").mkdir()
    with refused(ModelError, "run", "init_from", "checkpoint"):
        load_model(tmp_path / "run")
    with refused(ModelError, "empty", "config.json"):
        load_model(tmp_path / "empty")
    with refused(ModelError, "nowhere/at/all"):
        load_model("nowhere/at/all")
    with refused(SettingError, "model minilmm", "minilm"):
        load_model("minilmm")


@pytest.mark.parametrize(
    ("kind", "name"), [("data", "heedful.lightning_modules.Encoder"), ("model", "torch.nn.Linear")]
)
def test_a_class_of_another_kind_is_refused(kind: str, name: str) -> None:
    load = load_data if kind == "data" else load_model
    with refused(SettingError, kind, name):
        load(name)


def test_settings_that_models_once_had_are_left_out() -> None:
    """Files of earlier versions have them; an encoder, which is trained, keeps its own, as does a user's class."""
    settings = {"backbone": "b", "learning_rate": 5e-5, "weight_decay": 0.01, "warmup": 0.1}
    for family, kept in (("CausalLM", {"backbone": "b"}), ("Encoder", settings)):
        former = {"class_path": f"heedful.lightning_modules.{family}", "init_args": settings | {"sha256": "0a"}}
        assert section_of("model", former)["init_args"] == kept
    foreign = {"class_path": "mine.Model", "init_args": {"sha256": "0a"}}
    assert section_of("model", foreign) == foreign

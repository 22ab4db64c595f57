"""Names of data and models: short names, YAML files, classes, folders and hub ids."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import PretrainedConfig

from heedful.assembly.config import assemble
from heedful.assembly.loading import load_data, section_of
from heedful.records import ModelError

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
    """Writes the folder of a model with a config alone."""

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


def test_an_architecture_that_no_family_reads_is_named_before_it_is_loaded(folder: Callable[[str, str], Path]) -> None:
    path = folder("llava", "LlavaForConditionalGeneration")
    with refused(ModelError, f"model {path} is a llava", "Encoder", "Seq2Seq"):
        section_of("model", path)


@pytest.mark.parametrize(("data", "family"), [("squad2", "Reader"), ("mnli", "Encoder")])
def test_a_family_stands_in_on_data_of_another_kind(folder: Callable[[str, str], Path], data: str, family: str) -> None:
    path = folder("bert", "BertForMaskedLM")
    model = assemble("fit", {"model": str(path), "data": data}).model
    assert (type(model).__name__, model.backbone) == (family, str(path))


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
    call = {"data": "mine.yaml", "model": {"class_path": "Encoder", "init_args": {"backbone": "x"}}}
    assert assemble("fit", call).data.name == "mine"

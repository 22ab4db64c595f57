"""A model may be named by its hub id or its folder."""

import json
from pathlib import Path

import pytest
from transformers import PretrainedConfig

from heedful import rooms
from heedful.cli.model_forms import with_run
from heedful.cli.short_forms import expand
from heedful.records import DataError, ModelError, RunError, SettingError

from refusals import refused


def model_of(*argv: str) -> list[str]:
    """What the command line says of the model, expanded, without folders of files."""
    args = expand(list(argv))
    pairs = [pair for pair in zip(args[::2], args[1::2], strict=True) if pair[0].startswith("--model")]
    return [value.rsplit("/", 1)[-1] if value.endswith(".yaml") else value for pair in pairs for value in pair]


@pytest.fixture
def folder(tmp_path: Path):
    """Makes the folder of a model of some type."""

    def make(model_type: str, *architectures: str) -> str:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, "architectures": architectures}))
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("model_type", "architecture", "family"),
    [
        ("bert", "BertForSequenceClassification", "Encoder"),
        ("bart", "BartForSequenceClassification", "Encoder"),
        ("t5", "T5ForConditionalGeneration", "Seq2Seq"),
        ("mt5", "MT5ForConditionalGeneration", "Seq2Seq"),
        ("t5", "T5ForSequenceClassification", "Encoder"),
        ("vilt", "ViltForMaskedLM", "Vilt"),
        ("blip", "BlipForImageTextRetrieval", "Blip"),
        ("blip", "BlipForQuestionAnswering", "BlipAnswers"),
    ],
)
def test_a_folder_brings_its_family(folder, model_type: str, architecture: str, family: str) -> None:
    name = folder(model_type, architecture)
    wanted = ["--model", f"heedful.lightning_modules.{family}", "--model.backbone", name]
    assert model_of("--model", name) == wanted
    assert model_of("--model.max_length", "9", "--model", name) == [*wanted, "--model.max_length", "9"]


def test_data_of_another_kind_bring_their_family(folder) -> None:
    name = folder("bert", "BertModel")
    named = model_of("--model", name, "--data", "squad2")
    assert named == [
        "--model",
        "heedful.lightning_modules.Encoder",
        "--model",
        "heedful.lightning_modules.Reader",
        "--model.backbone",
        name,
    ]


@pytest.mark.parametrize(("config", "family"), [({"model_type": "t5"}, "Seq2Seq"), ({"model_type": "xyz"}, "Encoder")])
def test_a_hub_id_brings_its_family(monkeypatch: pytest.MonkeyPatch, config: dict[str, str], family: str) -> None:
    monkeypatch.setattr(PretrainedConfig, "get_config_dict", lambda name: (config, {}))
    assert model_of("--model", "org/x") == [
        "--model",
        f"heedful.lightning_modules.{family}",
        "--model.backbone",
        "org/x",
    ]


def test_a_hub_id_that_cannot_be_read_is_refused_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(PretrainedConfig, "get_config_dict", fail)
    assert model_of("--model", "org/x") == ["--model", "heedful.lightning_modules.Encoder", "--model.backbone", "org/x"]


def test_the_backbone_of_a_named_model_brings_its_settings() -> None:
    assert model_of("--model", "google/flan-t5-base") == ["--model", "flan-t5.yaml"]
    assert model_of("--model", "bert") == ["--model", "bert.yaml"]
    assert model_of("--model", str(rooms.folder("configs") / "model" / "bert.yaml")) == ["--model", "bert.yaml"]
    assert model_of("--model", "heedful.lightning_modules.Encoder") == ["--model", "heedful.lightning_modules.Encoder"]


def test_what_is_no_model_is_called_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "x").mkdir(parents=True)
    for name, error, *facts in (
        ("./nowhere", DataError),
        ("runs/y", DataError),
        ("a/b/c", DataError),
        ("runs/x", ModelError),
        ("berti", SettingError, "bert?", "OWNER/NAME"),
    ):
        with refused(error, f"model {name} ", *facts):
            expand(["--model", name])
    (tmp_path / "runs" / "x" / "config.yaml").touch()
    with refused(ModelError, "model runs/x ", "init_from", "checkpoint"):
        expand(["--model", "runs/x"])


def test_a_run_stands_for_its_best_checkpoint(tmp_path: Path) -> None:
    with refused(RunError, f"checkpoint {tmp_path} ", "config.yaml"):
        with_run(["--checkpoint", str(tmp_path)])
    (tmp_path / "config.yaml").touch()
    with refused(DataError, f"checkpoint {tmp_path}", "best.ckpt", f"resume {tmp_path}"):
        with_run([f"--checkpoint={tmp_path}", "--data", "mnli"])
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "best-3.ckpt").touch()
    (tmp_path / "run.json").write_text('{"finished": "2026-01-01T00:00:00+00:00"}')
    with (
        refused(DataError, f"checkpoint {tmp_path}", "best.ckpt", tmp_path / "checkpoints" / "best-3.ckpt"),
    ):
        with_run([f"--checkpoint={tmp_path}", "--data", "mnli"])

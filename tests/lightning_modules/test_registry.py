"""Tests of the registry: which family opens which model, on which data; users can register a family."""

import json
from types import SimpleNamespace

import pytest

from heedful import lightning_modules
from heedful.assembly.loading import section_of
from heedful.callbacks.checkpoints.best_and_last import BestCheckpoint
from heedful.lightning_modules import Encoder, Predictor
from heedful.lightning_modules.registry import TABLE, family_of, register, stand_in
from heedful.records import ModelError
from heedful.records.arguments import class_path
from heedful.records.task import Span

from refusals import refused

ROOM = "heedful.lightning_modules."


class Owl(Encoder):
    """A family that only this module defines."""


@pytest.fixture
def owl():
    """Registers the family during a test."""
    before = list(TABLE)
    register(Owl, "Owl.*", ("owl", "t5"), {"barn.Nights": "Encoder"})
    yield
    TABLE[:] = before


@pytest.mark.usefixtures("owl")
@pytest.mark.parametrize("config", [{"model_type": "owl"}, {"model_type": "vilt", "architectures": ["OwlForNights"]}])
def test_the_command_line_takes_a_registered_family_for_its_models(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert section_of("model", tmp_path) == {"class_path": f"{__name__}.Owl", "init_args": {"backbone": str(tmp_path)}}


@pytest.mark.usefixtures("owl")
def test_a_registered_family_comes_before_those_of_the_table_and_stands_in_on_its_data():
    assert family_of({"model_type": "t5"}) == f"{__name__}.Owl"
    assert family_of({"model_type": "t5", "architectures": ["T5ForSequenceClassification"]}) == f"{ROOM}Encoder"
    nights = type("Nights", (), {"__module__": "barn"})
    assert stand_in(class_path(nights), f"{ROOM}Encoder") == f"{__name__}.Owl"
    assert stand_in(class_path(nights), f"{ROOM}Seq2Seq") == f"{ROOM}Seq2Seq"


def test_the_lines_of_the_table_name_classes_that_there_are():
    for entry in TABLE:
        assert issubclass(getattr(lightning_modules, entry.family), Predictor)
        assert all(isinstance(getattr(lightning_modules, name), type) for name in entry.stands_in.values())


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [
        ("qwen2_vl", "Qwen2VLForConditionalGeneration"),
        ("gemma3", "Gemma3ForConditionalGeneration"),
        ("vits", "VitsModel"),
    ],
)
def test_a_model_that_no_family_can_read_is_refused_before_it_is_loaded(tmp_path, model_type, architecture):
    """Some kinds of vision-language models also have classifiers, whose families would load a part of them."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, "architectures": [architecture]}))
    with refused(ModelError, tmp_path, model_type, "Encoder", "CausalLM"):
        section_of("model", tmp_path)


@pytest.mark.parametrize(
    ("data", "family", "replaced"),
    [
        ("PairedImages", "LateFusion", "Encoder"),
        ("VisualQuestions", "LateFusion", "Encoder"),
        ("Reading", "Reader", "Encoder"),
        ("Reading", "Writer", "Seq2Seq"),
        ("Reading", "CausalLM", "CausalLM"),
        ("PairedText", "Encoder", "Encoder"),
    ],
)
def test_the_data_of_each_kind_have_their_families(data, family, replaced):
    assert stand_in(f"heedful.datamodules.{data}", ROOM + replaced) == ROOM + family


@pytest.mark.parametrize(
    ("model_type", "architecture", "family"),
    [
        (None, None, "Encoder"),  # no entry matches
        ("owl", "OwlForNights", "Encoder"),
        ("gpt2", "GPT2LMHeadModel", "CausalLM"),
        ("llama", "LlamaForCausalLM", "CausalLM"),
        ("gpt2", "GPT2ForSequenceClassification", "Encoder"),
        *((t5, None, "Seq2Seq") for t5 in ("t5", "mt5", "umt5", "longt5", "switch_transformers")),
        ("vilt", None, "Vilt"),
        ("blip", None, "Blip"),
        ("blip", "BlipForQuestionAnswering", "BlipAnswers"),
    ],
)
def test_each_model_is_opened_by_its_family(model_type, architecture, family):
    found = family_of({"model_type": model_type, "architectures": [architecture] if architecture else None})
    assert found == ROOM + family


def test_the_best_checkpoint_is_best_in_what_the_kind_of_task_declares():
    kind = Span()
    kind.quality = "kindness"
    data = SimpleNamespace(name="d", task=SimpleNamespace(kind=kind))
    monitored = []
    checkpoint = BestCheckpoint()
    engine = SimpleNamespace(only=None, require_monitored=lambda name, flag: monitored.append(name))
    checkpoint.require_known(engine, data)
    assert monitored == [checkpoint.monitor] == ["kindness/d"]

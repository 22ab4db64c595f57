"""Families declare which models and data they are for: the command line knows none of them by name."""

import json
from types import SimpleNamespace

import pytest

from heedful.assembly.short_names import section_of, stand_in
from heedful.callbacks.checkpoints.best_and_last import BestCheckpoint
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.families import families, family_of, import_path, stand_ins
from heedful.records.task import Span

ROOM = "heedful.lightning_modules."


class Owl(Encoder):
    """A family of this module alone."""

    architectures = ("Owl.*",)
    model_types = ("owl",)
    stands_in = {"barn.Nights": "Encoder"}


class OwlOfTheNorth(Owl):
    """Declares nothing itself."""


@pytest.mark.parametrize("config", [{"model_type": "owl"}, {"model_type": "t5", "architectures": ["OwlForNights"]}])
def test_the_command_line_takes_a_new_family_for_the_models_that_it_declares(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert section_of("model", tmp_path) == {"class_path": f"{__name__}.Owl", "init_args": {"backbone": str(tmp_path)}}


def test_a_new_family_stands_in_on_the_data_that_it_declares():
    nights = type("Nights", (), {"__module__": "barn"})
    assert stand_in(nights, "heedful.lightning_modules.Encoder") == f"{__name__}.Owl"
    assert stand_in(nights, "heedful.lightning_modules.Seq2Seq") == "heedful.lightning_modules.Seq2Seq"


def test_a_family_does_not_inherit_what_another_one_is_for():
    assert OwlOfTheNorth in families()
    assert family_of({"model_type": "owl", "architectures": ["OwlForNights"]}) is Owl
    assert family_of({"model_type": "eagle", "architectures": None}) is Encoder
    assert family_of({}) is Encoder


def test_the_data_of_each_kind_have_the_families_that_they_had():
    own = {pair: family for pair, family in stand_ins().items() if family.startswith(ROOM)}
    assert own == {
        ("heedful.datamodules.PairedImages", f"{ROOM}Encoder"): f"{ROOM}LateFusion",
        ("heedful.datamodules.VisualQuestions", f"{ROOM}Encoder"): f"{ROOM}LateFusion",
        ("heedful.datamodules.Reading", f"{ROOM}Encoder"): f"{ROOM}Reader",
        ("heedful.datamodules.Reading", f"{ROOM}Seq2Seq"): f"{ROOM}Writer",
    }


@pytest.mark.parametrize(
    ("model_type", "architecture", "family"),
    [
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
    assert import_path(found) == ROOM + family


def test_the_best_checkpoint_is_best_in_what_the_kind_of_task_declares():
    kind = Span()
    kind.quality = "kindness"
    data = SimpleNamespace(name="d", task=SimpleNamespace(kind=kind))
    monitored = []
    checkpoint = BestCheckpoint()
    engine = SimpleNamespace(only=None, require_monitored=lambda name, flag: monitored.append(name))
    checkpoint.require_known(engine, data)
    assert monitored == [checkpoint.monitor] == ["kindness/d"]

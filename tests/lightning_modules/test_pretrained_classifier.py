"""Tests that families inherit settings, which YAML sets and the model keeps."""

import pytest
import yaml
from jsonargparse import ArgumentParser

from heedful import lightning_modules
from heedful.lightning_modules import Classifier

COMMON = {"backbone", "compiled", "warmup", "max_unknown", "max_length", "learning_rate", "weight_decay"}
COMMON |= {"labels", "collapse"}
SETTINGS = {
    "Encoder": COMMON,
    "Reader": COMMON | {"overlap", "longest_answer", "threshold"},
    "Seq2Seq": COMMON | {"score", "decoding"},
    "Writer": COMMON | {"no_answer", "longest_answer"},
    "Vilt": COMMON | {"cache"},
    "LateFusion": COMMON | {"cache", "vision", "freeze_vision", "image_size", "hidden"},
    "Blip": COMMON | {"cache"},
    "BlipAnswers": COMMON | {"cache", "rank"},
}
OTHER = {"labels": ["a", "b"], "collapse": "argmax", "compiled": True, "freeze_vision": False, "image_size": [64, 32]}
OTHER |= {"hidden": 64, "decoding": "greedy", "score": "mean", "max_unknown": 0.5, "warmup": 0.05}


def parser():
    for name in lightning_modules.__all__:  # __subclasses__ lists imported classes
        getattr(lightning_modules, name)
    made = ArgumentParser(exit_on_error=False)
    made.add_subclass_arguments(Classifier, "model")
    return made


def section(family, **settings):
    return {"class_path": f"heedful.lightning_modules.{family}", "init_args": {"backbone": "b"} | settings}


def other(name, default):
    """Another value than the default of a setting."""
    if name in OTHER:
        return OTHER[name]
    return "x" if default is None or isinstance(default, str) else default + 1


@pytest.mark.parametrize("family", SETTINGS)
def test_each_setting_is_taken_from_yaml_and_kept(family, tmp_path):
    made, file = parser(), tmp_path / "model.yaml"
    defaults = made.parse_object({"model": section(family)}).model.init_args.as_dict()
    assert defaults.keys() == SETTINGS[family]
    values = {name: other(name, default) for name, default in defaults.items()}
    file.write_text(yaml.safe_dump(section(family, **values)))
    model = made.instantiate_classes(made.parse_args(["--model", str(file)])).model
    assert {name: getattr(model, name) for name in values} == {name: model.hparams[name] for name in values} == values

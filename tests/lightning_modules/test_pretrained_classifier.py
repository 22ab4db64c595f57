"""Families inherit their settings: the command line shows and takes each, with the defaults of the family."""

import re

import pytest
import yaml
from jsonargparse import ArgumentError, ArgumentParser

from heedful import lightning_modules
from heedful.lightning_modules import Classifier

ALL = {"compiled": False, "warmup": 0.1, "max_unknown": 0.2}
COMMON = ALL | {"max_length": 256, "learning_rate": 5e-5, "weight_decay": 0.01}
PICTURES = COMMON | {"max_length": 128, "cache": 8.0}
BLIP = PICTURES | {"learning_rate": 3e-5, "weight_decay": 0.05}
NAMED = {"labels": None, "collapse": None}
FUSION = {"vision": None, "freeze_vision": True, "image_size": None, "hidden": None}
SETTINGS = {  # beside the backbone
    "Encoder": COMMON | NAMED,
    "Reader": COMMON | {"max_length": 384, "overlap": 128, "longest_answer": 30, "threshold": 0.0},
    "Seq2Seq": COMMON | {"learning_rate": 1e-4, "score": "sum", "decoding": "likelihood", "collapse": None},
    "Writer": COMMON | {"max_length": 512, "learning_rate": 1e-4, "no_answer": "unanswerable", "longest_answer": 32},
    "Vilt": PICTURES | NAMED | {"max_length": 40},
    "LateFusion": PICTURES | NAMED | FUSION,
    "Blip": BLIP | NAMED,
    "BlipAnswers": BLIP | {"learning_rate": 2e-5, "rank": 128},
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
def test_each_setting_has_the_default_of_its_family_and_is_taken_from_yaml_and_kept(family, tmp_path):
    made, file = parser(), tmp_path / "model.yaml"
    assert made.parse_object({"model": section(family)}).model.init_args.as_dict() == SETTINGS[family] | {
        "backbone": "b"
    }
    others = {name: other(name, default) for name, default in SETTINGS[family].items()}
    for values in (SETTINGS[family], others):
        file.write_text(yaml.safe_dump(section(family, **values)))
        model = made.instantiate_classes(made.parse_args(["--model", str(file)])).model
        assert (
            {name: getattr(model, name) for name in values} == {name: model.hparams[name] for name in values} == values
        )


@pytest.mark.parametrize("family", SETTINGS)
def test_help_explains_each_setting(family, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args([f"--model.help=heedful.lightning_modules.{family}"])
    listed = " ".join(capsys.readouterr().out.partition("Help for")[2].split())
    for name in (*SETTINGS[family], "backbone"):
        lines = re.search(rf"--model\.{name} .*?(?= --model\.\w+ |$)", listed)[0]
        assert len(re.split(r"\((?:type|required)", lines)[0].split()) > 4, lines


def test_only_families_are_offered(capsys):
    parser().print_help()
    printed = re.sub(r"\s+", "", capsys.readouterr().out)
    assert {*re.findall(r"(?<![\w.])heedful\.lightning_modules\.([\w.]+)", printed)} == {*SETTINGS, "Classifier"}


@pytest.mark.parametrize(("family", "name"), [("Reader", "labels"), ("Seq2Seq", "labels"), ("Writer", "score")])
def test_a_setting_that_a_family_fixes_is_not_taken(family, name):
    with pytest.raises(ArgumentError, match=name):
        parser().parse_object({"model": section(family, **{name: OTHER[name]})})

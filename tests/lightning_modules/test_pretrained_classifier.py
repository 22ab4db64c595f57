"""Families inherit their settings: the command line shows and takes each, with the defaults of the family."""

import re
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
import yaml
from jsonargparse import ArgumentError, ArgumentParser

from heedful import lightning_modules
from heedful.lazy import import_all
from heedful.lightning_modules import Classifier
from heedful.records import ModelError
from tests.lightning_modules.test_weights import FAMILIES, built

from refusals import refused
from tiers import first_tier

ALL = {"compiled": False, "warmup": 0.1, "max_unknown": 0.2}
COMMON = ALL | {"max_length": 256, "learning_rate": 5e-5, "weight_decay": 0.01}
PICTURES = COMMON | {"max_length": 128, "cache": 8.0}
BLIP = PICTURES | {"learning_rate": 3e-5, "weight_decay": 0.05}
SETTINGS: dict[str, dict[str, Any]] = {  # beside the backbone
    "Encoder": COMMON | {"labels": None, "collapse": None},
    "Reader": COMMON | {"max_length": 384, "overlap": 128, "longest_answer": 30, "threshold": 0.0},
    "Seq2Seq": COMMON | {"learning_rate": 1e-4, "score": "sum", "decoding": "likelihood", "collapse": None},
    "Writer": COMMON | {"max_length": 512, "learning_rate": 1e-4, "no_answer": "unanswerable", "longest_answer": 32},
    "Vilt": PICTURES | {"max_length": 40, "labels": None, "collapse": None},
    "LateFusion": PICTURES
    | {
        "labels": None,
        "collapse": None,
        "vision": None,
        "freeze_vision": True,
        "image_size": None,
        "hidden": None,
    },
    "Blip": BLIP | {"labels": None, "collapse": None},
    "BlipAnswers": BLIP | {"learning_rate": 2e-5, "rank": 128},
}
OTHER = {
    "labels": ["a", "b"],
    "collapse": "argmax",
    "compiled": True,
    "freeze_vision": False,
    "image_size": [64, 32],
    "hidden": 64,
    "decoding": "greedy",
    "score": "mean",
}
FORMER = {"labels": None, "collapse": None, "sha256": None, "score": "sum", "decoding": "likelihood"}  # of base classes


def parser() -> ArgumentParser:
    import_all(lightning_modules.__name__)
    made = ArgumentParser(exit_on_error=False)
    made.add_subclass_arguments(Classifier, "model")
    return made


def other(name: str, default: Any) -> Any:
    """Another value than the default of a setting."""
    if name in OTHER:
        return OTHER[name]
    return "x" if default is None or isinstance(default, str) else default / 2 if name == "warmup" else default + 1


@pytest.mark.parametrize("family", SETTINGS)
def test_each_setting_has_the_default_of_its_family(family: str) -> None:
    given = {"class_path": f"heedful.lightning_modules.{family}", "init_args": {"backbone": "b"}}
    parsed = parser().parse_object({"model": given}).model.init_args.as_dict()
    assert parsed == SETTINGS[family] | {"backbone": "b"}
    model = getattr(lightning_modules, family)(backbone="b")
    assert {name: model.hparams[name] for name in parsed} == parsed
    assert {name: getattr(model, name) for name in parsed} == parsed


@pytest.mark.parametrize("family", SETTINGS)
def test_each_setting_is_taken_from_yaml_and_kept_in_checkpoints(family: str, tmp_path: Path) -> None:
    values = {name: other(name, default) for name, default in SETTINGS[family].items()} | {"backbone": "b"}
    values["max_unknown"] = 0.5
    file = tmp_path / "model.yaml"
    file.write_text(yaml.safe_dump({"class_path": f"heedful.lightning_modules.{family}", "init_args": values}))
    made = parser()
    model = made.instantiate_classes(made.parse_args(["--model", str(file)])).model
    assert {name: getattr(model, name) for name in values} == values
    assert {name: model.hparams[name] for name in values} == values


@pytest.mark.parametrize("family", SETTINGS)
def test_help_explains_each_setting(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args([f"--model.help=heedful.lightning_modules.{family}"])
    listed = " ".join(capsys.readouterr().out.partition("Help for")[2].split())
    for name in (*SETTINGS[family], "backbone"):
        lines = re.search(rf"--model\.{name} .*?(?= --model\.\w+ |$)", listed)[0]
        assert len(re.split(r"\((?:type|required)", lines)[0].split()) > 4, lines


def test_only_families_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    parser().print_help()
    offered = set(
        re.findall(r"(?<![\w.])heedful\.lightning_modules\.([\w.]+)", re.sub(r"\s+", "", capsys.readouterr().out))
    )
    assert offered == {*SETTINGS, "Classifier"}


@pytest.mark.parametrize(("family", "name"), [("Reader", "labels"), ("Seq2Seq", "labels"), ("Writer", "score")])
def test_a_setting_that_a_family_fixes_is_not_taken(family: str, name: str) -> None:
    given = {"class_path": f"heedful.lightning_modules.{family}", "init_args": {"backbone": "b", name: OTHER[name]}}
    with pytest.raises(ArgumentError, match=name):
        parser().parse_object({"model": given})


@pytest.mark.parametrize("family", first_tier(2, ["encoder", "reader", "writer", "blip", "blip answers"]))
def test_checkpoints_that_name_settings_of_base_classes_are_loaded(
    request: pytest.FixtureRequest, tmp_path: Path, family: str
) -> None:
    """Lightning hands on whatever a checkpoint holds."""
    fixture, make, task = FAMILIES[family]
    model = built(make(str(request.getfixturevalue(fixture))), task)
    former = FORMER if family == "writer" else {"labels": None, "sha256": None}
    content = {"state_dict": model.state_dict(), "hyper_parameters": dict(model.hparams) | former}
    content["pytorch-lightning_version"] = pl.__version__
    model.on_save_checkpoint(content)
    torch.save(content, tmp_path / "last.ckpt")
    again = type(model).load_from_checkpoint(tmp_path / "last.ckpt", weights_only=True)
    assert (again.backbone, again.task) == (model.backbone, task)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("family", FAMILIES)
def test_data_of_another_kind_are_refused_before_the_backbone_is_read(family: str) -> None:
    _, make, task = FAMILIES[family]
    tasks = (one for _, _, one in FAMILIES.values())
    other = next(one for one in tasks if one.kind is not task.kind)
    with refused(ModelError, task.kind, other.kind):
        make("nowhere").prepare(other)

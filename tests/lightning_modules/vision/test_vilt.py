"""Tests of ViLT: scores equal those of transformers, nothing is random, and there may be two pictures."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from noise import ONE, TEXTS, TWO, opened, pairs, questions
from safetensors.torch import load_file
from transformers import (
    AutoTokenizer,
    ViltConfig,
    ViltForImagesAndTextClassification,
    ViltForQuestionAnswering,
    ViltImageProcessorPil,
)

from heedful.records import CLASSIFICATION, Example, ModelError, Task

from refusals import refused

TYPES = "vilt.embeddings.token_type_embeddings.weight"


@pytest.fixture
def released(tiny_vilt, tmp_path):
    """Saves a ViLT with a trained head, whose outputs have these names."""

    def make(outputs, pictures=1):
        config = ViltConfig.from_pretrained(tiny_vilt)
        config.id2label = dict(enumerate(outputs))
        config.label2id = {name: i for i, name in enumerate(outputs)}
        kind = ViltForQuestionAnswering
        if pictures > 1:
            config.num_images, config.modality_type_vocab_size = pictures, pictures + 1
            kind = ViltForImagesAndTextClassification
        torch.manual_seed(1)
        network = kind(config)
        torch.nn.init.constant_(network.classifier[1].weight, 2.0)
        folder = tmp_path / f"released{len(list(tmp_path.iterdir()))}"
        network.save_pretrained(folder)
        for part in (AutoTokenizer, ViltImageProcessorPil):
            part.from_pretrained(tiny_vilt).save_pretrained(folder)
        return str(folder)

    return make


@torch.no_grad()
def scores(model, examples):
    return model.logits(model.processor(examples))


@torch.no_grad()
def expected(model, folder, texts, images, each=1):
    """Scores of the network with inputs from the processors of transformers."""
    images = ViltImageProcessorPil.from_pretrained(folder)(images, return_tensors="pt")
    images = {name: values.unflatten(0, (-1, each)) for name, values in images.items()} if each > 1 else images
    return model.network(
        **AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt"), **images
    ).logits


@pytest.mark.parametrize(
    "settings",
    [
        {"size": {"shortest_edge": 32}, "size_divisor": 8},
        {"size": 48, "size_divisor": 16, "resample": 2, "image_mean": [0.48, 0.45, 0.4], "image_std": [0.2, 0.3, 0.27]},
    ],
)
def test_scores_are_those_of_transformers(zoo, tiny_vilt, tmp_path, pictures, settings):
    folder = Path(shutil.copytree(tiny_vilt, tmp_path / "m"))
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    model = zoo.model("Vilt", folder, ONE)
    theirs = expected(model, folder, TEXTS, [opened(p) for p in pictures])
    torch.testing.assert_close(scores(model, questions(pictures)), theirs, rtol=0, atol=1e-5)
    assert theirs.std(dim=0).min() > 1e-3  # otherwise, wrong scores would pass


def test_scores_of_two_pictures_are_those_of_transformers(zoo, tiny_vilt, pictures):
    model, examples = zoo.model("Vilt", task=TWO), pairs(pictures)
    with torch.no_grad():
        model.network.vilt.embeddings.token_type_embeddings.weight[2] += 0.5
    flat = [opened(e.parts[side]) for e in examples for side in ("left", "right")]
    theirs, found = expected(model, tiny_vilt, TEXTS, flat, 2), scores(model, examples)
    torch.testing.assert_close(found, theirs, rtol=0, atol=1e-5)
    swapped = [Example(e.uid, e.parts | {"left": e.parts["right"], "right": e.parts["left"]}) for e in examples]
    assert (scores(model, swapped) - found).abs().min() > 1e-5


def test_of_too_many_patches_none_is_drawn(zoo, pictures):
    model, examples = zoo.model("Vilt", task=TWO), pairs(pictures)
    whole, state = scores(model, examples), torch.random.get_rng_state()
    model.config.max_image_length = 5
    together = scores(model, examples)
    assert not torch.allclose(together, whole)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.testing.assert_close(scores(model, examples[::-1]).flip(0), together, rtol=0, atol=1e-5)


def test_of_too_many_patches_evenly_spaced_ones_are_read(zoo):
    model = zoo.model("Vilt")
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, shape, dtype=np.uint8) for shape in [(32, 40, 3), (16, 16, 3)]]  # 20 and 4 patches
    with torch.no_grad():
        model.config.max_image_length = -1
        every, mask = model.embed_pictures(noise)
        model.config.max_image_length = 6
        some, fewer = model.embed_pictures(noise)
    assert mask.sum(dim=1).tolist() == [21, 5]
    assert fewer.sum(dim=1).tolist() == [7, 5]
    assert torch.equal(some[0], every[0, [0, 1, 4, 7, 11, 14, 17]])
    assert torch.equal(some[1, :5], every[1, :5])
    assert not every[1, 5:].any()


def test_a_second_picture_begins_as_the_first(zoo, tiny_vilt, released):
    def types_of(folder, task):
        return zoo.model("Vilt", folder, task).network.vilt.embeddings.token_type_embeddings.weight

    known = load_file(tiny_vilt / "model.safetensors")[TYPES]
    types = types_of(tiny_vilt, TWO)
    assert known.shape[0] == 2
    assert torch.equal(types, known[[0, 1, 1]])
    assert types.requires_grad
    folder = released(TWO.labels, 2)
    assert torch.equal(types_of(folder, TWO), load_file(f"{folder}/model.safetensors")[TYPES])
    three = Task(CLASSIFICATION, ("a", "b", "c"), ("x", "y"), None, pictures=("a", "b", "c"))
    assert types_of(tiny_vilt, three).shape[0] == 4


def test_a_new_head_is_normalised_anew(zoo, released):
    folder = released(ONE.labels)
    one, new = zoo.model("Vilt", folder, ONE), zoo.model("Vilt", folder, replace(ONE, labels=("x", "y", "no")))
    assert torch.equal(one.network.classifier[1].weight, torch.full((64,), 2.0))
    assert torch.equal(new.network.classifier[1].weight, torch.ones(64))


def test_a_head_for_other_pictures_is_no_head(zoo, released):
    folder = released(TWO.labels, 2)
    zoo.model("Vilt", folder, TWO).require_head()
    one = zoo.model("Vilt", folder, replace(ONE, labels=TWO.labels, default_label=None))  # training may start from it
    with refused(ModelError, folder, "2 pictures", "have 1"):
        one.require_head()
    with refused(ModelError, "1 picture,", "have 2"):
        zoo.model("Vilt", released(TWO.labels), TWO).require_head()

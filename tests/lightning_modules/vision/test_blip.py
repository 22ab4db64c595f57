"""Tests of BLIP with a head: scores equal those of transformers, with one picture or two."""

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from families import predicted
from noise import ONE, TEXTS, TWO, opened, pairs, questions
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoTokenizer,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    BlipModel,
)

from heedful.lightning_modules.vision.blip import TwinCrossAttention, encode_token
from heedful.records import Example

from tiers import first_tier


def probabilities(model, examples):
    return torch.stack(predicted(model.eval(), examples)).numpy()


def inputs_of(model, pictures):
    """Inputs of each picture with each text."""
    return model.processor([Example("e", {"image": p, "question": t}) for p in pictures for t in TEXTS])


def test_the_first_token_is_enc(tiny_blip):
    """As in the code of the paper. The tokenizers of released models have no name for it."""
    tokenizer, config = AutoTokenizer.from_pretrained(tiny_blip), AutoConfig.from_pretrained(tiny_blip)
    assert encode_token(tokenizer, config) == config.text_config.vocab_size - 1 == len(tokenizer) + 1
    config.text_config.vocab_size -= 2  # neither [DEC] nor [ENC]
    assert encode_token(tokenizer, config) == tokenizer.cls_token_id
    tokenizer.add_special_tokens({"additional_special_tokens": ["[ENC]", "[DEC]"]})
    assert encode_token(tokenizer, config) == tokenizer.convert_tokens_to_ids("[ENC]") == len(tokenizer) - 2


def test_scores_are_those_of_the_modules_of_transformers(zoo, tiny_blip, pictures):
    model = zoo.model("Blip", task=ONE)
    released, tokenizer = BlipForQuestionAnswering.from_pretrained(tiny_blip), AutoTokenizer.from_pretrained(tiny_blip)
    reader, head = BlipImageProcessorPil.from_pretrained(tiny_blip), model.network.head
    examples = [Example(f"{i}{t}", {"image": p, "question": t}) for i, p in enumerate(pictures[:3]) for t in TEXTS]
    found = probabilities(model, examples)
    for row, example in zip(found, examples, strict=True):
        ids = tokenizer(example.parts["question"], return_tensors="pt")["input_ids"]
        ids[0, 0] = len(tokenizer) + 1
        pixels = reader(opened(example.parts["image"]), return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            seen = released.vision_model(pixels).last_hidden_state
            first = released.text_encoder(ids, encoder_hidden_states=seen).last_hidden_state[:, 0]
            expected = (head[2](head[0](first).relu())).softmax(dim=-1)[0]
        np.testing.assert_allclose(row, expected.numpy(), rtol=0, atol=1e-6)
    assert np.ptp(found[:: len(TEXTS)], axis=0).max() > 1e-3  # one text, several pictures
    assert np.ptp(found[: len(TEXTS)], axis=0).max() > 1e-3  # one picture, several texts


def test_a_picture_of_a_batch_is_encoded_once_unless_it_is_trained(zoo, pictures):
    model, passes = zoo.model("Blip", task=ONE), []
    model.network.vision_model.register_forward_pre_hook(lambda _, args: passes.append(len(args[0])))
    inputs = inputs_of(model, pictures[:5])
    with torch.no_grad():
        shared, each = model.logits(inputs), model.train().logits(inputs)
    assert passes == [5, 30]
    torch.testing.assert_close(shared, each, rtol=0, atol=1e-6)


# two pictures


@pytest.mark.parametrize("joined", [False, True])
def test_what_is_seen_in_two_pictures_is_merged_as_in_the_paper(zoo, joined):
    """Section 5.4: average pooling, or concatenation and projection, then the residual connection."""
    one = zoo.model("Blip", task=ONE).network.text_encoder.encoder.layer[0].crossattention
    twin, generator = TwinCrossAttention(copy.deepcopy(one), joined, 0.3), torch.Generator().manual_seed(0)
    for parameter in twin.parameters():  # otherwise, both copies would be equal
        parameter.data += torch.randn(parameter.shape, generator=generator) / 5
    tokens, left, right = (torch.randn(1, n, 32, generator=generator) for n in (4, 7, 7))
    with torch.no_grad():
        found, _ = twin(tokens, encoder_hidden_states=torch.cat([left, right], dim=1))
        seen = [twin.dense[i](twin.attend[i](tokens, encoder_hidden_states=x)[0]) for i, x in enumerate((left, right))]
        merged = torch.cat(seen, dim=2) @ twin.join.weight.T + twin.join.bias if joined else sum(seen) / 2
        expected = torch.nn.functional.layer_norm(tokens + merged, (32,), twin.norm.weight, twin.norm.bias, 1e-12)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_the_first_half_averages_and_the_second_half_joins(zoo, tiny_blip):
    layers = zoo.model("Blip", task=TWO).network.text_encoder.encoder.layer
    assert [layer.crossattention.join is None for layer in layers] == [True, False]
    state = load_file(tiny_blip / "model.safetensors")
    for i, layer in enumerate(layers):
        for kind in ("query", "key", "value"):
            first, second = (getattr(attend, kind).weight for attend in layer.crossattention.attend)
            assert torch.equal(first, state[f"text_encoder.encoder.layer.{i}.crossattention.self.{kind}.weight"])
            assert torch.equal(first, second)
            assert first is not second


def test_the_same_picture_twice_is_that_picture_and_both_pictures_count(zoo, pictures):
    """With equal cross-attentions and averaging projections, a model of two equal pictures is a model of one."""
    one, two = zoo.model("Blip", task=ONE), zoo.model("Blip", task=TWO)
    found = probabilities(two, pairs(pictures))
    turned = [Example(e.uid, e.parts | {"left": e.parts["right"], "right": e.parts["left"]}) for e in pairs(pictures)]
    assert (np.abs(probabilities(two, turned) - found).max(axis=1) > 1e-5).all()
    two.network.head.load_state_dict(one.network.head.state_dict())
    for layer in two.network.text_encoder.encoder.layer[1:]:
        layer.crossattention.join.weight.data = torch.cat([torch.eye(32), torch.eye(32)], dim=1) / 2
    single = questions(pictures)
    double = [
        Example(e.uid, {"left": e.parts["image"], "right": e.parts["image"], "sentence": e.parts["question"]})
        for e in single
    ]
    np.testing.assert_allclose(probabilities(two, double), probabilities(one, single), rtol=0, atol=1e-6)


# weights

KINDS = [
    (BlipForQuestionAnswering, "text_encoder"),
    (BlipForImageTextRetrieval, "text_encoder"),
    (BlipForConditionalGeneration, "text_decoder.bert"),
    (BlipModel, "text_model"),
]


@pytest.mark.parametrize(("kind", "text"), first_tier(2, KINDS))
@pytest.mark.parametrize("task", [ONE, TWO])
def test_any_released_kind_lends_its_weights(zoo, tiny_blip, tmp_path, kind, text, task):
    released = Path(shutil.copytree(tiny_blip, tmp_path / "m"))
    torch.manual_seed(3)
    kind(AutoConfig.from_pretrained(tiny_blip)).save_pretrained(released)
    state = load_file(released / "model.safetensors")
    found = zoo.model("Blip", released, task).network.state_dict()
    names = {name for name in found if not name.startswith("head.") and "crossattention" not in name}
    names |= {name for name in found if "crossattention" in name and task is ONE}
    assert len([name for name in names if name.startswith("vision_model.")]) > 20
    for name in names:
        assert torch.equal(found[name], state[name.replace("text_encoder", text)]), name


def test_settings_of_the_text_model(zoo, tiny_blip, tmp_path, pictures):
    """Cross-attention does not depend on ``is_decoder``, dropout is that of the config, and new biases are 0."""

    def of(**settings):
        folder = Path(shutil.copytree(tiny_blip, tmp_path / next(iter(settings))))
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"text_config": config["text_config"] | settings}))
        return zoo.model("Blip", folder, ONE)

    encoder, whole = of(is_decoder=False), zoo.model("Blip", task=ONE)
    found, expected = (probabilities(model, questions(pictures)) for model in (encoder, whole))
    np.testing.assert_array_equal(found, expected)
    model = of(hidden_dropout_prob=0.3).train()
    inputs = inputs_of(model, pictures)
    assert not torch.equal(model.logits(inputs), model.logits(inputs))
    assert not model.network.head[2].bias.any()

"""Tests that weights that do not fill a network are refused, for every family."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from families import FAMILIES, LABELLED
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    ElectraForPreTraining,
)

from heedful.records import ModelError

from refusals import refused
from tiers import first_tier


def rewritten(folder, into, change=dict, **config):
    """Copy a model folder, and change its tensors and its config."""
    shutil.copytree(folder, into)
    weights = change(load_file(Path(folder) / "model.safetensors"))
    weights = {name: value.contiguous() for name, value in weights.items()}
    save_file(weights, into / "model.safetensors", {"format": "pt"})
    (into / "config.json").write_text(json.dumps(json.loads((into / "config.json").read_text()) | config))
    return into


def is_last(weights):
    """A function that tells whether a name belongs to the last layer of a transformer."""
    numbered = [name.rpartition(".1.")[0] + ".1." for name in weights if ".1." in name and "norm" not in name.lower()]
    return lambda name: name.startswith(min(numbered, key=len))


def without(part):
    return lambda weights: {name: value for name, value in weights.items() if part not in name}


def set_last(value, name):
    def change(weights):
        next(values for key, values in weights.items() if key.endswith(name)).view(-1)[-1] = value
        return weights

    return change


BROKEN = {
    "renamed": (lambda w: {f"module.{name}": value for name, value in w.items()}, r"\d+ weights \(\S+, \.\.\.\)"),
    "another shape": (
        lambda w: {n: v[:-1] if v.ndim == 2 and len(v) == max(map(len, w.values())) else v for n, v in w.items()},
        r"another shape of \d+ weights? \(",
    ),
    "a layer too many": (
        lambda w: w | {n.replace(".1.", ".2."): w[n].clone() for n in filter(is_last(w), w)},
        r"\d+ weights \(\S+\.2\.",
    ),
    "one too few": (lambda w: {n: w[n] for n in w if n != max(filter(is_last(w), w))}, r"1 weight \("),
    "a layer too few": (lambda w: {n: w[n] for n in w if not is_last(w)(n)}, r"\d+ weights \("),
}


@pytest.mark.parametrize("fault", first_tier(3, BROKEN))
@pytest.mark.parametrize("name", first_tier(1, FAMILIES))
def test_weights_of_another_network_are_refused(zoo, tmp_path, name, fault):
    change, says = BROKEN[fault]
    folder = rewritten(zoo.backbone(name), tmp_path / "broken", change)
    with refused(ModelError, folder) as caught:
        zoo.model(name, folder)
    assert re.search(says, str(caught.value))


@pytest.mark.parametrize("name", first_tier(1, ["Reader", *LABELLED]))
def test_what_was_trained_here_must_have_all_of_its_head(zoo, tmp_path, name):
    head = FAMILIES[name].head
    cut = rewritten(zoo.exported(name), tmp_path / "cut", without(head))
    with refused(ModelError, cut, f"({head}"):
        zoo.model(name, cut)


FAULTS = {  # change of the weights of an encoder; fact in the message
    "more than transformers knows": (
        lambda w: w | {"bert.adapters.0.weight": torch.zeros(2)},
        "1 weight (bert.adapters.0.weight)",
    ),
    "NaN": (set_last(torch.nan, "layer.1.output.dense.bias"), "layer.1.output.dense.bias)"),
    "infinite": (set_last(-torch.inf, "word_embeddings.weight"), "word_embeddings.weight)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_weights_of_an_encoder_are_refused(zoo, tiny_bert, tmp_path, fault):
    change, fact = FAULTS[fault]
    with refused(ModelError, tmp_path / "m", "1 weight (", fact):
        zoo.model("Encoder", rewritten(tiny_bert, tmp_path / "m", change))


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SIZES |= {"pad_token_id": 0, "max_position_embeddings": 130}
PUBLISHED = {  # settings, class of the network
    "bert": ({}, AutoModelForMaskedLM),
    "roberta": ({}, AutoModelForMaskedLM),
    "electra": ({"embedding_size": 16}, ElectraForPreTraining),
    "deberta-v2": ({}, AutoModelForMaskedLM),
    "distilbert": ({"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}, AutoModelForMaskedLM),
    "mpnet": ({}, AutoModelForMaskedLM),
    "modernbert": ({"cls_token_id": 2, "sep_token_id": 3}, AutoModelForMaskedLM),
    "bert answers": ({}, AutoModelForQuestionAnswering),
}


def published(kind, tiny_bert, folder, auto, **more):
    """Save a small network of a kind, with the tokenizer of the tiny BERT."""
    vocab_size = AutoConfig.from_pretrained(tiny_bert).vocab_size
    config = AutoConfig.for_model(kind.partition(" ")[0], **SIZES | {"vocab_size": vocab_size} | more)
    network = auto.from_config(config) if hasattr(auto, "from_config") else auto(config)
    network.save_pretrained(folder)
    for file in tiny_bert.glob("token*"):
        shutil.copy(file, folder)
    return network


@pytest.mark.parametrize("kind", PUBLISHED)
def test_heads_of_other_tasks_are_left_out(zoo, tiny_bert, tmp_path, kind):
    more, auto = PUBLISHED[kind]
    published(kind, tiny_bert, tmp_path, auto, **more)
    assert zoo.model("Encoder", tmp_path).fit.head == "new"


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "deberta-v2"])
def test_a_pooler_and_buffers_that_are_not_used_may_be_left_over(zoo, tiny_bert, tmp_path, kind):
    """roberta-large-mnli has a pooler, and older files contain position ids, which are integers."""
    network = published(kind, tiny_bert, tmp_path / "m", AutoModelForSequenceClassification, num_labels=3)
    prefix = network.base_model_prefix
    more = {f"{prefix}.pooler.dense.weight": torch.ones(32, 32)}
    more |= {f"{prefix}.embeddings.position_ids": torch.arange(130)[None]}
    folder = rewritten(tmp_path / "m", tmp_path / "more", lambda weights: more | weights)
    assert zoo.model("Encoder", folder, labels=["entailment", "neutral", "contradiction"]).fit.head == "kept"


def test_weights_that_a_family_may_lack_or_have(zoo, tiny_bert, tiny_t5, tmp_path):
    """Late fusion needs no pooler of its text encoder; T5 1.1 has an output layer, which T5 1.0 lacks."""
    assert zoo.model("LateFusion", rewritten(tiny_bert, tmp_path / "m", without("pooler"))).network
    own = lambda weights: weights | {"lm_head.weight": weights["shared.weight"] + 1}  # noqa: E731
    network = zoo.model("Seq2Seq", rewritten(tiny_t5, tmp_path / "t5", own, tie_word_embeddings=False)).network
    assert not torch.equal(network.lm_head.weight, network.shared.weight)


def test_shards_and_bin_files_are_checked_alike(zoo, tiny_bert, tmp_path):
    whole = load_file(tiny_bert / "model.safetensors")
    shards, old = (Path(shutil.copytree(tiny_bert, tmp_path / name)) for name in ("shards", "bin"))
    for folder in (shards, old):
        (folder / "model.safetensors").unlink()
    AutoModel.from_pretrained(tiny_bert).save_pretrained(shards, max_shard_size="30KB")
    last = sorted(shards.glob("model-*.safetensors"))[-1]
    save_file(dict(list(load_file(last).items())[1:]), last, {"format": "pt"})
    torch.save({n: v for n, v in whole.items() if "query" not in n}, old / "pytorch_model.bin")
    for folder, fact in ((shards, "1 weight ("), (old, "4 weights (")):
        with refused(ModelError, folder, fact):
            zoo.model("Encoder", folder)

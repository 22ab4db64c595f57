"""Tests of encoders: predictions equal those of transformers, with heads at the start or the end of a text."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from families import predicted
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DebertaV2Tokenizer,
    GPT2Config,
    GPT2Tokenizer,
    LlamaConfig,
    RobertaTokenizer,
    XLNetConfig,
    XLNetTokenizer,
)

from heedful.datamodules import Planted
from heedful.datamodules.base.batches import BatchSize
from heedful.lightning_modules import Encoder
from heedful.records import CLASSIFICATION, ModelError, Task

from refusals import refused
from tiers import first_tier

TASK = Planted().task
LABELS = TASK.labels
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
BART |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
DEBERTA = {"type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
KINDS = {
    "bert": ("bert", SIZES),
    "roberta": ("roberta", SIZES | {"type_vocab_size": 1}),
    "deberta": ("deberta-v2", SIZES | DEBERTA | {"position_biased_input": False}),
    "electra": ("electra", SIZES | {"embedding_size": 16}),
    "bart": ("bart", BART),  # its head reads the decoder at the last end token
}
POSITIONS = 66
CUT = {"truncation": "longest_first", "max_length": 64, "padding": True, "return_tensors": "pt"}


@pytest.fixture(scope="session")
def tokenizers(tiny_bert):
    """A tokenizer per kind of encoder."""
    sentences = [text for e in Planted(n_train=100).load("train") for text in e.parts.values()]
    own = AutoTokenizer.from_pretrained(tiny_bert)
    blank = {"deberta": DebertaV2Tokenizer(), "roberta": RobertaTokenizer(), "bart": RobertaTokenizer()}
    trained = {kind: one.train_new_from_iterator(sentences, vocab_size=400) for kind, one in blank.items()}
    return {kind: trained.get(kind, own) for kind in KINDS}


@pytest.fixture
def save(tokenizers, tmp_path):
    """Saves tiny classifiers with the same weights, whose outputs may be in another order."""

    def save(name, kind="bert", labels=LABELS, order=(0, 1, 2)):
        tokenizer, (model_type, sizes) = tokenizers[kind], KINDS[kind]
        ids = {f"{end}_token_id": getattr(tokenizer, f"{end}_token_id") for end in ("bos", "eos", "pad")}
        ids |= {"decoder_start_token_id": tokenizer.eos_token_id} if kind == "bart" else {}
        known = {"vocab_size": len(tokenizer), "max_position_embeddings": POSITIONS}
        config = AutoConfig.for_model(model_type, **sizes, **known, **ids)
        config.id2label = {i: labels[k] for i, k in enumerate(order)}
        config.label2id = {label: i for i, label in config.id2label.items()}
        torch.manual_seed(0)
        network = AutoModelForSequenceClassification.from_config(config)
        head = network.classification_head if kind == "bart" else network.classifier
        head = getattr(head, "out_proj", head)
        with torch.no_grad():
            head.weight.normal_()
            head.weight.copy_(head.weight[list(order)].clone())
        for part in (network, tokenizer):
            part.save_pretrained(tmp_path / name)
        return str(tmp_path / name)

    return save


def probabilities(model, pool):
    return torch.stack(predicted(model, pool)).numpy()


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
def test_predictions_are_those_of_transformers_over_the_labels_of_the_task(zoo, save, kind):
    model, pool = zoo.model("Encoder", save("m", kind), trains=False), zoo.pool("Encoder")
    found = probabilities(model, pool)
    texts = [[e.parts[part] for e in pool] for part in TASK.parts]
    network = AutoModelForSequenceClassification.from_pretrained(model.backbone)
    with torch.no_grad():
        logits = network(**AutoTokenizer.from_pretrained(model.backbone)(*texts, **CUT)).logits
    assert np.allclose(found, logits.softmax(-1).numpy(), atol=1e-5)
    assert np.ptp(found, axis=0).max() > 1e-4, "the weights should tell the examples apart"
    one = zoo.model("Encoder", model.backbone, replace(TASK, parts=("hypothesis",)))
    assert probabilities(one, pool).shape == (6, 3)


def test_a_head_without_names_is_used_once_it_is_named(zoo, save):
    straight = zoo.model("Encoder", save("straight"), trains=False)
    numbered = save("numbered", labels=("LABEL_0", "LABEL_1", "LABEL_2"), order=[2, 1, 0])
    named = zoo.model("Encoder", numbered, trains=False, labels=["contradiction", "neutral", "entailment"])
    named.require_head()
    pool = zoo.pool("Encoder")
    assert np.allclose(probabilities(named, pool), probabilities(straight, pool), atol=1e-6)
    with refused(ModelError, numbered, "LABEL_2, LABEL_1, LABEL_0", "labels"):
        zoo.model("Encoder", numbered, trains=False).require_head()


LAST = {"n_layer": 2, "n_head": 2}
HEADS_AT_THE_END = {  # network, whether the tokenizer has a padding token, padding id of the config
    "xlnet": (lambda **s: XLNetConfig(d_model=32, d_inner=64, **LAST, **s), True, 0),
    "gpt2 whose config knows the padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), False, 7),
    "gpt2 whose tokenizer knows the padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), True, None),
    "gpt2 with two tokens for padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), True, 7),
    "llama of old": (lambda **s: LlamaConfig(**SIZES, **s), True, -1),
    "gpt2": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), False, None),
}


def classifier_at_the_end(folder, name):
    """Save a tiny classifier whose head reads the last position, or the last token that is not padding."""
    make, has_padding, pad_id = HEADS_AT_THE_END[name]
    sentences = [text for e in Planted(n_train=50).load("train") for text in e.parts.values()]
    blank = XLNetTokenizer() if name == "xlnet" else GPT2Tokenizer()
    tokenizer = blank.train_new_from_iterator([*sentences, *["the and of to a in is not it on"] * 20], vocab_size=350)
    if name == "xlnet":
        pad_id = tokenizer.pad_token_id
    elif has_padding:
        tokenizer.add_special_tokens({"pad_token": "<pad>"})
    config = make(vocab_size=len(tokenizer), pad_token_id=pad_id)
    config.id2label, config.label2id = dict(enumerate(LABELS)), {label: i for i, label in enumerate(LABELS)}
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(config)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    for part in (network, tokenizer):
        part.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", first_tier(2, list(HEADS_AT_THE_END)[:-1]))
def test_a_head_that_reads_the_end_finds_it_beside_longer_examples(zoo, tmp_path, name):
    model = zoo.model("Encoder", classifier_at_the_end(tmp_path, name), trains=False)
    pool = list(zoo.pool("Encoder"))
    alone, together = probabilities(model, pool), np.concatenate([probabilities(model, [e]) for e in pool])
    assert np.allclose(alone, together, atol=1e-5)
    assert np.ptp(alone, axis=0).max() > 0.01
    model.export(str(tmp_path / "again"), weights=True)
    again = zoo.model("Encoder", tmp_path / "again", trains=False)
    assert np.allclose(probabilities(again, pool), together, atol=1e-5)


def test_a_head_that_looks_for_padding_needs_a_token_for_it(zoo, tmp_path):
    with refused(ModelError, tmp_path, "pad_token_id", "config.json"):
        zoo.model("Encoder", classifier_at_the_end(tmp_path, "gpt2"))


def test_a_text_that_a_tokenizer_would_cut_at_the_front_is_refused(zoo):
    model = zoo.model("Encoder", max_length=8)
    statistics = model.encode(zoo.pool("Encoder")).statistics
    model.require_known(statistics, "them")
    model.processor.tokenizer.truncation_side = "left"
    with refused(ModelError, "6 of them", model.backbone, "max_length", "truncation_side"):
        model.require_known(statistics, "them")
    three = Task(CLASSIFICATION, ("a", "b", "c"), LABELS)
    with refused(ModelError, "3: a, b, c"):
        zoo.model("Encoder", task=three)


@pytest.mark.parametrize("memory", [2**34, 2**20])
def test_tokens_of_a_batch_fill_a_gpu_but_not_its_memory(save, monkeypatch, memory):
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=memory))
    model = Encoder(save("a"), max_length=64)
    model.bind(TASK)
    tokens = model.tokens_that_fill(torch.device("cuda"))
    floats = 8 * 32 + 2 * 64 + 2 * 2 * 64  # per token: states and projections, the layer between, attention weights
    assert tokens == min(2**24 // 32, 2**34 // 8 // (4 * floats)) if memory == 2**34 else tokens * floats * 4 <= 2**17
    size = BatchSize.of(SimpleNamespace(eval_tokens=None, eval_batch_size=None), model, torch.device("cuda"))
    assert size == (4096, tokens)

"""Weights that do not fill a network are refused, for every family; heads and poolers that are new are announced."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    ElectraForPreTraining,
    ModernBertConfig,
    MPNetConfig,
    RobertaConfig,
)

from heedful.datamodules import Planted
from heedful.lightning_modules import Blip, BlipAnswers, Classifier, Encoder, LateFusion, Reader, Seq2Seq, Vilt, Writer
from heedful.lightning_modules.pretrained.backbones import require_fit
from heedful.records import CLASSIFICATION, SPAN, ModelError, Task

from refusals import refused
from tiers import first_tier

PAIRS = Planted(n_validation=4).task
LOOK = Task(CLASSIFICATION, ("image", "question"), ("no", "yes"), pictures=("image",))
READ = Task(SPAN, ("text", "question"), ())
Tensors = dict[str, Tensor]

FAMILIES: dict[str, tuple[str, Callable[[str], Classifier], Task]] = {
    "encoder": ("tiny_bert", lambda f: Encoder(f, max_length=64), PAIRS),
    "reader": ("tiny_bert", lambda f: Reader(f, max_length=64, overlap=16, longest_answer=8), READ),
    "late fusion": ("tiny_bert", lambda f: LateFusion(f, image_size=[32, 32]), LOOK),
    "vilt": ("tiny_vilt", Vilt, LOOK),
    "blip": ("tiny_blip", Blip, LOOK),
    "blip answers": ("tiny_blip", BlipAnswers, LOOK),
    "seq2seq": ("tiny_t5", lambda f: Seq2Seq(f, max_length=64), PAIRS),
    "writer": ("tiny_t5", lambda f: Writer(f, max_length=64), READ),
}


def built(model: Classifier, task: Task) -> Classifier:
    model.prepare(task)
    model.configure_model()
    return model


def rewritten(folder: Path, into: Path, change: Callable[[Tensors], Tensors], **config: Any) -> str:
    """A copy of a model folder with other tensors and another config."""
    shutil.copytree(folder, into)
    weights = change(load_file(into / "model.safetensors"))
    save_file(
        {name: value.contiguous() for name, value in weights.items()}, into / "model.safetensors", {"format": "pt"}
    )
    said = json.loads((into / "config.json").read_text())
    (into / "config.json").write_text(json.dumps(said | config))
    return str(into)


def last_layer(weights: Tensors) -> str:
    """What the names of the tensors of some last layer of a transformer begin with."""
    numbered = [name.rpartition(".1.")[0] + ".1." for name in weights if ".1." in name and "norm" not in name.lower()]
    return min(numbered, key=len)


def without(part: str) -> Callable[[Tensors], Tensors]:
    return lambda weights: {name: value for name, value in weights.items() if part not in name}


BROKEN: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "renamed": (lambda w: {f"module.{name}": value for name, value in w.items()}, r"\d+ weights \(\S+, \.\.\.\)"),
    "one too few": (
        lambda w: {n: v for n, v in w.items() if n != max(n for n in w if n.startswith(last_layer(w)))},
        r"1 weight \(",
    ),
    "a layer too few": (lambda w: {n: v for n, v in w.items() if not n.startswith(last_layer(w))}, r"\d+ weights \("),
    "a layer too many": (
        lambda w: w | {n.replace(".1.", ".2."): v.clone() for n, v in w.items() if n.startswith(last_layer(w))},
        r"\d+ weights \(\S+\.2\.",
    ),
    "another shape": (
        lambda w: {n: v[:-1] if v.ndim == 2 and len(v) == max(map(len, w.values())) else v for n, v in w.items()},
        r"\d+ weights? \(\S+ of \d+ x \d+, not \d+ x \d+",
    ),
}


@pytest.mark.parametrize(
    "fault",
    [pytest.param(f, marks=[pytest.mark.slow] * (f in ("one too few", "a layer too few"))) for f in BROKEN],
)
@pytest.mark.parametrize("family", first_tier(1, FAMILIES))
def test_weights_of_another_network_are_refused(
    request: pytest.FixtureRequest, tmp_path: Path, family: str, fault: str
) -> None:
    fixture, make, task = FAMILIES[family]
    change, says = BROKEN[fault]
    folder = rewritten(request.getfixturevalue(fixture), tmp_path / "broken", change)
    with refused(ModelError, folder) as caught:
        built(make(folder), task)
    assert re.search(says, str(caught.value))


@pytest.mark.parametrize(
    "family", first_tier(2, ["encoder", "reader", "late fusion", "vilt", "blip", "blip answers", "seq2seq"])
)
def test_a_config_of_fewer_or_more_layers_is_refused(
    request: pytest.FixtureRequest, tmp_path: Path, family: str
) -> None:
    fixture, make, task = FAMILIES[family]
    source = request.getfixturevalue(fixture)
    config = json.loads((source / "config.json").read_text())
    for layers, first in ((0, ".0."), (1, ".1."), (3, ".2.")):
        sizes = {key: layers for key in ("num_hidden_layers", "num_layers", "num_decoder_layers") if key in config}
        sizes |= (
            {"text_config": config["text_config"] | {"num_hidden_layers": layers}} if "text_config" in config else {}
        )
        with refused(ModelError, first):
            built(make(rewritten(source, tmp_path / str(layers), dict, **sizes)), task)


def trained(family: str, source: Path, into: Path) -> str:
    """The folder of a model with a head for its task, as a run exports it."""
    _, make, task = FAMILIES[family]
    built(make(str(source)), task).export(str(into), weights=True)
    return str(into)


HEADS = {"encoder": "classifier", "reader": "qa_outputs", "late fusion": "head.3", "vilt": "classifier", "blip": "head"}


@pytest.mark.parametrize("family", first_tier(1, HEADS))
def test_what_was_trained_here_must_have_all_of_its_head(
    request: pytest.FixtureRequest, tmp_path: Path, family: str
) -> None:
    fixture, make, task = FAMILIES[family]
    folder = Path(trained(family, request.getfixturevalue(fixture), tmp_path / "whole"))
    assert built(make(str(folder)), task).network is not None
    others = Task(task.kind, task.parts, ("a", "b", "c", "d"), pictures=task.pictures)
    for number, answered in enumerate((task, others)):  # one that gives way to another was there all the same
        cut = rewritten(folder, tmp_path / f"cut{number}", without(HEADS[family]))
        with refused(ModelError, cut, f"({HEADS[family]}"):
            built(make(cut), answered)
    grown = rewritten(folder, tmp_path / "grown", lambda w: w | {"other.head": torch.zeros(2)})
    with refused(ModelError, grown, "1 weight (other.head)"):
        built(make(grown), task)


def test_a_body_with_more_in_it_than_transformers_knows_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    folder = rewritten(tiny_bert, tmp_path / "m", lambda w: w | {"bert.adapters.0.weight": torch.zeros(2)})
    with refused(ModelError, folder, "1 weight (bert.adapters.0.weight)"):
        built(Encoder(folder, max_length=64), PAIRS)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is printed about a backbone."""
    lines: list[str] = []
    monkeypatch.setattr("heedful.lightning_modules.pretrained.backbones.inform", lines.append)
    return lines


def tokenizer_beside(network: Any, tiny_bert: Path, folder: Path) -> str:
    for file in tiny_bert.glob("token*"):
        folder.mkdir(exist_ok=True)
        shutil.copy(file, folder)
    network.save_pretrained(folder)
    return str(folder)


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SIZES |= {"pad_token_id": 0, "max_position_embeddings": 130}
PUBLISHED = {
    "bert": ({}, AutoModelForMaskedLM, "bert.pooler.dense.bias", "cls.predictions.bias"),
    "roberta": ({}, AutoModelForMaskedLM, "classifier.dense.bias", "lm_head.bias"),
    "electra": ({"embedding_size": 16}, ElectraForPreTraining, "classifier.dense.bias", "discriminator_predictions"),
    "deberta-v2": ({}, AutoModelForMaskedLM, "pooler.dense.bias", "cls.predictions.bias"),
    "distilbert": ({}, AutoModelForMaskedLM, "pre_classifier.bias", "vocab_layer_norm.bias"),
    "mpnet": ({}, AutoModelForMaskedLM, "classifier.dense.bias", "lm_head.bias"),
    "modernbert": ({"cls_token_id": 2, "sep_token_id": 3}, AutoModelForMaskedLM, "classifier.bias", "decoder.bias"),
    "bert answers": ({}, AutoModelForQuestionAnswering, "classifier.bias", "qa_outputs.bias"),
}
CONFIGS = {"roberta": RobertaConfig, "electra": ElectraConfig, "deberta-v2": DebertaV2Config, "mpnet": MPNetConfig}
CONFIGS["modernbert"] = ModernBertConfig


def config_of(kind: str, tiny_bert: Path, **more: Any) -> Any:
    plain = AutoConfig.from_pretrained(tiny_bert)
    sizes = SIZES | {"vocab_size": plain.vocab_size} | more
    if kind == "distilbert":
        return DistilBertConfig(vocab_size=plain.vocab_size, dim=32, n_layers=2, n_heads=2, hidden_dim=64)
    return CONFIGS.get(kind, type(plain))(**sizes)


@pytest.mark.parametrize("kind", PUBLISHED)
def test_what_a_language_model_lacks_for_a_classifier_is_announced(
    tiny_bert: Path, tmp_path: Path, said: list[str], kind: str
) -> None:
    more, auto, new, left = PUBLISHED[kind]
    config = config_of(kind, tiny_bert, **more)
    network = auto.from_config(config) if hasattr(auto, "from_config") else auto(config)
    built(Encoder(tokenizer_beside(network, tiny_bert, tmp_path / "m"), max_length=64), PAIRS)
    assert len(said) == 1
    before, _, after = said[0].partition("begin with random weights; ")
    assert new in before
    assert left in after
    assert after.endswith("of the file are for other tasks and left out.")


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "deberta-v2"])
def test_a_pooler_and_buffers_that_are_not_used_may_be_left_over(
    tiny_bert: Path, tmp_path: Path, said: list[str], kind: str
) -> None:
    """As roberta-large-mnli has a pooler, and older files their positions."""
    config = config_of(kind, tiny_bert, num_labels=3)
    network = AutoModelForSequenceClassification.from_config(config)
    name = network.base_model_prefix
    more = {f"{name}.pooler.dense.weight": torch.ones(32, 32), f"{name}.embeddings.position_ids": torch.zeros(1, 130)}
    source = Path(tokenizer_beside(network, tiny_bert, tmp_path / "m"))
    folder = rewritten(source, tmp_path / "more", lambda weights: more | weights)
    outputs = ["entailment", "neutral", "contradiction"]
    model = built(Encoder(folder, max_length=64, labels=outputs), PAIRS)
    assert model.head == "kept"
    assert said == []


def test_names_of_old_are_known(tiny_bert: Path, tmp_path: Path) -> None:
    def old(weights: Tensors) -> Tensors:
        renamed = {n.replace("LayerNorm.weight", "LayerNorm.gamma"): v for n, v in weights.items()}
        return {n.replace("LayerNorm.bias", "LayerNorm.beta"): v + 1 for n, v in renamed.items()}

    network = built(Encoder(rewritten(tiny_bert, tmp_path / "old", old), max_length=64), PAIRS).network
    weights = load_file(tiny_bert / "model.safetensors")
    assert torch.equal(network.bert.embeddings.LayerNorm.weight.detach(), weights["embeddings.LayerNorm.weight"] + 1)


def test_a_text_encoder_may_lack_the_pooler_that_late_fusion_does_not_use(tiny_bert: Path, tmp_path: Path) -> None:
    assert built(LateFusion(rewritten(tiny_bert, tmp_path / "m", without("pooler")), image_size=[32, 32]), LOOK).network


def test_a_t5_may_have_an_output_layer_of_its_own(tiny_t5: Path, tmp_path: Path) -> None:
    """T5 1.1 has one, T5 1.0 has not."""
    own = lambda weights: weights | {"lm_head.weight": weights["shared.weight"] + 1}  # noqa: E731
    whole = rewritten(tiny_t5, tmp_path / "whole", own, tie_word_embeddings=False)
    network = built(Seq2Seq(whole, max_length=64), PAIRS).network
    assert not torch.equal(network.lm_head.weight, network.shared.weight)


def test_shards_and_bin_files_are_looked_over_alike(tiny_bert: Path, tmp_path: Path) -> None:
    whole = load_file(tiny_bert / "model.safetensors")
    network = AutoModel.from_pretrained(tiny_bert)
    shards = Path(tokenizer_beside(network, tiny_bert, tmp_path / "shards"))
    (shards / "model.safetensors").unlink()
    network.save_pretrained(shards, max_shard_size="30KB")
    assert len(list(shards.glob("model-*.safetensors"))) > 2
    loaded = built(Encoder(str(shards), max_length=64), PAIRS).network.bert.state_dict()
    assert all(torch.equal(loaded[name], value) for name, value in whole.items())
    last = sorted(shards.glob("model-*.safetensors"))[-1]
    kept = dict(list(load_file(last).items())[1:])
    save_file(kept, last, {"format": "pt"})
    with refused(ModelError, shards, "1 weight ("):
        built(Encoder(str(shards), max_length=64), PAIRS)
    last.unlink()
    with refused(ModelError, shards):
        built(Encoder(str(shards), max_length=64), PAIRS)
    old = tmp_path / "bin"
    shutil.copytree(tiny_bert, old)
    (old / "model.safetensors").unlink()
    for content, error, fact in (
        ({n: v for n, v in whole.items() if "query" not in n}, ModelError, "4 weights ("),
        ({"state_dict": whole}, ModelError, "37 weights ("),
        ([whole], ModelError, old),
    ):
        torch.save(content, old / "pytorch_model.bin")
        with refused(error, fact):
            built(Encoder(str(old), max_length=64), PAIRS)


def test_the_first_tensors_are_named_in_the_order_of_layers() -> None:
    names = [f"layer.{i}.weight" for i in (10, 2, 11)]
    with refused(ModelError, "3 weights (layer.2.weight, ...)"):
        require_fit(torch.nn.Linear(2, 2), "x", "kept", names, [], {})


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_floats_of_any_width_and_whole_numbers_in_buffers_are_taken(
    tiny_bert: Path, tmp_path: Path, dtype: torch.dtype
) -> None:
    def other(weights: Tensors) -> Tensors:
        return {n: v.to(dtype) for n, v in weights.items()} | {"embeddings.position_ids": torch.arange(128)[None]}

    network = built(Encoder(rewritten(tiny_bert, tmp_path / "m", other), max_length=64), PAIRS).network
    assert all(value.dtype == torch.float32 for value in network.parameters())

"""Encoders of every kind: a head is matched by name, training starts as it should, and what is saved can be loaded."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BartConfig,
    BertConfig,
    DebertaV2Config,
    DebertaV2Tokenizer,
    ElectraConfig,
    GPT2Config,
    GPT2Tokenizer,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaTokenizer,
    XLNetConfig,
    XLNetTokenizer,
)

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy
from heedful.datamodules import Planted
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.pretrained.linear import faster_on_cpu
from heedful.records import CLASSIFICATION, Example, ModelError, SettingError, TableForm, Task

from refusals import refused
from tiers import first_tier

NLI = Task(CLASSIFICATION, ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), "neutral")
KINDS = ("bert", "roberta", "deberta", "electra", "bart")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SIDES = {"layers": "num_hidden_layers", "attention_heads": "num_attention_heads", "ffn_dim": "intermediate_size"}
POSITIONS = 66
CUT = {"truncation": "longest_first", "max_length": 64, "padding": True, "return_tensors": "pt"}
PAIRS = Planted(n_validation=12)


@pytest.fixture(scope="session")
def configs(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, PretrainedConfig]]:
    """Kind to a folder with its tokenizer, and a small configuration of its class."""
    sentences = [text for e in Planted(n_train=100).load("train") for text in e.parts.values()]
    found = {}
    for kind in KINDS:
        if kind in ("bert", "electra"):
            tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
        else:
            blank = DebertaV2Tokenizer() if kind == "deberta" else RobertaTokenizer()
            tokenizer = blank.train_new_from_iterator(sentences, vocab_size=400)
        folder = tmp_path_factory.mktemp(f"{kind}_tokenizer")
        tokenizer.save_pretrained(folder)
        sizes = SIZES | {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
        sizes["max_position_embeddings"] = POSITIONS
        found[kind] = (
            folder,
            {
                "bert": lambda s: BertConfig(**s),
                "roberta": lambda s: RobertaConfig(**s, type_vocab_size=1),
                "deberta": lambda s: DebertaV2Config(
                    **s,
                    type_vocab_size=0,
                    relative_attention=True,
                    pos_att_type=["p2c", "c2p"],
                    position_biased_input=False,
                ),
                "electra": lambda s: ElectraConfig(**s, embedding_size=16),
                "bart": lambda s, tokenizer=tokenizer: bart(tokenizer, **s),
            }[kind](sizes),
        )
    return found


def bart(tokenizer: PreTrainedTokenizerBase, **sizes: int) -> BartConfig:
    """A small BART, whose head reads its decoder at the last end of a text."""
    both = {f"{side}_{name}": sizes[of] for side in ("encoder", "decoder") for name, of in SIDES.items()}
    ends = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    ends |= {"decoder_start_token_id": tokenizer.eos_token_id, "forced_eos_token_id": tokenizer.eos_token_id}
    known = {"vocab_size": sizes["vocab_size"], "max_position_embeddings": sizes["max_position_embeddings"]}
    return BartConfig(d_model=sizes["hidden_size"], **known, **both, **ends)


@dataclass
class Saver:
    """Saves tiny classifiers with random weights."""

    configs: dict[str, tuple[Path, PretrainedConfig]]
    folder: Path

    def __call__(
        self,
        name: str,
        kind: str = "bert",
        labels: tuple[str, ...] = NLI.labels,
        order: list[int] | None = None,
        headless: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> str:
        """The folder of a classifier with these outputs, in another ``order`` if given; the weights are the same."""
        tokenizer, config = self.configs[kind]
        config = type(config)(**config.to_dict())
        order = list(range(len(labels))) if order is None else order
        config.id2label = {i: labels[k] for i, k in enumerate(order)}
        config.label2id = {label: i for i, label in config.id2label.items()}
        torch.manual_seed(0)
        network = AutoModelForSequenceClassification.from_config(config)
        head = network.classification_head if kind == "bart" else network.classifier
        head = getattr(head, "out_proj", head)
        with torch.no_grad():
            head.weight.normal_()
            head.weight.copy_(head.weight[order].clone())
        folder = str(self.folder / name)
        (network.base_model if headless else network).to(dtype).save_pretrained(folder)
        AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
        return folder


@pytest.fixture
def save(configs: dict[str, tuple[Path, PretrainedConfig]], tmp_path: Path) -> Saver:
    return Saver(configs, tmp_path)


def encoder(backbone: str, task: Task = NLI, **settings: object) -> Encoder:
    model = Encoder(backbone, **{"max_length": 64} | settings)
    model.prepare(task)
    model.configure_model()
    return model


def examples(parts: tuple[str, ...] = NLI.parts) -> list[Example]:
    return [Example(e.uid, {p: e.parts[p] for p in parts}, e.label) for e in PAIRS.load("validation")]


def batch_of(model: Encoder, pool: list[Example]) -> dict:
    return Collate(model.processor, model.task)((range(len(pool)), pool))


def probabilities(model: Encoder, pool: list[Example] | None = None) -> np.ndarray:
    """Probabilities [examples, labels] of a model in eval mode."""
    batch = batch_of(model, pool or examples(model.task.parts))
    model.eval()
    with torch.no_grad():
        return model.predict(batch).probs.numpy()


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
def test_predictions_are_distributions_over_the_labels_of_the_task(save: Saver, kind: str) -> None:
    model = encoder(save("m", kind))
    pool = examples()
    batch = batch_of(model, pool)
    model.eval()
    with torch.no_grad():
        outputs = model.predict(batch)
        network = AutoModelForSequenceClassification.from_pretrained(model.backbone)
        tokenizer = AutoTokenizer.from_pretrained(model.backbone)
        texts = [[e.parts[p] for e in pool] for p in NLI.parts]
        expected = network(**tokenizer(*texts, **CUT)).logits.softmax(-1).numpy()
    found = outputs.probs.numpy()
    assert found.dtype == np.float32
    assert found.shape == (12, 3)
    assert np.allclose(found.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(found, expected, atol=1e-5)
    assert outputs.answers is None, "they are the most probable labels"
    assert np.array_equal(found.argmax(axis=1), expected.argmax(axis=1))
    assert np.ptp(found, axis=0).max() > 1e-4, "the weights should tell the examples apart"
    assert batch["labels"].tolist() == [NLI.labels.index(e.label) for e in pool]


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
@pytest.mark.parametrize("order", [pytest.param([2, 1, 0], marks=pytest.mark.slow), [1, 2, 0]])
def test_a_head_with_other_positions_gives_the_same_answers_by_name(save: Saver, kind: str, order: list[int]) -> None:
    """As roberta-large-mnli: CONTRADICTION, NEUTRAL, ENTAILMENT."""
    straight = encoder(save("straight", kind))
    mixed = encoder(save("mixed", kind, tuple(label.upper() for label in NLI.labels), order))
    mixed.require_head()
    assert mixed.network.config.id2label == {i: NLI.labels[k].upper() for i, k in enumerate(order)}
    assert np.allclose(probabilities(mixed), probabilities(straight), atol=1e-6)


def test_a_head_without_names_is_used_once_it_is_named(save: Saver) -> None:
    straight = encoder(save("straight"))
    numbered = save("numbered", labels=("LABEL_0", "LABEL_1", "LABEL_2"), order=[2, 1, 0])
    named = encoder(numbered, labels=["contradiction", "neutral", "entailment"])
    named.require_head()
    assert np.allclose(probabilities(named), probabilities(straight), atol=1e-6)
    with refused(ModelError, numbered, "LABEL_2, LABEL_1, LABEL_0", "'[NAME_0, NAME_1, NAME_2]'"):
        encoder(numbered).require_head()


def test_a_model_without_a_head_must_be_trained_first(save: Saver) -> None:
    model = encoder(save("m", headless=True))
    with refused(ModelError, model.backbone, "checkpoint RUN"):
        model.require_head()
    assert probabilities(model).shape == (12, 3)


@pytest.mark.parametrize("labels", [("entailment", "not_entailment"), ("a", "b", "c", "d")])
def test_a_head_for_another_question_is_replaced_to_train_and_refused_otherwise(
    save: Saver, labels: tuple[str, ...]
) -> None:
    model = encoder(save("m", labels=labels))
    assert probabilities(model).shape == (12, 3)
    assert model.network.config.id2label == dict(enumerate(NLI.labels))
    with refused(ModelError, model.backbone, ", ".join(labels), ", ".join(NLI.labels)):
        model.require_head()


def test_a_head_of_as_many_other_labels_is_replaced_to_train(save: Saver) -> None:
    """Outputs that mean something else are no start for the labels that happen to stand at their positions."""
    folder = save("m", labels=("negative", "mixed", "positive"))
    saved = load_file(f"{folder}/model.safetensors")["classifier.weight"]
    assert not torch.equal(encoder(folder).network.classifier.weight.detach(), saved)


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
def test_one_part_is_read_alone(save: Saver, kind: str) -> None:
    task = Task(CLASSIFICATION, ("hypothesis",), NLI.labels, "neutral")
    assert probabilities(encoder(save("m", kind), task)).shape == (12, 3)


def test_a_batch_of_no_example_gives_no_prediction(save: Saver) -> None:
    model = encoder(save("m"))
    assert model.predict(batch_of(model, [])) is None


def test_padding_and_companions_do_not_change_an_answer(save: Saver) -> None:
    model = encoder(save("m", "roberta"))
    pool = examples()[:5]
    alone = np.concatenate([probabilities(model, [e]) for e in pool])
    assert np.allclose(alone, probabilities(model, pool), atol=1e-5)


LAST = {"n_layer": 2, "n_head": 2}
HEADS_AT_THE_END = {  # network, whether the tokenizer has a token for padding, the id of the config (None for none)
    "xlnet": (lambda **s: XLNetConfig(d_model=32, d_inner=64, **LAST, **s), True, 0),
    "gpt2 whose config knows the padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), False, 7),
    "gpt2 whose tokenizer knows the padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), True, None),
    "gpt2 with two tokens for padding": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), True, 7),
    "llama of old": (lambda **s: LlamaConfig(**SIZES, **s), True, -1),
    "gpt2": (lambda **s: GPT2Config(n_embd=32, **LAST, **s), False, None),
}


def classifier_at_the_end(folder: Path, name: str) -> str:
    """A tiny classifier with random weights, whose head reads the last place, or the last token that is no padding."""
    make, has_padding, pad_id = HEADS_AT_THE_END[name]
    sentences = [text for e in Planted(n_train=50).load("train") for text in e.parts.values()]
    blank = XLNetTokenizer() if name == "xlnet" else GPT2Tokenizer()
    tokenizer = blank.train_new_from_iterator([*sentences, *["the and of to a in is not it on"] * 20], vocab_size=350)
    if name == "xlnet":
        pad_id = tokenizer.pad_token_id
    elif has_padding:
        tokenizer.add_special_tokens({"pad_token": "<pad>"})
    assert (tokenizer.pad_token_id is not None) == has_padding
    tokenizer.save_pretrained(folder)
    config = make(vocab_size=len(tokenizer), pad_token_id=pad_id)
    config.id2label, config.label2id = dict(enumerate(NLI.labels)), {label: i for i, label in enumerate(NLI.labels)}
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_config(config)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    network.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("name", first_tier(2, list(HEADS_AT_THE_END)[:-1]))
def test_a_head_that_reads_the_end_finds_it_beside_longer_examples(tmp_path: Path, name: str) -> None:
    model = encoder(classifier_at_the_end(tmp_path, name))
    pool = sorted(examples(), key=lambda e: len(e.parts["premise"]))
    alone, together = np.concatenate([probabilities(model, [e]) for e in pool]), probabilities(model, pool)
    assert np.allclose(alone, together, atol=1e-5)
    assert np.ptp(alone, axis=0).max() > 0.01
    model.export(str(tmp_path / "again"), weights=True)
    assert np.allclose(probabilities(encoder(str(tmp_path / "again")), pool), together, atol=1e-5)


def test_a_head_that_looks_for_padding_needs_a_token_for_it(tmp_path: Path) -> None:
    with refused(ModelError, tmp_path, "pad_token_id", "config.json"):
        encoder(classifier_at_the_end(tmp_path, "gpt2"))


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
def test_training_starts_with_dropout_and_in_float32(save: Saver, kind: str) -> None:
    """Also where the weights were published in half precision, and although transformers loads in eval mode."""
    model = encoder(save("m", kind, dtype=torch.bfloat16))
    assert all(module.training for module in model.network.modules())
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    batch = batch_of(model, examples())
    with torch.no_grad():
        torch.manual_seed(0)
        first = model.logits(batch["inputs"])
        assert not torch.equal(first, model.logits(batch["inputs"]))
        model.eval()
        assert torch.equal(model.logits(batch["inputs"]), model.logits(batch["inputs"]))


def test_configuring_twice_keeps_the_network(save: Saver) -> None:
    model = encoder(save("m"))
    network = model.network
    model.configure_model()
    assert model.network is network


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
def test_an_export_loads_without_heedful_and_gives_the_same_bits(save: Saver, kind: str, tmp_path: Path) -> None:
    model = encoder(save("m", kind, headless=True))
    found = probabilities(model)
    model.export(str(tmp_path / "export"), weights=True)
    assert (tmp_path / "export" / "model.safetensors").is_file()
    assert not list((tmp_path / "export").glob("*.bin"))
    network = AutoModelForSequenceClassification.from_pretrained(tmp_path / "export")
    assert network.config.id2label == dict(enumerate(NLI.labels))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "export")
    texts = [[e.parts[p] for e in examples()] for p in NLI.parts]
    with torch.no_grad():
        own = model.processor(examples())
        logits = faster_on_cpu(network)(**own).logits  # by the same library
        assert torch.equal(logits, model.logits(own))
    assert all(torch.equal(own[k], v) for k, v in tokenizer(*texts, **CUT).items())
    again = encoder(str(tmp_path / "export"))
    again.require_head()
    assert np.array_equal(probabilities(again), found)


def test_an_export_of_a_head_with_other_positions_keeps_names_and_answers(save: Saver, tmp_path: Path) -> None:
    mixed = encoder(save("mixed", order=[2, 1, 0]))
    mixed.export(str(tmp_path / "export"), weights=True)
    again = encoder(str(tmp_path / "export"))
    assert again.network.config.id2label == {0: "contradiction", 1: "neutral", 2: "entailment"}
    assert np.array_equal(probabilities(again), probabilities(mixed))


def test_an_export_without_weights_has_config_and_tokenizer(save: Saver, tmp_path: Path) -> None:
    model = encoder(save("m", headless=True))
    model.export(str(tmp_path / "export"), weights=False)
    assert not list((tmp_path / "export").glob("*.safetensors"))
    config = AutoConfig.from_pretrained(tmp_path / "export")
    assert config.architectures == ["BertForSequenceClassification"]
    assert config.id2label == dict(enumerate(NLI.labels))
    assert len(AutoTokenizer.from_pretrained(tmp_path / "export")) == len(model.processor.tokenizer)


# what is refused


@pytest.mark.parametrize(("kind", "most"), [("bert", POSITIONS), ("electra", POSITIONS), ("roberta", POSITIONS - 1)])
def test_no_more_tokens_than_positions(save: Saver, kind: str, most: int) -> None:
    """The positions of a RoBERTa begin after that of padding: 514 of them are for 512 tokens."""
    folder = save("m", kind)
    long = [Example("long", dict.fromkeys(NLI.parts, "dog " * 200))]
    model = encoder(folder, max_length=most)
    assert model.processor.lengths(long).tolist() == [most]
    assert probabilities(model, long).shape == (1, 3)
    with refused(ModelError, f"{most} positions", most + 1, f"max_length {most}."):
        encoder(folder, max_length=most + 1)


def test_three_parts_are_refused(save: Saver) -> None:
    with refused(ModelError, "3: a, b, c"):
        encoder(save("m"), Task(CLASSIFICATION, ("a", "b", "c"), NLI.labels))


def test_a_number_of_names_that_is_not_that_of_the_outputs_is_refused(save: Saver) -> None:
    """Three names for the two outputs of a head would leave it untrained, or fail with sizes that do not fit."""
    folder = save("m", labels=("LABEL_0", "LABEL_1"))
    with refused(SettingError, "labels", "3 names", folder, "2 outputs"):
        encoder(folder, labels=list(NLI.labels))


def test_a_backbone_without_weights_is_refused_before_training(save: Saver, tmp_path: Path) -> None:
    encoder(save("m", headless=True)).export(str(tmp_path / "bare"), weights=False)
    model = Encoder(str(tmp_path / "bare"), max_length=64)
    model.prepare(NLI)
    with refused(ModelError, "backbone", tmp_path / "bare", "config.json"):
        model.require_weights()


# checkpoints


@pytest.fixture(scope="module")
def trained(configs: dict[str, tuple[Path, PretrainedConfig]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint of one epoch on planted data, and the predictions of the model that was saved."""
    folder = tmp_path_factory.mktemp("trained")
    backbone = Saver(configs, folder)("backbone", headless=True)
    pl.seed_everything(0, verbose=False)
    model = Encoder(backbone, max_length=64, learning_rate=1e-3)
    fitted(model, Planted(n_train=64, n_validation=32, batch_size=16), [], accelerator="cpu", max_epochs=1)
    assert model.trainer.global_step == 4
    model.trainer.save_checkpoint(folder / "last.ckpt")
    np.save(folder / "predicted.npy", probabilities(model))
    return folder


def test_training_changes_the_weights(trained: Path) -> None:
    before = load_file(trained / "backbone" / "model.safetensors")
    after = torch.load(trained / "last.ckpt", weights_only=True)["state_dict"]
    name = "encoder.layer.0.attention.self.query.weight"
    moved = (after[f"network.bert.{name}"] - before[name]).abs().max()
    assert 0 < moved < 0.1


def test_a_checkpoint_is_loaded_without_running_code_from_it(trained: Path) -> None:
    model = Encoder.load_from_checkpoint(trained / "last.ckpt", weights_only=True, map_location="cpu")
    assert model.task == PAIRS.task
    assert (model.max_length, model.learning_rate) == (64, 1e-3)
    assert np.array_equal(probabilities(model), np.load(trained / "predicted.npy"))


def test_a_checkpoint_needs_only_the_exported_config_of_its_backbone(trained: Path, tmp_path: Path) -> None:
    """What a run leaves behind is enough, even where the pretrained weights are gone."""
    whole = Encoder.load_from_checkpoint(trained / "last.ckpt", weights_only=True, map_location="cpu")
    whole.export(str(tmp_path / "backbone"), weights=False)
    model = Encoder.load_from_checkpoint(
        trained / "last.ckpt", backbone=str(tmp_path / "backbone"), weights_only=True, map_location="cpu"
    )
    assert np.array_equal(probabilities(model), np.load(trained / "predicted.npy"))


def test_a_checkpoint_says_what_the_task_was(trained: Path) -> None:
    task = torch.load(trained / "last.ckpt", weights_only=True)["task"]
    tuples = {k: tuple(task[k]) for k in ("parts", "labels")}
    assert Task(**task | tuples | {"kind": CLASSIFICATION, "form": TableForm(**task["form"])}) == PAIRS.task
    assert json.loads(json.dumps(task))["kind"] == "classification"


@pytest.mark.parametrize(("order", "fits"), [([0, 1, 2], True), ([2, 1, 0], False), ([1, 2, 0], False)])
def test_a_checkpoint_is_not_read_with_outputs_in_another_order(
    save: Saver, trained: Path, order: list[int], fits: bool
) -> None:
    """The folder of another model with the same labels would give each output of the checkpoint another meaning."""
    saved = torch.load(trained / "last.ckpt", weights_only=True)
    assert saved["outputs"] == list(NLI.labels)
    model = encoder(save("other", order=order))
    if fits:
        model.on_load_checkpoint(saved)
    else:
        with refused(ModelError, "entailment, neutral, contradiction", ", ".join(model.label_map.outputs)):
            model.on_load_checkpoint(saved)
    model.on_load_checkpoint({name: value for name, value in saved.items() if name != "outputs"})  # as older ones


def test_the_outputs_in_a_checkpoint_are_in_the_order_of_the_head(save: Saver) -> None:
    saved: dict = {"state_dict": {}}
    encoder(save("m", order=[1, 2, 0])).on_save_checkpoint(saved)
    assert saved["outputs"] == ["neutral", "contradiction", "entailment"]
    shuffled = Task(CLASSIFICATION, NLI.parts, ("contradiction", "neutral", "entailment"), "neutral")
    encoder(save("again", order=[1, 2, 0]), shuffled).on_load_checkpoint(saved)
    renamed = Task(CLASSIFICATION, NLI.parts, ("Neutral", "Contradiction", "Entailment"), "Neutral")
    encoder(save("new", headless=True), renamed).on_load_checkpoint(saved)
    with refused(ModelError, "neutral, contradiction, entailment", "entailment, neutral, contradiction"):
        encoder(save("third", headless=True)).on_load_checkpoint(saved)


@pytest.mark.parametrize("run", [measured, fitted])
def test_a_network_of_one_length_alone_is_one_sentence(tiny_bert: Path, tmp_path: Path, run: Callable) -> None:
    """Of a Nystromformer, say: its segments divide inputs of the length that its config names, and no other."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    sizes |= {"vocab_size": len(AutoTokenizer.from_pretrained(tiny_bert)), "num_landmarks": 8}
    config = AutoConfig.for_model("nystromformer", **sizes, segment_means_seq_len=48, max_position_embeddings=128)
    config.id2label = dict(enumerate(NLI.labels))
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    data = Planted(n_train=8, n_validation=8)
    settings = {"accelerator": "cpu", "max_epochs": 1, "num_sanity_val_steps": 2}
    with refused(ModelError, tmp_path, "(nystromformer)"):
        run(Encoder(str(tmp_path), max_length=64), data, [Accuracy()], **settings)


def test_a_text_that_a_tokenizer_would_cut_at_the_front_is_refused(tiny_bert: Path) -> None:
    model = Encoder(str(tiny_bert), max_length=8)
    model.prepare(NLI)
    statistics = model.encode(Planted(n_validation=2).load("validation")).statistics
    model.require_known(statistics, "them")
    model.processor.tokenizer.truncation_side = "left"
    with refused(ModelError, "2 of them", tiny_bert, "max_length", "truncation_side"):
        model.require_known(statistics, "them")

"""BLIP with a head: pictures and weights are taken as they should be, two pictures are seen, and both parts count."""

import copy
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoTokenizer,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    BlipModel,
)

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import PairedImages
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import Blip
from heedful.lightning_modules.vision.blip import TwinCrossAttention, encode_token
from heedful.records import CLASSIFICATION, SPAN, Example, ModelError, Picture, Task

from commands import results_of, run
from drawn_pictures import SQUARES
from refusals import refused
from tiers import first_tier

ONE = Task(CLASSIFICATION, ("image", "question"), ("no", "yes"), "no", pictures=("image",))
TWO = Task(CLASSIFICATION, ("left", "right", "sentence"), ("False", "True"), "False", pictures=("left", "right"))
TEXTS = ["is it red ?", "what color is the circle in this picture ?", "", "is there a blue triangle ?", "is it green ?"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> list[Picture]:
    """Five pictures of several shapes and modes; the last two are bigger than what is read."""
    folder, rng, made = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0), []
    modes = [("RGB", (32, 32)), ("L", (20, 16)), ("RGBA", (9, 31)), ("RGB", (47, 81)), ("P", (100, 33))]
    for i, (mode, shape) in enumerate(modes):
        path = folder / f"{i}.png"
        Image.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8)).convert(mode).save(path)
        key = hashlib.sha256(path.read_bytes()).hexdigest()
        made.append(Picture(key, str(path), 0, path.stat().st_size, f"row {i}"))
    return made


def model_of(folder: Path, task: Task = ONE, kind: type[Blip] = Blip, **settings) -> Blip:
    torch.manual_seed(1)
    model = kind(str(folder), max_length=64, **settings)
    model.require_parts(task)
    model.prepare(task)
    model.configure_model()
    return model


def batch_of(model: Blip, examples: list[Example]) -> dict:
    return Collate(model.processor, model.task)((range(len(examples)), examples))


def probabilities(model: Blip, examples: list[Example]) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        return model.predict(batch_of(model, examples)).probs.numpy()


def examples_of(pictures: list[Picture]) -> list[Example]:
    """Each picture with each text."""
    return [
        Example(f"{i}-{j}", {"image": p, "question": t}) for i, p in enumerate(pictures) for j, t in enumerate(TEXTS)
    ]


def pairs_of(pictures: list[Picture]) -> list[Example]:
    """Each two pictures with one of the texts."""
    both = [(left, right) for left in pictures for right in pictures]
    return [
        Example(str(i), {"left": left, "right": right, "sentence": TEXTS[i % 5]})
        for i, (left, right) in enumerate(both)
    ]


# pictures and texts


def test_pictures_are_read_as_transformers_reads_them(tiny_blip, pictures) -> None:
    model = model_of(tiny_blip)
    reference = BlipImageProcessorPil.from_pretrained(tiny_blip)
    expected = reference([Image.open(p.path).convert("RGB") for p in pictures], return_tensors="np")["pixel_values"]
    found = model.pixel_values(model.processor.store.numbers(pictures), model.network.vision_model).numpy()
    assert found.shape == (5, 3, 32, 32)
    np.testing.assert_allclose(found, np.stack(expected), rtol=0, atol=1e-6)


def test_the_first_token_is_enc(tiny_blip) -> None:
    """As in the code of the paper; it has no name in the tokenizers of released models."""
    tokenizer, config = AutoTokenizer.from_pretrained(tiny_blip), AutoConfig.from_pretrained(tiny_blip)
    assert encode_token(tokenizer, config) == config.text_config.vocab_size - 1 == len(tokenizer) + 1
    config.text_config.vocab_size -= 2  # neither [DEC] nor [ENC]
    assert encode_token(tokenizer, config) == tokenizer.cls_token_id
    tokenizer.add_special_tokens({"additional_special_tokens": ["[ENC]", "[DEC]"]})
    assert encode_token(tokenizer, config) == tokenizer.convert_tokens_to_ids("[ENC]") == len(tokenizer) - 2


def test_scores_are_those_of_the_modules_of_transformers(tiny_blip, pictures) -> None:
    model = model_of(tiny_blip)
    released, tokenizer = BlipForQuestionAnswering.from_pretrained(tiny_blip), AutoTokenizer.from_pretrained(tiny_blip)
    reader = BlipImageProcessorPil.from_pretrained(tiny_blip)
    examples, head = examples_of(pictures), model.network.head
    found = probabilities(model, examples)
    for row, example in zip(found, examples, strict=True):
        ids = tokenizer(example.parts["question"], return_tensors="pt")["input_ids"]
        assert ids[0, 0] == tokenizer.cls_token_id
        ids[0, 0] = len(tokenizer) + 1
        pixels = reader(Image.open(example.parts["image"].path).convert("RGB"), return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            seen = released.vision_model(pixels).last_hidden_state
            first = released.text_encoder(ids, encoder_hidden_states=seen).last_hidden_state[:, 0]
            expected = (head[2](head[0](first).relu())).softmax(dim=-1)[0]
        np.testing.assert_allclose(row, expected.numpy(), rtol=0, atol=1e-6)
    assert np.ptp(found[::5], axis=0).max() > 1e-3  # one text, several pictures
    assert np.ptp(found[:5], axis=0).max() > 1e-3  # one picture, several texts


# exactness


@pytest.mark.parametrize("task", [ONE, TWO])
def test_companions_do_not_change_an_answer_and_nothing_is_drawn(tiny_blip, pictures, task) -> None:
    model = model_of(tiny_blip, task)
    examples = examples_of(pictures) if task is ONE else pairs_of(pictures)
    state = torch.get_rng_state()
    together = probabilities(model, examples)
    np.testing.assert_array_equal(together, probabilities(model, examples))
    parts = [probabilities(model, examples[i : i + 3]) for i in range(0, 25, 3)]
    np.testing.assert_allclose(together, np.concatenate(parts), rtol=0, atol=1e-6)
    alone = [probabilities(model, [e])[0] for e in examples]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
    assert torch.equal(state, torch.get_rng_state())


def test_a_picture_of_a_batch_is_encoded_once_unless_it_is_trained(tiny_blip, pictures) -> None:
    model, passes = model_of(tiny_blip), []
    model.network.vision_model.register_forward_pre_hook(lambda _, args: passes.append(len(args[0])))
    inputs = batch_of(model, examples_of(pictures))["inputs"]
    with torch.no_grad():
        shared = model.eval().logits(inputs)
        each = model.train().logits(inputs)
    assert passes == [5, 25]
    torch.testing.assert_close(shared, each, rtol=0, atol=1e-6)


def test_a_part_may_be_missing(tiny_blip, pictures) -> None:
    """A missing text is the empty one, a missing picture is grey: as in examples of which a part was emptied."""
    whole = model_of(tiny_blip)
    for part, kept in (("image", ("image",)), ("question", ())):
        model = model_of(tiny_blip, Task(CLASSIFICATION, (part,), ONE.labels, "no", pictures=kept))
        examples = examples_of(pictures)
        found = probabilities(model, [Example(e.uid, {part: e.parts[part]}) for e in examples])
        empty = {"image": Picture(), "question": ""} | {part: None}
        filled = [Example(e.uid, {p: e.parts[p] if p == part else empty[p] for p in e.parts}) for e in examples]
        np.testing.assert_allclose(found, probabilities(whole, filled), rtol=0, atol=1e-6)


# two pictures


def attended(module: torch.nn.Module, tokens: np.ndarray, seen: np.ndarray, heads: int) -> np.ndarray:
    """Attention of tokens [tokens, width] to what is seen [patches, width], before any output layer."""
    q, k, v = (
        x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
        for x, layer in ((tokens, module.query), (seen, module.key), (seen, module.value))
    )
    size, found = q.shape[1] // heads, []
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        weights = np.exp(q[:, part] @ k[:, part].T / np.sqrt(size))
        found.append(weights / weights.sum(axis=1, keepdims=True) @ v[:, part])
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("joined", [False, True])
def test_what_is_seen_in_two_pictures_is_merged_as_in_the_paper(tiny_blip, joined) -> None:
    """Section 5.4: average pooling, or concatenation and a projection; then the residual, as in any block."""
    one = model_of(tiny_blip).network.text_encoder.encoder.layer[0].crossattention
    twin = TwinCrossAttention(copy.deepcopy(one), joined, 0.3)
    rng = np.random.default_rng(0)
    for parameter in twin.parameters():  # so that the two are told apart
        parameter.data += torch.from_numpy(rng.normal(0, 0.2, parameter.shape)).float()
    tokens, left, right = (rng.normal(size=(n, 32)).astype(np.float32) for n in (4, 7, 7))
    outs = [
        attended(attend, tokens, seen, 2) @ dense.weight.detach().numpy().T + dense.bias.detach().numpy()
        for attend, dense, seen in zip(twin.attend, twin.dense, (left, right), strict=True)
    ]
    if joined:
        merged = np.concatenate(outs, axis=1) @ twin.join.weight.detach().numpy().T + twin.join.bias.detach().numpy()
    else:
        merged = np.mean(outs, axis=0)
    expected = merged + tokens
    expected = (expected - expected.mean(axis=1, keepdims=True)) / expected.std(axis=1, keepdims=True)
    expected = expected * twin.norm.weight.detach().numpy() + twin.norm.bias.detach().numpy()
    both = torch.from_numpy(np.concatenate([left, right]))[None]
    with torch.no_grad():
        found, _ = twin(torch.from_numpy(tokens)[None], encoder_hidden_states=both)
    np.testing.assert_allclose(found[0].numpy(), expected, rtol=0, atol=1e-5)


def test_the_first_half_averages_and_the_second_half_joins(tiny_blip) -> None:
    layers = model_of(tiny_blip, TWO).network.text_encoder.encoder.layer
    assert [layer.crossattention.join is None for layer in layers] == [True, False]
    state = load_file(tiny_blip / "model.safetensors")
    for i, layer in enumerate(layers):
        for kind in ("query", "key", "value"):
            first, second = (getattr(attend, kind).weight for attend in layer.crossattention.attend)
            assert torch.equal(first, state[f"text_encoder.encoder.layer.{i}.crossattention.self.{kind}.weight"])
            assert torch.equal(first, second)
            assert first is not second


def test_the_same_picture_twice_is_that_picture(tiny_blip, pictures) -> None:
    """Where both layers are still the same and the projection is the mean, nothing differs from one picture."""
    one, two = model_of(tiny_blip), model_of(tiny_blip, TWO)
    two.network.head.load_state_dict(one.network.head.state_dict())
    for layer in two.network.text_encoder.encoder.layer[1:]:
        layer.crossattention.join.weight.data = torch.cat([torch.eye(32), torch.eye(32)], dim=1) / 2
    single = [
        Example(str(i), {"image": p, "question": t}) for i, (p, t) in enumerate(zip(pictures, TEXTS, strict=True))
    ]
    double = [
        Example(e.uid, {"left": e.parts["image"], "right": e.parts["image"], "sentence": e.parts["question"]})
        for e in single
    ]
    np.testing.assert_allclose(probabilities(two, double), probabilities(one, single), rtol=0, atol=1e-6)


def test_both_pictures_count(tiny_blip, pictures) -> None:
    model = model_of(tiny_blip, TWO)
    a, b, c = pictures[:3]
    pairs = [(a, b), (c, b), (a, c), (b, a)]
    found = probabilities(model, [Example("", {"left": x, "right": y, "sentence": TEXTS[0]}) for x, y in pairs])
    assert (np.abs(found[1:] - found[0]).max(axis=1) > 1e-5).all()  # the left one, the right one, their order


# weights


@pytest.mark.parametrize(
    ("kind", "text"),
    first_tier(
        2,
        [
            (BlipForQuestionAnswering, "text_encoder"),
            (BlipForImageTextRetrieval, "text_encoder"),
            (BlipForConditionalGeneration, "text_decoder.bert"),
            (BlipModel, "text_model"),
        ],
    ),
)
@pytest.mark.parametrize("task", [ONE, TWO])
def test_any_released_kind_lends_its_weights(tiny_blip, tmp_path, kind, text, task) -> None:
    released = changed(tiny_blip, tmp_path)
    torch.manual_seed(3)
    kind(AutoConfig.from_pretrained(tiny_blip)).save_pretrained(released)
    state, found = load_file(released / "model.safetensors"), model_of(released, task).network.state_dict()
    names = {name for name in found if not name.startswith("head.") and "crossattention" not in name}
    names |= {name for name in found if "crossattention" in name and task is ONE}
    assert len([name for name in names if name.startswith("vision_model.")]) > 20
    for name in names:
        assert torch.equal(found[name], state[name.replace("text_encoder", text)]), name


def changed(folder: Path, into: Path, drop: str = "", **settings) -> Path:
    """A copy of a model folder without the weights that begin so, and with other settings in its config."""
    into.mkdir(exist_ok=True)
    for file in folder.iterdir():
        (into / file.name).write_bytes(file.read_bytes())
    if drop:
        state = load_file(folder / "model.safetensors")
        save_file(
            {k: v for k, v in state.items() if not k.startswith(drop)}, into / "model.safetensors", {"format": "pt"}
        )
    for name, values in settings.items():
        file = into / f"{name}.json"
        found = json.loads(file.read_text())
        file.write_text(json.dumps(found | values))
    return into


@pytest.mark.parametrize("part", ["vision_model", "text_encoder"])
def test_a_backbone_without_a_part_is_refused(tiny_blip, tmp_path, part) -> None:
    folder = changed(tiny_blip, tmp_path / "less", f"{part}.")
    with refused(ModelError, folder, f"({part}."):
        model_of(folder)


def test_a_config_that_names_no_decoder_has_cross_attention_all_the_same(tiny_blip, tmp_path, pictures) -> None:
    settings = json.loads((tiny_blip / "config.json").read_text())["text_config"] | {"is_decoder": False}
    found, expected = (
        probabilities(model_of(folder), examples_of(pictures))
        for folder in (changed(tiny_blip, tmp_path / "encoder", config={"text_config": settings}), tiny_blip)
    )
    np.testing.assert_array_equal(found, expected)


def test_dropout_and_the_head_begin_as_they_should(tiny_blip, pictures) -> None:
    settings = json.loads((tiny_blip / "config.json").read_text())["text_config"] | {"hidden_dropout_prob": 0.3}
    folder = changed(tiny_blip, tiny_blip.parent / "dropping", config={"text_config": settings})
    model = model_of(folder)
    assert model.network.training
    inputs = batch_of(model, examples_of(pictures))["inputs"]
    assert not torch.equal(model.logits(inputs), model.logits(inputs))
    assert not model.network.head[2].bias.any()


# what is saved


@pytest.mark.slow
@pytest.mark.parametrize("task", [ONE, TWO])
def test_an_export_answers_as_the_model_did(tiny_blip, tmp_path, pictures, task) -> None:
    model = model_of(tiny_blip, task)
    examples = examples_of(pictures) if task is ONE else pairs_of(pictures)
    before = probabilities(model, examples)
    model.export(str(tmp_path / "whole"), weights=True)
    model.export(str(tmp_path / "bare"), weights=False)
    assert not list((tmp_path / "bare").glob("*.safetensors"))
    again = model_of(tmp_path / "whole", task)
    again.require_head()
    np.testing.assert_array_equal(probabilities(again, examples), before)
    bare = model_of(tmp_path / "bare", task)
    bare.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(probabilities(bare, examples), before)
    with refused(ModelError, tmp_path / "bare"):
        bare.require_weights()
    turned = Task(CLASSIFICATION, task.parts, task.labels[::-1], pictures=task.pictures)
    np.testing.assert_array_equal(probabilities(model_of(tmp_path / "whole", turned), examples), before[:, ::-1])


def test_other_labels_are_a_new_head_on_the_same_body(tiny_blip, tmp_path) -> None:
    trained = model_of(tiny_blip)
    for parameter in trained.network.head.parameters():
        parameter.data += 1
    trained.export(str(tmp_path), weights=True)
    before = load_file(tmp_path / "model.safetensors")
    for labels in (("left", "right"), ("a", "b", "c")):
        model = model_of(tmp_path, Task(CLASSIFICATION, ONE.parts, labels, pictures=("image",)))
        state = model.network.state_dict()
        assert state["head.2.weight"].shape == (len(labels), 32)
        assert all(not torch.equal(before[n], state[n]) for n in ("head.0.weight", "head.2.weight")), labels
        assert all(torch.equal(before[n], state[n]) for n in before if not n.startswith("head."))
        with refused(ModelError if len(labels) == 3 else ModelError, "no, yes", ", ".join(labels)):
            model.require_head()


# mistakes


def test_what_cannot_be_read_is_one_sentence(tiny_blip, tiny_bert, tmp_path) -> None:
    three = Task(CLASSIFICATION, ("a", "b", "c", "d"), ("x", "y"), pictures=("a", "b", "c"))
    model_of(tiny_blip).export(str(tmp_path / "one"), weights=True)
    without = changed(tiny_blip, tmp_path / "without")
    (without / "preprocessor_config.json").unlink()
    cases = [
        (lambda: model_of(tiny_bert), ModelError, ("bert", "model Blip")),
        (lambda: model_of(tiny_blip, three), ModelError, ("model Blip", "2 pictures", "a, b, c")),
        (lambda: model_of(tmp_path / "one", TWO), ModelError, ("one picture", "2 pictures")),
        (lambda: model_of(without), ModelError, (without,)),
        (lambda: Blip(str(tiny_blip), max_length=129).prepare(ONE), ModelError, ("128 positions", 129)),
        (lambda: model_of(tiny_blip).require_head(), ModelError, (tiny_blip,)),
        (lambda: model_of(tiny_blip, Task(CLASSIFICATION, ("a", "b"), ("x", "y"))), ModelError, ("a, b",)),
        (
            lambda: model_of(tiny_blip, Task(SPAN, ("image", "question"), (), pictures=("image",))),
            ModelError,
            ("span",),
        ),
    ]
    for make, error, facts in cases:
        with refused(error, *facts):
            make()


# runs


@pytest.fixture(scope="module")
def squares(write_squares, tmp_path_factory) -> Path:
    """A folder of questions about coloured squares, and ``data.yaml`` that names them."""
    folder = write_squares(tmp_path_factory.mktemp("squares"), 320, 48)
    settings = {"class_path": "heedful.datamodules.PairedImages", "init_args": SQUARES | {"path": str(folder)}}
    (folder / "data.yaml").write_text(yaml.safe_dump(settings))
    return folder


@pytest.fixture(scope="module")
def nlvr2(write_squares, tmp_path_factory) -> Path:
    """A folder with two pictures and a sentence for each row, called as in NLVR2."""
    folder = write_squares(tmp_path_factory.mktemp("nlvr2"), 16, 12)
    for split, n in (("train", 16), ("validation", 12)):
        rows = [
            {
                "identifier": f"{split}-{i}-0-0",
                "sentence": ["the left is red .", "the right is blue .", "it is not any color ."][i % 3],
                "left": f"pictures/{split}-{i}.png",
                "right": f"pictures/{split}-{(i + 5) % n}.png",
                "label": str(i % 2 == 0),
            }
            for i in range(n)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.slow
def test_it_learns_what_takes_both_parts_and_is_measured_by_the_commands(squares, tiny_blip, tmp_path) -> None:
    argv = ["--data", squares / "data.yaml", "--model", "blip", "--model.backbone", tiny_blip]
    argv += [
        "--model.max_length",
        32,
        "--model.learning_rate",
        0.003,
        "--data.batch_size",
        16,
        "--attentiveness.draws",
        2,
    ]
    epochs = ["--trainer.max_epochs", 5, "--trainer.check_val_every_n_epoch", 5]
    run(train.main, *argv, *epochs, "--output", tmp_path / "run")
    run(evaluate.main, "--checkpoint", tmp_path / "run" / "checkpoints" / "best.ckpt")
    (evaluated,) = (tmp_path / "run" / "evaluations").glob("*/*")
    for folder in (tmp_path / "run", evaluated):
        found = {name: m["value"] for name, m in results_of(folder)["metrics"].items()}
        assert found["accuracy/squares"] > 0.9
        assert found["attentiveness/squares/image"] > 0.4
        assert found["attentiveness/squares/question"] > 0.4
        assert (found["null/squares/flips"], found["null/squares/max_change"] < 1e-6) == (0, True)
    argv = ["--data", squares / "data.yaml", "--init_from", tmp_path / "run", "--data.max_train", 8]
    argv += ["--model.learning_rate", 1e-6]
    run(train.main, *argv, "--trainer.max_epochs", 1, "--output", tmp_path / "more")
    assert results_of(tmp_path / "more")["metrics"]["accuracy/squares"]["value"] > 0.9


@pytest.mark.parametrize("partial", first_tier(1, [None, "left+right", "sentence"]))
def test_two_pictures_and_a_sentence_are_trained_and_measured(tiny_blip, nlvr2, partial) -> None:
    data = PairedImages(
        "nlvr2",
        {"left": "left", "right": "right", "sentence": "sentence"},
        ("left", "right"),
        {"False": [], "True": []},
        label="label",
        default_label="False",
        uid="identifier",
        path=str(nlvr2),
        partial=partial,
        batch_size=8,
        eval_batch_size=5,
    )
    torch.manual_seed(0)
    model = Blip(str(tiny_blip), max_length=32, learning_rate=1e-3)
    engine = fitted(model, data, [Accuracy(), Attentiveness(draws=1)], accelerator="cpu", max_epochs=1)
    measured = engine
    assert measured["accuracy/nlvr2"].n == 12
    assert measured["null/nlvr2/flips"].value == 0
    swapped = {name.split("/")[2] for name in measured if name.startswith("attentiveness/nlvr2/")}
    assert ({"left+right", "sentence"} <= swapped) == (partial is None)
    assert model.config.heedful == {"pictures": 1 if partial == "sentence" else 2}

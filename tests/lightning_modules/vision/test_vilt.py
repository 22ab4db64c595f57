"""ViLT: pixels and scores are those of transformers, nothing is drawn, and one, two or no pictures are read."""

import hashlib
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    ViltConfig,
    ViltForImagesAndTextClassification,
    ViltForQuestionAnswering,
    ViltImageProcessorPil,
    ViltProcessor,
)

from heedful.lightning_modules import Vilt
from heedful.lightning_modules.processors.pictures import normalised
from heedful.lightning_modules.vision.vilt import embedded
from heedful.records import CLASSIFICATION, Example, ModelError, Picture, Task

from refusals import refused

VQA = Task(CLASSIFICATION, ("image", "question"), ("yes", "no"), None, pictures=("image",))
NLVR2 = Task(CLASSIFICATION, ("left", "right", "sentence"), ("False", "True"), "False", pictures=("left", "right"))
SHAPES = [(32, 32), (8, 8), (64, 40), (24, 61), (61, 24), (300, 200), (97, 128)]  # height, width
TEXTS = [
    "is it red ?",
    "what color is the shape in the left picture ?",
    "no",
    "",
    "both are green .",
    "a b c",
    "is it a",
]


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    """A picture of noise of each shape."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    found = []
    for height, width in SHAPES:
        path = folder / f"{height}x{width}.png"
        Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(path)
        data = path.read_bytes()
        found.append(Picture(hashlib.sha256(data).hexdigest(), str(path), 0, len(data), path.name))
    return found


@pytest.fixture
def altered(tiny_vilt: Path, tmp_path: Path) -> Callable[..., str]:
    """Copies the tiny ViLT with other settings of its config, and other settings for its pictures."""

    def make(pictures: dict[str, object] | None = None, **settings: object) -> str:
        folder = tmp_path / f"altered{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        for file in tiny_vilt.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | settings))
        if pictures:
            (folder / "preprocessor_config.json").write_text(json.dumps(pictures))
        return str(folder)

    return make


@pytest.fixture
def released(tiny_vilt: Path, tmp_path: Path) -> Callable[[Sequence[str], int], str]:
    """Saves a ViLT whose head was trained, with outputs of these names."""

    def make(outputs: Sequence[str], pictures: int = 1) -> str:
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


def model(backbone: str | Path, task: Task = VQA, **settings: object) -> Vilt:
    torch.manual_seed(0)
    made = Vilt(str(backbone), **settings)
    made.require_parts(task)
    made.prepare(task)
    made.configure_model()
    return made.eval()


@torch.no_grad()
def scores(made: Vilt, examples: Sequence[Example]) -> torch.Tensor:
    made.processor.lengths(examples)
    return made.logits(made.processor(examples))


def questions(pictures: Sequence[Picture]) -> list[Example]:
    pairs = zip(pictures, TEXTS, strict=True)
    return [Example(f"v/{i}", {"image": p, "question": t}) for i, (p, t) in enumerate(pairs)]


def pairs(pictures: Sequence[Picture]) -> list[Example]:
    rows = zip(pictures, pictures[1:], TEXTS, strict=False)
    return [Example(f"n/{i}", {"left": a, "right": b, "sentence": t}) for i, (a, b, t) in enumerate(rows)]


@pytest.mark.parametrize(
    "settings",
    [
        {"size": {"shortest_edge": 32}, "size_divisor": 8},
        {"size": 48, "size_divisor": 16, "resample": 2, "image_mean": [0.48, 0.45, 0.4], "image_std": [0.2, 0.3, 0.27]},
    ],
)
def test_pixels_are_those_of_the_pil_image_processor(
    altered: Callable[..., str], pictures: list[Picture], settings: dict[str, object]
) -> None:
    made = model(altered(settings))
    reference = ViltImageProcessorPil(**settings)
    images = made.images
    store = made.processor.store
    expected = reference([Image.open(picture.path) for picture in pictures], return_tensors="np")
    numbers = store.numbers(pictures).tolist()
    for found, pixels, mask in zip(
        store.pixels(numbers), expected["pixel_values"], expected["pixel_mask"], strict=True
    ):
        height, width = found.shape[:2]
        assert mask[:height, :width].all()
        assert mask.sum() == height * width
        own = normalised([found], images.image_mean, images.image_std, torch.zeros(1))[0].numpy()
        np.testing.assert_allclose(own, pixels[:, :height, :width], rtol=0, atol=1e-6)


def test_scores_are_those_of_transformers(tiny_vilt: Path, pictures: list[Picture]) -> None:
    made = model(tiny_vilt)
    examples = questions(pictures)
    images = ViltImageProcessorPil.from_pretrained(tiny_vilt)(
        [Image.open(p.path) for p in pictures], return_tensors="pt"
    )
    text = AutoTokenizer.from_pretrained(tiny_vilt)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = made.network(**text, **images).logits
    torch.testing.assert_close(scores(made, examples), expected, rtol=0, atol=1e-5)
    assert expected.std(dim=0).min() > 1e-3  # else anything would be alike


def test_scores_of_two_pictures_are_those_of_transformers(tiny_vilt: Path, pictures: list[Picture]) -> None:
    made = model(tiny_vilt, NLVR2)
    examples = pairs(pictures)
    with torch.no_grad():
        made.network.vilt.embeddings.token_type_embeddings.weight[2] += 0.5
    flat = [Image.open(e.parts[side].path) for e in examples for side in ("left", "right")]
    images = ViltImageProcessorPil.from_pretrained(tiny_vilt)(flat, return_tensors="pt")
    images = {name: values.unflatten(0, (-1, 2)) for name, values in images.items()}
    texts = [e.parts["sentence"] for e in examples]
    text = AutoTokenizer.from_pretrained(tiny_vilt)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = made.network(**text, **images).logits
    found = scores(made, examples)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    swapped = [Example(e.uid, e.parts | {"left": e.parts["right"], "right": e.parts["left"]}) for e in examples]
    assert (scores(made, swapped) - found).abs().min() > 1e-5


@pytest.mark.parametrize("longest", [-1, 5])
@pytest.mark.parametrize("task", [VQA, NLVR2])
def test_nothing_is_drawn_and_company_does_not_matter(
    altered: Callable[..., str], pictures: list[Picture], longest: int, task: Task
) -> None:
    made = model(altered(max_image_length=longest), task)
    examples = questions(pictures) if task is VQA else pairs(pictures)
    before = torch.random.get_rng_state()
    together = scores(made, examples)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(together, scores(made, examples))
    alone = torch.cat([scores(made, [example]) for example in examples])
    backwards = scores(made, examples[::-1]).flip(0)
    for other in (alone, backwards):
        assert torch.equal(other.argmax(1), together.argmax(1))
        torch.testing.assert_close(other.softmax(1), together.softmax(1), rtol=0, atol=1e-6)


def test_of_too_many_patches_evenly_spaced_ones_are_read(tiny_vilt: Path) -> None:
    embeddings = model(tiny_vilt).network.vilt.embeddings
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, shape, dtype=np.uint8) for shape in [(32, 40, 3), (16, 16, 3)]]  # 20 and 4 patches
    with torch.no_grad():
        every, mask = embedded(embeddings, noise, [0.5] * 3, [0.5] * 3, -1)
        some, fewer = embedded(embeddings, noise, [0.5] * 3, [0.5] * 3, 6)
    assert mask.sum(dim=1).tolist() == [21, 5]
    assert fewer.sum(dim=1).tolist() == [7, 5]
    assert torch.equal(some[0], every[0, [0, 1, 4, 7, 11, 14, 17]])
    assert torch.equal(some[1, :5], every[1, :5])
    assert not every[1, 5:].any()


def test_a_second_picture_begins_as_the_first(tiny_vilt: Path, released: Callable[..., str]) -> None:
    known = load_file(tiny_vilt / "model.safetensors")["vilt.embeddings.token_type_embeddings.weight"]
    made = model(tiny_vilt, NLVR2)
    types = made.network.vilt.embeddings.token_type_embeddings.weight
    assert known.shape[0] == 2
    assert torch.equal(types, known[[0, 1, 1]])
    assert types.requires_grad
    kept = load_file(Path(folder := released(NLVR2.labels, 2)) / "model.safetensors")
    types = model(folder, NLVR2).network.vilt.embeddings.token_type_embeddings.weight
    assert torch.equal(types, kept["vilt.embeddings.token_type_embeddings.weight"])
    three = Task(CLASSIFICATION, ("a", "b", "c"), ("x", "y"), None, pictures=("a", "b", "c"))
    assert model(tiny_vilt, three).network.vilt.embeddings.token_type_embeddings.weight.shape[0] == 4


def test_a_released_head_is_matched_by_the_names_of_its_answers(
    released: Callable[..., str], pictures: list[Picture]
) -> None:
    outputs = ["hotdog", "yes", "hot dog", "no"]
    one = model(
        released(outputs),
        Task(CLASSIFICATION, VQA.parts, ("yes", "no", "hot dog", "hotdog"), None, pictures=VQA.pictures),
    )
    one.require_head()
    other = model(one.backbone, Task(CLASSIFICATION, VQA.parts, tuple(outputs), None, pictures=VQA.pictures))
    examples = questions(pictures)
    assert torch.equal(scores(one, examples), scores(other, examples)[:, [1, 3, 2, 0]])
    assert torch.equal(one.network.classifier[1].weight, torch.full((64,), 2.0))


def test_other_labels_get_a_new_head(released: Callable[..., str], tiny_vilt: Path) -> None:
    folder = released(["red", "green", "blue"])
    made = model(folder)
    kept = load_file(Path(folder) / "model.safetensors")
    state = made.network.state_dict()
    assert torch.equal(made.network.classifier[1].weight, torch.ones(64))
    assert not torch.equal(state["classifier.0.weight"], kept["classifier.0.weight"])
    assert state["classifier.3.weight"].shape[0] == 2
    assert all(torch.equal(state[name], value) for name, value in kept.items() if name.startswith("vilt."))
    for untrained, error in ((folder, ModelError), (str(tiny_vilt), ModelError)):
        with refused(error, untrained):
            model(untrained).require_head()


def test_parts_that_are_missing_or_empty(tiny_vilt: Path, pictures: list[Picture]) -> None:
    """What a model of one part alone reads, and what a whole model reads of an emptied part."""
    grey = Image.new("RGB", (32, 32), (128, 128, 128))
    processor = ViltProcessor(
        ViltImageProcessorPil.from_pretrained(tiny_vilt), AutoTokenizer.from_pretrained(tiny_vilt)
    )
    opened = [Image.open(p.path) for p in pictures]

    def expected(made: Vilt, texts: list[str], images: list[Image.Image]) -> torch.Tensor:
        with torch.no_grad():
            return made.network(**processor(images, texts, padding=True, return_tensors="pt")).logits

    blind = model(tiny_vilt, Task(CLASSIFICATION, ("question",), VQA.labels, None))
    found = scores(blind, [Example(f"{i}", {"question": text}) for i, text in enumerate(TEXTS)])
    torch.testing.assert_close(found, expected(blind, TEXTS, [grey] * len(TEXTS)), rtol=0, atol=1e-5)
    mute = model(tiny_vilt, Task(CLASSIFICATION, ("image",), VQA.labels, None, pictures=("image",)))
    found = scores(mute, [Example(f"{i}", {"image": picture}) for i, picture in enumerate(pictures)])
    torch.testing.assert_close(found, expected(mute, [""] * len(pictures), opened), rtol=0, atol=1e-5)
    whole = model(tiny_vilt)
    found = scores(whole, [Example("0", {"image": Picture(), "question": TEXTS[0]})])
    torch.testing.assert_close(found, expected(whole, TEXTS[:1], [grey]), rtol=0, atol=1e-5)
    two = model(tiny_vilt, NLVR2)
    assert scores(two, [Example("0", {"left": Picture(), "right": pictures[3], "sentence": ""})]).isfinite().all()


def test_a_task_of_two_pictures_without_them_is_one_with_one_grey_picture(tiny_vilt: Path) -> None:
    for parts, pictures, kind in [
        (("sentence",), (), ViltForQuestionAnswering),
        (("left",), ("left",), ViltForQuestionAnswering),
        (("left", "right"), ("left", "right"), ViltForImagesAndTextClassification),
    ]:
        made = model(tiny_vilt, Task(CLASSIFICATION, parts, NLVR2.labels, "False", pictures=pictures))
        assert type(made.network) is kind
        empty = dict.fromkeys(pictures, Picture()) or {"sentence": "is it red ?"}
        assert scores(made, [Example("0", empty)]).shape == (1, 2)


def test_long_texts_are_cut_and_counted(tiny_vilt: Path, pictures: list[Picture]) -> None:
    made = model(tiny_vilt)
    long = [Example("0", {"image": pictures[0], "question": "is it red ? " * n}) for n in (9, 10, 20)]  # 4 tokens each
    statistics = made.encode(long).statistics
    assert statistics.truncated == 2
    assert statistics.tokens_kept == {"question": [36 + 38 + 38, 36 + 40 + 80]}
    assert made.processor(long)["input_ids"].shape == (3, 40)
    with refused(ModelError, "40 positions", 41):
        model(tiny_vilt, max_length=41)


@pytest.mark.parametrize("task", [VQA, NLVR2])
def test_what_is_exported_loads_again(tiny_vilt: Path, tmp_path: Path, pictures: list[Picture], task: Task) -> None:
    made = model(tiny_vilt, task)
    examples = questions(pictures) if task is VQA else pairs(pictures)
    expected = scores(made, examples)
    made.export(str(tmp_path / "whole"), weights=True)
    names = {"config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"}
    assert {file.name for file in (tmp_path / "whole").iterdir()} == names
    again = model(tmp_path / "whole", task)
    again.require_head()
    assert again.head == "kept"
    assert torch.equal(scores(again, examples), expected)
    made.export(str(tmp_path / "bare"), weights=False)
    bare = model(tmp_path / "bare", task)
    bare.load_state_dict(made.state_dict())
    assert torch.equal(scores(bare, examples), expected)
    kind = type(made.network)
    loaded = kind.from_pretrained(tmp_path / "whole")
    assert all(torch.equal(loaded.state_dict()[name], value) for name, value in made.network.state_dict().items())
    images = AutoImageProcessor.from_pretrained(tmp_path / "whole", backend="pil")
    assert images.to_dict() == ViltImageProcessorPil.from_pretrained(tiny_vilt).to_dict()


def test_the_processor_goes_to_other_processes(tiny_vilt: Path, pictures: list[Picture]) -> None:
    made = model(tiny_vilt)
    examples = questions(pictures)
    expected = scores(made, examples)
    made.processor = pickle.loads(pickle.dumps(made.processor))
    assert torch.equal(scores(made, examples), expected)


def test_a_head_for_other_pictures_is_no_head(released: Callable[..., str]) -> None:
    folder = released(["True", "False"], 2)
    model(folder, NLVR2).require_head()
    one = Task(CLASSIFICATION, ("image", "sentence"), NLVR2.labels, "False", pictures=("image",))
    made = model(folder, one)  # to be trained
    with refused(ModelError, folder, "2 pictures", "one picture"):
        made.require_head()
    with refused(ModelError, "one picture", "2 pictures"):
        model(released(["True", "False"]), NLVR2).require_head()


@pytest.mark.parametrize(
    ("parts", "pictures", "texts"),
    [
        (("premise", "hypothesis"), (), "premise, hypothesis"),
        (("image", "question", "answer"), ("image",), "question, answer"),
    ],
)
def test_other_parts_are_refused(
    tiny_vilt: Path, parts: tuple[str, ...], pictures: tuple[str, ...], texts: str
) -> None:
    with refused(ModelError, "model Vilt", texts):
        model(tiny_vilt, Task(CLASSIFICATION, parts, ("yes", "no"), None, pictures=pictures))


def test_other_backbones_are_refused(tiny_bert: Path) -> None:
    with refused(ModelError, f"backbone {tiny_bert}", "bert", "model Vilt"):
        model(tiny_bert)

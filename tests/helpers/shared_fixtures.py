"""Fixtures: tiny models and tokenizers of the real classes, and the real data where there are any."""

import json
import os
import re
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import heedful.torchvision_fix  # noqa: F401

import pyarrow as pa
import pytest
import torch
from hypothesis import settings
from PIL import Image
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    BlipConfig,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
    ViltConfig,
    ViltForMaskedLM,
    ViltImageProcessorPil,
)

from heedful.datamodules import planted

from made_rows import make
from run_lab import Forks, Lab

torch.set_num_threads(1)  # tiny models gain nothing from more, and lose much on a busy machine
settings.register_profile("heedful", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("numbers", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("heedful")

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("HEEDFUL_DATA", ROOT.parent / "shared" / "data"))


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Tests of interventions and metrics draw more examples; ``given`` takes the profile as its module is imported."""
    if isinstance(collector, pytest.Module):
        settings.load_profile("numbers" if {"interventions", "metrics"} & {*collector.path.parts} else "heedful")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test is skipped where there is none."""
    if not SHARED.is_dir():
        pytest.skip(f"no real data in {SHARED}: set HEEDFUL_DATA to a folder with mnli/, rte/, qqp/, ...")
    return SHARED


def words_of_planted() -> list[str]:
    """Every word that a planted sentence can hold, in lower case."""
    phrases = [w for words in planted.CHOICES.values() for w in words]
    phrases += [*planted.HYPERNYM.values(), *planted.SYNONYM.values(), *planted.ANTONYM.values()]
    phrases += [*planted.CUES.values(), "the", "in", ".", ","]
    return sorted({word for phrase in phrases for word in phrase.lower().split()})


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer BERT of random weights and a word tokenizer that knows the planted data."""
    folder = tmp_path_factory.mktemp("tiny_bert")
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words_of_planted(), *letters, *(f"##{c}" for c in letters)]
    vocab = list(dict.fromkeys(vocab))
    BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Runs commands and scripts in forks of one process, without their imports."""
    with Forks(tmp_path_factory.mktemp("forks")) as forks:
        yield forks


@pytest.fixture(scope="session")
def lab(tiny_bert: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Runs that are killed, stopped and taken up again, and whole ones to compare them with, which are only read."""
    return Lab(tiny_bert, tmp_path_factory.mktemp("lab"), forks)


@pytest.fixture(scope="session")
def tiny_vilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer ViLT of random weights, as it leaves pretraining: 32 pixels, patches of 8."""
    folder = tmp_path_factory.mktemp("tiny_vilt")
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    words = "is it red green blue yes no the left right picture both are what color shape image in there a ? .".split()
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters, *(f"##{c}" for c in letters)]
    vocab = list(dict.fromkeys(vocab))
    BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder)
    torch.manual_seed(0)
    config = ViltConfig(
        vocab_size=len(vocab),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        initializer_range=0.1,
    )
    ViltForMaskedLM(config).save_pretrained(folder)
    ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=8).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer BLIP for question answering, of random weights, that reads pictures of 32 x 32.

    As in the released ones, two embeddings follow those that the tokenizer knows: of [DEC] and of [ENC].
    """
    folder = tmp_path_factory.mktemp("tiny_blip")
    letters = [chr(c) for c in (*range(ord("a"), ord("z") + 1), *range(ord("0"), ord("9") + 1), ord("."), ord("?"))]
    words = "is there a the what in this it does contain shape color present picture image not any no yes and".split()
    words += "left right red green blue white yellow black gray brown teal circle square triangle rectangle".split()
    vocab = list(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *letters]))
    vocab += [f"##{c}" for c in letters]
    BertTokenizer(vocab={token: i for i, token in enumerate(vocab)}).save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes["initializer_range"] = 0.1  # that of released vision encoders is next to nothing: pictures would look alike
    tokens = {"vocab_size": len(vocab) + 2, "bos_token_id": len(vocab), "pad_token_id": 0, "sep_token_id": 3}
    text = sizes | tokens | {"max_position_embeddings": 128}
    torch.manual_seed(0)
    vision = sizes | {"image_size": 32, "patch_size": 8}
    config = BlipConfig(text_config=text, vision_config=vision, initializer_range=0.3)
    BlipForQuestionAnswering(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a two-layer T5 of random weights and a Unigram tokenizer that knows the planted data.

    The pieces are listed, not trained: training a Unigram model gives another vocabulary in each process.
    """
    folder = tmp_path_factory.mktemp("tiny_t5")
    sentences = [text for e in planted.Planted(n_train=300).load("train") for text in e.parts.values()]
    sentences += ["mnli rte qqp premise: hypothesis: sentence1: sentence2: question1: question2:"]
    sentences += ["entailment neutral contradiction not_entailment duplicate not_duplicate"]
    words = sorted({word for text in sentences for word in re.findall(r"\w+|[^\w\s]", text)})
    letters = ["\u2581", *sorted(set(string.printable.strip()) | {c for word in words for c in word})]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -100.0)]
    pieces = [(f"\u2581{word}", -8.0) for word in words] + [(word, -9.0) for word in words if len(word) > 1]
    tokenizer = T5Tokenizer(extra_ids=0, vocab=[*special, *pieces, *((c, -12.0) for c in letters)])
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=2, decoder_start_token_id=0
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def write_nlixy() -> Callable[[Path, Sequence[tuple[str, str]], Sequence[tuple[str, str, str]]], Path]:
    """Writes a folder as of NLI-XY from (sentence, monotonicity) and (x, y, relation); every word fits everywhere."""

    def write(folder: Path, contexts: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str, str]]) -> Path:
        folder.mkdir(parents=True)
        rows = [f"{text}\t{slope}\t{'no' if slope == 'down' else ''}\tx\t\t\n" for text, slope in contexts]
        (folder / "contexts.tsv").write_text(
            "context\tmonotonicity\toperator\tsingular\tmass\tplural\n" + "".join(rows)
        )
        rows = [f"s\t{x}\t{y}\ts\t{relation}\n" for x, y, relation in pairs]
        (folder / "insertions.tsv").write_text("x_grammar\tx\ty\ty_grammar\tinsertion_rel\n" + "".join(rows))
        return folder

    return write


@pytest.fixture(scope="session")
def write_squad() -> Callable[[Path, int], Path]:
    """Writes a file as SQuAD 2.0 has it, of so many articles with two texts and five questions about each.

    Who is where is said in three sentences of a text; of two questions nobody knows the answer.
    """

    def write(path: Path, articles: int) -> Path:
        who, where = planted.SUBJECTS, planted.CHOICES["place"]
        data = []
        for a in range(articles):
            paragraphs = []
            for p in range(2):
                k = 10 * a + 5 * p
                people = [who[(k + i) % len(who)] for i in range(5)]
                places = [where[(k + 7 * i) % len(where)] for i in range(3)]
                text = " ".join(f"The {x} in the {y} ." for x, y in zip(people, places, strict=False))
                questions = []
                for i, person in enumerate(people):
                    answers = [{"text": places[i], "answer_start": text.index(places[i])}] if i < 3 else []
                    asked = {"id": f"q{a}{p}{i}", "question": f"the {person} in the", "answers": answers}
                    questions.append(asked | {"is_impossible": not answers})
                paragraphs.append({"context": text, "qas": questions})
            data.append({"title": f"Article_{a}", "paragraphs": paragraphs})
        path.write_text(json.dumps({"version": "v2.0", "data": data}))
        return path

    return write


@pytest.fixture(scope="session")
def write_squares() -> Callable[..., Path]:
    """Writes a folder of pictures of one coloured square, with questions about them, a file for each split."""
    colours = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "white": (250, 250, 250)}

    def write(folder: Path, train: int = 48, validation: int = 24) -> Path:
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        for split, n in (("train", train), ("validation", validation)):
            rows = []
            for i in range(n):
                colour, asked = list(colours)[i % 4], list(colours)[(i // 4) % 4]
                picture = Image.new("RGB", (20, 16), colours[colour])
                picture.putpixel((i % 20, i // 20 % 16), (i % 256, len(split), 0))  # no two are byte for byte the same
                picture.save(folder / "pictures" / f"{split}-{i}.png")
                answer = "yes" if colour == asked else "no"
                rows.append({"id": f"q{i}", "file": f"{split}-{i}.png", "text": f"is it {asked} ?", "answer": answer})
            (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder

    return write


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., pa.Table]:
    """Makes rows from base predictions and changed examples."""
    return make

"""A tokenizer of another model, or an empty one, is refused; the share of unknown tokens is told and bounded."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from transformers import (
    AlbertConfig,
    AutoConfig,
    AutoTokenizer,
    BartConfig,
    BertConfig,
    BertTokenizer,
    BlipConfig,
    ByT5Tokenizer,
    DebertaConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    MBartConfig,
    MPNetConfig,
    PretrainedConfig,
    RobertaConfig,
    T5Config,
    ViltConfig,
    XLMRobertaConfig,
    XLNetConfig,
)

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy
from heedful.datamodules import PairedText, Planted
from heedful.lightning_modules import Encoder, Seq2Seq, TextProcessor
from heedful.lightning_modules.pretrained.vocabulary import open_tokenizer
from heedful.lightning_modules.processors.token_store import TokenStore, plain
from heedful.records import Example, ModelError, SettingError

from refusals import refused

KINDS = [BertConfig, RobertaConfig, DebertaConfig, DebertaV2Config, ElectraConfig, MPNetConfig, T5Config, BartConfig]
KINDS += [AlbertConfig, XLMRobertaConfig, DistilBertConfig, ViltConfig, BlipConfig, XLNetConfig, MBartConfig]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_without_tokenizer_files_is_refused(tmp_path: Path, kind: type[PretrainedConfig]) -> None:
    """transformers makes an empty tokenizer there, to which all texts are alike."""
    config = kind()
    config.save_pretrained(tmp_path)
    with refused(ModelError, tmp_path):
        open_tokenizer(str(tmp_path), config)


@pytest.mark.parametrize("fixture", ["tiny_bert", "tiny_vilt", "tiny_blip", "tiny_t5"])
def test_a_sound_tokenizer_is_taken(request: pytest.FixtureRequest, fixture: str) -> None:
    folder = str(request.getfixturevalue(fixture))
    assert len(open_tokenizer(folder, AutoConfig.from_pretrained(folder))) > 50


def test_a_tokenizer_of_another_language_is_taken(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"的一是不了人我在有他这中大来上国"]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(tmp_path)
    assert len(open_tokenizer(str(tmp_path), BertConfig(vocab_size=len(words)))) == len(words)


@pytest.mark.parametrize(("rows", "fits"), [(-1, False), (0, True), (2, True), (40, True), (400, False)])
def test_a_tokenizer_of_another_model_is_refused(tiny_bert: Path, rows: int, fits: bool) -> None:
    size = len(AutoTokenizer.from_pretrained(tiny_bert))
    config = BertConfig(vocab_size=size + rows)
    if fits:
        assert len(open_tokenizer(str(tiny_bert), config)) == size
    else:
        with refused(ModelError, tiny_bert, f"{size:,} tokens", f"{size + rows:,} (vocab_size)"):
            open_tokenizer(str(tiny_bert), config)


@pytest.mark.parametrize("family", [Encoder, Seq2Seq])
def test_a_model_without_tokenizer_files_is_refused(
    tiny_bert: Path, tiny_t5: Path, tmp_path: Path, family: Callable[..., Encoder | Seq2Seq]
) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy((tiny_bert if family is Encoder else tiny_t5) / name, tmp_path / name)
    with refused(ModelError, tmp_path):
        family(str(tmp_path), max_length=64).prepare(Planted().task)


def test_a_slow_tokenizer_is_refused(tmp_path: Path) -> None:
    ByT5Tokenizer().save_pretrained(tmp_path)
    T5Config(vocab_size=384).save_pretrained(tmp_path)
    with refused(ModelError, tmp_path, "(ByT5Tokenizer)"):
        open_tokenizer(str(tmp_path), AutoConfig.from_pretrained(tmp_path))


def test_the_share_of_unknown_tokens_is_that_of_the_examples(tiny_bert: Path) -> None:
    """By brute force: each example is encoded alone, as often as it stands there."""
    rng = np.random.default_rng(0)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    words = ["the", "dog", "3", "É", "in", "是", "a"]
    texts = [" ".join(rng.choice(words, n)) for n in rng.integers(0, 9, 20)]
    pool = [Example(str(i), {"a": texts[i % 7], "b": texts[i % 11]}) for i in range(50)]
    processor = TextProcessor(tokenizer, ("a", "b"), 64)
    ids = [i for e in pool for part in e.parts.values() for i in tokenizer(part, add_special_tokens=False)["input_ids"]]
    for _ in range(2):  # the second time, no text is new
        unknown = processor.statistics(pool).unknown
        assert unknown == pytest.approx(ids.count(tokenizer.unk_token_id) / len(ids), abs=1e-12)
    assert 0.2 < unknown < 0.8
    assert processor.statistics([]).unknown == 0
    assert processor.statistics([Example("0", {"a": "the dog", "b": ""})]).unknown == 0


def test_a_text_of_which_nothing_is_left_is_unknown(tmp_path: Path) -> None:
    """Tokenizers of bytes have no token for what they do not know: they leave it out."""
    RobertaConfig().save_pretrained(tmp_path)
    store = TokenStore(plain(AutoTokenizer.from_pretrained(tmp_path)), None)
    assert store.unknown(store.numbers(["the dog", " \n", "", "a cat"])) == 1.0
    assert store.unknown(store.numbers([" ", ""])) == 0.0


def pairs(folder: Path, share: float) -> PairedText:
    """Pairs in whose texts such a share of the words is in another script."""
    for split, n in (("train", 20), ("validation", 10)):
        word = lambda i: "собака" if i < share * 10 else "dog"  # noqa: E731
        rows = [f"{' '.join(word(i) for i in range(10))}\tthe {k}\tyes" for k in "abcdefghijklmnopqrst"[:n]]
        (folder / f"{split}.tsv").write_text("\n".join(["left\tright\tlabel", *rows]) + "\n")
    return PairedText(
        "d",
        {"left": "left", "right": "right"},
        {"yes": [], "no": []},
        label="label",
        path=str(folder),
        default_label="no",
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", [Encoder, Seq2Seq])
def test_texts_that_a_model_does_not_know_are_refused(
    monkeypatch: pytest.MonkeyPatch, tiny_bert: Path, tiny_t5: Path, tmp_path: Path, family: Callable
) -> None:
    said: list[str] = []
    monkeypatch.setattr("heedful.datamodules.base.paired_data.inform", said.append)
    monkeypatch.setattr("heedful.datamodules.base.pairs.inform", said.append)

    def fit(share: float, **settings: float) -> None:
        model = family(str(tiny_bert if family is Encoder else tiny_t5), max_length=64, **settings)
        fitted(model, pairs(tmp_path, share), [Accuracy()], accelerator="cpu", max_epochs=1)

    with refused(ModelError, " % of the tokens of the ", " examples of d ", tmp_path.parent, "max_unknown", "20 %"):
        fit(0.9)
    fit(0.9, max_unknown=1.0)
    unknown = [line for line in said if "unknown" in line]
    assert all(re.search(r" \d\d % of the tokens are unknown to the model\.$", line) for line in unknown)
    assert len(unknown) == 2
    said.clear()
    fit(0)
    assert not any("unknown" in line for line in said)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_bound_is_a_share(tiny_bert: Path, share: float) -> None:
    with refused(SettingError, f"max_unknown {share}"):
        Encoder(str(tiny_bert), max_unknown=share)

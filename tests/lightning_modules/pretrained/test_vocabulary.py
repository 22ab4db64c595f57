"""Tests that tokenizers of other models and empty ones are refused, and of the share of unknown tokens."""

import numpy as np
import pytest
from transformers import AutoConfig, AutoTokenizer, BertConfig, BertTokenizer, ByT5Tokenizer, RobertaConfig, T5Config

from heedful.lightning_modules import TextProcessor
from heedful.lightning_modules.pretrained.vocabulary import open_tokenizer
from heedful.lightning_modules.processors.token_store import TokenStore, plain_tokenizer
from heedful.records import Example, ModelError

from refusals import refused

KINDS = (
    "bert roberta deberta deberta-v2 electra mpnet t5 bart albert xlm-roberta distilbert vilt blip xlnet mbart".split()
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_without_tokenizer_files_is_refused(tmp_path, kind):
    """transformers makes an empty tokenizer for such a folder, which encodes all texts alike."""
    config = AutoConfig.for_model(kind)
    config.save_pretrained(tmp_path)
    with refused(ModelError, tmp_path):
        open_tokenizer(str(tmp_path), config)


def test_a_tokenizer_of_another_language_is_taken_and_a_slow_one_is_not(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"的一是不了人我在有他这中大来上国"]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(tmp_path / "zh")
    assert len(open_tokenizer(str(tmp_path / "zh"), BertConfig(vocab_size=len(words)))) == len(words)
    for part in (ByT5Tokenizer(), T5Config(vocab_size=384)):
        part.save_pretrained(tmp_path / "slow")
    with refused(ModelError, tmp_path / "slow", "(ByT5Tokenizer)"):
        open_tokenizer(str(tmp_path / "slow"), AutoConfig.from_pretrained(tmp_path / "slow"))


@pytest.mark.parametrize(("rows", "fits"), [(-1, False), (0, True), (2, True), (40, True), (400, False)])
def test_a_tokenizer_of_another_model_is_refused(tiny_bert, rows, fits):
    size = len(AutoTokenizer.from_pretrained(tiny_bert))
    config = BertConfig(vocab_size=size + rows)
    if fits:
        assert len(open_tokenizer(str(tiny_bert), config)) == size
    else:
        with refused(ModelError, tiny_bert, f"{size:,} tokens", f"{size + rows:,} (vocab_size)"):
            open_tokenizer(str(tiny_bert), config)


def test_the_share_of_unknown_tokens_is_that_of_the_examples(tiny_bert, tmp_path):
    """Compared with a count over all examples, in which repeated texts count again."""
    rng = np.random.default_rng(0)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    words = ["the", "dog", "3", "É", "in", "是", "a"]
    texts = [" ".join(rng.choice(words, n)) for n in rng.integers(0, 9, 20)]
    pool = [Example(str(i), {"a": texts[i % 7], "b": texts[i % 11]}) for i in range(50)]
    processor = TextProcessor(tokenizer, ("a", "b"), 64)
    ids = [i for e in pool for part in e.parts.values() for i in tokenizer(part, add_special_tokens=False)["input_ids"]]
    for _ in range(2):  # the second time, all texts are in the store
        unknown = processor.statistics(pool).unknown
        assert unknown == pytest.approx(ids.count(tokenizer.unk_token_id) / len(ids), abs=1e-12)
    assert 0.2 < unknown < 0.8
    assert processor.statistics([]).unknown == 0
    # byte-level tokenizers drop unknown bytes
    RobertaConfig().save_pretrained(tmp_path)
    store = TokenStore(plain_tokenizer(AutoTokenizer.from_pretrained(tmp_path)), None)
    assert store.unknown(store.numbers(["the dog", " \n", "", "a cat"])) == 1.0
    assert store.unknown(store.numbers([" ", ""])) == 0.0

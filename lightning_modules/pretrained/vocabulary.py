"""Tokenizers: whether their vocabulary is there, and whether it is the one that a model was trained with."""

from transformers import AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase

from heedful.lightning_modules.pretrained.backbones import load
from heedful.records import ModelError

PROBES = (  # common words of several languages, of which a model reads one at least
    "the and of to a in is not it on",
    "и в не на я что он с как это",
    "的 一 是 不 了 人 我 在 有 他",
    "من في على لا ما هو أن هذا مع كان",
    "है और के का में नहीं से यह को पर",
    "の に は を た が で て と し",
)
KNOWN = 0.25  # the least share of the words of one of them that are known


def open_tokenizer(folder: str, config: PretrainedConfig, **kwargs: str) -> PreTrainedTokenizerBase:
    """The tokenizer of a backbone.

    Args:
        folder: A folder or a hub id.
        config: Its config, which says how many tokens have an embedding.
        **kwargs: For the loader, as ``gguf_file``.

    Raises:
        HeedfulError: It cannot be loaded, it knows no words, since transformers makes an empty one where its files are
            missing; or it has more tokens than the model, or far fewer.
    """
    tokenizer = load(AutoTokenizer.from_pretrained, folder, **kwargs)
    if not tokenizer.is_fast:
        raise ModelError(
            f"The tokenizer of {folder} ({type(tokenizer).__name__}) does not say which part a token comes from. Take "
            "a model with a fast tokenizer."
        )
    if max(share_known(tokenizer, words.split()) for words in PROBES) < KNOWN:
        raise ModelError(
            f"The tokenizer of {folder} knows next to no words: its files (tokenizer.json or the like) are missing or "
            "damaged. Copy the files of the model that its weights come from."
        )
    rows = getattr(config.get_text_config(), "vocab_size", None)
    size = 1 + max(tokenizer.get_vocab().values())
    if rows is not None and not 3 / 4 * rows <= size <= rows:  # tables are rounded up, or have a few rows to spare
        raise ModelError(
            f"The tokenizer of {folder} has {size:,} tokens, and its config.json {rows:,} (vocab_size). Copy the files "
            "of the model that its weights come from."
        )
    return tokenizer


def padding_of(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """The token id of padding: what the network takes for it, or else the tokenizer; None where neither names a token.

    A decoder-only classifier reads the last token that is not the padding of its config.
    """
    text = config.get_text_config()
    pad_id = getattr(text, "pad_token_id", None)
    return pad_id if pad_id in range(getattr(text, "vocab_size", len(tokenizer))) else tokenizer.pad_token_id


def share_known(tokenizer: PreTrainedTokenizerBase, words: list[str]) -> float:
    """The share of words in which a tokenizer knows every token, and sees one at least."""
    try:
        ids = tokenizer(words, add_special_tokens=False)["input_ids"]
    except Exception:  # the tokenizers library raises no other, as where not even the unknown token is there
        return 0.0
    return sum(bool(row) and tokenizer.unk_token_id not in row for row in ids) / len(words)

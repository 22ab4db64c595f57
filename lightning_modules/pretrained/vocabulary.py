"""Open a tokenizer, check that its vocabulary belongs to the model, and find its padding token."""

from transformers import AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase

from heedful.lightning_modules.pretrained.backbones import load
from heedful.records import ModelError


def open_tokenizer(folder: str, config: PretrainedConfig, **kwargs: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a backbone.

    Args:
        folder: A folder or a hub id.
        config: Config of the backbone, which holds the number of token embeddings.
        **kwargs: Passed to the loader, such as ``gguf_file``.

    Raises:
        HeedfulError: The tokenizer cannot be loaded, is not a fast one, or has more tokens than the model, or far
            fewer: transformers makes an empty tokenizer if files are missing.
    """
    tokenizer = load(AutoTokenizer.from_pretrained, folder, **kwargs)
    if not tokenizer.is_fast:
        raise ModelError(
            f"The tokenizer of {folder} ({type(tokenizer).__name__}) does not say which part a token comes from. Take "
            "a model with a fast tokenizer."
        )
    rows = getattr(config.get_text_config(), "vocab_size", None)
    size = 1 + max(tokenizer.get_vocab().values())
    if rows is not None and not 3 / 4 * rows <= size <= rows:  # embedding tables are rounded up
        raise ModelError(
            f"The tokenizer of {folder} has {size:,} tokens, and its config.json {rows:,} (vocab_size). Copy the files "
            "of the model that its weights come from."
        )
    return tokenizer


def padding_of(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return the padding id of the config, or else of the tokenizer; None if neither has one.

    A decoder-only classifier finds the last token of a text by the padding id.
    """
    text = config.get_text_config()
    pad_id = getattr(text, "pad_token_id", None)
    return pad_id if pad_id in range(getattr(text, "vocab_size", len(tokenizer))) else tokenizer.pad_token_id

"""The config.json of a backbone, and its number of positions."""

from transformers import AutoConfig, PretrainedConfig

from heedful.lightning_modules.pretrained.backbones import load
from heedful.records import ModelError
from heedful.records.storage.schema import ENTRY

# models that count positions from the one after padding's
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "longformer", "mpnet"}
OFFSET |= {"data2vec-text", "ibert", "xmod", "luke", "lilt", "markuplm", "layoutlmv3"}
UNLIMITED = -1  # positions of a model that counts none, as XLNet
LEARNED = ENTRY  # entry of an exported config with the wording of the training


def open_config(folder: str, **kwargs: str) -> PretrainedConfig:
    """The config of a backbone.

    Args:
        folder: A folder or a hub id.
        **kwargs: Passed to the loader, such as ``gguf_file``.

    Raises:
        HeedfulError: It cannot be loaded.
    """
    config: PretrainedConfig = load(AutoConfig.from_pretrained, folder, **kwargs)
    config.id2label = dict(sorted(config.id2label.items()))
    return config


def positions_of(config: PretrainedConfig) -> int | None:
    """Largest number of tokens that fit a model's positions; None without a limit."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions in (None, UNLIMITED):
        return None
    if config.model_type in OFFSET:
        positions -= 1 + (1 if config.model_type == "mpnet" else config.pad_token_id)  # in any config of MPNet
    return int(positions)


def require_positions(config: PretrainedConfig, max_length: int) -> None:
    """Require a position for each token of the longest input.

    Raises:
        HeedfulError: The model has fewer positions.
    """
    positions = positions_of(config)
    if positions is not None and max_length > positions:
        raise ModelError(
            f"The model has {positions} positions and would read {max_length}. Add model.max_length {positions}."
        )

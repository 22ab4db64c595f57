"""Read the config.json of a backbone (pretrained model), and the largest input length that it allows."""

from transformers import AutoConfig, PretrainedConfig

from heedful.lightning_modules.pretrained.backbones import load, require_model
from heedful.records import ModelError
from heedful.records.storage.schema import ENTRY

# models whose positions begin after the padding id
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "longformer", "mpnet"}
OFFSET |= {"data2vec-text", "ibert", "xmod", "luke", "lilt", "markuplm", "layoutlmv3"}
UNLIMITED = -1  # max_position_embeddings of a model without a limit, such as XLNet
LEARNED = ENTRY  # entry of an exported config: parts, template and label texts of the training


def open_config(folder: str, **kwargs: str) -> PretrainedConfig:
    """Load the config of a backbone (pretrained model).

    Args:
        folder: A folder or a hub id.
        **kwargs: Passed to the loader, such as ``gguf_file``.

    Raises:
        HeedfulError: The config cannot be loaded.
    """
    require_model(folder, "model.backbone")
    config: PretrainedConfig = load(AutoConfig.from_pretrained, folder, **kwargs)
    config.id2label = dict(sorted(config.id2label.items()))
    return config


def positions_of(config: PretrainedConfig) -> int | None:
    """Return the largest number of tokens that a model can read, from its config; None without a limit."""
    positions = getattr(config, "max_position_embeddings", None)
    if positions in (None, UNLIMITED):
        return None
    if config.model_type in OFFSET:
        positions -= 1 + (1 if config.model_type == "mpnet" else config.pad_token_id)  # MPNet ignores its pad_token_id
    return int(positions)


def require_positions(config: PretrainedConfig, max_length: int) -> None:
    """Raise an error if a model cannot read inputs of ``max_length`` tokens.

    Raises:
        HeedfulError: The model has fewer than ``max_length`` positions.
    """
    positions = positions_of(config)
    if positions is not None and max_length > positions:
        raise ModelError(
            f"The model has {positions} positions and would read {max_length}. Add model.max_length {positions}."
        )

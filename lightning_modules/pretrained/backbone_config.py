"""The config.json of a backbone: what Heedful reads in it must be what it should be."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from transformers import AutoConfig, PretrainedConfig

from heedful.lightning_modules.pretrained.backbones import load
from heedful.lightning_modules.pretrained.labels import is_named
from heedful.records import ModelError, same_name
from heedful.records.storage.schema import ENTRY

# models that count positions from the one after padding's
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "longformer", "mpnet"}
OFFSET |= {"data2vec-text", "ibert", "xmod", "luke", "lilt", "markuplm", "layoutlmv3"}
UNLIMITED = -1  # positions of a model that counts none, as XLNet
LEARNED = ENTRY  # the entry of an exported config that says in which words the model was trained


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def is_size(value: Any) -> bool:
    """Whether it is a whole number above 0."""
    return type(value) is int and value > 0


WORDS: dict[str, Callable[[Any], bool]] = {  # in that entry
    "template": lambda value: isinstance(value, str),
    "parts": _are_names,
    "targets": _are_names,
    "no_answer": lambda value: isinstance(value, str),
    "pictures": is_size,
}
SOUND: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id2label": (
        lambda value: list(value) == list(range(len(value))) and _are_names(list(value.values())),
        "the name of each output, numbered from 0",
    ),
    "label2id": (
        lambda value: value is None or (isinstance(value, dict) and _are_names(list(value))),
        "the number of each output by its name",
    ),
    "architectures": (lambda value: value is None or _are_names(value), "a list of names"),
    "max_position_embeddings": (lambda value: is_size(value) or value == UNLIMITED, "a positive number"),
    LEARNED: (
        lambda value: isinstance(value, dict) and all(WORDS[key](value[key]) for key in WORDS.keys() & value.keys()),
        "the words that the model was trained with",
    ),
}


def open_config(folder: str, **kwargs: str) -> PretrainedConfig:
    """The config of a backbone.

    Args:
        folder: A folder or a hub id.
        **kwargs: For the loader, as ``gguf_file``.

    Raises:
        HeedfulError: It cannot be loaded, or something in it cannot be.
    """
    config: PretrainedConfig = load(AutoConfig.from_pretrained, folder, **kwargs)
    config.id2label = {i: config.id2label[i] for i in sorted(config.id2label)}
    for name, (is_sound, should) in SOUND.items():
        if hasattr(config, name) and not is_sound(getattr(config, name)):
            raise ModelError(
                f"The config.json of {folder} is damaged: its {name} should be {should}. Download the files of the "
                "model again."
            )
    targets = getattr(config, LEARNED, {}).get("targets")
    if targets is not None and len(targets) != len(config.id2label):
        raise ModelError(
            f"The config.json of {folder} is damaged: its {LEARNED} should have a target for each label. Download the "
            "files of the model again."
        )
    return config


def require_one_order(config: PretrainedConfig, folder: str) -> None:
    """A config that names outputs twice, in id2label and in label2id, must give each the same name in both.

    Raises:
        HeedfulError: An output has two names.
    """
    names = defaultdict(list)
    for name, number in (getattr(config, "label2id", None) or {}).items():
        names[str(number)].append(name)
    for i, name in config.id2label.items():
        others = names[str(i)]
        if others and same_name(name) not in map(same_name, others) and is_named(others) and is_named([name]):
            raise ModelError(
                f"The config.json of {folder} calls output {i} {name} in id2label, and {others[0]} in label2id. Name "
                "all outputs in their order, model.labels '[NAME_0, NAME_1, ...]'."
            )


def positions_of(config: PretrainedConfig) -> int | None:
    """How many tokens a model has positions for; None without a limit."""
    positions = getattr(config, "max_position_embeddings", UNLIMITED)
    if positions == UNLIMITED:
        return None
    if config.model_type in OFFSET:
        positions -= 1 + (1 if config.model_type == "mpnet" else config.pad_token_id)  # MPNet's is 1, whatever it says
    return int(positions)


def require_positions(config: PretrainedConfig, max_length: int) -> None:
    """A model must have a position for every token that it is to read.

    Raises:
        HeedfulError: It has fewer.
    """
    positions = positions_of(config)
    if positions is not None and max_length > positions:
        raise ModelError(
            f"The model has {positions} positions and would read {max_length}. Add model.max_length {positions}."
        )

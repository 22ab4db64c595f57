"""The registry of model families: the family that loads a config.json, and the family that suits a kind of data."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heedful.records.arguments import class_path
from heedful.records.storage.schema import full_path


class Entry(NamedTuple):
    """A registered model family, with the models and data for which it is used.

    Attributes:
        family: Name of a class of Heedful, or import path of another class.
        architectures: Regular expression that matches ``architectures`` in config.json.
        model_types: Values of ``model_type`` in config.json; used if no entry matches the architecture.
        stands_in: Maps a data module to a replaced family: if the settings name the replaced family for data of this
            module, ``family`` is used instead.
    """

    family: str
    architectures: str | None = None
    model_types: Sequence[str] = ()
    stands_in: Mapping[str, str] = {}


TABLE = [
    Entry("Encoder", ".*ForSequenceClassification.*"),
    Entry("CausalLM", ".*ForCausalLM|.*LMHeadModel"),
    Entry("BlipAnswers", "BlipForQuestionAnswering"),
    Entry("Seq2Seq", model_types=("t5", "mt5", "umt5", "longt5", "switch_transformers")),
    Entry("Vilt", model_types=("vilt",)),
    Entry("Blip", model_types=("blip",)),
    Entry("LateFusion", stands_in={"PairedImages": "Encoder", "VisualQuestions": "Encoder"}),
    Entry("Reader", stands_in={"Reading": "Encoder"}),
    Entry("Writer", stands_in={"Reading": "Seq2Seq"}),
]


def register(
    family: type,
    architectures: str | None = None,
    model_types: Sequence[str] = (),
    stands_in: Mapping[str, str] | None = None,
) -> None:
    """Add a family to the registry, with precedence over earlier entries.

    Args:
        family: A subclass of :class:`~heedful.lightning_modules.Predictor`.
        architectures: Regular expression of the supported ``architectures`` in config.json.
        model_types: Supported ``model_type`` values, for models whose architecture no family supports.
        stands_in: Maps a data module to a replaced family: if the settings name the replaced family for data of this
            module, ``family`` is used instead. Keys and values are import paths, or names of Heedful's classes. Example
            for the family Reader: {"Reading": "Encoder"}.
    """
    TABLE.insert(0, Entry(class_path(family), architectures, model_types, stands_in or {}))


def family_of(config: Mapping[str, Any]) -> str:
    """Return the import path of the family for a config.json, found by architecture, or else by model type.

    The default is :class:`~heedful.lightning_modules.Encoder`.
    """
    for architecture in map(str, config.get("architectures") or []):
        for entry in TABLE:
            if entry.architectures is not None and re.fullmatch(entry.architectures, architecture):
                return full_path("model", entry.family)
    model_type = config.get("model_type")
    return full_path("model", next((entry.family for entry in TABLE if model_type in entry.model_types), "Encoder"))


def stand_in(data: str, model: str) -> str:
    """Return the model family to use for a class of data, such as Reader instead of Encoder for reading comprehension.

    Args:
        data: Import path of the data module.
        model: Import path of the family that the settings name.

    Returns:
        Import path of the family to use; ``model`` if no entry replaces it.
    """
    for entry in TABLE:
        pairs = ((full_path("data", d), full_path("model", m)) for d, m in entry.stands_in.items())
        if (data, model) in pairs:
            return full_path("model", entry.family)
    return model

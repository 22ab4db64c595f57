"""The registry of model families: which family opens a config.json, and which suits a class of data."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heedful.records.arguments import class_path
from heedful.records.storage.schema import full_path


class Entry(NamedTuple):
    """A model family: name of a class of Heedful, or import path of another class; see :func:`register`."""

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
        stands_in: Maps a data module to the family that ``family`` replaces on its data, such as {"Reading": "Encoder"}
            for Reader. Keys and values are import paths, or names of Heedful's classes.
    """
    TABLE.insert(0, Entry(class_path(family), architectures, model_types, stands_in or {}))


def family_of(config: Mapping[str, Any]) -> str:
    """Return the import path of the family for a config.json: by architecture, by model type, or else Encoder."""
    architectures = map(str, config.get("architectures") or [])
    by_name = [e.family for a in architectures for e in TABLE if e.architectures and re.fullmatch(e.architectures, a)]
    by_type = [entry.family for entry in TABLE if config.get("model_type") in entry.model_types]
    return full_path("model", [*by_name, *by_type, "Encoder"][0])


def stand_in(data: str, model: str) -> str:
    """Return the family that replaces ``model`` on a class of data, or ``model`` if none does; all are import paths."""
    for entry in TABLE:
        if (data, model) in ((full_path("data", d), full_path("model", m)) for d, m in entry.stands_in.items()):
            return full_path("model", entry.family)
    return model

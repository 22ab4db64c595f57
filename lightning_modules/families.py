"""The families of models by what each declares of itself: which models it opens, and on which data it stands in.

Class attributes that a family may have:
    architectures: Regular expressions of the architectures of models, as config.json names them, that the family opens
        where ``--model`` names a model and no family.
    model_types: Types of models that it opens there, whatever their architecture.
    stands_in: Name of a data module to the name of the family that it replaces there.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from heedful.lazy import import_all
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.text.encoder import Encoder
from heedful.records.storage.schema import ROOMS, whole


def families() -> Iterator[type[BasePredictor]]:
    """All families of this package, and others that are imported, each after the one that it is made of."""
    import_all(ROOMS["model"])
    yield from _families_of(BasePredictor)


def _families_of(base: type[BasePredictor]) -> Iterator[type[BasePredictor]]:
    for family in base.__subclasses__():
        yield family
        yield from _families_of(family)


def declared(family: type[BasePredictor], name: str) -> Any:
    """The declarations of a family itself, and not of the one that it is made of; empty where there are none."""
    return vars(family).get(name, ())


def import_path(family: type[BasePredictor]) -> str:
    """How a configuration names a family."""
    own = family.__module__.startswith(f"{ROOMS['model']}.")
    return whole("model", family.__name__) if own else f"{family.__module__}.{family.__qualname__}"


def family_of(config: Mapping[str, Any]) -> type[BasePredictor]:
    """The family that opens a model, by its config.json: by its architectures, else by its type, else the encoder."""
    every_family = list(families())
    for architecture in map(str, config.get("architectures") or []):
        for family in every_family:
            if any(re.fullmatch(pattern, architecture) for pattern in declared(family, "architectures")):
                return family
    kind = str(config.get("model_type"))
    return next((family for family in every_family if kind in declared(family, "model_types")), Encoder)


def stand_ins() -> dict[tuple[str, str], str]:
    """(Data module, family that a short form names) to the family that is meant for such data; as import paths."""
    return {
        (whole("data", data), whole("model", stood_in_for)): import_path(family)
        for family in families()
        for data, stood_in_for in dict(declared(family, "stands_in")).items()
    }

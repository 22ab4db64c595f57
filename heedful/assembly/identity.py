"""Describe what was measured, for ``identity`` in results.json: the model, its training, its seeds and its server."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.lightning_modules import Endpoint, Predictor
from heedful.lightning_modules.function import Function
from heedful.records.arguments import IN_MEMORY
from heedful.records.storage.results import BACKBONE, regime_name
from heedful.records.storage.run_settings import backbone_of, run_settings, sections_of, trainings

# settings of a model that change no answer
HOW = {"answers", "cache", "concurrency", "max_requests", "prices", "share_prefix", "timeout"}
PLACES = {"base_url", "responses", "url"}  # settings that locate weights or answers
READS = ("template", "verbalisers", "prompts", "partial")  # settings of the data that change the input of a model
PATH = re.compile(r"(/|~/|[A-Za-z]:[\\/]).+")  # an absolute path


def identity_of(record: Mapping[str, Any], model: Predictor) -> dict[str, Any]:
    """Return name, settings, training and server of a model, without paths and times; ``record`` is a config.yaml."""
    sections = sections_of(record)
    checkpoint = sections["checkpoint"]
    trained = (run_settings(Path(checkpoint).absolute().parents[1]) if checkpoint else {}) or sections
    chain = trainings(trained)
    data, first, of_data = trained["data"], chain[-1], sections["data"]
    is_trained = bool(trained["trained"])
    model_settings = {name: value for name, value in sections["model"].items() if name not in HOW | PLACES}
    if "backbone" in model_settings:
        model_settings["backbone"] = backbone_of(first)
    n = (data.get("inoculation") or {}).get("n", 0)
    mixed = bool(data.get("mixture")), data.get("control")
    partial = of_data.get("partial")
    identity = {
        "model": model.description if model.capabilities.in_memory else _name(first, model),
        "settings": _without_places(model_settings),
        "reads": _without_places({name: of_data[name] for name in READS if of_data.get(name) is not None}),
        "trained": is_trained,
        "trained_on": data.get("name") if is_trained else None,
        "regime": regime_name(partial, data.get("augment"), n, data.get("fold"), *mixed),
        "partial": partial,
        "fold": data.get("fold"),
        "seeds": [before["seed"] for before in chain if before["trained"] and before["seed"] is not None],
    }
    optional = {"revision": model.learned.revision, "steps": model.learned.steps}
    optional["server"] = model.server if isinstance(model, Endpoint) else None
    optional["source"] = model.source if isinstance(model, Function) else None
    return identity | {name: value for name, value in optional.items() if value is not None}


def _name(first: Mapping[str, Any], model: Predictor) -> str:
    """Return the short name of the model that the first training started from; never a path."""
    backbone = backbone_of(first)
    if IN_MEMORY in backbone:
        backbone = str(getattr(model, "backbone", None) or model.description)
    from heedful.assembly.loading import model_folder  # imports Lightning

    path = Path(backbone)
    is_place = path.is_absolute() and not backbone.endswith(BACKBONE)
    return model_folder(path.name if is_place else backbone, first["model"]["class_path"])


def _without_places(value: Any) -> Any:
    """Replace each absolute path in settings by its name, and the path of exported weights by the name of their run."""
    if isinstance(value, Mapping):
        return {str(key): _without_places(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_places(inner) for inner in value]
    if isinstance(value, str) and PATH.fullmatch(value):
        path = Path(value)
        return path.parents[1].name if value.endswith(BACKBONE) else path.name
    return value if isinstance(value, str | int | float | bool | None) else str(value)

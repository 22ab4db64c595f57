"""Read from config.yaml the settings of a run, and the settings of earlier trainings of the same weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.records import RunError
from heedful.records.storage.results import BACKBONE, CONFIG
from heedful.records.storage.schema import full_path
from heedful.records.storage.yaml_files import read_yaml

DEEPEST = 9  # trainings in a chain of initial weights


def run_settings(folder: Path) -> dict[str, Any]:
    """Return the sections (:func:`sections_of`) of config.yaml in the folder of a run; empty without the file.

    Raises:
        RunError: The file is no configuration of train.py or evaluate.py.
    """
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        return sections_of(read_yaml(str(path), str(path)))
    except (KeyError, TypeError):
        raise RunError(f"{path} is not a configuration of train.py. Restore the file, or begin a new run.") from None


def sections_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the content of config.yaml to the sections that reports use.

    Returns:
        "model" and "data": their ``init_args`` and the full "class_path". "checkpoint": path of the evaluated
        checkpoint, or None. "seed": ``seed_everything``, or None. "trained": whether the run is a training.
    """
    sections = {
        kind: config[kind]["init_args"] | {"class_path": full_path(kind, config[kind]["class_path"])}
        for kind in ("model", "data")
    }
    checkpoint = config.get("checkpoint")  # in a training, settings of the checkpoints
    seed = config.get("seed_everything")
    return {
        **sections,
        "checkpoint": checkpoint if isinstance(checkpoint, str) else None,
        "seed": seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        "trained": isinstance(checkpoint, dict),
    }


def trainings(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the settings of a run and of all earlier trainings of its weights, the latest first.

    ``config`` holds the settings of the run, as :func:`run_settings` returns them.
    """
    configs = [config]
    while len(configs) < DEEPEST:
        backbone = Path(backbone_of(configs[-1]))
        previous = run_settings(backbone.parents[1]) if backbone.parts[-2:] == Path(BACKBONE).parts else {}
        if not previous:
            break
        configs.append(previous)
    return configs


def backbone_of(config: Mapping[str, Any]) -> str:
    """Return the name or folder of a model's initial weights, from the settings of its run (:func:`run_settings`)."""
    model = config["model"]
    return str(model.get("backbone") or model.get("name") or model["class_path"].rpartition(".")[2])

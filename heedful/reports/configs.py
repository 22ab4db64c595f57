"""The configurations in the folders of runs: settings of model and data, and those of the runs that came before."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.records import RunError
from heedful.records.storage.results import BACKBONE, CONFIG
from heedful.records.storage.schema import full_path
from heedful.records.storage.yaml_files import read_yaml

EXPORTED = Path(BACKBONE).parts
DEEPEST = 9  # runs that began with the weights of each other


def settings(folder: Path) -> dict[str, Any]:
    """:func:`sections_of` the config.yaml of a run or of an evaluation; nothing where there is none.

    Raises:
        RunError: It is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        return sections_of(read_yaml(str(path), str(path)))
    except (KeyError, TypeError):
        raise RunError(
            f"{path} is not a configuration that train.py wrote. Bring the file back that was written, or begin a new "
            "run."
        ) from None


def sections_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the model and of the data.

    Returns:
        "model" and "data", each with its "class_path"; "checkpoint", of an evaluation; "seed"; and whether the model
        was "trained" there.
    """
    sections = {
        kind: config[kind]["init_args"] | {"class_path": full_path(kind, config[kind]["class_path"])}
        for kind in ("model", "data")
    }
    checkpoint = config.get("checkpoint")  # of a run, settings of how they are kept
    seed = config.get("seed_everything")
    return {
        **sections,
        "checkpoint": checkpoint if isinstance(checkpoint, str) else None,
        "seed": seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        "trained": isinstance(checkpoint, dict),
    }


def trainings(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The settings of a training, of the one whose weights it began with, and so on; the last has others' weights."""
    configs = [config]
    while len(configs) < DEEPEST:
        backbone = Path(backbone_of(configs[-1]))
        before = settings(backbone.parents[1]) if backbone.parts[-2:] == EXPORTED else {}
        if not before:
            break
        configs.append(before)
    return configs


def backbone_of(config: Mapping[str, Any]) -> str:
    own = config["model"]
    return str(own.get("backbone") or own.get("name") or own["class_path"].rpartition(".")[2])

"""The YAML files that short names stand for: ``mnli`` is ``configs/data/mnli.yaml``."""

from pathlib import Path
from typing import Any

from heedful.records.storage.schema import whole
from heedful.records.storage.yaml_files import read_yaml
from heedful.rooms import folder


def named_configs(kind: str) -> dict[str, Path]:
    """The files of a folder of configs/ by their names; those of the working folder come before the package's own.

    Args:
        kind: "data", "model", "experiment" or "suite".
    """
    package = folder("configs")
    working = Path("configs")
    places = [package] if working.resolve() == package.resolve() else [package, working]
    found = {path.stem: path for place in places for path in (place / kind).glob("*.yaml")}
    return dict(sorted(found.items()))


def backbones() -> dict[str, tuple[Any, str | None]]:
    """The backbone and the import path of the class of each named model; None where its file does not say.

    Raises:
        HeedfulError: A file cannot be read.
    """
    found = {}
    for name, path in named_configs("model").items():
        config = read_yaml(str(path), str(path))
        config = config if isinstance(config, dict) else {}
        settings = config.get("init_args")
        class_path = config.get("class_path")
        found[name] = (
            settings.get("backbone") if isinstance(settings, dict) else None,
            whole("model", class_path) if isinstance(class_path, str) else None,
        )
    return found

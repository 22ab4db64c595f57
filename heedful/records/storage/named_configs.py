"""The YAML files that short names stand for: ``mnli`` is ``configs/data/mnli.yaml``."""

from pathlib import Path

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

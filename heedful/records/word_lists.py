"""Word lists in YAML files, which have the names of their modules."""

from pathlib import Path
from typing import Any

import yaml


def word_lists(module: str) -> dict[str, Any]:
    """Read the YAML file of the module with this ``__file__``; all words are texts, also "no" and "1"."""
    return yaml.load(Path(module).with_suffix(".yaml").read_text("utf-8"), Loader=yaml.BaseLoader)

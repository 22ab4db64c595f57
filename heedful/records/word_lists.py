"""Load the word lists of a module from the YAML file with the same name."""

from pathlib import Path
from typing import Any

import yaml


def word_lists(module: str) -> dict[str, Any]:
    """Read the word lists of a module.

    Args:
        module: Path of the module (its ``__file__``).

    Returns:
        The content of the YAML file; all scalars are texts, even "no" and "1".
    """
    return yaml.load(Path(module).with_suffix(".yaml").read_text("utf-8"), Loader=yaml.BaseLoader)

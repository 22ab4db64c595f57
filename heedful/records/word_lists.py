"""Lists of words, which lie in a YAML file beside the module that uses them."""

from pathlib import Path
from typing import Any

import yaml


def word_lists(module: str) -> dict[str, Any]:
    """The lists and mappings of the YAML file that is called as a module; every word is a text, also "no" and "1".

    Args:
        module: ``__file__`` of the module.
    """
    return yaml.load(Path(module).with_suffix(".yaml").read_text("utf-8"), Loader=yaml.BaseLoader)

"""Where pretrained weights come from: an installed package, a folder, or the hub."""

import contextlib
import hashlib
import importlib.util
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from transformers.utils import logging as transformers_logging

from records import HeedError

PACKAGE = "package:"
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def resolve(backbone: str, sha256: str | None = None) -> str:
    """The folder or hub id that a backbone names.

    Args:
        backbone: A folder, a hub id, or ``package:MODULE/FOLDER`` for weights inside an installed Python package.
        sha256: What ``model.safetensors`` inside a package must hash to; a folder or an id may hold other weights.

    Raises:
        HeedError: The package is not installed, the folder lacks a config, or the weights are not those expected.
    """
    if backbone.startswith(PACKAGE):
        module, _, folder = backbone.removeprefix(PACKAGE).partition("/")
        try:
            spec = importlib.util.find_spec(module)
        except (ModuleNotFoundError, ValueError):  # a parent package is not installed; an empty name
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise HeedError(f"The weights {backbone} need the Python package {module!r}: install requirements.txt.")
        backbone = str(Path(next(iter(spec.submodule_search_locations))) / folder)
        weights = Path(backbone) / "model.safetensors"
        if not weights.is_file():
            raise HeedError(f"The package {module!r} holds no {folder}/model.safetensors.")
        found = hashlib.sha256(weights.read_bytes()).hexdigest()
        if sha256 not in (None, found):
            raise HeedError(f"{backbone}/model.safetensors is not the published file: its sha256 is {found}.")
    path = Path(backbone)
    if path.exists() and not (path / "config.json").is_file():
        raise HeedError(f"--model.backbone {backbone} is no model folder: it has no config.json.")
    return backbone


def has_weights(folder: str) -> bool:
    """Whether weights can be read from a backbone: a folder with only a config has none; a hub id is taken to."""
    path = Path(folder)
    return not path.is_dir() or any(True for pattern in WEIGHTS for _ in path.glob(pattern))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars and the report on a new head: a new head is what fine-tuning starts from."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def load(loader: Callable[..., Any], backbone: str, **kwargs: Any) -> Any:
    """Call a ``from_pretrained`` and turn its failure into one sentence.

    Code that comes with a model is never run, and of a ``.bin`` file transformers loads tensors alone.
    """
    try:
        with quiet():
            return loader(backbone, trust_remote_code=False, **kwargs)
    except UnpicklingError as error:
        raise HeedError(f"The weights of {backbone} hold something else than tensors, which is not loaded.") from error
    except Exception as error:  # of what anybody may have written, any line can be wrong in any way
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise HeedError(
            f"The model {backbone} could not be loaded ({lines[0].rstrip('.')}). Name a folder with "
            "--model.backbone DIR, take the one that needs no hub (--model minilm), or set HF_HUB_OFFLINE=1 to use "
            "only what is cached."
        ) from error

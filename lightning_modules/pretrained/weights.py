"""Whether the tensors of a model are sound, and whether they are those of another: the hash of weights."""

import hashlib
import json
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from heedful.lightning_modules.pretrained.misfits import first_names, reason
from heedful.records import ModelError

SETS = (  # a model in one file, and its shards
    ("model.safetensors", ("model-*.safetensors", "model.safetensors.index.json")),
    ("pytorch_model.bin", ("pytorch_model-*.bin", "pytorch_model.bin.index.json")),
)
ADAPTER = "adapter_config.json"


def weights_hash(weights: Mapping[str, Tensor]) -> str | None:
    """The sha256 of names, dtypes, shapes and bytes of tensors, in the order of their names; None of no tensor.

    It does not depend on the device, on strides, or on how a file keeps the tensors. Those that torch prunes are hashed
    as what is left of them.
    """
    if not weights:
        return None
    weights = without_masks(weights)
    names = sorted(weights)
    with ThreadPoolExecutor() as threads:  # hashlib and torch work beside each other
        hashes = threads.map(lambda name: hashlib.sha256(_bytes(weights[name]).numpy()).hexdigest(), names)
        lines = [
            json.dumps([name, str(weights[name].dtype), list(weights[name].shape), sha256])
            for name, sha256 in zip(names, hashes, strict=True)
        ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def without_masks(weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Weights by their names in the network, also of those of which ``torch.nn.utils.prune`` makes two tensors."""
    masks = {name.removesuffix("_mask") for name in weights if name.endswith("_mask")}
    pruned = {name for name in masks if f"{name}_orig" in weights}
    if not pruned:
        return weights
    parts = {f"{name}{part}" for name in pruned for part in ("_orig", "_mask")}
    left = {name: weights[f"{name}_orig"] * weights[f"{name}_mask"] for name in pruned}
    return {name: value for name, value in weights.items() if name not in parts} | left


def weight_files(folder: Path) -> list[Path]:
    """The files that transformers takes the weights of a folder from; none where there are none."""
    for pattern in ("model.safetensors", "model-*.safetensors", "pytorch_model*.bin"):
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def hash_of_files(folder: Path) -> str | None:
    """:func:`weights_hash` of the tensors in the files of a folder.

    Raises:
        HeedfulError: A file cannot be read.
    """
    weights: dict[str, Tensor] = {}
    for file in weight_files(folder):
        try:
            content = load_file(file) if file.suffix == ".safetensors" else torch.load(file, "cpu", weights_only=True)
        except Exception as error:  # of what anybody may have written, any byte can be wrong in any way
            raise ModelError(
                f"{file} cannot be loaded ({reason(error)}). Take a whole file, from before it was damaged."
            ) from error
        weights |= {name: value for name, value in content.items() if isinstance(value, Tensor)}
    return weights_hash(weights)


def different(own: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> set[str]:
    """Names of tensors that are not, to the last bit, those of a file once these are cast to the same dtypes."""
    return {
        name
        for name in own.keys() | saved.keys()
        if name not in own
        or name not in saved
        or own[name].shape != saved[name].shape
        or not torch.equal(_bytes(own[name]), _bytes(saved[name].to(own[name].dtype)))
    }


def _bytes(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)


def require_finite_weights(weights: Mapping[str, Tensor], of: str) -> None:
    """Refuse weights of which some number is NaN or infinite.

    Args:
        weights: Tensors by their names.
        of: Where they come from; the message begins with "The weights of" it.

    Raises:
        HeedfulError: There is such a number; the message names tensors.
    """
    broken = [n for n, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]
    if broken:
        raise ModelError(
            f"The weights of {of} are not finite numbers: {first_names(broken)}. Take a file from before they were "
            "damaged, or before training diverged."
        )


def require_one_set(folder: Path) -> None:
    """Refuse a folder of which nobody can say which files are the weights of its model.

    Raises:
        HeedfulError: It holds the whole model and shards of one, or an adapter beside the weights.
    """
    for whole, patterns in SETS:
        shards = sorted(path.name for pattern in patterns for path in folder.glob(pattern))
        if shards and (folder / whole).is_file():
            raise ModelError(
                f"{folder} holds its weights twice, as {whole} and in shards ({shards[0]}). Keep the files of one "
                "model."
            )
    if (folder / ADAPTER).is_file() and (folder / "config.json").is_file():
        raise ModelError(
            f"{folder} holds an adapter ({ADAPTER}) beside the weights of a model. Merge it into them "
            "(merge_and_unload of peft), or move it into a folder of its own."
        )


def require_whole_files(folder: Path) -> None:
    """Refuse local safetensors that end in tensors of zeros, as a file does whose end never came.

    Biases of zeros are common, so that a matrix has to be among them, or the weight of a normalisation where not all
    begin at zero, as those of a Gemma do.

    Raises:
        HeedfulError: A file ends so; the message names it, and tensors.
    """
    for file in sorted(folder.glob("model*.safetensors")):
        empty = _zeros_at_the_end(file)
        norms = {name for name, dimensions in empty.items() if dimensions == 1 and name.endswith(".weight")}
        if any(dimensions > 1 for dimensions in empty.values()) or (norms and _has_other_norms(file, norms)):
            raise ModelError(
                f"{file} ends in zeros, as one that was not copied to its end: {first_names(empty)}. Take the whole "
                "file."
            )


def _has_other_norms(file: Path, zeros: Collection[str]) -> bool:
    """Whether a file of safetensors holds a weight of one dimension that is not zero, but for some."""
    with safe_open(file, "pt") as tensors:
        names = tensors.keys()
        others = [name for name in names if name.endswith(".weight") and name not in zeros]
        return any(len(tensors.get_slice(n).get_shape()) == 1 and tensors.get_tensor(n).any() for n in others)


def _zeros_at_the_end(file: Path) -> dict[str, int]:
    """The tensors of zeros at the end of a file of safetensors, to the number of their dimensions."""
    with open(file, "rb") as content:
        header = json.loads(content.read(int.from_bytes(content.read(8), "little")))
    places = {name: about["data_offsets"] for name, about in header.items() if name != "__metadata__"}
    empty = {}
    with safe_open(file, "pt") as tensors:
        for name in sorted(
            (name for name, (start, end) in places.items() if end > start), key=places.get, reverse=True
        ):
            value = tensors.get_tensor(name)
            if value.any():
                break
            empty[name] = value.ndim
    return empty

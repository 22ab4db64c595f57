"""The hash of weights, and which of them differ from others."""

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor


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

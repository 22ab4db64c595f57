"""Hash weights on their device, and compare them with the weights of a file."""

import hashlib
import json
from collections.abc import Mapping

import torch
from torch import Tensor

CHUNK = 2**18  # 8-byte words hashed at once, so that intermediate results stay in the cache of a CPU
ODD = -7046029254386353131, -4658895280553007687  # int64 multipliers; torch wraps products modulo 2**64


def weights_hash(weights: Mapping[str, Tensor]) -> str | None:
    """Return a SHA-256 of the names, dtypes, shapes and bytes of tensors, sorted by name; None without tensors.

    The hash does not depend on device or strides. Each tensor is reduced to 64 bits on its device, so that no weights
    are copied to the host.
    """
    if not weights:
        return None
    names = sorted(weights)
    sums = [_checksum(weights[name]) for name in names]  # tensors on the device; int() below waits for it
    lines = [
        json.dumps([name, str(weights[name].dtype), list(weights[name].shape), int(total)])
        for name, total in zip(names, sums, strict=True)
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _checksum(value: Tensor) -> Tensor:
    """Return the sum modulo 2**64 of the 8-byte words of a tensor, each mixed with its position: int64 []."""
    data = _bytes(value)
    if len(data) % 8 or data.storage_offset() % 8:  # torch cannot view these bytes as int64
        data = torch.nn.functional.pad(data, (0, -len(data) % 8))
    words = data.view(torch.int64)
    total = torch.zeros((), dtype=torch.int64, device=words.device)
    places = torch.arange(min(CHUNK, len(words)), device=words.device)
    for start in range(0, len(words), CHUNK):
        chunk = words[start : start + CHUNK]
        mixed = (places[: len(chunk)] + (start + 1)).mul_(ODD[0]).bitwise_xor_(chunk).mul_(ODD[1])
        mixed.bitwise_xor_(mixed >> 32).mul_(ODD[0])  # otherwise, two changed sign bits would cancel out
        total += mixed.bitwise_xor_(mixed >> 29).sum()
    return total


def differing_names(weights: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> set[str]:
    """Return the names of tensors that differ from the saved tensors in any bit, or that are only in one of the two.

    The saved tensors are first cast to the dtype of ``weights``, and moved to their device.
    """
    pairs = {name: (weights[name], saved[name].to(weights[name])) for name in weights.keys() & saved.keys()}
    differ = {n for n, (a, b) in pairs.items() if a.shape != b.shape or not torch.equal(_bytes(a), _bytes(b))}
    return differ | (weights.keys() ^ saved.keys())


def _bytes(value: Tensor) -> Tensor:
    return value.detach().contiguous().reshape(-1).view(torch.uint8)

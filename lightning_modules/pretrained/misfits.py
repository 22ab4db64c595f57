"""How weights do not fit a network, and why a file cannot be loaded, in words."""

import re
from collections.abc import Collection, Mapping

import torch
from torch import Tensor

Shape = tuple[int, ...]
Shapes = Mapping[str, tuple[Shape, Shape]]  # name of a tensor to its shape in a file, in the network


def difference(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> tuple[set[str], set[str], Shapes]:
    """Names of tensors that are missing among given weights, of those left over, and shapes where these differ."""
    shapes = {name: (tuple(given[name].shape), tuple(own[name].shape)) for name in own.keys() & given.keys()}
    return own.keys() - given.keys(), given.keys() - own.keys(), {n: s for n, s in shapes.items() if s[0] != s[1]}


def misfits(missing: Collection[str], extra: Collection[str], shapes: Shapes) -> str:
    """Say how weights do not fit a network, in words that follow "they"; nothing where they do.

    Weights that are missing are named first, then those left over, then those of another shape: one kind says enough.

    Example:
        >>> misfits({"head.weight", "head.bias"}, {"pooler.weight"}, {})
        'lack 2 weights (head.bias, ...)'
    """
    sizes = {name: [" x ".join(map(str, shape)) for shape in pair] for name, pair in shapes.items()}
    wrong = {
        "lack {}": missing,
        "have {} too many": extra,
        "have other shapes in {}": {f"{name} of {saved}, not {wanted}" for name, (saved, wanted) in sizes.items()},
    }
    return next((words.format(first_names(names)) for words, names in wrong.items() if names), "")


def first_names(names: Collection[str], most: int = 1) -> str:
    """How many weights, and what the first ones are called."""
    first = sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])[:most]
    count = f"{len(names)} weights" if len(names) > 1 else "1 weight"
    return f"{count} ({', '.join(first)}{', ...' if len(names) > most else ''})"


def is_of_memory(error: Exception) -> bool:
    """Whether a device or its memory failed, and not what was computed: torch has types for a part of these alone."""
    marks = ("DefaultCPUAllocator", "CUBLAS_STATUS", "CUDNN_STATUS")
    by_type = isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError)
    return by_type or any(mark in str(error) for mark in marks)


def reason(error: Exception) -> str:
    """The first line of what a library says of an error, without a full stop; of a long one the beginning."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") if len(lines[0]) <= 200 else f"{lines[0][:197].rstrip()}..."

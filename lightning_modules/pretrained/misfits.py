"""Phrases for error messages about weights that do not fit a network, and about failures to load a model."""

import re
from collections.abc import Collection, Mapping

import torch
from torch import Tensor

Shape = tuple[int, ...]
Shapes = Mapping[str, tuple[Shape, Shape]]  # name of a tensor to its shape in a file, in the network


def compare_weights(wanted: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> tuple[set[str], set[str], Shapes]:
    """Compare the weights that a network wants with the weights of a file, by name.

    Returns:
        Names that the file lacks; names that the network lacks; and, for weights of different shapes, name to (shape in
        the file, shape in the network).
    """
    shapes = {n: (tuple(weights[n].shape), tuple(wanted[n].shape)) for n in wanted.keys() & weights.keys()}
    differing = {name: pair for name, pair in shapes.items() if pair[0] != pair[1]}
    return wanted.keys() - weights.keys(), weights.keys() - wanted.keys(), differing


def misfits(missing: Collection[str], extra: Collection[str], shapes: Shapes) -> str:
    """Describe how weights do not fit a network, as a phrase that follows "they"; empty if the weights fit.

    The phrase names missing weights, or else surplus weights, or else weights of another shape.

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


def first_names(names: Collection[str]) -> str:
    """Format the number of some weights and the name of the first, such as "2 weights (head.bias, ...)"."""
    first = min(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])
    return f"1 weight ({first})" if len(names) == 1 else f"{len(names)} weights ({first}, ...)"


def is_of_memory(error: Exception) -> bool:
    """Whether an exception means that memory ran out or that a device failed; torch may raise RuntimeError for both."""
    marks = ("DefaultCPUAllocator", "CUBLAS_STATUS", "CUDNN_STATUS")
    by_type = isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError)
    return by_type or any(mark in str(error) for mark in marks)


def reason(error: Exception) -> str:
    """Return the first line of an exception's message, at most 200 characters, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".") if len(lines[0]) <= 200 else f"{lines[0][:197].rstrip()}..."

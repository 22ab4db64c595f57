"""How weights do not fit a network, in words."""

import re
from collections.abc import Collection, Mapping

from torch import Tensor

Shape = tuple[int, ...]
Shapes = Mapping[str, tuple[Shape, Shape]]  # name of a tensor to its shape in a file, in the network


def difference(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> tuple[set[str], set[str], Shapes]:
    """Names of tensors that are missing among given weights, of those left over, and shapes where these differ."""
    shapes = {name: (tuple(given[name].shape), tuple(own[name].shape)) for name in own.keys() & given.keys()}
    return own.keys() - given.keys(), given.keys() - own.keys(), {n: s for n, s in shapes.items() if s[0] != s[1]}


def misfits(missing: Collection[str], extra: Collection[str], shapes: Shapes) -> str:
    """Say how weights do not fit a network, in words that follow "they"; nothing where they do."""
    sizes = {name: [" x ".join(map(str, shape)) for shape in pair] for name, pair in shapes.items()}
    wrong = {
        "lack {}": missing,
        "hold {} that the network has no place for": extra,
        "hold {} of another shape": {f"{name} of {saved}, not {wanted}" for name, (saved, wanted) in sizes.items()},
    }
    return ", and ".join(words.format(first_names(names)) for words, names in wrong.items() if names)


def first_names(names: Collection[str]) -> str:
    """How many tensors, and what the first ones are called."""
    first = sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)])[:3]
    count = f"{len(names)} tensors" if len(names) > 1 else "1 tensor"
    return f"{count} ({', '.join(first)}{', ...' if len(names) > 3 else ''})"

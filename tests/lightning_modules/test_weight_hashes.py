"""Tests of the hash of weights, and of the comparison with the weights of a file."""

import hashlib
import json

import pytest
import torch

from heedful.lightning_modules import weights
from heedful.lightning_modules.weights import ODD, differing_names, weights_hash

WEIGHTS = {
    "b.weight": torch.arange(6, dtype=torch.float32).view(2, 3) / 7,
    "a": torch.tensor([1, 2, 3]),
    "c": torch.tensor(0.5, dtype=torch.bfloat16),
    "d": torch.zeros(0, 4),
}


def signed(number):
    """Reduce a number modulo 2**64 to the range of int64."""
    return (number + 2**63) % 2**64 - 2**63


def by_hand(tensors):
    """The hash, computed with integers of Python."""
    lines = []
    for name in sorted(tensors):
        value = tensors[name]
        data = bytes(value.clone(memory_format=torch.contiguous_format).untyped_storage())
        data += bytes(-len(data) % 8)
        total = 0
        for place in range(len(data) // 8):
            word = int.from_bytes(data[8 * place : 8 * place + 8], "little", signed=True)
            mixed = signed((signed((place + 1) * ODD[0]) ^ word) * ODD[1])
            mixed = signed((mixed ^ (mixed >> 32)) * ODD[0])
            total = signed(total + (mixed ^ (mixed >> 29)))
        lines.append(json.dumps([name, str(value.dtype), list(value.shape), total]))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def test_the_hash_is_of_names_dtypes_shapes_and_bytes(monkeypatch):
    assert weights_hash(WEIGHTS) == by_hand(WEIGHTS)
    assert weights_hash(dict(reversed(WEIGHTS.items()))) == weights_hash(WEIGHTS)
    assert weights_hash(WEIGHTS | {"b.weight": WEIGHTS["b.weight"].t().contiguous().t()}) == weights_hash(WEIGHTS)
    others = [
        WEIGHTS | {"b.weight": WEIGHTS["b.weight"].view(3, 2)},
        WEIGHTS | {"b.weight": torch.nextafter(WEIGHTS["b.weight"], torch.tensor(9.0))},
        WEIGHTS | {"a": WEIGHTS["a"].int()},
        {name.replace("a", "e"): value for name, value in WEIGHTS.items()},
    ]
    assert len({weights_hash(each) for each in [WEIGHTS, *others]}) == 5
    assert weights_hash({}) is None
    values = torch.randn(41, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(weights, "CHUNK", 7)
    assert weights_hash({"a": values[1:]}) == by_hand({"a": values[1:].clone()})


@pytest.mark.parametrize("places", [[1, 3], [0, 2, 5], [4]])
def test_changed_signs_and_order_change_the_hash(places):
    values = torch.randn(8, generator=torch.Generator().manual_seed(0))
    negated, moved = values.clone(), values.roll(places[-1])
    negated[places] *= -1
    assert len({weights_hash({"a": each}) for each in (values, negated, moved)}) == 3


def test_what_differs_is_named_once_both_are_of_one_dtype():
    own = {name: value.to(torch.bfloat16) if value.is_floating_point() else value for name, value in WEIGHTS.items()}
    assert differing_names(own, WEIGHTS) == set()
    assert differing_names(WEIGHTS, own) == {"b.weight"}  # bfloat16 lost bits
    assert differing_names(WEIGHTS, WEIGHTS | {"a": WEIGHTS["a"] + 1, "x": WEIGHTS["c"]}) == {"a", "x"}
    assert differing_names({"a": torch.tensor([0.0, torch.nan])}, {"a": torch.tensor([0.0, torch.nan])}) == set()
    assert differing_names({"a": torch.tensor([0.0])}, {"a": torch.tensor([-0.0])}) == {"a"}

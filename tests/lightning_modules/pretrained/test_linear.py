"""Tests that linear layers through oneDNN compute the values and gradients of torch."""

import pytest
import torch
from torch import nn

from heedful.lightning_modules.pretrained import linear
from heedful.lightning_modules.pretrained.linear import OneDNNLinear, faster_on_cpu

works = pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="torch is built without oneDNN")


def pair(bias=True):
    torch.manual_seed(0)
    plain, fast = nn.Linear(24, 40, bias=bias), OneDNNLinear(24, 40, bias=bias)
    fast.load_state_dict(plain.state_dict())
    return plain, fast


@works
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7, 24), (3, 5, 24), (0, 24), (24,)])
def test_values_and_gradients_are_those_of_torch(shape, bias):
    """Also for inputs that are not contiguous; frozen weights get no gradient."""
    values, gradients = [], []
    for layer in pair(bias):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
        y = layer(x)
        y.square().sum().backward()
        values.append(y)
        gradients.append([x.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(values[1], values[0], rtol=1e-5, atol=1e-5)
    for mine, theirs in zip(gradients[1], gradients[0], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
    plain, fast = pair()
    fast.weight.requires_grad = False
    x = torch.randn(24, 6).t()
    torch.testing.assert_close(fast(x), plain(x), rtol=1e-5, atol=1e-5)
    fast(x).sum().backward()
    assert fast.weight.grad is None
    torch.testing.assert_close(fast.bias.grad, torch.full((40,), 6.0))
    with torch.autocast("cpu", torch.bfloat16):
        assert fast(x).dtype == torch.bfloat16


@pytest.mark.slow
def test_a_compiler_meets_the_layer_of_torch():
    """torch.compile has its own calls of oneDNN, and fails on the operator."""
    targets = []

    def backend(graph, inputs):
        targets.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    _, fast = pair()
    x = torch.randn(4, 24)
    torch.testing.assert_close(torch.compile(fast, backend=backend)(x), fast(x), rtol=1e-5, atol=1e-5)
    assert any("linear" in target for target in targets)
    assert not any("mkldnn" in target or "autograd" in target for target in targets)


@pytest.mark.parametrize("prefers", [True, False])
def test_only_linear_layers_change_and_only_where_it_pays(monkeypatch, prefers):
    def missing(*args):
        raise AttributeError

    network = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Bilinear(4, 4, 2))
    names = list(network.state_dict())
    if prefers:
        monkeypatch.setattr(linear, "prefers_onednn", lambda: True)
    else:  # torch without the operator
        monkeypatch.setattr(linear, "_multiply", missing)
        linear.prefers_onednn.cache_clear()
    assert faster_on_cpu(network) is network
    if not prefers:
        linear.prefers_onednn.cache_clear()
    assert isinstance(network[0], OneDNNLinear) == prefers
    assert [type(m) for m in network][1:] == [nn.LayerNorm, nn.Bilinear]
    assert list(network.state_dict()) == names

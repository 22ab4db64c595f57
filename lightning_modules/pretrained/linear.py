"""Linear layers that use oneDNN on CPUs where torch's default is slow.

On x86, torch multiplies float32 matrices with MKL, which reaches less than half the speed of oneDNN on processors that
are not made by Intel. torch ships both libraries. This module uses the same oneDNN operator as ``torch.compile``.
"""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


@cache
def prefers_onednn() -> bool:
    """Whether linear layers should use oneDNN: on x86 processors that are not Intel's, if torch has the operator."""
    try:
        processor = Path("/proc/cpuinfo").read_text()
        x = torch.eye(2)
        weight = torch.ones(2, 2)
        works = torch.equal(_multiply(x, weight, None), weight)
    except (OSError, AttributeError, RuntimeError):
        return False
    return works and "vendor_id" in processor and "GenuineIntel" not in processor


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _multiply(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        for_x, for_weight, for_bias = ctx.needs_input_grad
        rows = gradient.flatten(0, -2)
        inputs = x.flatten(0, -2)
        return (
            _multiply(gradient.contiguous(), weight.t().contiguous(), None) if for_x else None,
            _multiply(rows.t().contiguous(), inputs.t().contiguous(), None) if for_weight else None,
            rows.sum(0) if for_bias else None,
        )


class OneDNNLinear(nn.Linear):
    """``torch.nn.Linear`` that uses oneDNN for float32 on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        plain = x.device.type != "cpu" or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
        if plain or x.dim() < 2 or not x.numel() or torch.compiler.is_compiling():  # the compiler chooses a library
            return F.linear(x, self.weight, self.bias)
        return _Linear.apply(x.contiguous(), self.weight, self.bias)


def faster_on_cpu(network: nn.Module) -> nn.Module:
    """Replace the linear layers of a network by :class:`OneDNNLinear` if that is faster; return the network."""
    if prefers_onednn():
        for module in network.modules():
            if type(module) is nn.Linear:
                module.__class__ = OneDNNLinear
    return network

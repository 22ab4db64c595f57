"""A simulated GPU: tensors report a GPU as their device and are computed on the CPU.

A tensor "on the device" holds a CPU tensor. Every operation on such tensors is intercepted, so whole runs work, and
each hidden synchronisation with the GPU is recorded with its place in the code. For C++ the tensors have the device
"meta", which needs no driver; for Python "cuda:0", so that code takes its branches for a GPU. An Apple GPU ("mps:0",
which refuses float64) is simulated in the same way.
"""

import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

DEVICE = torch.device("cuda:0")  # the default device of a rehearsal
ROOT = Path(__file__).parents[2]
LIBRARIES = Path(sysconfig.get_paths()["purelib"])
OWN = ("callbacks/", "datamodules/", "lightning_modules/", "heedful/", "tests/")
aten = torch.ops.aten

WAITS = {  # operators whose values or shapes the host reads
    aten._local_scalar_dense,
    aten.bincount,
    aten.equal,
    aten.masked_select,
    aten.nonzero,
    aten.unique_consecutive,
    aten.unique_dim,
    aten._unique2,
}
INDEXES = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_}
MOVES = {aten._to_copy, aten.copy_}
# functions that autocast runs in lower and in full precision, from torch's documentation of CUDA
LOWER = set("linear matmul mm mv bmm baddbmm addmm addmv addbmm addr einsum prelu conv1d conv2d conv3d".split())
LOWER |= {"__matmul__", "__rmatmul__", "scaled_dot_product_attention", "conv_transpose1d", "conv_transpose2d"}
FULL = set("exp expm1 log log10 log2 log1p pow prod sum cumsum cumprod reciprocal rsqrt norm softmax softmin".split())
FULL |= set("log_softmax layer_norm group_norm cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss kl_div".split())
FULL |= set("binary_cross_entropy_with_logits cosine_similarity logsumexp softplus cosh sinh tan acos asin".split())
FULL |= {"__pow__", "__rpow__", "__rdiv__", "__rtruediv__", "normalize", "cdist", "dist", "renorm"}


@dataclass(frozen=True)
class Finding:
    """An operation that would synchronise with a GPU or fail on it.

    Attributes:
        kind: "wait" if the host reads a value, "copy" if it copies to the device and waits (an Apple GPU shares the
            memory of the host), "float64" for a float64 tensor on the device, "mixed" for operands on both devices.
        operator: Name of the operator of aten, or of the function of torch.
        where: The place in Heedful, "file:function".
        by: The innermost place outside torch, "file:function".
        line: The line at ``where``.
    """

    kind: str
    operator: str
    where: str
    by: str
    line: int

    def __str__(self) -> str:
        return f"{self.kind} {self.operator} at {self.where} (line {self.line}), by {self.by}"


class OnDevice(Tensor):
    """A tensor on the simulated device.

    Args:
        held: The CPU tensor with the values.
    """

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "OnDevice":
        layout = {"strides": held.stride(), "storage_offset": held.storage_offset(), "layout": held.layout}
        made = Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device="meta", **layout)
        made.held = held
        return made

    device = property(lambda self: _here())
    is_cuda = property(lambda self: _here().type == "cuda")
    is_mps = property(lambda self: _here().type == "mps")
    is_meta = property(lambda self: False)
    is_cpu = property(lambda self: False)

    def get_device(self) -> int:
        return _here().index

    def __repr__(self, **settings: Any) -> str:
        return f"OnDevice({tuple(self.shape)}, {self.dtype})"

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        """Let ``module.to`` swap weights in place, so that shared weights stay shared."""
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(inner: Mapping[str, Tensor], *_: Any) -> "OnDevice":
        return OnDevice(inner["held"])

    @classmethod
    def __torch_function__(cls, func: Callable, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return called(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        return current().compute(func, args, kwargs or {})


_rehearsals: list["Rehearsal"] = []


def current() -> "Rehearsal":
    """The active rehearsal.

    Raises:
        RuntimeError: No rehearsal is active.
    """
    if not _rehearsals:
        raise RuntimeError("A tensor of the simulated device is used outside of a rehearsal.")
    return _rehearsals[-1]


def _here() -> torch.device:
    """The simulated device of the active rehearsal."""
    return _rehearsals[-1].device if _rehearsals else DEVICE


def called(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a Python function of torch with the behaviour of a GPU."""
    name = getattr(func, "__name__", "")
    here = _here()
    on_device = bool(args) and isinstance(args[0], OnDevice)
    if func in (Tensor.numpy, Tensor.__array__) and on_device:
        raise TypeError(f"can't convert {here} device type tensor to numpy.")
    if func is Tensor.tolist and on_device:
        return args[0].cpu().tolist()
    if func in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
        device = kwargs.get("device", here if func is Tensor.new_tensor and on_device else None)
        if device is not None and torch.device(device).type == here.type:
            return made_on_host(func, args, kwargs)
    if torch.is_autocast_enabled(here.type) and (name in LOWER or name in FULL):
        dtype = torch.get_autocast_dtype(here.type) if name in LOWER else torch.float32
        args, kwargs = tree_map(lambda value: autocast(value, dtype), (args, kwargs))
    return func(*args, **kwargs)


def made_on_host(func: Callable, args: tuple, kwargs: dict[str, Any]) -> Tensor:
    """Create a tensor from Python or numpy values for the device, as torch does: on the host, followed by a copy."""
    values = args[1] if func is Tensor.new_tensor else args[0] if args else kwargs["data"]
    settings = {name: value for name, value in kwargs.items() if name not in ("data", "device")}
    if func is Tensor.new_tensor:
        settings.setdefault("dtype", args[0].dtype)
    if isinstance(values, OnDevice):
        return values.to(settings.get("dtype", values.dtype))
    if not isinstance(values, Tensor):
        values = torch.tensor(values, **settings)
    return values.to(_here())


def autocast(value: Any, dtype: torch.dtype) -> Any:
    """Cast a floating-point tensor of the device; as in torch, float64 stays float64."""
    if not isinstance(value, OnDevice) or not value.is_floating_point() or value.dtype in (dtype, torch.float64):
        return value
    return value.to(dtype)


class _Functions(TorchFunctionMode):
    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        return called(func, args, kwargs or {})


class _Operators(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        return current().compute(func, args, kwargs or {})


class _Event:
    """An event of a device; the host waits in ``synchronize``."""

    def __init__(self, device: torch.device, **settings: bool) -> None:
        pass

    def record(self) -> None:
        pass

    def synchronize(self) -> None:
        _rehearsals[-1].note("wait", "Event.synchronize")


class Rehearsal:
    """Context manager that simulates a GPU and records operations that would synchronise with it.

    Args:
        device: The GPU: "cuda:0" or "mps:0".

    Attributes:
        findings: The recorded operations, in order.
    """

    def __init__(self, device: torch.device | str = DEVICE) -> None:
        self.device = torch.device(device)
        self.findings: list[Finding] = []
        self._pinned: dict[int, Tensor] = {}  # maps the address of a storage to its tensor
        self._stack = ExitStack()
        self._silent = False

    def __enter__(self) -> "Rehearsal":
        pinned = self._pinned

        def pin_memory(tensor: Tensor, device: Any = None) -> Tensor:
            copied = tensor.clone()
            pinned[copied.untyped_storage().data_ptr()] = copied
            return copied

        enter = self._stack.enter_context
        enter(patch.object(torch.Tensor, "pin_memory", pin_memory))
        enter(patch.object(torch.Tensor, "is_pinned", lambda tensor, device=None: self.is_pinned(tensor)))
        enter(patch.object(torch.cuda, "_lazy_init", lambda: None))
        enter(patch.object(torch, "Event", _Event))
        properties = SimpleNamespace(total_memory=80 * 2**30)
        enter(patch.object(torch.cuda, "get_device_properties", lambda device: properties))
        enter(patch.object(torch.cuda, "is_bf16_supported", lambda *args, **settings: True))
        enter(patch("torch.cuda.amp.common.amp_definitely_not_available", lambda: False))
        _rehearsals.append(self)
        self._stack.callback(_rehearsals.pop)
        enter(_Operators())
        enter(_Functions())
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def is_pinned(self, tensor: Tensor) -> bool:
        """Whether a tensor is in pinned memory of the host."""
        return not isinstance(tensor, OnDevice) and tensor.untyped_storage().data_ptr() in self._pinned

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Context manager in which no operation is recorded, for the operations of a test."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before

    def place(self, values: Any) -> Any:
        """Move tensors or a module to the device without a record."""
        with self.unseen():
            if isinstance(values, torch.nn.Module):
                return values.to(self.device)
            return tree_map(lambda value: value.to(self.device) if isinstance(value, Tensor) else value, values)

    def fetch(self, values: Any) -> Any:
        """Move tensors to the host without a record."""
        with self.unseen():
            return tree_map(lambda value: value.cpu() if isinstance(value, Tensor) else value, values)

    def counted(self, *kinds: str) -> Counter[tuple[str, str, str]]:
        """Count the findings by (kind, place in Heedful, innermost place); only those of ``kinds``, if given."""
        chosen = [found for found in self.findings if not kinds or found.kind in kinds]
        return Counter((found.kind, found.where, found.by) for found in chosen)

    def note(self, kind: str, func: Any) -> None:
        """Record a finding at the current place in the code."""
        if not self._silent:
            self.findings.append(Finding(kind, str(func), *_places()))

    def compute(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Compute an operator on the CPU, and record whether it would synchronise with a GPU."""
        if func._can_decompose():  # inference mode does not decompose these operators
            with _Operators():
                return func.decompose(*args, **kwargs)
        wrappers: dict[int, OnDevice] = {}
        hosts: list[Tensor] = []

        def held(value: Any) -> Any:
            if isinstance(value, OnDevice):
                wrappers[id(value.held)] = value
                return value.held
            if isinstance(value, Tensor):
                hosts.append(value)
            return value

        plain_args, plain_kwargs = tree_map(held, (args, kwargs))
        target = kwargs.get("device")
        if target is None:
            is_on_device = bool(wrappers) and not (
                func.overloadpacket is aten.copy_ and not isinstance(args[0], OnDevice)
            )
        else:
            is_on_device = target.type in (self.device.type, "meta")  # C++ makes new tensors on "meta"
            plain_kwargs["device"] = torch.device("cpu") if is_on_device else target
        if func.overloadpacket in MOVES:
            self._moved(func, args, kwargs, is_on_device)
        elif wrappers:
            self._looked_at(func, args, hosts)
        if "pin_memory" in plain_kwargs:
            plain_kwargs["pin_memory"] = False
        made = func(*plain_args, **plain_kwargs)
        return self._wrapped(func, made, wrappers) if is_on_device else made

    def _wrapped(self, func: Any, made: Any, wrappers: Mapping[int, OnDevice]) -> Any:
        """Wrap the outputs of an operator as tensors of the device; inputs that it returns keep their wrappers.

        Args:
            func: The operator.
            made: The outputs, on the CPU.
            wrappers: Maps the id of the CPU tensor of each input to its wrapper.
        """
        is_inference = torch.is_inference_mode_enabled()
        if is_inference and any(value.alias_info is not None for value in func._schema.returns):
            is_inference = all(wrapper.is_inference() for wrapper in wrappers.values())

        def wrapped(value: Any) -> Any:
            if not isinstance(value, Tensor) or id(value) in wrappers:
                return wrappers.get(id(value), value)
            if value.dtype in (torch.float64, torch.complex128):
                self.note("float64", func)
                if self.device.type == "mps":
                    raise TypeError("Cannot convert a MPS Tensor to float64 dtype.")
            with torch.inference_mode(is_inference):
                return OnDevice(value)

        return tree_map(wrapped, made)

    def _moved(self, func: Any, args: tuple, kwargs: dict[str, Any], is_on_device: bool) -> None:
        """Record a copy between host and device."""
        if func.overloadpacket is aten.copy_:
            destination, source = args[:2]
            to_device = isinstance(destination, OnDevice)
            is_free = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
        else:
            source = args[0]
            to_device = is_on_device
            is_free = kwargs.get("non_blocking", False)
        if isinstance(source, OnDevice) == to_device or not source.numel():
            return
        if not to_device:
            if not is_free:
                self.note("wait", func)
        elif self.device.type != "mps" and source.device.type == "cpu" and not (is_free and self.is_pinned(source)):
            self.note("copy", func)

    def _looked_at(self, func: Any, args: tuple, hosts: list[Tensor]) -> None:
        """Record an operator on the device that would synchronise with the host.

        Raises:
            RuntimeError: An operand is on the host.
        """
        packet = func.overloadpacket
        if packet in WAITS or (packet is aten.repeat_interleave and "Tensor" in func._overloadname):
            self.note("wait", func)
        if packet in INDEXES:
            indices = [index for index in args[1] if index is not None]
            if any(not isinstance(index, OnDevice) for index in indices):
                self.note("copy", func)  # torch copies the index to the device
            if any(index.dtype in (torch.bool, torch.uint8) for index in indices):
                self.note("wait", func)  # torch counts the selected elements
            hosts = [host for host in hosts if not any(host is index for index in indices)]
        if any(host.dim() for host in hosts) or (hosts and not isinstance(args[0], (OnDevice, list, tuple))):
            scalar = all(not host.dim() for host in hosts) and torch.Tag.pointwise in func.tags
            if not scalar:
                self.note("mixed", func)
                raise RuntimeError(f"Expected all tensors to be on the same device ({func}): {_places()[0]}.")


def _places() -> tuple[str, str, int]:
    """The current place in Heedful, the innermost place outside of torch, and the line of the former."""
    frame = sys._getframe(2)
    by = ""
    where = ""
    line = 0
    while frame is not None and not where:
        path = frame.f_code.co_filename
        function = frame.f_code.co_name
        if path != __file__ and function not in ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"):
            if (own := _relative(path)) is not None:
                where, line = f"{own}:{function}", frame.f_lineno
            if not by and "/torch/" not in path and not path.startswith("<"):
                library = Path(path)
                inside = library.is_relative_to(LIBRARIES)
                by = where or f"{library.relative_to(LIBRARIES) if inside else library.name}:{function}"
        frame = frame.f_back
    return where, by or where, line


def _relative(path: str) -> str | None:
    """The path of a file of Heedful relative to the root; None for other files."""
    if not path.startswith(str(ROOT)):
        return None
    own = path[len(str(ROOT)) + 1 :].removeprefix("heedful/")
    return own if own.startswith(OWN) else None

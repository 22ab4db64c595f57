"""What all benchmarks share: interleaved repeats, medians, counted forwards, a table of 80 columns."""

import argparse
import contextlib
import logging
import os
import platform
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from heedful.records import write_json

T = TypeVar("T")
WIDTH = 80


@dataclass(frozen=True)
class Spread:
    """The median of repeats, and how far they lie apart."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of some repeats."""
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits: int = 2) -> str:
        """As in "3.21 [3.10, 3.40]"."""
        return f"{self.median:,.{digits}f} [{self.low:,.{digits}f}, {self.high:,.{digits}f}]"


def ratio(over: Sequence[float], under: Sequence[float]) -> Spread:
    """Of what was measured in the same repeat: a machine that slows down slows both."""
    return Spread.of([a / b for a, b in zip(over, under, strict=True)])


def interleave(variants: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
    """Run every variant once in each repeat; each repeat starts with another one.

    Args:
        variants: Name to what is to be measured.
        repeats: How often.

    Returns:
        Name to what its calls returned, in the order of repeats.
    """
    names, found = list(variants), {name: [] for name in variants}
    for repeat in range(repeats):
        start = repeat % len(names)
        for name in names[start:] + names[:start]:
            progress(f"repeat {repeat + 1} of {repeats}: {name}")
            found[name].append(variants[name]())
    progress("")
    return found


def progress(text: str) -> None:
    """Show what is going on, in one line of a terminal and nowhere else."""
    if sys.stderr.isatty():
        print(f"\r{text[: WIDTH - 1]:<{WIDTH - 1}}\r", end="", file=sys.stderr, flush=True)


class Count:
    """Counts what a network computes while the context lasts.

    Attributes:
        forwards: Examples that were fed to the network.
        computed: Tokens that were computed, padding included.
        real: Tokens without padding.
        batches: The inputs themselves, if they were to be kept.
    """

    def __init__(self, network: nn.Module, keep: bool = False) -> None:
        self.network, self.keep = network, keep
        self.forwards = self.computed = self.real = 0
        self.batches: list[dict[str, torch.Tensor]] = []

    def __enter__(self) -> "Count":
        self._handle = self.network.register_forward_pre_hook(self._see, with_kwargs=True)
        return self

    def __exit__(self, *error: Any) -> None:
        self._handle.remove()

    def _see(self, network: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        mask = kwargs["attention_mask"]
        self.forwards += mask.shape[0]
        self.computed += mask.numel()
        self.real += int(mask.sum())
        if self.keep:
            self.batches.append({name: value for name, value in kwargs.items() if torch.is_tensor(value)})

    @property
    def padding(self) -> float:
        """Tokens computed for each real one."""
        return self.computed / max(1, self.real)


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Columns under a title: the first row is the head, the first column stands left, all others right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]
    rule = "-" * min(WIDTH, max(map(len, lines)))
    return "\n".join([title, rule, lines[0], rule, *lines[1:], ""])


def verdict(what: str, found: float, target: float, at_least: bool = True) -> str:
    """One line that says whether a target is met."""
    met = found >= target if at_least else found <= target
    return f"{what}: {found:.2f} (target {'>=' if at_least else '<='} {target:g}): {'met' if met else 'NOT met'}"


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    names = [line.partition(":")[2].strip() for line in _cpuinfo() if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("torch", "transformers", "pytorch-lightning")},
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def machine_line() -> str:
    """The machine in two lines."""
    found = machine()
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return f"{found['processor']}, {found['cores']} cores, {found['threads']} threads\n{packages}\n"


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Says what the default is, where there is one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False) else super()._get_help_string(action)


def arguments(
    description: str, examples: int | None, repeats: int = 5, folder: str = "mnli"
) -> argparse.ArgumentParser:
    """A parser with what most benchmarks take; with no ``examples`` for one that repeats nothing over a sample.

    ``folder`` is that of the data within ``HEEDFUL_DATA``.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=Help)
    data = os.environ.get("HEEDFUL_DATA")
    parser.add_argument(
        "--data", default=f"{data}/{folder}" if data else None, required=not data, help=f"folder of {folder}"
    )
    if examples is not None:
        parser.add_argument("--examples", type=int, default=examples, help="a fixed random sample of this size")
        parser.add_argument("--repeats", type=int, default=repeats, help="of every variant, interleaved")
    parser.add_argument("--model", help="folder of an encoder; MiniLM if none is named")
    parser.add_argument("--threads", type=int, help="of torch; all cores if not given")
    parser.add_argument("--output", help="write what was measured to this JSON file")
    return parser


def parse(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, packages: Sequence[str] = ()
) -> argparse.Namespace:
    """Read the command line, see that the packages are installed, and set the number of threads."""
    options = parser.parse_args(argv)
    for package in packages:
        if find_spec(package) is None:
            raise SystemExit(f"benchmarks: {package} is needed: pip install -e '.[benchmarks]'")
    if options.threads:
        torch.set_num_threads(options.threads)
    return options


def save(options: argparse.Namespace, result: Mapping[str, Any]) -> dict[str, Any]:
    """Write the result, with settings and machine, if ``--output`` names a file; spreads become dictionaries."""
    settings = {name: value for name, value in vars(options).items() if name not in ("output", "data", "model")}
    whole = {"settings": settings, "machine": machine(), **_plain(result)}
    if options.output:
        write_json(options.output, whole)
    return whole


def _plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain(v) for name, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing but our own tables: no progress bars, no hints and no warnings of libraries, until the context ends."""
    from datasets import utils as datasets_utils
    from transformers.utils import logging as transformers_logging

    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "transformers", "datasets", "accelerate")]
    levels, bars = [log.level for log in loggers], not datasets_utils.are_progress_bars_disabled()
    transformers_bars = transformers_logging.is_progress_bar_enabled()
    try:
        for log in loggers:
            log.setLevel(logging.ERROR)
        datasets_utils.disable_progress_bars()
        transformers_logging.disable_progress_bar()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(loggers, levels, strict=True):
            log.setLevel(level)
        if bars:
            datasets_utils.enable_progress_bars()
        if transformers_bars:
            transformers_logging.enable_progress_bar()

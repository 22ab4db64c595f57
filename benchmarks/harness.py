"""Shared by all benchmarks: interleaved repeats, medians, ratios, counted forwards, tables, and what is compared.

Heedful is as its command line builds it: MNLI over local files, MiniLM, and the defaults of the trainer. Beside it
stands what one would write without it: data sets that are tokenised anew, and transformers' Trainer.
"""

import argparse
import contextlib
import json
import logging
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch
import transformers
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import nn

from benchmarks.bare_runs import fitted, measured
from heedful.assembly.config import load_data, load_model
from heedful.datamodules import PairedText
from heedful.lightning_modules import Encoder
from heedful.lightning_modules.pretrained.linear import OneDNNLinear
from heedful.records import Examples, ModelError, Task, write_json

if TYPE_CHECKING:
    from datasets import Dataset

CPU = {"accelerator": "cpu"}  # where the others run, too
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
    """The machine that the numbers were measured on."""
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


def in_processes(name: str, folder: str, draws: int, processes: int = 1, threads: int = 1) -> list[dict[str, Any]]:
    """Run ``python -m benchmarks.NAME --worker FOLDER`` in new processes, which share no memory with this one.

    Returns:
        What each printed last, as JSON.

    Raises:
        RuntimeError: One fails. The others are ended.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}", "--worker", folder, "--data", folder]
    command += ["--draws", str(draws), "--threads", str(threads)]
    group = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    if processes > 1:
        group |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "NODE_RANK": "0"}
        group |= {"WORLD_SIZE": str(processes)}
    with contextlib.ExitStack() as stack:
        told = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = []
        for rank in range(processes):
            environment = group | ({"LOCAL_RANK": str(rank)} if processes > 1 else {})
            out, err = (stack.enter_context(open(told / f"{rank}.{end}", "w")) for end in ("out", "err"))
            process = subprocess.Popen(command, cwd=Path(__file__).parents[1], env=environment, stdout=out, stderr=err)
            stack.callback(process.wait)
            stack.callback(process.kill)  # does nothing to one that has ended
            started.append(process)
        while any(process.poll() is None for process in started) and not any(p.returncode for p in started):
            time.sleep(0.1)
        for rank, process in enumerate(started):
            if process.poll():
                raise RuntimeError(f"process {rank}:\n{(told / f'{rank}.err').read_text()}")
        return [json.loads((told / f"{rank}.out").read_text().splitlines()[-1]) for rank in range(processes)]


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


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

    names = ("heedful", "pytorch_lightning", "transformers", "datasets", "accelerate")
    loggers = [logging.getLogger(name) for name in names]
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


def mnli(path: str, **settings: Any) -> PairedText:
    """The data module of ``--data mnli --data.path PATH``."""
    return load_data("mnli", path=path, **settings)


def encoder(folder: str | None, **settings: Any) -> Encoder:
    """The model of ``--model minilm``, or of ``--model.backbone FOLDER``."""
    named = {"backbone": folder} if folder else {}
    return load_model("minilm", **named, **settings)


def ready(module: Encoder, data: PairedText) -> Encoder:
    """The model with its weights, before any trainer has seen it."""
    module.prepare(data.task)
    module.configure_model()
    return module


def exported(checkpoint: str) -> str:
    """The folder of weights that lies beside a checkpoint; a folder stands for itself.

    Raises:
        HeedfulError: There is none.
    """
    path = Path(checkpoint)
    folder = path if path.is_dir() else path.parent / "backbone"
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"--checkpoint {checkpoint}: {folder / 'config.json'} does not exist. Name the folder of a whole model."
        )
    return str(folder)


class Clock(Callback):
    """When training began and ended, and when the end of a validation epoch passed this callback."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.began = time.perf_counter()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds = time.perf_counter() - self.began

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.passed = time.perf_counter()


def evaluate(
    module: Encoder,
    data: PairedText,
    evaluations: Sequence[Callback],
    exhaustive: bool = True,
    only: Sequence[str] | None = None,
    **settings: Any,
) -> tuple[Any, dict[str, float]]:
    """Validate as evaluate.py does, files included; ``only`` names the evaluations that run.

    Returns:
        The measurements, and seconds: of the ``whole``, and of what came ``after`` the base predictions.
    """
    before, behind = Clock(), Clock()
    module.has_learned = True  # what is timed need not be
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = measured(
            module, data, [*evaluations, before], exhaustive, only, [behind], Path(folder), **CPU | settings
        )
        whole = time.perf_counter() - start
    return found, {"whole": whole, "after": behind.passed - before.passed}


def train(
    module: Encoder,
    data: PairedText,
    evaluations: Sequence[Callback] = (),
    outputs: Sequence[Callback] = (),
    **settings: Any,
) -> tuple[Any, float]:
    """Train one epoch as train.py does, without validation unless ``settings`` ask for it.

    Returns:
        The measurements of the last epoch, and the seconds of training.
    """
    pl.seed_everything(data.seed, verbose=False)
    clock = Clock()
    settings = {**CPU, "max_epochs": 1, "limit_val_batches": 0, **settings}
    found = fitted(module, data, [clock, *evaluations], outputs, **settings)
    return found, clock.seconds


def stock(network: nn.Module) -> nn.Module:
    """A network as transformers builds it: torch chooses the library that its linear layers multiply with."""
    for module in network.modules():
        if isinstance(module, OneDNNLinear):
            module.__class__ = nn.Linear
    return network


def pairs(examples: Examples, task: Task, rng: np.random.Generator | None = None) -> dict[str, list[str]]:
    """The columns of a data set; with ``rng``, every example has the first part of a random other one."""
    columns = {part: list(examples.column(f"parts.{part}")) for part in task.parts}
    if rng is not None:
        others = (np.arange(len(examples)) + rng.integers(1, max(2, len(examples)), len(examples))) % len(examples)
        columns[task.parts[0]] = [columns[task.parts[0]][j] for j in others]
    return columns


def tokenised(
    columns: dict[str, list[Any]],
    task: Task,
    tokenizer: transformers.PreTrainedTokenizerBase,
    max_length: int,
    fixed: bool = False,
) -> "Dataset":
    """A data set of token ids; ``fixed`` pads every example to ``max_length``."""
    from datasets import Dataset

    padding = "max_length" if fixed else False

    def encode(batch: dict[str, list[str]]) -> dict[str, Any]:
        return tokenizer(*(batch[p] for p in task.parts), truncation=True, max_length=max_length, padding=padding)

    return Dataset.from_dict(columns).map(
        encode, batched=True, remove_columns=list(task.parts), load_from_cache_file=False, keep_in_memory=True
    )


@contextlib.contextmanager
def hf_trainer(
    network: nn.Module,
    tokenizer: transformers.PreTrainedTokenizerBase,
    train_dataset: "Dataset | None" = None,
    **settings: Any,
) -> Iterator["transformers.Trainer"]:
    """A quiet Trainer of transformers, in a folder that is removed afterwards."""
    from transformers.trainer_callback import PrinterCallback

    with tempfile.TemporaryDirectory() as folder:
        settings = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no", "use_cpu": True, **settings}
        settings_ = transformers.TrainingArguments(output_dir=folder, **settings)
        collator = transformers.DataCollatorWithPadding(tokenizer)
        rival = transformers.Trainer(network, settings_, collator, train_dataset, processing_class=tokenizer)
        rival.remove_callback(PrinterCallback)
        yield rival

"""Functions that the benchmarks share: repeats and ratios, the command line, and runs of Heedful and of its rivals.

Heedful runs as its command line builds it: MNLI from local files, MiniLM, the defaults of the trainer. Its rivals are
scripts that tokenise a data set anew for every draw, and transformers' Trainer.
"""

import argparse
import contextlib
import logging
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytorch_lightning as pl
import torch
import transformers
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import nn

from benchmarks.bare_runs import fitted, measured
from heedful.assembly.loading import load_data, load_model
from heedful.datamodules import PairedText
from heedful.lightning_modules import Encoder
from heedful.records import Examples, Task, write_json

if TYPE_CHECKING:
    from datasets import Dataset

T = TypeVar("T")
Batches = Sequence[Mapping[str, torch.Tensor]]
WIDTH = 80
LABELS = ("entailment", "neutral", "contradiction")
NAMED_LABELS: dict[str, Any] = {
    "id2label": dict(enumerate(LABELS)),
    "label2id": {label: i for i, label in enumerate(LABELS)},
}
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


# --- repeats, ratios and tables


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the minimum ("low") and the maximum ("high") of repeated measurements."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def format_spread(measured: Mapping[str, float], digits: int = 2) -> str:
    """Format a result of :func:`spread` as text, as in "3.21 [3.10, 3.40]"."""
    median, low, high = (f"{measured[key]:,.{digits}f}" for key in ("median", "low", "high"))
    return f"{median} [{low}, {high}]"


def ratio(over: Sequence[float], under: Sequence[float]) -> dict[str, float]:
    """Divide the times ``over`` by the times ``under`` of the same repeats, and return the :func:`spread` of the
    ratios.

    Within a repeat, a slow machine slows down both variants.
    """
    return spread([a / b for a, b in zip(over, under, strict=True)])


def interleave(
    variants: Mapping[str, Callable[[], T]], repeats: int, has_time: Callable[[], bool] = lambda: True
) -> dict[str, list[T]]:
    """Run every variant in each repeat, in an order that rotates; return each variant's results by its name.

    ``has_time`` is called before each repeat, and its result False ends the repeats.
    """
    names = list(variants)
    results: dict[str, list[T]] = {name: [] for name in variants}
    for repeat in range(repeats):
        if not has_time():
            break
        start = repeat % max(1, len(names))
        for name in names[start:] + names[:start]:
            results[name].append(variants[name]())
    return results


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Format rows as a table with a title. The first row is the header; all columns but the first are right-aligned."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]
    rule = "-" * min(WIDTH, max(map(len, lines)))
    return "\n".join([title, rule, lines[0], rule, *lines[1:], ""])


def verdict(name: str, value: float, target: float, at_least: bool = True) -> str:
    """Return a line that says whether a value reaches its target, as a minimum (``at_least``) or as a maximum."""
    is_met = value >= target if at_least else value <= target
    return f"{name}: {value:.2f} (target {'>=' if at_least else '<='} {target:g}): {'met' if is_met else 'NOT met'}"


# --- the command line


def machine() -> dict[str, Any]:
    """Return the processor, the numbers of cores and threads, and the versions of Python and packages."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("torch", "transformers", "pytorch-lightning")},
    }


def machine_line() -> str:
    """Return the facts of :func:`machine` as a text of two lines."""
    values = machine()
    packages = ", ".join(f"{name} {number}" for name, number in values["packages"].items())
    return f"{values['processor']}, {values['cores']} cores, {values['threads']} threads\n{packages}\n"


def arguments(
    description: str | None, examples: int = 1000, repeats: int = 5, has_devices: bool = True
) -> argparse.ArgumentParser:
    """Create a parser with the options that the benchmarks share.

    Args:
        description: Docstring of the benchmark; its first line appears in the help.
        examples: Default of ``--examples``.
        repeats: Default of ``--repeats``.
        has_devices: Whether to add ``--accelerator`` and ``--precision``.
    """
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0], formatter_class=formatter)
    data = os.environ.get("HEEDFUL_DATA")
    path = f"{data}/mnli" if data else None
    parser.add_argument("--data", default=path, required=not data, help="folder of MNLI")
    parser.add_argument("--examples", type=int, default=examples, help="size of a fixed random sample")
    parser.add_argument("--repeats", type=int, default=repeats, help="repeats of every variant, interleaved")
    parser.add_argument("--model", help="folder of an encoder, such as RUN/checkpoints/backbone; by default MiniLM")
    parser.add_argument("--threads", type=int, help="threads of torch; by default all cores")
    if has_devices:
        parser.add_argument("--accelerator", default="cpu", choices=["cpu", "gpu"], help="device of all variants")
        parser.add_argument("--precision", default="32-true", choices=["32-true", "bf16-mixed"], help="of all variants")
    parser.add_argument("--output", help="JSON file for all figures")
    return parser


def parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and set the number of threads of torch."""
    options = parser.parse_args(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    return options


def trainer_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the device and the precision in the options as settings of Lightning's Trainer."""
    return {"accelerator": options.accelerator, "devices": 1, "precision": options.precision}


def hf_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the device and the precision in the options as settings of transformers' Trainer."""
    return {"use_cpu": options.accelerator == "cpu", "bf16": options.precision == "bf16-mixed"}


def save(options: argparse.Namespace, result: Mapping[str, Any]) -> dict[str, Any]:
    """Add the options and the :func:`machine` to a result, write it to the file ``--output`` if set, and return it."""
    settings = {name: value for name, value in vars(options).items() if name not in ("output", "data", "model")}
    result = {"settings": settings, "machine": machine(), **result}
    if options.output:
        write_json(options.output, result)
    return result


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Context manager that suppresses progress bars, log records and warnings of libraries."""
    from datasets import disable_progress_bars, enable_progress_bars
    from transformers.utils import logging as transformers_logging

    logging.disable(logging.WARNING)
    disable_progress_bars()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        enable_progress_bars()
        transformers_logging.enable_progress_bar()


# --- Heedful


class Count:
    """Context manager that counts the inputs of a network. The counts are complete at its exit.

    Attributes:
        forwards: Number of examples that the network got.
        computed: Number of their tokens, padding included.
        real: Number of their tokens without padding.
        attended: Number of pairs of a token and a token of the same example that it may attend to, without padding.
        batches: Inputs per batch, as tensors by name; empty unless ``keep`` is set.
    """

    def __init__(self, network: nn.Module, keep: bool = False) -> None:
        self.network, self.keep = network, keep
        self.forwards = self.computed = self.real = self.attended = 0
        self.batches: list[dict[str, torch.Tensor]] = []
        self._masks: list[tuple[torch.Tensor, int]] = []

    def __enter__(self) -> "Count":
        self._handle = self.network.register_forward_pre_hook(self._count, with_kwargs=True)
        return self

    def __exit__(self, *error: Any) -> None:
        self._handle.remove()
        for mask, cached in self._masks:  # only now, as each sum waits for the device
            read = mask[:, cached:].sum(dim=1)
            self.real += int(read.sum())
            self.attended += int((read * mask.sum(dim=1)).sum())
        self._masks.clear()

    def _count(self, network: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        mask, cache = kwargs.get("attention_mask"), kwargs.get("past_key_values")
        mask = torch.ones_like(kwargs["input_ids"]) if mask is None else mask
        cached = 0 if cache is None else cache.get_seq_length()
        self.forwards += mask.shape[0]
        self.computed += mask[:, cached:].numel()
        self._masks.append((mask, cached))
        if self.keep:
            self.batches.append({name: value for name, value in kwargs.items() if torch.is_tensor(value)})

    @property
    def padding(self) -> float:
        """Ratio of the tokens with padding to the tokens without padding."""
        return self.computed / max(1, self.real)


def mnli(path: str, **settings: Any) -> PairedText:
    """Return the data module of ``--data mnli --data.path PATH``; ``settings`` are further settings of it."""
    return load_data("mnli", path=path, **settings)


def encoder(folder: str | None, data: PairedText, **settings: Any) -> Encoder:
    """Return the model of ``--model minilm``, or with the weights in ``folder``, for the task of ``data``."""
    backbone = {"backbone": folder} if folder else {}
    module = load_model("minilm", **backbone, **settings)
    module.bind(data.task)
    module.configure_model()
    return module


def write_classifier(folder: Path, tokenizer: str, sample: Sequence[Mapping[str, str]], **sizes: int) -> None:
    """Write a random BERT classifier of MNLI, as :func:`save_classifier`.

    Args:
        folder: Folder of the new model.
        tokenizer: Folder of the tokenizer.
        sample: Pairs of a premise and a hypothesis.
        **sizes: Settings of BertConfig; the defaults describe BERT-base.
    """
    reader = transformers.AutoTokenizer.from_pretrained(tokenizer)
    torch.manual_seed(0)
    config = transformers.BertConfig(**sizes, **NAMED_LABELS, vocab_size=len(reader))
    save_classifier(folder, transformers.BertForSequenceClassification(config), reader, sample)


def save_classifier(
    folder: Path,
    network: transformers.PreTrainedModel,
    reader: transformers.PreTrainedTokenizerBase,
    sample: Sequence[Mapping[str, str]],
) -> None:
    """Save a classifier whose outputs have mean 0 and deviation 1 over a sample, so that no label is rare.

    Args:
        folder: Folder of the new model.
        network: The classifier; its last linear layer, which computes the outputs, is changed.
        reader: Its tokenizer.
        sample: Pairs of a premise and a hypothesis.
    """
    texts = [row["premise"] for row in sample], [row["hypothesis"] for row in sample]
    inputs = reader(*texts, padding=True, truncation=True, max_length=128, return_tensors="pt").to(network.device)
    *_, output = (module for module in network.modules() if isinstance(module, nn.Linear))
    with torch.no_grad():
        scores = network.eval()(**inputs).logits
        output.weight /= scores.std(dim=0)[:, None]
        output.bias.copy_(-scores.mean(dim=0) / scores.std(dim=0))
    network.save_pretrained(folder)
    reader.save_pretrained(folder)


class Clock(Callback):
    """Callback that records when training starts, how long it takes, and when validation starts and ends."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.train_start = time.perf_counter()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seconds = time.perf_counter() - self.train_start

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.validation_start = time.perf_counter()

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.validation_end = time.perf_counter()


def evaluate(
    module: Encoder,
    data: PairedText,
    evaluations: Sequence[Callback],
    exhaustive: bool = True,
    only: Sequence[str] | None = None,
    **settings: Any,
) -> tuple[Any, dict[str, float]]:
    """Evaluate a model as evaluate.py does, and measure the time. Result files are written to a temporary folder.

    For the arguments, see :func:`.bare_runs.measured`: ``exhaustive`` measures on all examples instead of on as
    many as in training, and ``only`` names the evaluations that run.

    Returns:
        The measurements; and a mapping with two numbers of seconds. "evaluation" is the time of the whole call. "after"
        is the time from the last prediction of an unchanged example to the end of validation.
    """
    before, behind = Clock(), Clock()
    module.has_learned, module.learned = True, module.learned_here()  # an untrained model takes as long
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        engine = measured(module, data, [*evaluations, before], exhaustive, only, [behind], Path(folder), **settings)
        seconds = time.perf_counter() - start
    return engine, {"evaluation": seconds, "after": behind.validation_end - before.validation_end}


def train(
    module: Encoder,
    data: PairedText,
    callbacks: Sequence[Callback] = (),
    outputs: Sequence[Callback] = (),
    **settings: Any,
) -> tuple[Any, float]:
    """Train one epoch as train.py does, by default without validation.

    Returns:
        The measurements, and the seconds of training.
    """
    pl.seed_everything(data.seed, verbose=False)
    clock = Clock()
    settings = {"max_epochs": 1, "limit_val_batches": 0} | settings
    engine = fitted(module, data, [clock, *callbacks], outputs, **settings)
    return engine, clock.seconds


# --- the rivals


def forward_seconds(network: nn.Module, batches: Batches, accelerator: str, precision: str) -> float:
    """Return the seconds that the forward passes of some batches take, without the copies to the memory of a GPU."""
    device = torch.accelerator.current_accelerator() if accelerator == "gpu" else None
    device = device or torch.device("cpu")
    network.to(device).eval()
    batches = [{name: value.to(device) for name, value in batch.items()} for batch in batches]
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, precision == "bf16-mixed"):
        start = time.perf_counter()
        for batch in batches:
            network(**batch)
        if device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter() - start


def pairs(examples: Examples, task: Task, rng: np.random.Generator | None = None) -> dict[str, list[str]]:
    """Return a dictionary from part names to the texts of the part, one per example.

    With ``rng``, the first part of each example is taken from a random other example.
    """
    columns = {part: list(examples.column(f"parts.{part}")) for part in task.parts}
    if rng is not None:
        partners = (np.arange(len(examples)) + rng.integers(1, max(2, len(examples)), len(examples))) % len(examples)
        columns[task.parts[0]] = [columns[task.parts[0]][j] for j in partners]
    return columns


def tokenised(
    columns: dict[str, list[Any]],
    task: Task,
    tokenizer: transformers.PreTrainedTokenizerBase,
    max_length: int,
    fixed: bool = False,
) -> "Dataset":
    """Return a data set with the token ids of all examples, and with all columns except parts, such as "labels".

    ``fixed`` pads every example to ``max_length``.
    """
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
    """Context manager that yields a Trainer of transformers, which prints nothing and writes to a temporary folder."""
    from transformers.trainer_callback import PrinterCallback

    with tempfile.TemporaryDirectory() as folder:
        settings = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no", **settings}
        training = transformers.TrainingArguments(output_dir=folder, **settings)
        collator = transformers.DataCollatorWithPadding(tokenizer)
        trainer = transformers.Trainer(network, training, collator, train_dataset, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        yield trainer

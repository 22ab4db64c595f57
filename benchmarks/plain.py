"""What one would write today without Heedful: re-paired data sets, each tokenised anew, and transformers' Trainer."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import nn

from heedful.lightning_modules.pretrained.linear import OneDNNLinear
from heedful.records import Examples, Task

try:
    import accelerate  # noqa: F401
except ModuleNotFoundError:
    raise SystemExit("benchmarks: transformers.Trainer needs accelerate: pip install accelerate") from None

from transformers import DataCollatorWithPadding, PreTrainedTokenizerBase, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback


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
    columns: dict[str, list[Any]], task: Task, tokenizer: PreTrainedTokenizerBase, max_length: int, fixed: bool = False
) -> Dataset:
    """A data set of token ids; ``fixed`` pads every example to ``max_length``."""
    padding = "max_length" if fixed else False

    def encode(batch: dict[str, list[str]]) -> dict[str, Any]:
        return tokenizer(*(batch[p] for p in task.parts), truncation=True, max_length=max_length, padding=padding)

    return Dataset.from_dict(columns).map(
        encode, batched=True, remove_columns=list(task.parts), load_from_cache_file=False, keep_in_memory=True
    )


@contextmanager
def hf_trainer(
    network: nn.Module, tokenizer: PreTrainedTokenizerBase, train_dataset: Dataset | None = None, **settings: Any
) -> Iterator[Trainer]:
    """A quiet Trainer of transformers, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, report_to="none", disable_tqdm=True, save_strategy="no", use_cpu=True, **settings
        )
        trainer = Trainer(
            network, arguments, DataCollatorWithPadding(tokenizer), train_dataset, processing_class=tokenizer
        )
        trainer.remove_callback(PrinterCallback)
        yield trainer


def attentiveness(
    network: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    examples: Examples,
    task: Task,
    draws: int,
    batch_size: int,
    max_length: int,
    default: int,
    fixed: bool = False,
) -> dict[str, Any]:
    """The test as one would write it: all examples in the base and in each draw.

    Args:
        network: A trained classifier.
        tokenizer: Its tokenizer.
        examples: The pairs.
        task: Names their parts; the first is swapped.
        draws: Counterfactuals of an example (k).
        batch_size: Examples in a batch.
        max_length: Most tokens of a pair.
        default: The network's output for the default label.
        fixed: Whether all pairs are padded to ``max_length``.

    Returns:
        ``tokenising`` and ``whole`` (seconds, the latter without the former), ``probs`` of the base, ``value``.
    """
    start, rng = time.perf_counter(), np.random.default_rng(0)
    columns = [pairs(examples, task), *(pairs(examples, task, rng) for _ in range(draws))]
    sets = [tokenised(c, task, tokenizer, max_length, fixed) for c in columns]
    between = time.perf_counter()
    with hf_trainer(network, tokenizer, per_device_eval_batch_size=batch_size) as trainer:
        base, *changed = [trainer.predict(one).predictions for one in sets]
    before = base.argmax(axis=1)
    eligible = before != default
    flips = [(scores.argmax(axis=1) != before)[eligible].mean() for scores in changed] if eligible.any() else [0.0]
    seconds = time.perf_counter() - between
    probs = torch.from_numpy(base).softmax(dim=-1).numpy()
    return {"tokenising": between - start, "whole": seconds, "probs": probs, "value": float(np.mean(flips))}


class LoopClock(TrainerCallback):
    """The seconds of the training loop."""

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.began = time.perf_counter()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.seconds = time.perf_counter() - self.began


def train(
    network: nn.Module,
    tokenizer: PreTrainedTokenizerBase,
    data: Dataset,
    batch_size: int,
    learning_rate: float,
    seed: int = 0,
    grouped: bool = False,
) -> float:
    """One epoch with the settings of Heedful's training; returns the seconds of the loop.

    Args:
        network: What is trained.
        tokenizer: Its tokenizer, for padding.
        data: Token ids and ``labels``.
        batch_size: Examples in a batch.
        learning_rate: The peak.
        seed: Of the order and of dropout.
        grouped: Whether batches hold examples of like length, in the Trainer's own way.
    """
    order = "group_by_length" if grouped else "random"
    clock = LoopClock()
    with hf_trainer(
        network,
        tokenizer,
        data,
        num_train_epochs=1,
        per_device_train_batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=0.01,
        warmup_steps=0.1,
        max_grad_norm=1.0,
        lr_scheduler_type="linear",
        train_sampling_strategy=order,
        seed=seed,
    ) as trainer:
        trainer.add_callback(clock)
        trainer.train()
    return clock.seconds

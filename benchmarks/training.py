"""How fast train.py trains, beside transformers' own Trainer on the same model, data, batches and arithmetic.

python -m benchmarks.training --data DIR/mnli --examples 2000
python -m benchmarks.training --data DIR/mnli --examples 2000 --accuracy --seeds 3      long: accuracy as well

heedful     batches of like length that are still random: sorted within windows of shuffled examples
random   transformers.Trainer as it comes: random order, dynamic padding
grouped  transformers.Trainer with train_sampling_strategy="group_by_length"

All: one epoch, AdamW with the same decay, warm-up and linear fall, gradients clipped at 1, dropout on, fp32. Only the
training loop is timed; the Trainer's data are tokenised beforehand, and so are Heedful's.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import datasets
import pytorch_lightning as pl
import transformers
from torch import nn

from benchmarks import harness
from benchmarks.harness import (
    Count,
    Spread,
    arguments,
    interleave,
    machine_line,
    parse,
    quiet,
    ratio,
    save,
    table,
    verdict,
)
from heedful.callbacks import Accuracy

NAMES = {"heedful": "Heedful", "random": "Trainer, random order", "grouped": "Trainer, grouped by length"}


class LoopClock(transformers.TrainerCallback):
    """The seconds of the training loop."""

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.began = time.perf_counter()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.seconds = time.perf_counter() - self.began


def by_trainer(
    network: nn.Module,
    tokenizer: transformers.PreTrainedTokenizerBase,
    data: datasets.Dataset,
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
    with harness.hf_trainer(
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


@dataclass
class Run:
    """One epoch of one variant."""

    seconds: float
    count: Count
    accuracy: float | None = None


class Comparison:
    """The variants over one data module.

    Args:
        options: The command line.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.data = self.data_module(0)
        examples = self.data.train_examples
        module = harness.encoder(options.model)
        module.prepare(self.data.task)
        self.processor = module.processor
        self.processor.lengths(examples)  # tokenises, once for all runs
        columns: dict[str, list[Any]] = dict(harness.pairs(examples, self.data.task))
        outputs = {self.data.task.labels[label]: output for output, label in enumerate(module.label_map.column)}
        columns["labels"] = [outputs[label] for label in examples.column("label")]
        tokenizer = self.processor.tokenizer
        self.dataset = harness.tokenised(columns, self.data.task, tokenizer, module.max_length)

    def data_module(self, seed: int) -> harness.PairedText:
        """The data: the same examples whatever the seed, in another order."""
        o = self.options
        data = harness.mnli(
            o.data, max_train=o.examples, max_validation=o.validation_examples, batch_size=o.batch_size, seed=0
        )
        data.setup("fit")
        data.seed = seed
        return data

    def model(self, seed: int) -> harness.Encoder:
        """The model before training: the same weights, and the same new head for one seed."""
        pl.seed_everything(seed, verbose=False)
        module = harness.encoder(self.options.model)
        harness.ready(module, self.data)
        module.processor = self.processor
        return module

    def run(self, name: str, seed: int = 0, judge: bool = False) -> Run:
        """Train one epoch by one variant, and measure accuracy if asked."""
        module, data = self.model(seed), self.data_module(seed)
        if name != "heedful":
            harness.stock(module.network)
        with Count(module.network) as count:
            if name == "heedful":
                _, seconds = harness.train(module, data)
            else:
                o, tokenizer, grouped = self.options, self.processor.tokenizer, name == "grouped"
                rate = module.learning_rate
                seconds = by_trainer(module.network, tokenizer, self.dataset, o.batch_size, rate, seed, grouped)
        if not judge:
            return Run(seconds, count)
        engine, _ = harness.evaluate(module, data, [Accuracy(max_null=1)], exhaustive=False)
        return Run(seconds, count, 100 * engine[f"accuracy/{data.name}"].value)


def speeds(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """What is reported of every variant."""
    theirs = [run.seconds for run in runs["random"]]
    found = {}
    for name, each in runs.items():
        count = each[-1].count
        found[name] = {
            "examples": count.forwards,
            "padding": count.padding,
            "per_second": Spread.of([run.count.forwards / run.seconds for run in each]),
            "faster": ratio(theirs, [run.seconds for run in each]),
        }
    return found


def accuracies(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """Accuracy over seeds, and its difference to the Trainer's of the same seed."""
    found = {}
    for name, each in runs.items():
        values = [run.accuracy for run in each]
        differences = [a.accuracy - b.accuracy for a, b in zip(each, runs["random"], strict=True)]
        found[name] = {"accuracy": Spread.of(values), "mean": statistics.mean(values), "values": values}
        found[name] |= {"difference": statistics.mean(differences), "differences": differences}
        found[name]["deviation"] = statistics.stdev(differences) if len(differences) > 1 else 0.0
    return found


def report(fast: dict[str, dict[str, Any]], right: dict[str, dict[str, Any]]) -> None:
    """Print the tables and the target."""
    rows = [["", "padding", "examples/s [min, max]", "faster [min, max]"]]
    for name, v in fast.items():
        rows.append([NAMES[name], f"{v['padding']:.2f}", v["per_second"].text(1), v["faster"].text()])
    print(table("Training", rows))
    print(verdict("Heedful over the Trainer", fast["heedful"]["faster"].median, 1.6))
    if right:
        rows = [["", "mean", "[min, max]", "difference", "sd over seeds"]]
        for name, v in right.items():
            spread = f"[{v['accuracy'].low:.2f}, {v['accuracy'].high:.2f}]"
            rows.append([NAMES[name], f"{v['mean']:.2f}", spread, f"{v['difference']:+.2f}", f"{v['deviation']:.2f}"])
        print("\n" + table("Accuracy, %", rows))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=1000)
    parser.add_argument("--batch-size", type=int, default=32, help="in training")
    parser.add_argument("--accuracy", action="store_true", help="also train with several seeds, and measure accuracy")
    parser.add_argument("--seeds", type=int, default=3, help="how many, for --accuracy")
    parser.add_argument("--accuracy-examples", type=int, help="to train on for --accuracy; as --examples if not given")
    parser.add_argument("--validation-examples", type=int, help="for --accuracy; all if not given")
    options = parse(parser, argv, ["accelerate"])
    with quiet():
        comparison = Comparison(options)
        runs = interleave({name: lambda name=name: comparison.run(name) for name in NAMES}, options.repeats)
        judged: dict[str, list[Run]] = {}
        if options.accuracy:
            size = {"examples": options.accuracy_examples or options.examples}
            longer = Comparison(argparse.Namespace(**vars(options) | size))
            for seed in range(options.seeds):
                once = {name: lambda name=name, seed=seed: longer.run(name, seed, judge=True) for name in NAMES}
                for name, each in interleave(once, 1).items():
                    judged.setdefault(name, []).extend(each)
    fast, right = speeds(runs), accuracies(judged) if judged else {}
    print(machine_line())
    print(f"{fast['heedful']['examples']:,} pairs, batches of {options.batch_size}, one epoch, fp32.\n")
    report(fast, right)
    return save(options, {"variants": fast, "accuracy": right})


if __name__ == "__main__":
    main()

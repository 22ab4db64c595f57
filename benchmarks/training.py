"""How fast train.py trains, compared with transformers' own Trainer on the same model, data, batches and arithmetic.

python -m benchmarks.training --data DIR/mnli --examples 2000

heedful  random batches of similar length: sorted within windows of shuffled examples
random   transformers.Trainer by default: random order, dynamic padding
grouped  transformers.Trainer with train_sampling_strategy="group_by_length"

All train one epoch with AdamW, the same decay, warm-up and linear schedule, gradients clipped at 1, and dropout.
Only the training loop is timed; all data are tokenised beforehand.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytorch_lightning as pl
import transformers

from benchmarks import harness
from benchmarks.harness import Count

NAMES = {"heedful": "Heedful", "random": "Trainer, random order", "grouped": "Trainer, grouped by length"}
RIVAL = {  # the settings of Heedful's training
    "num_train_epochs": 1,
    "weight_decay": 0.01,
    "warmup_steps": 0.1,
    "max_grad_norm": 1.0,
    "lr_scheduler_type": "linear",
}


class LoopClock(transformers.TrainerCallback):
    """Callback of transformers that measures the seconds of the training loop."""

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.start = time.perf_counter()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.seconds = time.perf_counter() - self.start


class Run(NamedTuple):
    """Seconds and counts of network inputs of one training epoch of a variant."""

    seconds: float
    count: Count


class Comparison:
    """Trains one model on the same data with three variants, to compare the speed of training.

    "heedful" is Heedful's own training, with random batches of examples of similar length. "random" and "grouped" are
    transformers.Trainer, with examples in random order, or grouped by length.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.data = harness.mnli(options.data, max_train=options.examples, batch_size=options.batch_size)
        self.data.setup("fit")
        module = harness.encoder(options.model, self.data)
        self.processor, examples = module.processor, self.data.train_examples
        self.processor.lengths(examples)  # tokenises, once for all runs
        columns: dict[str, list[Any]] = dict(harness.pairs(examples, self.data.task))
        outputs = {self.data.task.labels[label]: output for output, label in enumerate(module.fit.label_map.column)}
        columns["labels"] = [outputs[label] for label in examples.column("label")]
        tokenizer = self.processor.tokenizer
        self.dataset = harness.tokenised(columns, self.data.task, tokenizer, module.max_length)

    def run(self, name: str) -> Run:
        """Train one epoch with the variant ``name``, from the same initial weights for all variants."""
        pl.seed_everything(0, verbose=False)
        module = harness.encoder(self.options.model, self.data)
        module.processor = self.processor
        if name == "heedful":
            with Count(module.network) as count:
                return Run(harness.train(module, self.data, **harness.trainer_settings(self.options))[1], count)
        order, size = "group_by_length" if name == "grouped" else "random", self.data.batch_size
        settings = {"per_device_train_batch_size": size, "learning_rate": module.learning_rate, "seed": 0, **RIVAL}
        settings |= harness.hf_settings(self.options)
        network, clock = module.network, LoopClock()
        tokenizer = self.processor.tokenizer
        with harness.hf_trainer(network, tokenizer, self.dataset, train_sampling_strategy=order, **settings) as trainer:
            trainer.add_callback(clock)
            with Count(network) as count:
                trainer.train()
        return Run(clock.seconds, count)


def summary(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, Any]]:
    """Compute the medians and ranges of each variant's speed, and of its ratio to the variant "random"."""
    base = [run.seconds for run in runs["random"]]
    return {
        name: {
            "examples": each[-1].count.forwards,
            "padding": each[-1].count.padding,
            "per_second": harness.spread([run.count.forwards / run.seconds for run in each]),
            "faster": harness.ratio(base, [run.seconds for run in each]),
        }
        for name, each in runs.items()
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = harness.arguments(__doc__)
    parser.add_argument("--batch-size", type=int, default=32, help="batch size in training")
    options = harness.parse(parser, argv)
    with harness.quiet():
        comparison = Comparison(options)
        variants = {name: lambda name=name: comparison.run(name) for name in NAMES}
        figures = summary(harness.interleave(variants, options.repeats))
    print(harness.machine_line())
    rows = [["", "padding", "examples/s [min, max]", "faster [min, max]"]]
    for name, v in figures.items():
        rows.append(
            [
                NAMES[name],
                f"{v['padding']:.2f}",
                harness.format_spread(v["per_second"], 1),
                harness.format_spread(v["faster"]),
            ]
        )
    print(harness.table(f"Training on {figures['heedful']['examples']:,} pairs, one epoch", rows))
    print(harness.verdict("Heedful over the Trainer", figures["heedful"]["faster"]["median"], 1.6))
    return harness.save(options, {"variants": figures})


if __name__ == "__main__":
    main()

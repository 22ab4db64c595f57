"""Measure the cost of attentiveness in each epoch of training, on a subset of MNLI and by a cost model for full MNLI.

python -m benchmarks.monitoring --data DIR/mnli --examples 1000

The cost model uses the rates of this machine (pairs per second in training and evaluation), which are measured first.
"with" is an epoch of train.py with the attentiveness test: k draws for at most 2,000 eligible pairs. "without" is an
epoch without this test. Both validate, with the null control (a second prediction) of 512 pairs.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pytorch_lightning import LightningModule, Trainer

from benchmarks import harness
from benchmarks.harness import Count
from heedful.callbacks import Accuracy, Attentiveness, Evaluation
from heedful.records.rows import BASE, select, strings

TRAIN, VALIDATION, LIMIT, NULL = 392_702, 9_815, 2000, 512  # pairs of full MNLI; the limits of train.py
TARGETS = {"as train.py": 0.4, "all eligible": 1.5}  # % of an epoch, at most


class Watch(harness.Clock):
    """Callback that measures the seconds of training alone, without validation."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.epoch_start = time.perf_counter()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_validation_start(trainer, pl_module)
        self.training = self.validation_start - self.epoch_start


class Epoch(NamedTuple):
    """Seconds and counts of one epoch.

    Attributes:
        seconds: Seconds of the whole epoch.
        training: Seconds of training.
        base: Seconds of the base predictions (of unchanged pairs).
        after: Seconds of everything after the base predictions.
        predicted: Number of inputs, changed or repeated by the null control, that the network predicted.
        identical: Number of changed examples whose prediction is copied from another example with an equal input.
        q: Share of the predictions for unchanged pairs that are not the default label.
    """

    seconds: float
    training: float
    base: float
    after: float
    predicted: int
    identical: int
    q: float


class Subset:
    """Trains single epochs on a subset of MNLI, each from the same initial weights."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        sizes = {"max_train": options.examples, "max_validation": options.validation_examples}
        self.data = harness.mnli(options.data, batch_size=options.batch_size, **sizes)
        self.data.setup("fit")
        self.module = harness.encoder(options.model, self.data)
        self.weights = {name: value.clone() for name, value in self.module.state_dict().items()}
        for examples in (self.data.train_examples, self.data.pool):
            self.module.processor.lengths(examples)  # tokenises

    def epoch(self, watched: bool) -> Epoch:
        """Train an epoch and validate, with the attentiveness test if ``watched``; return the times and counts."""
        self.module.load_state_dict(self.weights)
        evaluations: list[Evaluation] = [Accuracy(NULL)]
        if watched:
            evaluations.append(Attentiveness(self.options.draws, self.options.max_examples))
        watch, behind = Watch(), harness.Clock()
        settings = harness.trainer_settings(self.options) | {"limit_val_batches": 1.0}
        with Count(self.module.network) as count:
            engine, seconds = harness.train(self.module, self.data, [*evaluations, watch], [behind], **settings)
        answers = strings(select(engine.rows["accuracy"][0], intervention=BASE), "y")
        return Epoch(
            seconds=seconds,
            training=watch.training,
            base=watch.validation_end - watch.validation_start,
            after=behind.validation_end - watch.validation_end,
            predicted=count.forwards - len(self.data.train_examples) - len(self.data.pool),
            identical=engine.content["counts"].get("attentiveness/identical", 0),
            q=float(np.mean(answers != self.data.default_label)),
        )


class Rates(NamedTuple):
    """Pairs per second in training, in predictions of unchanged pairs ("base"), and in predictions of changed pairs;
    and q, the share of base predictions that are not the default label.
    """

    training: float
    base: float
    changed: float
    q: float


def rates(n: int, m: int, without: Sequence[Epoch], watched: Sequence[Epoch]) -> Rates:
    """Compute the speed of this machine in pairs per second, and the share q, as medians over epochs.

    The share q is the share of predictions on unchanged pairs that are not the default label.

    Args:
        n: Number of training pairs per epoch.
        m: Number of validation pairs per epoch.
        without: Epochs without the attentiveness test.
        watched: Epochs with the attentiveness test.
    """
    epochs = [*without, *watched]
    return Rates(
        training=float(np.median([n / e.training for e in epochs])),
        base=float(np.median([m / e.base for e in epochs])),
        changed=float(np.median([e.predicted / e.after for e in watched])),
        q=float(np.median([e.q for e in epochs])),
    )


def predicted_seconds(
    measured: Rates, draws: int, limit: int | None, sizes: tuple[int, int] = (TRAIN, VALIDATION)
) -> dict[str, float]:
    """Predict the seconds of an epoch on full MNLI from the rates.

    Args:
        measured: The rates.
        draws: Number of counterfactuals (copies with a swapped part) of a pair (k).
        limit: Maximum number of eligible examples that are changed; None for all.
        sizes: Numbers of pairs to train and to validate on.

    Returns:
        Seconds of "training", "validation" and the attentiveness "test"; the number of network inputs in the test,
        "forwards"; and the "overhead": the seconds of the test in percent of the other seconds.
    """
    n, m = sizes
    eligible = measured.q * m if limit is None else min(limit, measured.q * m)
    seconds = {
        "training": n / measured.training,
        "validation": m / measured.base + min(NULL, m) / measured.changed,
        "test": draws * eligible / measured.changed,
        "forwards": draws * eligible,
    }
    return seconds | {"overhead": 100 * seconds["test"] / (seconds["training"] + seconds["validation"])}


def report(measured: Rates, modelled: Mapping[str, Mapping[str, float]]) -> None:
    """Print the measured rates, the predicted seconds of an epoch, and whether the overhead meets the targets.

    Args:
        measured: The rates.
        modelled: The results of :func:`predicted_seconds` under two limits, which are maximum numbers of pairs that are
            changed: "as train.py" is the limit of train.py, and "all eligible" is no limit.
    """
    rates = [[name, f"{rate:,.1f}"] for name, rate in measured._asdict().items() if name != "q"]
    print(harness.table("Rates of this machine", [["", "pairs/s"], *rates]))
    rows = [["", "training, s", "validation, s", "forwards", "test, s", "overhead"]]
    for name, v in modelled.items():
        seconds = [f"{v[key]:,.0f}" for key in ("training", "validation", "forwards", "test")]
        rows.append([name, *seconds, f"{v['overhead']:.2f} %"])
    print(harness.table(f"An epoch of full MNLI, {TRAIN:,} pairs, by the cost model", rows))
    for name, target in TARGETS.items():
        print(harness.verdict(f"Overhead {name}, %", modelled[name]["overhead"], target, at_least=False))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = harness.arguments(__doc__)
    parser.add_argument("--validation-examples", type=int, default=500, help="pairs of the subset to validate on")
    parser.add_argument("--max-examples", type=int, default=LIMIT, help="eligible pairs that are changed in an epoch")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--batch-size", type=int, default=32, help="batch size in training")
    options = harness.parse(parser, argv)
    with harness.quiet():
        subset = Subset(options)
        variants = {"without": lambda: subset.epoch(False), "with": lambda: subset.epoch(True)}
        runs = harness.interleave(variants, options.repeats)
    sizes = len(subset.data.train_examples), len(subset.data.pool)
    measured = rates(*sizes, runs["without"], runs["with"])
    limits = {"as train.py": options.max_examples, "all eligible": None}
    modelled = {name: predicted_seconds(measured, options.draws, limit) for name, limit in limits.items()}
    times = harness.ratio([e.seconds for e in runs["with"]], [e.seconds for e in runs["without"]])
    expected = 1 + predicted_seconds(measured, options.draws, options.max_examples, sizes)["overhead"] / 100
    print(harness.machine_line())
    print(f"k = {options.draws} draws, q = {measured.q:.3f}; batches of {options.batch_size}.\n")
    report(measured, modelled)
    print(f"\nMeasured on {sizes[0]:,} pairs to train and {sizes[1]:,} to validate on: an epoch with the test took")
    print(f"{harness.format_spread(times)} times as long as one without; the model predicts {expected:.2f}.")
    subset_figures = {"pairs": sizes[0], "validation": sizes[1], "ratio": times, "modelled": expected}
    epochs = {name: [e._asdict() for e in each] for name, each in runs.items()}
    result = {"rates": measured._asdict(), "model": modelled, "measured": subset_figures, "epochs": epochs}
    return harness.save(options, result)


if __name__ == "__main__":
    main()

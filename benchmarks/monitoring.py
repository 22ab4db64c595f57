"""What watching attentiveness adds to an epoch of training: by a cost model for full MNLI, and measured on a subset.

python -m benchmarks.monitoring --data DIR/mnli --examples 1000

The rates of this machine (training, evaluation of real pairs and of counterfactuals, what an evaluation costs beside
its forwards) are measured, and go into the model. "With" is what train.py does after each epoch: k draws for at most
2,000 eligible pairs. "Without" is the same without the test. Both validate, with the null control of 512 pairs.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from pytorch_lightning import LightningModule, Trainer

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
from heedful.callbacks import Accuracy, Attentiveness, Evaluation
from heedful.records.rows import BASE, select, strings

TRAIN, VALIDATION, MOST, NULL = 392_702, 9_815, 2000, 512  # pairs of full MNLI; the bounds of train.py
TARGETS = {"as train.py": 0.4, "all eligible": 1.5}  # % of an epoch, at most


class Watch(harness.Clock):
    """Times the parts of an epoch; stands before the engine. The whole includes validation."""

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.epoch = time.perf_counter()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.training = time.perf_counter() - self.epoch
        self.validation = time.perf_counter()


@dataclass
class Epoch:
    """One epoch: seconds of all, of training, of base predictions, and of what follows; what was predicted, and how
    many changed examples had the prediction of another one."""

    whole: float
    training: float
    base: float
    after: float
    predicted: int
    identical: int
    q: float


class Subset:
    """Real epochs over a subset, each from the same weights."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.draws, self.most = options.draws, options.max_examples
        self.data = harness.mnli(
            options.data,
            max_train=options.examples,
            max_validation=options.validation_examples,
            batch_size=options.batch_size,
        )
        self.data.setup("fit")
        folder = harness.exported(options.checkpoint) if options.checkpoint else options.model
        self.module = harness.ready(harness.encoder(folder), self.data)
        self.weights = {name: value.clone() for name, value in self.module.state_dict().items()}
        for examples in (self.data.train_examples, self.data.pool):
            self.module.processor.lengths(examples)

    def epoch(self, watched: bool) -> Epoch:
        """Train an epoch and validate, with or without the test."""
        self.module.load_state_dict(self.weights)
        evaluations: list[Evaluation] = [Accuracy(NULL)]
        if watched:
            evaluations.append(Attentiveness(self.draws, self.most))
        watch, behind = Watch(), harness.Clock()
        with Count(self.module.network) as count:
            engine, whole = harness.train(
                self.module, self.data, [*evaluations, watch], [behind], limit_val_batches=1.0
            )
        rows = engine.rows["accuracy"][0]
        q = float(np.mean(strings(select(rows, intervention=BASE), "y") != self.data.default_label))
        predicted = count.forwards - len(self.data.train_examples) - len(self.data.pool)
        base, after = watch.passed - watch.validation, behind.passed - watch.passed
        identical = engine.content["counts"].get("attentiveness/identical", 0)
        return Epoch(whole, watch.training, base, after, predicted, identical, q)


@dataclass(frozen=True)
class Rates:
    """What was measured here.

    Attributes:
        training: Pairs a second in training.
        base: Pairs a second in validation.
        changed: Counterfactuals and null controls a second, all overheads included.
        q: Share of predictions other than the default label.
    """

    training: float
    base: float
    changed: float
    q: float


def rates(subset: Subset, without: list[Epoch], watched: list[Epoch]) -> Rates:
    """Medians over epochs; what surrounds the counterfactuals (rows, metrics) is in their rate."""
    n, m = len(subset.data.train_examples), len(subset.data.pool)
    every = [*without, *watched]
    return Rates(
        training=n / Spread.of([e.training for e in every]).median,
        base=m / Spread.of([e.base for e in every]).median,
        changed=Spread.of([e.predicted / e.after for e in watched]).median,
        q=Spread.of([e.q for e in every]).median,
    )


def model(found: Rates, draws: int, most: int | None, full: tuple[int, int] = (TRAIN, VALIDATION)) -> dict[str, float]:
    """Seconds of an epoch of full MNLI.

    Args:
        found: The rates.
        draws: Counterfactuals of an example (k).
        most: At most this many eligible examples get them; None for all.
        full: Pairs to train and to validate on.
    """
    n, m = full
    eligible = found.q * m if most is None else min(most, found.q * m)
    seconds = {
        "training": n / found.training,
        "validation": m / found.base + min(NULL, m) / found.changed,
        "test": draws * eligible / found.changed,
        "forwards": draws * eligible,
    }
    seconds["overhead"] = 100 * seconds["test"] / (seconds["training"] + seconds["validation"])
    return seconds


def report(found: Rates, modelled: dict[str, dict[str, float]], real: dict[str, Any]) -> None:
    """Print rates, the model, and what was seen."""
    rows = [["", "pairs/s"], ["training", f"{found.training:,.1f}"], ["base predictions", f"{found.base:,.1f}"]]
    print(table("Rates here", [*rows, ["counterfactuals", f"{found.changed:,.1f}"]]))
    rows = [["", "training, s", "validation, s", "forwards", "test, s", "overhead"]]
    for name, v in modelled.items():
        seconds = [f"{v[key]:,.0f}" for key in ("training", "validation", "forwards", "test")]
        rows.append([name, *seconds, f"{v['overhead']:.2f} %"])
    print(table(f"An epoch of full MNLI, {TRAIN:,} pairs, by the cost model", rows))
    for name, most in TARGETS.items():
        print(verdict(f"Overhead {name}, %", modelled[name]["overhead"], most, at_least=False))
    print(
        f"\nMeasured on {real['pairs']:,} pairs to train and {real['validation']:,} to validate on: an epoch with the"
    )
    print(f"test took {real['ratio'].text()} times one without; the model says {real['modelled']:.2f}.")


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=1000)
    parser.add_argument("--checkpoint", help="weights to train on from, for a real share of predictions")
    parser.add_argument("--validation-examples", type=int, default=500, help="pairs of the subset to validate on")
    parser.add_argument("--max-examples", type=int, default=MOST, help="eligible pairs that are changed in an epoch")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--batch-size", type=int, default=32, help="in training")
    options = parse(parser, argv)
    with quiet():
        subset = Subset(options)
        runs = interleave({"without": lambda: subset.epoch(False), "with": lambda: subset.epoch(True)}, options.repeats)
    found, most = rates(subset, runs["without"], runs["with"]), options.max_examples
    sizes = len(subset.data.train_examples), len(subset.data.pool)
    small = model(found, options.draws, most, sizes)
    real = {
        "pairs": sizes[0],
        "validation": sizes[1],
        "ratio": ratio([e.whole for e in runs["with"]], [e.whole for e in runs["without"]]),
        "modelled": 1 + small["overhead"] / 100,
    }
    modelled = {"as train.py": model(found, options.draws, most), "all eligible": model(found, options.draws, None)}
    print(machine_line())
    print(
        f"k = {options.draws} draws, q = {found.q:.3f}; batches of {options.batch_size}; "
        f"{torch.get_num_threads()} threads, fp32.\n"
    )
    report(found, modelled, real)
    epochs = {name: [asdict(e) for e in each] for name, each in runs.items()}
    return save(options, {"rates": asdict(found), "model": modelled, "measured": real, "epochs": epochs})


if __name__ == "__main__":
    main()

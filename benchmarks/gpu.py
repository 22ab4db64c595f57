"""How well evaluation and training fill a GPU, compared with the forward passes alone and with other libraries.

python -m benchmarks.gpu --minutes 10 --output gpu.json

In fp32 and bf16, the variants of an evaluation are:

Heedful       Accuracy with the null control of all pairs, attentiveness with five draws, and files. Tokenising and the
              transfer of the weights are not timed.
forwards      (a) The same forward passes, on inputs that are on the device already.
pipeline      (b) transformers' pipeline("text-classification") on the unchanged pairs, tokenising included.
Trainer       (b) transformers' Trainer.predict on the unchanged pairs, without tokenising.
CrossEncoder  (c) CrossEncoder.predict of sentence-transformers if it is installed, tokenising included.

The libraries run with their default batch size, and with 32, 128 and 512 examples; the table has the default and the
best. In bf16, Heedful, (a) and Trainer use autocast, while pipeline and CrossEncoder have weights in bf16. For a causal
model, Heedful scores the texts of three labels after a prompt, and (b) reads each prompt once, with a classification
head.

The other groups are "training" (one epoch of Heedful), "monitoring" (the cost of attentiveness in an epoch), and
"compiled" (the evaluation with and without torch.compile). MFU is the share of the dense bf16 rate of the card that
useful operations take: 2 per token and weight outside embeddings, and 4 x layers x hidden size per token and token of
the same input. Padding does not count, and training counts three times.
"""

import argparse
import gc
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from benchmarks import harness, monitoring, training
from benchmarks.gpu_models import MODELS, write_model, write_pairs
from benchmarks.gpu_variants import BATCHES, DEFAULT_BATCH, Evaluation, Rivals, Run, useful_operations

T = TypeVar("T")
PRECISIONS = {"32-true": "fp32", "bf16-mixed": "bf16"}
PEAKS = {  # dense bf16 rates in TFLOPS, by a part of the name of the card; the first that fits counts
    "H100 PCIe": 756,
    "H[12]00 NVL": 835,
    "H[12]00": 989,
    "A100": 312,
    "L4": 121,
    "L40S": 362,
    "RTX 4090": 165,
}
TRAINING_BATCHES = (32, 256)
TRAINING_SHARE = 4  # training pairs per evaluated pair


# --- groups of variants, each of one model in one precision


def compare_evaluation(options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    evaluation = Evaluation(options)
    variants = {"Heedful": evaluation.heedful, "forwards": evaluation.forwards}
    return variants | Rivals(evaluation).variants()


def compare_compiled(options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    return {"compiled": Evaluation(options, is_compiled=True).heedful, "eager": Evaluation(options).heedful}


def compare_training(options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    def train(comparison: training.Comparison) -> Run:
        seconds, count = comparison.run("heedful")
        return Run(seconds, count.forwards, 3 * useful_operations(count.network, count.real, count.attended))

    sizes = {"examples": TRAINING_SHARE * options.examples}
    return {
        f"batch {size}": partial(train, training.Comparison(with_settings(options, **sizes, batch_size=size)))
        for size in TRAINING_BATCHES
    }


def compare_monitoring(options: argparse.Namespace) -> dict[str, Callable[[], monitoring.Epoch]]:
    sizes = {"examples": TRAINING_SHARE * options.examples, "validation_examples": options.examples}
    limits = {"draws": 1, "max_examples": monitoring.LIMIT, "batch_size": TRAINING_BATCHES[0]}
    subset = monitoring.Subset(with_settings(options, **sizes, **limits))
    return {"without": lambda: subset.epoch(False), "with": lambda: subset.epoch(True)}


COMPARISONS: dict[str, Callable[[argparse.Namespace], dict[str, Callable[[], Any]]]] = {
    "evaluation": compare_evaluation,
    "training": compare_training,
    "monitoring": compare_monitoring,
    "compiled": compare_compiled,
}


def with_settings(options: argparse.Namespace, **settings: Any) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(options), **settings})


def planned_groups(models: Sequence[str], precisions: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the comparison, model and precision per group, in the order in which the groups run."""
    encoders = [model for model in models if model != "causal"]
    groups = [("evaluation", model, precision) for model in models for precision in precisions]
    groups += [("training", model, precision) for model in encoders for precision in precisions]
    groups += [("monitoring", model, precisions[-1]) for model in encoders]
    return groups + [("compiled", model, precision) for model in encoders for precision in precisions]


class Budget:
    """Divides the time of the command among its groups, and lists the variants for which time or memory lacked."""

    def __init__(self, minutes: float, groups: int) -> None:
        self.end, self.groups = time.perf_counter() + 54 * minutes, groups  # a tenth is for a group that has begun
        self.left_out: list[str] = []

    def is_spent(self) -> bool:
        return time.perf_counter() >= self.end

    def begin(self) -> None:
        """Give the next group an equal share of the time that is left."""
        start = time.perf_counter()
        self.deadline = start + (self.end - start) / self.groups
        self.groups -= 1

    def measure(self, title: str, variants: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
        """Run each variant once to warm up, and then in repeats; the first runs count only if no repeat has time."""
        start = time.perf_counter()
        first: dict[str, list[T]] = {}
        missing = []
        for name, run in variants.items():
            try:
                if self.is_spent():
                    missing.append(name)
                else:
                    first[name] = [run()]
            except torch.OutOfMemoryError:
                missing.append(f"{name} (too little memory)")
        seconds = time.perf_counter() - start
        measurable = {name: variants[name] for name in first}
        runs = harness.interleave(measurable, repeats, lambda: time.perf_counter() + seconds <= self.deadline)
        repeated = min(map(len, runs.values()), default=0)
        if missing:
            self.left_out.append(f"{title}: {'; '.join(missing)}")
        if repeated < repeats:
            self.left_out.append(f"{title}: {repeats - repeated} of {repeats} repeats")
        return runs if repeated else first


# --- figures


def card_peak(name: str) -> float | None:
    """Return the dense bf16 rate of a card in TFLOPS; None for an unknown card."""
    return next((rate for card, rate in PEAKS.items() if re.search(rf"\b{card}\b", name)), None)


def summary(runs: Mapping[str, Sequence[Run]], peak: float | None) -> dict[str, dict[str, Any]]:
    """Compute each variant's pairs per second, MFU in percent, and how many times as fast the first variant is."""
    times = {name: [run.seconds / run.pairs for run in each] for name, each in runs.items()}
    first = next(iter(times.values()), [])
    return {
        name: {
            "per_second": harness.spread([run.pairs / run.seconds for run in each]),
            "mfu": harness.spread([run.operations / run.seconds / peak / 1e10 for run in each]) if peak else None,
            "first_over_it": harness.ratio(times[name], first),
        }
        for name, each in runs.items()
    }


def described_names(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the variants to print, and their descriptions: a rival with its default and its best batch size."""
    names = {name: name for name in figures if name.partition(",")[0] not in DEFAULT_BATCH}
    for rival, default in DEFAULT_BATCH.items():
        if (name := f"{rival}, {default}") in figures:
            names[name] = name
        tuned = [f"{rival}, {size}" for size in BATCHES if f"{rival}, {size}" in figures]
        if tuned:
            best = max(tuned, key=lambda name: figures[name]["per_second"]["median"])
            names[best] = f"{best} (best)"
    return names


def report(title: str, figures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the figures of a group as a table."""
    first = next(iter(figures))
    rows = [["variant, batch size", "pairs/s", "MFU, %", f"{first} over it"]]
    for name, description in described_names(figures).items():
        v = figures[name]
        rate, mfu = harness.format_spread(v["per_second"], 0), f"{v['mfu']['median']:.1f}" if v["mfu"] else "-"
        times = harness.format_spread(v["first_over_it"], 2 if v["first_over_it"]["high"] < 10 else 1)
        rows.append([description, rate, mfu, "" if name == first else times])
    print(harness.table(title, rows), flush=True)


def report_monitoring(title: str, runs: Mapping[str, Sequence[Any]], examples: int) -> dict[str, Any]:
    """Print and return what attentiveness adds to an epoch: of full MNLI by the cost model, and as measured."""
    rates = monitoring.rates(TRAINING_SHARE * examples, examples, runs["without"], runs["with"])
    modelled = monitoring.predicted_seconds(rates, 1, monitoring.LIMIT)
    times = harness.ratio([epoch.seconds for epoch in runs["with"]], [epoch.seconds for epoch in runs["without"]])
    print(f"{title}: attentiveness adds {modelled['overhead']:.2f} % to an epoch of full")
    print(f"MNLI by the cost model; epochs here take {harness.format_spread(times)} times as long.\n", flush=True)
    return {"rates": rates._asdict(), "model": modelled, "measured": times}


def compare(title: str, options: argparse.Namespace, budget: Budget) -> dict[str, Any]:
    """Measure a group, print its figures, and return them; empty if nothing could be compared."""
    budget.begin()
    try:
        variants = COMPARISONS[options.kind](options)
    except torch.OutOfMemoryError:
        budget.left_out.append(f"{title} (too little memory)")
        return {}
    runs = budget.measure(title, variants, options.repeats)
    if options.kind == "monitoring":
        return report_monitoring(title, runs, options.examples) if len(runs) == 2 else {}
    figures = summary(runs, options.peak)
    if figures:
        report(title, figures)
    return figures


# --- the command line


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and add the device, its name and its peak rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    root = os.environ.get("HEEDFUL_DATA")
    parser.add_argument("--data", default=root and f"{root}/mnli", help="folder of MNLI; by default generated pairs")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS), help="models; by default all")
    parser.add_argument("--examples", type=int, default=2000, help="pairs to evaluate; training has 4 times as many")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of every variant at most")
    parser.add_argument("--minutes", type=float, default=10, help="time that the command may take")
    parser.add_argument("--peak", type=float, help="dense bf16 rate of the card in TFLOPS; by default by its name")
    parser.add_argument("--threads", type=int, help="threads of torch; by default all cores")
    parser.add_argument("--smoke", action="store_true", help="tiny models, few pairs and one repeat, also on a CPU")
    parser.add_argument("--output", help="JSON file for all figures")
    options = harness.parse(parser, argv)
    if options.smoke:
        options.examples, options.repeats = 24, 1
    has_gpu = torch.cuda.is_available()
    options.device, options.accelerator = ("cuda", "gpu") if has_gpu else ("cpu", "cpu")
    options.card = torch.cuda.get_device_name() if has_gpu else "CPU"
    options.peak = options.peak or card_peak(options.card)
    return options


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    options = parse(argv)
    computes_bf16 = options.device == "cpu" or torch.cuda.is_bf16_supported(including_emulation=False)
    groups = planned_groups(options.model, [*PRECISIONS][: 1 + computes_bf16])
    budget, results = Budget(options.minutes, len(groups)), {}
    rate = f"{options.peak:g} TFLOPS in bf16" if options.peak else "of unknown rate, without MFU"
    print(f"{options.card}, {rate}\n{harness.machine_line()}", flush=True)
    stance = torch.compiler.set_stance("force_eager" if options.smoke else "default")
    with harness.quiet(), stance, tempfile.TemporaryDirectory() as folder:
        if not options.data:
            options.data = folder
            n = options.examples
            write_pairs(Path(folder), {"train": TRAINING_SHARE * n, "validation_matched": n})
        for kind, name, precision in groups:
            title = f"{name}, {PRECISIONS[precision]}, {kind}"
            if budget.is_spent():
                budget.left_out.append(title)
                continue
            path = Path(folder, name)
            if not path.exists():
                write_model(name, path, options)
            group = with_settings(options, name=name, kind=kind, model=str(path), precision=precision)
            results[title] = compare(title, group, budget)
            harness.save(options, {"groups": results})  # also for a command that is stopped
            gc.collect()
            if options.device == "cuda":
                torch.cuda.empty_cache()
    print("\n".join(["Left out:", *budget.left_out]) if budget.left_out else "Nothing was left out.")
    return harness.save(options, {"groups": results, "left_out": budget.left_out})


if __name__ == "__main__":
    main()

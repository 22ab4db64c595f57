"""The cost of the attentiveness test: Heedful, the usual script, and the floor of the forward passes alone.

python -m benchmarks.attentiveness --data DIR/mnli --model RUN/checkpoints/backbone

(a)  Heedful's evaluation: base, counterfactuals, rows, metrics with intervals, files.
(n)  The same with the null control of all examples, as evaluate.py runs it: N forwards more, and the forwards of up
     to 24 padded examples alone.
(m)  Heedful within training: the base predictions exist already, and only the counterfactuals are counted.
(b)  k re-paired data sets, each tokenised anew; transformers.Trainer.predict, dynamic padding, all N in each.
(c)  The same, padded to 128 tokens.
(d)  The floor: the forwards of (a), on tensors built beforehand.
(e)  The floor on the network as transformers builds it, which (b) and (c) have too.

Tokenising is not in these times, and is reported apart.
"""

import argparse
import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from torch import nn

from benchmarks import harness
from benchmarks.harness import Count
from heedful.callbacks import Accuracy, Attentiveness, Evaluation
from heedful.records import Examples, Task
from heedful.records.rows import BASE, probabilities, select, strings

NAMES = {
    "a": "(a) Heedful",
    "n": "(n) + null control",
    "m": "(m) Heedful in training",
    "b": "(b) Trainer, dynamic",
    "c": "(c) Trainer, 128",
    "d": "(d) forwards alone",
    "e": "(e) (d), stock layers",
}
TARGETS = [("b", "a", 4.0, True), ("c", "a", 4.5, True), ("a", "d", 1.05, False), ("b", "m", 5.0, True)]


class Run(NamedTuple):
    """Times and counts of one run of a variant."""

    seconds: float
    count: Count
    tokenising: float = 0.0


def repaired(
    network: nn.Module,
    tokenizer: transformers.PreTrainedTokenizerBase,
    examples: Examples,
    task: Task,
    draws: int,
    max_length: int,
    default: int,
    fixed: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Measure attentiveness as a user would write it: all examples are predicted unchanged and in each draw.

    Args:
        network: A trained classifier.
        tokenizer: Its tokenizer.
        examples: The pairs.
        task: Names their parts; the first part is swapped.
        draws: Counterfactuals of an example (k).
        max_length: Maximum number of tokens of a pair.
        default: The network's output for the default label.
        fixed: Pad all pairs to ``max_length``.
        **settings: Settings of the Trainer of transformers.

    Returns:
        ``tokenising`` and ``seconds`` (without tokenising), ``probs`` of the base, and the ``value``.
    """
    start, rng = time.perf_counter(), np.random.default_rng(0)
    columns = [harness.pairs(examples, task), *(harness.pairs(examples, task, rng) for _ in range(draws))]
    sets = [harness.tokenised(c, task, tokenizer, max_length, fixed) for c in columns]
    between = time.perf_counter()
    with harness.hf_trainer(network, tokenizer, **settings) as trainer:
        base, *changed = [trainer.predict(data).predictions for data in sets]
    before = base.argmax(axis=1)
    eligible = before != default
    flips = [(scores.argmax(axis=1) != before)[eligible].mean() for scores in changed] if eligible.any() else [0.0]
    seconds = time.perf_counter() - between
    probs = torch.from_numpy(base).softmax(dim=-1).numpy()
    return {"tokenising": between - start, "seconds": seconds, "probs": probs, "value": float(np.mean(flips))}


class Comparison:
    """Time the variants of the test on one model and one data set; each variant is a method.

    Args:
        module: A trained encoder.
        data: The data module, set up.
        options: The command line.
    """

    def __init__(self, module: harness.Encoder, data: harness.PairedText, options: argparse.Namespace) -> None:
        self.module, self.data, self.options = module, data, options
        self.evaluations = [Attentiveness(options.draws)]
        with Count(module.network, keep=True) as count:  # also warms up, and tokenises
            engine, _ = self.evaluate(self.evaluations)
        self.batches, self.stock = count.batches, harness.stock(copy.deepcopy(module.network))
        self.value = engine[f"attentiveness/{data.name}/{data.swap[0]}"].value
        self.identical = engine.content["counts"]["attentiveness/identical"]
        base = select(engine.rows["attentiveness"][0], intervention=BASE)
        self.uids, self.answers, self.probs = strings(base, "uid"), strings(base, "y"), probabilities(base, "p")
        self.q = float(np.mean(self.answers != data.default_label))
        self.difference = 0.0  # largest difference between the base probabilities of (a) and (b)

    def evaluate(self, evaluations: Sequence[Evaluation], **settings: Any) -> tuple[Any, dict[str, float]]:
        """Evaluate as Heedful does."""
        return harness.evaluate(
            self.module, self.data, evaluations, **settings, **harness.trainer_settings(self.options)
        )

    def a(self) -> Run:
        with Count(self.module.network) as count:
            _, seconds = self.evaluate(self.evaluations)
        fresh = copy.copy(self.module)
        fresh.prepare(self.data.task)
        start = time.perf_counter()
        fresh.processor.lengths(self.data.pool)  # tokenises every text once
        return Run(seconds["evaluation"], count, time.perf_counter() - start)

    def n(self) -> Run:
        with Count(self.module.network) as count:
            _, seconds = self.evaluate([Accuracy(), *self.evaluations])
        return Run(seconds["evaluation"], count)

    def m(self) -> Run:
        """Variant (m): evaluation within training. Only the time after the base predictions counts, and their forwards
        are subtracted.
        """
        test = Attentiveness(self.options.draws, max_examples=None)
        with Count(self.module.network) as count:
            _, seconds = self.evaluate([test], exhaustive=False)
        base = self.batches[: -(-len(self.data.pool) // self.data.eval_batch_size)]
        count.forwards -= len(self.data.pool)
        count.computed -= sum(batch["attention_mask"].numel() for batch in base)
        count.real -= sum(int(batch["attention_mask"].sum()) for batch in base)
        return Run(seconds["after"], count)

    def b(self, fixed: bool = False) -> Run:
        data, module = self.data, self.module
        default = module.label_map.column.index(data.task.labels.index(data.default_label))
        max_length = min(128, module.max_length) if fixed else module.max_length
        settings = {"per_device_eval_batch_size": data.eval_batch_size, **harness.hf_settings(self.options)}
        sizes = {"draws": self.options.draws, "max_length": max_length, "default": default, "fixed": fixed}
        with Count(self.stock) as count:
            run = repaired(self.stock, module.processor.tokenizer, data.pool, data.task, **sizes, **settings)
        if not fixed:
            self.rival_value = run["value"]
            self.compare(run["probs"])
        return Run(run["seconds"], count, run["tokenising"])

    def c(self) -> Run:
        return self.b(fixed=True)

    def d(self) -> Run:
        return self.floor(self.module.network)

    def e(self) -> Run:
        return self.floor(self.stock)

    def floor(self, network: nn.Module) -> Run:
        with Count(network) as count:
            seconds = harness.forward_seconds(network, self.batches, self.options.accelerator, self.options.precision)
            return Run(seconds, count)

    def compare(self, probs: np.ndarray) -> None:
        """Compare the base predictions of (b), in the order of the pool, with Heedful's.

        Raises:
            AssertionError: A label differs although it leads by more than float noise.
        """
        order = [self.data.pool.position(uid) for uid in self.uids]
        probs = probs[order][:, np.argsort(self.module.label_map.column)]
        self.difference = max(self.difference, float(np.abs(probs - self.probs).max()))
        differ = np.array(self.data.task.labels)[probs.argmax(axis=1)] != self.answers
        best = np.sort(self.probs, axis=1)
        noise = 1e-4 if self.options.precision == "32-true" else 0.1
        assert not (differ & (best[:, -1] - best[:, -2] > noise)).any(), "Heedful and the Trainer predict other labels"


def summary(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, Any]]:
    """Medians, ranges and ratios of all variants."""
    base = [run.seconds for run in runs["a"]]
    return {
        name: {
            "forwards": each[-1].count.forwards,
            "padding": each[-1].count.padding,
            "tokens": {"computed": each[-1].count.computed, "real": each[-1].count.real},
            "seconds": harness.spread([run.seconds for run in each]),
            "over_heedful": harness.ratio([run.seconds for run in each], base),
            "tokenising": harness.spread([run.tokenising for run in each]),
        }
        for name, each in runs.items()
    }


def report(variants: Mapping[str, dict[str, Any]], runs: Mapping[str, Sequence[Run]]) -> None:
    """Print the tables and the targets."""
    rows = [["", "forwards", "padding", "seconds [min, max]", "over (a) [min, max]"]]
    for name, v in variants.items():
        times = harness.text(v["seconds"], 1), harness.text(v["over_heedful"])
        rows.append([NAMES[name], f"{v['forwards']:,}", f"{v['padding']:.2f}", *times])
    print(harness.table("A whole evaluation, without tokenising", rows))
    tokenising = [[NAMES[name], harness.text(variants[name]["tokenising"])] for name in "abc" if name in variants]
    print(harness.table("Tokenising", [["", "seconds [min, max]"], *tokenising]))
    for over, under, target, at_least in TARGETS:
        if over in runs and under in runs:
            times = harness.ratio([r.seconds for r in runs[over]], [r.seconds for r in runs[under]])
            print(harness.verdict(f"{NAMES[over]} over {NAMES[under]}", times["median"], target, at_least))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = harness.arguments(__doc__)
    parser.add_argument("--train-examples", type=int, default=2000, help="pairs to train on if the model has no head")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--batch-size", type=int, default=64, help="batch size of every variant")
    parser.add_argument("--only", nargs="+", choices=list(NAMES), default=list(NAMES), help="variants; (a) always")
    options = harness.parse(parser, argv)
    with harness.quiet():
        sizes = {"max_train": options.train_examples, "max_validation": options.examples}
        data = harness.mnli(options.data, eval_batch_size=options.batch_size, **sizes)
        data.setup("fit")
        module = harness.encoder(options.model, data)
        if not module.trained:  # the head is new
            harness.train(module, data, **harness.trainer_settings(options))
        comparison = Comparison(module, data, options)
        variants = {name: getattr(comparison, name) for name in NAMES if name in {"a", *options.only}}
        runs = harness.interleave(variants, options.repeats)
    n, k, q, identical = len(data.pool), options.draws, comparison.q, comparison.identical
    print(harness.machine_line())
    print(f"N = {n:,} pairs, k = {k} draws, q = {q:.3f} not predicted as {data.default_label!r}.")
    print(f"Cost model: (1 + k q) N = {round((1 + k * q) * n):,} forwards for (a), less {identical:,} for inputs that")
    print(f"were predicted before; (1 + k) N = {(1 + k) * n:,} for (b).\n")
    figures = summary(runs)
    report(figures, runs)
    if "b" in runs:
        print(f"Base predictions of (a) and (b) agree, probabilities within {comparison.difference:.1e}.")
        print(f"Attentiveness over different draws: (a) {comparison.value:.3f}, (b) {comparison.rival_value:.3f}.")
    result = {"variants": figures, "n": n, "q": q, "identical": identical, "difference": comparison.difference}
    return harness.save(options, result)


if __name__ == "__main__":
    main()

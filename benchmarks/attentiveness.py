"""Compare the time of the attentiveness test in Heedful, in a usual script, and in the forward passes alone.

python -m benchmarks.attentiveness --data DIR/mnli --model RUN/checkpoints/backbone

The variants, for N pairs with k counterfactuals (copies with a swapped part) each:

(a)  Heedful's evaluation: base predictions (of the unchanged pairs), counterfactuals, metrics with intervals, files.
(n)  (a) with the null control (a second prediction) of all pairs, as in evaluate.py: N more forward passes, and those
     of up to 24 padded examples, each in a batch of its own.
(m)  (a) within training: the base predictions exist already, and only the counterfactuals are counted.
(b)  A script that tokenises the pairs and k re-paired data sets, and predicts all of them with
     transformers.Trainer.predict and dynamic padding.
(c)  (b), but padded to 128 tokens.
(d)  The forward passes of (a) alone, on tensors built beforehand.

The times do not include tokenising, which is reported separately.
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
}
TARGETS = [("b", "a", 4.0, True), ("c", "a", 4.5, True), ("a", "d", 1.05, False), ("b", "m", 5.0, True)]


class Run(NamedTuple):
    """Seconds, counts of network inputs, and seconds of tokenising of one run of a variant."""

    seconds: float
    count: Count
    tokenising: float = 0.0


def paired_by_script(
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
    """Measure attentiveness with a plain script, without Heedful: variants (b) and (c) of the module.

    The script predicts all pairs once unchanged, and once per draw with the first part of a random other pair.
    Attentiveness is the share of changed predictions, among pairs that are not predicted as the default label.

    Args:
        network: A trained classifier.
        tokenizer: Its tokenizer.
        examples: The pairs of texts.
        task: The task of the examples; its first part is swapped.
        draws: Number of counterfactuals per example (k).
        max_length: Maximum number of tokens of a pair.
        default: Index of the network's output for the default label.
        fixed: Whether to pad all pairs to ``max_length``.
        **settings: Settings of the Trainer of transformers.

    Returns:
        The seconds of ``tokenising``, the ``seconds`` of everything else, the ``probs`` of the unchanged examples
        [examples, outputs], and the attentiveness as ``value``.
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
    """Runs the variants of the attentiveness test on one model and one data set: the method ``a`` runs variant (a).

    Args:
        module: A trained encoder.
        data: The data module, after its setup.
        options: The parsed command line.
    """

    def __init__(self, module: harness.Encoder, data: harness.PairedText, options: argparse.Namespace) -> None:
        self.module, self.data, self.options = module, data, options
        self.evaluations = [Attentiveness(options.draws)]
        with Count(module.network, keep=True) as count:  # also warms up, and tokenises
            engine, _ = self.evaluate(self.evaluations)
        self.batches, self.rival = count.batches, copy.deepcopy(module.network)
        self.value = engine[f"attentiveness/{data.name}/{data.swap[0]}"].value
        self.identical = engine.content["counts"]["attentiveness/identical"]
        base = select(engine.rows["attentiveness"][0], intervention=BASE)
        self.uids, self.answers, self.probs = strings(base, "uid"), strings(base, "y"), probabilities(base, "p")
        self.q = float(np.mean(self.answers != data.default_label))
        self.difference = 0.0  # largest difference between the base probabilities of (a) and (b)

    def evaluate(self, evaluations: Sequence[Evaluation], **settings: Any) -> tuple[Any, dict[str, float]]:
        """Run Heedful's evaluation, and return the measurements and the times, as :func:`harness.evaluate` does."""
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
        """Run variant (m): Heedful's attentiveness test as part of training.

        Training predicts the unchanged pairs in any case. The returned seconds start when these predictions are
        complete, and the returned counts of network inputs cover only the counterfactuals (the swapped pairs).
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
        default = module.fit.label_map.column.index(data.task.labels.index(data.default_label))
        max_length = min(128, module.max_length) if fixed else module.max_length
        settings = {"per_device_eval_batch_size": data.eval_batch_size, **harness.hf_settings(self.options)}
        sizes = {"draws": self.options.draws, "max_length": max_length, "default": default, "fixed": fixed}
        with Count(self.rival) as count:
            run = paired_by_script(self.rival, module.processor.tokenizer, data.pool, data.task, **sizes, **settings)
        if not fixed:
            self.rival_value = run["value"]
            self.compare(run["probs"])
        return Run(run["seconds"], count, run["tokenising"])

    def c(self) -> Run:
        return self.b(fixed=True)

    def d(self) -> Run:
        network = self.module.network
        with Count(network) as count:
            seconds = harness.forward_seconds(network, self.batches, self.options.accelerator, self.options.precision)
            return Run(seconds, count)

    def compare(self, probs: np.ndarray) -> None:
        """Check that a user's script and Heedful predict the same labels for the unchanged pairs.

        The script, variant (b), predicts with transformers.Trainer. ``probs`` are its probabilities for the unchanged
        pairs: float [pairs, outputs]. The largest difference of a probability is stored in ``self.difference``.

        Raises:
            AssertionError: If a label differs although Heedful's best label leads by more than float noise.
        """
        order = [self.data.pool.position(uid) for uid in self.uids]
        probs = probs[order][:, np.argsort(self.module.fit.label_map.column)]
        self.difference = max(self.difference, float(np.abs(probs - self.probs).max()))
        differ = np.array(self.data.task.labels)[probs.argmax(axis=1)] != self.answers
        best = np.sort(self.probs, axis=1)
        noise = 1e-4 if self.options.precision == "32-true" else 0.1
        assert not (differ & (best[:, -1] - best[:, -2] > noise)).any(), "Heedful and the Trainer predict other labels"


def summary(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, Any]]:
    """Summarise the repeated runs of each variant; ``runs`` maps the letter of a variant to its runs.

    Each letter is mapped to a summary. "seconds" and "tokenising" are times, as median and range. "over_heedful" is the
    ratio of the seconds to the seconds of variant "a" (Heedful's evaluation), as median and range. "forwards",
    "padding" and "tokens" are counts of network inputs in the last run.
    """
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
    """Print the times of the :func:`summary`, and whether the ratios of variants reach their targets."""
    rows = [["", "forwards", "padding", "seconds [min, max]", "over (a) [min, max]"]]
    for name, v in variants.items():
        times = harness.format_spread(v["seconds"], 1), harness.format_spread(v["over_heedful"])
        rows.append([NAMES[name], f"{v['forwards']:,}", f"{v['padding']:.2f}", *times])
    print(harness.table("A whole evaluation, without tokenising", rows))
    tokenising = [
        [NAMES[name], harness.format_spread(variants[name]["tokenising"])] for name in "abc" if name in variants
    ]
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
        if not module.fit.is_kept:  # the head is new
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

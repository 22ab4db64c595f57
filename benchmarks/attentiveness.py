"""What the attentiveness test costs: Heedful, what one would write today, and the floor of the forwards alone.

python -m benchmarks.attentiveness --data DIR/mnli --checkpoint RUN/checkpoints/best.ckpt

(a)  Heedful's evaluation: base, counterfactuals, rows, metrics with intervals, files.
(n)  The same with the null control of all examples, as evaluate.py runs it: N forwards more,
     and those of up to 24 padded examples alone.
(m)  Heedful within training: base predictions are there already, and only the counterfactuals are counted.
(b)  k re-paired data sets, each tokenised anew; transformers.Trainer.predict, dynamic padding, all N in each.
(c)  The same, padded to 128 tokens.
(d)  The floor: the forwards of (a), on tensors built beforehand, and nothing else.
(e)  The same with the network as transformers builds it; (b) and (c) have that one too. Where an AMD processor makes
     Heedful multiply with another library, this says what comes of it.

Tokenising is not in these times, and is reported apart.
"""

import argparse
import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
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
from heedful.callbacks import Accuracy, Attentiveness, Engine
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
    "bf16": "(a) in bf16",
    "compile": "(a) compiled",
}


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
    """The test as one would write it: all examples in the base and in each draw.

    Args:
        network: A trained classifier.
        tokenizer: Its tokenizer.
        examples: The pairs.
        task: Names their parts; the first is swapped.
        draws: Counterfactuals of an example (k).
        max_length: Most tokens of a pair.
        default: The network's output for the default label.
        fixed: Whether all pairs are padded to ``max_length``.
        **settings: Of the Trainer of transformers.

    Returns:
        ``tokenising`` and ``whole`` (seconds, the latter without the former), ``probs`` of the base, ``value``.
    """
    start, rng = time.perf_counter(), np.random.default_rng(0)
    columns = [harness.pairs(examples, task), *(harness.pairs(examples, task, rng) for _ in range(draws))]
    sets = [harness.tokenised(c, task, tokenizer, max_length, fixed) for c in columns]
    between = time.perf_counter()
    with harness.hf_trainer(network, tokenizer, **settings) as trainer:
        base, *changed = [trainer.predict(one).predictions for one in sets]
    before = base.argmax(axis=1)
    eligible = before != default
    flips = [(scores.argmax(axis=1) != before)[eligible].mean() for scores in changed] if eligible.any() else [0.0]
    seconds = time.perf_counter() - between
    probs = torch.from_numpy(base).softmax(dim=-1).numpy()
    return {"tokenising": between - start, "whole": seconds, "probs": probs, "value": float(np.mean(flips))}


@dataclass
class Run:
    """One run of one variant."""

    seconds: float
    tokenising: float
    count: Count


class Comparison:
    """The variants over one model and one data set.

    Args:
        module: A trained encoder.
        data: The data module, set up.
        draws: Counterfactuals of an example (k).
    """

    def __init__(self, module: harness.Encoder, data: harness.PairedText, draws: int) -> None:
        self.module, self.data, self.draws = module, data, draws
        with Count(module.network, keep=True) as count:  # also warms up, and tokenises
            self.engine, _ = harness.evaluate(module, data, [Attentiveness(draws)])
        measured = self.engine[f"attentiveness/{data.name}/{data.swap[0]}"]
        self.batches, self.value = count.batches, measured.value
        self.identical = self.engine.content["counts"]["attentiveness/identical"]
        self.network, self.stock = module.network, harness.stock(copy.deepcopy(module.network))
        base = select(self.engine.rows["attentiveness"][0], intervention=BASE)
        self.uids, self.answers, self.probs = strings(base, "uid"), strings(base, "y"), probabilities(base, "p")
        self.q = float(np.mean(self.answers != data.default_label))
        self.worst = 0.0  # how far the base probabilities of (a) and (b) are apart

    def tokenise(self) -> float:
        """Seconds to tokenise the pool as Heedful does: every text once."""
        fresh = copy.copy(self.module)
        fresh.prepare(self.data.task)
        start = time.perf_counter()
        fresh.processor.lengths(self.data.pool)
        return time.perf_counter() - start

    def a(self, **settings: Any) -> Run:
        with Count(self.module.network) as count:
            self.engine, seconds = harness.evaluate(self.module, self.data, [Attentiveness(self.draws)], **settings)
        return Run(seconds["whole"], self.tokenise(), count)

    def n(self) -> Run:
        evaluations = [Accuracy(), Attentiveness(self.draws)]
        with Count(self.module.network) as count:
            _, seconds = harness.evaluate(self.module, self.data, evaluations)
        return Run(seconds["whole"], 0.0, count)

    def m(self) -> Run:
        """Only what follows the base predictions is timed; these are counted, and subtracted."""
        test = Attentiveness(self.draws, max_examples=None)
        with Count(self.module.network) as count:
            _, seconds = harness.evaluate(self.module, self.data, [test], exhaustive=False)
        base = self.batches[: -(-len(self.data.pool) // self.data.eval_batch_size)]
        count.forwards -= len(self.data.pool)
        count.computed -= sum(batch["attention_mask"].numel() for batch in base)
        count.real -= sum(int(batch["attention_mask"].sum()) for batch in base)
        return Run(seconds["after"], 0.0, count)

    def b(self, fixed: bool = False) -> Run:
        with Count(self.stock) as count:
            found = repaired(
                self.stock,
                self.module.processor.tokenizer,
                self.data.pool,
                self.data.task,
                self.draws,
                min(128, self.module.max_length) if fixed else self.module.max_length,
                self.module.label_map.column.index(self.data.task.labels.index(self.data.default_label)),
                fixed,
                per_device_eval_batch_size=self.data.eval_batch_size,
            )
        if not fixed:
            self.theirs = found["value"]
            self.compare(found["probs"])
        return Run(found["whole"], found["tokenising"], count)

    def c(self) -> Run:
        return self.b(fixed=True)

    def d(self) -> Run:
        return self.forwards(self.network)

    def e(self) -> Run:
        return self.forwards(self.stock)

    def forwards(self, network: torch.nn.Module) -> Run:
        with Count(network) as count, torch.inference_mode():
            network.eval()
            start = time.perf_counter()
            for batch in self.batches:
                network(**batch)
            return Run(time.perf_counter() - start, 0.0, count)

    def compare(self, probs: np.ndarray) -> None:
        """(b) must predict what Heedful predicts; its outputs stand in the order of the pool.

        Raises:
            AssertionError: A label differs where the two best are not a tie within float noise.
        """
        order = [self.data.pool.position(uid) for uid in self.uids]
        probs = probs[order][:, np.argsort(self.module.label_map.column)]
        self.worst = max(self.worst, float(np.abs(probs - self.probs).max()))
        differ = np.array(self.data.task.labels)[probs.argmax(axis=1)] != self.answers
        best = np.sort(self.probs, axis=1)
        assert not (differ & (best[:, -1] - best[:, -2] > 1e-4)).any(), "Heedful and the Trainer predict other labels"

    def flips(self, engine: Engine) -> int:
        """How many predictions of the last run differ from those of another engine."""
        counts = 0
        found = [e.rows["attentiveness"][0].to_pylist() for e in (engine, self.engine)]
        keys = [
            {(r["uid"], r["intervention"], r["part"], r["draw"]): (r["y"], r["y2"]) for r in rows} for rows in found
        ]
        for key in keys[0].keys() & keys[1].keys():
            side = 0 if key[1] == BASE else 1
            counts += keys[0][key][side] != keys[1][key][side]
        return counts


def other_arithmetic(comparison: Comparison, names: Sequence[str]) -> dict[str, Any]:
    """Variants of (a) in bf16 or compiled: functions, and flips against fp32."""
    reference, flips, module = comparison.engine, {}, comparison.module
    compiled = torch.compile(comparison.network, dynamic=True) if "compile" in names else None

    def bf16() -> Run:
        run = comparison.a(precision="bf16-mixed")
        flips["bf16"] = comparison.flips(reference)
        return run

    def compile_() -> Run:
        module.network = compiled
        try:
            run = comparison.a()
        finally:
            module.network = comparison.network
        flips["compile"] = comparison.flips(reference)
        return run

    functions = {name: {"bf16": bf16, "compile": compile_}[name] for name in names}
    for warm in functions.values():
        warm()  # compiling is not what is measured
    return {"functions": functions, "flips": flips}


def summary(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """What is reported of every variant."""
    heeds = [run.seconds for run in runs["a"]]
    found = {}
    for name, each in runs.items():
        seconds, last = [run.seconds for run in each], each[-1].count
        found[name] = {
            "forwards": last.forwards,
            "padding": last.padding,
            "tokens": {"computed": last.computed, "real": last.real},
            "seconds": Spread.of(seconds),
            "over_heedful": ratio(seconds, heeds),
            "tokenising": Spread.of([run.tokenising for run in each]),
        }
    return found


def report(found: dict[str, dict[str, Any]], runs: dict[str, list[Run]]) -> None:
    """Print the tables and the targets."""
    head = ["", "forwards", "padding", "seconds [min, max]", "over (a) [min, max]"]
    rows = [
        [NAMES[name], f"{v['forwards']:,}", f"{v['padding']:.2f}", v["seconds"].text(1), v["over_heedful"].text()]
        for name, v in found.items()
    ]
    print(table("A whole evaluation, without tokenising", [head, *rows]))
    rows = [[NAMES[name], found[name]["tokenising"].text(2)] for name in ("a", "b", "c") if name in found]
    print(table("Tokenising", [["", "seconds [min, max]"], *rows]))

    def of(over: str, under: str) -> float:
        return ratio([r.seconds for r in runs[over]], [r.seconds for r in runs[under]]).median

    targets = [("b", "a", 4.0, True), ("c", "a", 4.5, True), ("a", "d", 1.05, False), ("b", "m", 5.0, True)]
    for over, under, target, at_least in targets:
        if over in runs and under in runs:
            print(verdict(f"{NAMES[over]} over {NAMES[under]}", of(over, under), target, at_least))


def trained(options: argparse.Namespace, data: harness.PairedText) -> harness.Encoder:
    """The model of ``--checkpoint``, or one that is trained here for a little while."""
    if options.checkpoint:
        module = harness.ready(harness.encoder(harness.exported(options.checkpoint)), data)
        module.require_head()
        return module
    data.setup("fit")
    module = harness.ready(harness.encoder(options.model), data)
    harness.train(module, data)
    return module


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=1000)
    parser.add_argument("--checkpoint", help="best.ckpt of a run, or an exported folder; else a model is trained here")
    parser.add_argument("--train-examples", type=int, default=2000, help="to train on where no checkpoint is named")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--batch-size", type=int, default=64, help="of every variant")
    parser.add_argument("--only", nargs="+", choices=list("anmbcde"), default=list("anmbcde"), help="these; (a) always")
    parser.add_argument("--variants", nargs="*", choices=["bf16", "compile"], default=[], help="of Heedful's forwards")
    options = parse(parser, argv, ["accelerate"])
    with quiet():
        data = harness.mnli(
            options.data,
            max_train=options.train_examples,
            max_validation=options.examples,
            eval_batch_size=options.batch_size,
        )
        data.setup("validate")
        comparison = Comparison(trained(options, data), data, options.draws)
        others = other_arithmetic(comparison, options.variants)
        functions = {name: getattr(comparison, name) for name in NAMES if name in {"a", *options.only}}
        runs = interleave(functions | others["functions"], options.repeats)
    found = summary(runs)
    n, k, q = len(data.pool), options.draws, comparison.q
    print(machine_line())
    print(
        f"N = {n:,} pairs, k = {k} draws, q = {q:.3f} not predicted as {data.default_label!r}; batches of "
        f"{options.batch_size}, fp32."
    )
    print(
        f"Cost model: (1 + k q) N = {round((1 + k * q) * n):,} forwards for (a), of which {comparison.identical:,} "
        f"are not made, since the input came before; (1 + k) N = {(1 + k) * n:,} for (b).\n"
    )
    report(found, runs)
    if "b" in runs:
        print(f"Base predictions of (a) and (b) agree; probabilities differ by at most {comparison.worst:.1e}.")
        if comparison.value is not None:
            print(f"Attentiveness, each with its own draws: (a) {comparison.value:.3f}, (b) {comparison.theirs:.3f}.")
    for name, count in others["flips"].items():
        print(f"{NAMES[name]}: {count} predictions are others than in fp32.")
    return save(
        options,
        {
            "variants": found,
            "n": n,
            "q": q,
            "identical": comparison.identical,
            "worst_difference": comparison.worst,
            "flips": others["flips"],
        },
    )


if __name__ == "__main__":
    main()

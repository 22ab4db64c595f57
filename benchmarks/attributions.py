"""What attributions cost: Heedful, the packages as their documentation shows them, and the floor of the forwards alone.

python -m benchmarks.attributions --data DIR/mnli --checkpoint RUN/checkpoints/best.ckpt --threads 1

lime, shap, owen, gradients     Heedful's evaluation: predictions of the examples, masks, phi, rows, numbers, files.
floor of lime, shap, owen       the different inputs of the above, by length in full batches: forwards, nothing else.
... stock layers                the same with the network as transformers builds it, which the packages have too.
the lime package                LimeTextExplainer with a function that predicts in batches.
the shap package                shap.Explainer(pipeline), that is Owen values by the Partition explainer.
captum                          LayerIntegratedGradients, at the internal batch size that is best of several.
captum, Heedful's layers           the same on Heedful's network.

The packages are handed texts (captum: tokens) that lie ready, and their explanations are thrown away.
"""

import argparse
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import explainers, ours, plain
from benchmarks.measure import (
    Count,
    Spread,
    arguments,
    interleave,
    machine_line,
    parse,
    progress,
    quiet,
    ratio,
    save,
    table,
    verdict,
)
from benchmarks.unique_inputs import batches_of, inputs_of
from heedful.callbacks import Attributions
from heedful.records import Composed
from heedful.records.rows import strings

MASKING = ("lime", "shap", "owen")
METHODS = (*MASKING, "gradients")
SAME_LAYERS = "captum, Heedful's layers"
TARGETS = [
    *(("lime package", "lime", 5.0), ("shap package", "shap", 5.0), ("shap package", "owen", 5.0)),
    *(("captum", "gradients", 1.0), (SAME_LAYERS, "gradients", 1.0)),
]  # of two variants, how many times as long the first takes, at least
ABOVE = 1.10  # how many times as long as its floor a method takes, at most


@dataclass
class Run:
    """One run of one variant: seconds, those of the processor, inputs fed to the network, and how many differ."""

    seconds: float
    processor: float
    forwards: int
    unique: int | None = None


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that a call takes, by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - processor


class Comparison:
    """The variants over one model and the same examples.

    Args:
        module: A trained encoder.
        data: The data module, set up.
        methods: Heedful's methods to measure.
        options: ``samples``, ``steps`` and ``internal_batch_sizes`` of the command line.
    """

    def __init__(
        self, module: ours.Encoder, data: ours.PairedText, methods: Sequence[str], options: argparse.Namespace
    ) -> None:
        self.module, self.data, self.methods, self.options = module, data, methods, options
        self.tokenizer, self.network = module.processor.tokenizer, module.network.eval()
        self.stock = plain.stock(copy.deepcopy(self.network)).eval()
        parts = zip(*(data.pool.column(f"parts.{part}") for part in data.task.parts), strict=True)
        self.texts = [explainers.joined(self.tokenizer, own) for own in parts]
        self.floors: dict[str, list[dict[str, Tensor]]] = {}
        self.rows: dict[str, Any] = {}
        self.phi: list[list[Tensor]] = []  # of captum
        self.batches: dict[str, int] = {}  # the internal batch size that is best for captum, by variant
        for method in methods:  # also warms up
            self.heedful(method)

    def heedful(self, method: str) -> Run:
        evaluation = Attributions([method], self.options.samples, examples=None, steps=self.options.steps, shown=0)
        with Count(self.network, keep=method not in self.floors) as count:
            seconds = timed(lambda: self.keep_rows(method, evaluation))
        if method not in self.floors and method in MASKING:
            pad_id = self.module.processor.pad_id
            different = inputs_of(count.batches)
            self.floors[method] = [*batches_of(different, self.data.eval_batch_size, pad_id)]
        unique = sum(len(batch["input_ids"]) for batch in self.floors.get(method, [])) or None
        return Run(*seconds, count.forwards, unique)

    def keep_rows(self, method: str, evaluation: Attributions) -> None:
        engine, _ = ours.evaluate(self.module, self.data, [evaluation], only=[evaluation.name])
        self.rows[method] = engine.rows[evaluation.name][0]

    def floor(self, method: str, stock: bool = False) -> Run:
        network = self.stock if stock else self.network
        with Count(network) as count, torch.inference_mode():
            seconds = timed(lambda: [network(**batch) for batch in self.floors[method]])
        return Run(*seconds, count.forwards, count.forwards)

    def of_texts(self, explain: explainers.Explain) -> Run:
        """A package that is given texts."""
        with Count(self.stock, keep=True) as count:
            seconds = timed(lambda: explain(self.texts))
        return Run(*seconds, count.forwards, len(inputs_of(count.batches)))

    def captum(self, network: nn.Module, internal_batch_size: int, examples: int | None = None) -> Run:
        """captum, with the inputs and the ends of the way that Heedful has."""
        inputs, baselines, outputs = self.ends
        explain = explainers.with_captum(network, self.options.steps, internal_batch_size)
        with Count(network) as count:
            seconds = timed(
                lambda: self.phi.append(explain(inputs[:examples], baselines[:examples], outputs[:examples]))
            )
        return Run(*seconds, count.forwards)

    def best_batch(self, name: str, network: nn.Module) -> int:
        """The internal batch size with which captum is the fastest on some examples, each the better of two tries."""
        times: dict[int, list[float]] = {}
        for _ in range(2):
            for size in self.options.internal_batch_sizes:
                progress(f"captum in batches of {size}")
                times.setdefault(size, []).append(self.captum(network, size, examples=6).seconds)
        self.batches[name] = min(times, key=lambda size: min(times[size]))
        return self.batches[name]

    @cached_property
    def ends(self) -> tuple[list[dict[str, Tensor]], list[Tensor], list[int]]:
        """For each example its inputs, the ids with everything hidden, and the output for its prediction."""
        words, n = self.module.processor.hiding(Composed.whole(self.data.pool)), len(self.data.pool)
        shown = np.zeros((n, int(words.features.max())), dtype=bool)
        each = [np.array([i]) for i in range(n)]
        inputs, hidden = ([*words.inputs(np.arange(n), which, each)] for which in (shown, ~shown))
        rows = self.rows["gradients"]
        labels = dict(zip(strings(rows, "uid"), strings(rows, "y"), strict=True))
        number = [self.data.task.labels.index(labels[uid]) for uid in self.data.pool.uids.to_pylist()]
        return inputs, [one["input_ids"] for one in hidden], [self.module.meanings.index(k) for k in number]

    def difference(self) -> float:
        """How far the phi of Heedful's gradients and those of captum lie apart, at most, summed over an example."""
        rows, worst = self.rows["gradients"], 0.0
        sums: dict[str, float] = {}
        for uid, phi in zip(strings(rows, "uid"), rows["phi"].to_pylist(), strict=True):
            sums[uid] = sums.get(uid, 0.0) + phi
        for uid, theirs in zip(self.data.pool.uids.to_pylist(), self.phi[-1], strict=True):
            worst = max(worst, abs(sums[uid] - float(theirs.sum())))
        return worst

    def joined(self) -> dict[str, float]:
        """What joining the parts to one text does to the predictions: how many change, and by how much P(y) does."""
        predict = explainers.batched_function(
            self.stock, self.tokenizer, self.data.eval_batch_size, self.module.max_length
        )
        pairs = list(zip(*(self.data.pool.column(f"parts.{part}") for part in self.data.task.parts), strict=True))
        given = self.tokenizer(
            *map(list, zip(*pairs, strict=True)),
            padding=True,
            truncation=True,
            max_length=self.module.max_length,
            return_tensors="pt",
        )
        with torch.inference_mode():
            apart = self.stock(**given).logits.softmax(dim=-1).numpy()
        together, every = predict(self.texts), np.arange(len(pairs))
        y = apart.argmax(axis=1)
        return {
            "other_predictions": int((together.argmax(axis=1) != y).sum()),
            "mean_difference": float(np.abs(together[every, y] - apart[every, y]).mean()),
        }


def variants_of(comparison: Comparison) -> dict[str, Callable[[], Run]]:
    """What is measured in each repeat, by name; each method of Heedful's stands next to its rivals."""
    options, functions = comparison.options, {}
    for method in comparison.methods:
        functions[method] = lambda method=method: comparison.heedful(method)
        if method in MASKING:
            functions[f"floor of {method}"] = lambda method=method: comparison.floor(method)
            functions[f"floor of {method}, stock layers"] = lambda method=method: comparison.floor(method, True)
    if "lime" in comparison.methods:
        batched = explainers.batched_function(
            comparison.stock, comparison.tokenizer, comparison.data.eval_batch_size, comparison.module.max_length
        )
        lime = explainers.with_lime(batched, comparison.data.task.labels, options.samples)
        functions["lime package"] = lambda: comparison.of_texts(lime)
    if {"shap", "owen"} & set(comparison.methods):
        shap = explainers.with_shap(comparison.stock, comparison.tokenizer, options.samples)
        functions["shap package"] = lambda: comparison.of_texts(shap)
    if "gradients" in comparison.methods:
        for name, network in (("captum", comparison.stock), (SAME_LAYERS, comparison.network)):
            size = comparison.best_batch(name, network)
            functions[name] = lambda network=network, size=size: comparison.captum(network, size)
    return functions


def summary(runs: Mapping[str, Sequence[Run]]) -> dict[str, Any]:
    """What is reported of every variant, and of every two that are compared."""
    clock = {name: [run.seconds for run in each] for name, each in runs.items()}
    processor = {name: [run.processor for run in each] for name, each in runs.items()}
    variants = {
        name: {
            "forwards": each[-1].forwards,
            "unique": each[-1].unique,
            "seconds": Spread.of(clock[name]),
            "processor": Spread.of(processor[name]),
        }
        for name, each in runs.items()
    }
    pairs = [(over, under, target, True) for over, under, target in TARGETS]
    pairs += [(name, f"floor of {name}", ABOVE, False) for name in MASKING]
    ratios = [
        {
            "over": over,
            "under": under,
            "ratio": ratio(clock[over], clock[under]),
            "processor": ratio(processor[over], processor[under]),
            "target": target,
            "least": least,
        }
        for over, under, target, least in pairs
        if over in runs and under in runs
    ]
    return {"variants": variants, "ratios": ratios}


def report(measured: Mapping[str, Any]) -> None:
    """Print the tables and the targets."""
    rows = [
        [name, f"{v['forwards']:,}", "" if v["unique"] is None else f"{v['unique']:,}", v["seconds"].text(1)]
        for name, v in measured["variants"].items()
    ]
    print(table("Attributions of all examples", [["", "forwards", "unique", "seconds [min, max]"], *rows]))
    rows = [
        [f"{one['over']} over {one['under']}", one["ratio"].text(), one["processor"].text()]
        for one in measured["ratios"]
    ]
    print(table("Ratios within a repeat, median [min, max]", [["", "clock", "processor"], *rows]))
    for one in measured["ratios"]:
        told = f"{one['over']} over {one['under']}"
        print(verdict(told, one["ratio"].median, one["target"], at_least=one["least"]))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=20, repeats=3)
    parser.add_argument("--checkpoint", required=True, help="best.ckpt of a run, or an exported folder")
    parser.add_argument("--samples", type=int, default=256, help="masks for each example and method")
    parser.add_argument("--steps", type=int, default=32, help="points of integrated gradients")
    parser.add_argument("--batch-size", type=int, default=64, help="of Heedful, of the floor, and of lime's function")
    parser.add_argument(
        "--internal-batch-sizes", type=int, nargs="+", default=[4, 8, 16, 32, 64], help="of captum, which has the best"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="of Heedful")
    options = parse(parser, argv, explainers.PACKAGES)
    with quiet():
        data = ours.mnli(options.data, max_validation=options.examples, eval_batch_size=options.batch_size)
        data.setup("validate")
        module = ours.ready(ours.encoder(ours.exported(options.checkpoint)), data)
        module.require_head()
        comparison = Comparison(module, data, options.methods, options)
        runs = interleave(variants_of(comparison), options.repeats)
        together = comparison.joined()
    measured = summary(runs)
    print(machine_line())
    print(f"{len(data.pool)} pairs, {options.samples} masks, {options.steps} steps, fp32.\n")
    report(measured)
    if comparison.batches:
        best = ", ".join(f"{name}: {size}" for name, size in comparison.batches.items())
        print(f"Best internal batch sizes: {best}. The phi of an example sum to those of captum within "
              f"{comparison.difference():.1e}.")  # fmt: skip
    print(
        f"Joined to one text, {together['other_predictions']} of {len(data.pool)} pairs have another prediction; the "
        f"probability of the one explained is {together['mean_difference']:.3f} off on average."
    )
    return save(options, measured | {"n": len(data.pool), "joined": together, "best_batches": comparison.batches})


if __name__ == "__main__":
    main()

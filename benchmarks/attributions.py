"""What attributions cost: Heedful, the packages as their documentation shows them, and the floor of the forwards alone.

python -m benchmarks.attributions --data DIR/mnli --checkpoint RUN/checkpoints/best.ckpt --threads 1

lime, shap, owen, gradients     Heedful's evaluation: predictions of the examples, masks, phi, rows, numbers, files.
floor of lime, shap, owen       the different inputs of the above, by length in full batches: forwards, nothing else.
... stock layers                the same with the network as transformers builds it, which the packages have too.
the lime package                LimeTextExplainer with a function that predicts in batches.
the shap package                shap.Explainer(pipeline), that is Owen values by the Partition explainer.
captum                          LayerIntegratedGradients, at the internal batch size that is best of several.
captum, Heedful's layers           the same on Heedful's network.

A pair is one text to shap and lime, its parts joined with the separator token, which the tokenizer reads back as that
token; all tokens then have the type of the first part. The packages are handed texts (captum: tokens) that lie ready,
and their explanations are thrown away.
"""

import argparse
import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, pipeline

from benchmarks import harness
from benchmarks.harness import (
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
from heedful.callbacks import Attributions
from heedful.callbacks.engine.batch_predictor import PADDING
from heedful.datamodules.base.sampler import snug_batches
from heedful.lightning_modules.processors.hiding import HiddenWords
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


PACKAGES = ("shap", "captum", "lime")  # imported where they are called, so that --help needs none of them
Explain = Callable[[Sequence[str]], None]
Inputs = Mapping[str, Tensor]


def joined(tokenizer: PreTrainedTokenizerBase, parts: Sequence[str]) -> str:
    """The parts of an example as one text, with the separator token between them."""
    return f" {tokenizer.sep_token or tokenizer.eos_token} ".join(parts)


def batched_function(
    network: nn.Module, tokenizer: PreTrainedTokenizerBase, batch_size: int, max_length: int
) -> Callable[[Sequence[str]], np.ndarray]:
    """Texts to probabilities, float32 [texts, labels], as one writes it for lime: each batch padded to its longest."""

    @torch.inference_mode()
    def predict(texts: Sequence[str]) -> np.ndarray:
        probs = []
        for begin in range(0, len(texts), batch_size):
            some = list(texts[begin : begin + batch_size])
            given = tokenizer(some, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
            probs.append(network(**given).logits.softmax(dim=-1))
        return torch.cat(probs).numpy()

    return predict


def with_shap(network: nn.Module, tokenizer: PreTrainedTokenizerBase, samples: int) -> Explain:
    """``shap.Explainer(pipeline)``: Owen values by the Partition explainer, of all labels."""
    import shap

    classify = pipeline("text-classification", model=network, tokenizer=tokenizer, top_k=None, device="cpu")
    explainer = shap.Explainer(classify)

    def explain(texts: Sequence[str]) -> None:
        explainer(list(texts), max_evals=samples, silent=True)

    return explain


def with_lime(predict: Callable[[Sequence[str]], np.ndarray], labels: Sequence[str], samples: int) -> Explain:
    """``LimeTextExplainer().explain_instance`` for the most probable label."""
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(class_names=list(labels), random_state=0)

    def explain(texts: Sequence[str]) -> None:
        for text in texts:
            explainer.explain_instance(text, predict, top_labels=1, num_samples=samples)

    return explain


def with_captum(
    network: nn.Module, steps: int, internal_batch_size: int
) -> Callable[[Sequence[Inputs], Sequence[Tensor], Sequence[int]], list[Tensor]]:
    """``LayerIntegratedGradients`` over the word embeddings, one example after the other: float [1, tokens] each.

    Its arguments are the inputs of each example, the ids that the way begins at, int64 [1, tokens], and the output
    that is explained.
    """

    from captum.attr import LayerIntegratedGradients

    def probabilities(input_ids: Tensor, *beside: Tensor) -> Tensor:
        names = ("attention_mask", "token_type_ids")[: len(beside)]
        given = dict(zip(names, beside, strict=True))
        return network(input_ids=input_ids, **given).logits.softmax(dim=-1)

    explainer = LayerIntegratedGradients(probabilities, network.get_input_embeddings())

    def explain(inputs: Sequence[Inputs], baselines: Sequence[Tensor], outputs: Sequence[int]) -> list[Tensor]:
        attributed = []
        for given, baseline, output in zip(inputs, baselines, outputs, strict=True):
            beside = tuple(given[name] for name in ("attention_mask", "token_type_ids") if name in given)
            of = explainer.attribute(
                given["input_ids"],
                baseline,
                target=output,
                additional_forward_args=beside,
                n_steps=steps,
                internal_batch_size=internal_batch_size,
            )
            attributed.append(of.sum(dim=-1).detach())
        return attributed

    return explain


def inputs_of(batches: Sequence[Mapping[str, Tensor]]) -> list[dict[str, Tensor]]:
    """The different inputs among batches, without padding, in the order in which they come: int64 [tokens] each."""
    different: dict[bytes, dict[str, Tensor]] = {}
    for batch in batches:
        names = [name for name in ("input_ids", "token_type_ids") if name in batch]
        for row, mask in enumerate(batch["attention_mask"].bool()):
            one = {name: batch[name][row][mask] for name in names}
            different.setdefault(b"".join(values.numpy().tobytes() for values in one.values()), one)
    return list(different.values())


def batches_of(inputs: Sequence[Mapping[str, Tensor]], batch_size: int, pad_id: int) -> Iterator[dict[str, Tensor]]:
    """Inputs by descending length, in batches."""
    lengths = np.array([len(one["input_ids"]) for one in inputs])
    for batch in snug_batches(lengths, batch_size, PADDING):
        several = {
            name: nn.utils.rnn.pad_sequence(
                [inputs[i][name] for i in batch], True, pad_id if name == "input_ids" else 0
            )
            for name in inputs[0]
        }
        ends = torch.from_numpy(lengths[batch])[:, None]
        yield several | {"attention_mask": (torch.arange(several["input_ids"].shape[1]) < ends).long()}


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
        self, module: harness.Encoder, data: harness.PairedText, methods: Sequence[str], options: argparse.Namespace
    ) -> None:
        self.module, self.data, self.methods, self.options = module, data, methods, options
        self.tokenizer, self.network = module.processor.tokenizer, module.network.eval()
        self.stock = harness.stock(copy.deepcopy(self.network)).eval()
        parts = zip(*(data.pool.column(f"parts.{part}") for part in data.task.parts), strict=True)
        self.texts = [joined(self.tokenizer, own) for own in parts]
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
        engine, _ = harness.evaluate(self.module, self.data, [evaluation], only=[evaluation.name])
        self.rows[method] = engine.rows[evaluation.name][0]

    def floor(self, method: str, stock: bool = False) -> Run:
        network = self.stock if stock else self.network
        with Count(network) as count, torch.inference_mode():
            seconds = timed(lambda: [network(**batch) for batch in self.floors[method]])
        return Run(*seconds, count.forwards, count.forwards)

    def of_texts(self, explain: Explain) -> Run:
        """A package that is given texts."""
        with Count(self.stock, keep=True) as count:
            seconds = timed(lambda: explain(self.texts))
        return Run(*seconds, count.forwards, len(inputs_of(count.batches)))

    def captum(self, network: nn.Module, internal_batch_size: int, examples: int | None = None) -> Run:
        """captum, with the inputs and the ends of the way that Heedful has."""
        inputs, baselines, outputs = self.ends
        explain = with_captum(network, self.options.steps, internal_batch_size)
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
        words, n = HiddenWords(self.module.processor, Composed.whole(self.data.pool)), len(self.data.pool)
        shown = np.zeros((n, int(words.features.max())), dtype=bool)
        each = [np.array([i]) for i in range(n)]
        inputs, hidden = ([*words.inputs(np.arange(n), which, each)] for which in (shown, ~shown))
        rows = self.rows["gradients"]
        labels = dict(zip(strings(rows, "uid"), strings(rows, "y"), strict=True))
        number = [self.data.task.labels.index(labels[uid]) for uid in self.data.pool.uids.to_pylist()]
        return inputs, [one["input_ids"] for one in hidden], [self.module.label_map.column.index(k) for k in number]

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
        predict = batched_function(self.stock, self.tokenizer, self.data.eval_batch_size, self.module.max_length)
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
        batched = batched_function(
            comparison.stock, comparison.tokenizer, comparison.data.eval_batch_size, comparison.module.max_length
        )
        lime = with_lime(batched, comparison.data.task.labels, options.samples)
        functions["lime package"] = lambda: comparison.of_texts(lime)
    if {"shap", "owen"} & set(comparison.methods):
        shap = with_shap(comparison.stock, comparison.tokenizer, options.samples)
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
    options = parse(parser, argv, PACKAGES)
    with quiet():
        data = harness.mnli(options.data, max_validation=options.examples, eval_batch_size=options.batch_size)
        data.setup("validate")
        module = harness.ready(harness.encoder(harness.exported(options.checkpoint)), data)
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

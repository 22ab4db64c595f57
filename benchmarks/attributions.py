"""Compare the time of attributions in Heedful, in other packages, and in the forward passes alone.

python -m benchmarks.attributions --data DIR/mnli --model RUN/checkpoints/backbone --threads 1

The variants; other packages are used as their documentation shows:

lime, shap, owen, gradients     Heedful's evaluation: predictions, also of masked examples, attributions, files.
floor of lime, shap, owen       the forward passes of the evaluation alone, on tensors built beforehand.
lime package                    LimeTextExplainer with a function that predicts in batches.
shap package                    shap.Explainer(pipeline): Owen values by the Partition explainer.
captum                          LayerIntegratedGradients over the word embeddings.

shap and lime read a pair as one text, its parts joined with the separator token; all tokens then have the type of the
first part. The packages get texts (captum: tokens) that were built beforehand, and their explanations are discarded.
"""

import argparse
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from captum.attr import LayerIntegratedGradients
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase, pipeline

from benchmarks import harness
from benchmarks.harness import Count
from heedful.callbacks import Attributions
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.records import Composed
from heedful.records.rows import strings

MASKING = ("lime", "shap", "owen")
METHODS = (*MASKING, "gradients")
TARGETS = [  # two variants, the target of their ratio, and whether the ratio should be larger
    *(("lime package", "lime", 5.0, True), ("shap package", "shap", 5.0, True), ("shap package", "owen", 5.0, True)),
    ("captum", "gradients", 1.0, True),
    *((name, f"floor of {name}", 1.10, False) for name in MASKING),
]
Explain = Callable[[Sequence[str]], Any]


def batched_function(
    network: nn.Module, tokenizer: PreTrainedTokenizerBase, batch_size: int, max_length: int
) -> Callable[[Sequence[str]], np.ndarray]:
    """Return a function from texts to probabilities, float32 [texts, labels], such as users write for lime.

    The function predicts in batches; each batch is padded to its longest text.
    """

    @torch.inference_mode()
    def predict(texts: Sequence[str]) -> np.ndarray:
        probs = []
        for start in range(0, len(texts), batch_size):
            batch = list(texts[start : start + batch_size])
            inputs = tokenizer(batch, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
            probs.append(network(**inputs).logits.softmax(dim=-1))
        return torch.cat(probs).numpy()

    return predict


def with_shap(network: nn.Module, tokenizer: PreTrainedTokenizerBase, samples: int) -> Explain:
    """Return a function that explains texts with ``shap.Explainer(pipeline)``: Owen values of all labels.

    ``samples`` is the maximum number of masks for each text.
    """
    import shap

    classify = pipeline("text-classification", model=network, tokenizer=tokenizer, top_k=None, device="cpu")
    explainer = shap.Explainer(classify)
    return lambda texts: explainer(list(texts), max_evals=samples, silent=True)


def with_lime(predict: Callable[[Sequence[str]], np.ndarray], labels: Sequence[str], samples: int) -> Explain:
    """Return a function that explains the most probable label of texts with ``LimeTextExplainer().explain_instance``.

    ``predict`` maps texts to probabilities [texts, labels]; ``samples`` is the number of masks for each text.
    """
    from lime.lime_text import LimeTextExplainer

    explain = LimeTextExplainer(class_names=list(labels), random_state=0).explain_instance
    return lambda texts: [explain(text, predict, top_labels=1, num_samples=samples) for text in texts]


class Run(NamedTuple):
    """One run of a variant: seconds by the clock, seconds of processor time, and number of inputs of the network."""

    seconds: float
    processor: float
    forwards: int


class Comparison:
    """Times attribution methods of Heedful and of other packages on one model and one data set.

    Args:
        module: A trained encoder.
        data: The data module, after its setup.
        options: The parsed command line.
    """

    def __init__(self, module: harness.Encoder, data: harness.PairedText, options: argparse.Namespace) -> None:
        self.module, self.data, self.options = module, data, options
        self.network, self.tokenizer = module.network, module.processor.tokenizer
        self.rival = copy.deepcopy(self.network).eval()
        parts = zip(*(data.pool.column(f"parts.{part}") for part in data.task.parts), strict=True)
        separator = f" {self.tokenizer.sep_token or self.tokenizer.eos_token} "
        self.texts = [separator.join(texts) for texts in parts]
        self.batches: dict[str, list[dict[str, Tensor]]] = {}
        for method in options.methods:  # also warms up
            with Count(self.network, keep=method in MASKING) as count:
                self.heedful(method)
            self.batches[method] = count.batches

    def timed(self, network: nn.Module, run: Callable[[], Any]) -> Run:
        """Call ``run``, and return its times and the number of inputs that ``network`` gets meanwhile."""
        with Count(network) as count:
            start = time.perf_counter(), time.process_time()
            run()
            return Run(time.perf_counter() - start[0], time.process_time() - start[1], count.forwards)

    def heedful(self, method: str) -> None:
        """Run Heedful's evaluation with one attribution method, such as "lime"."""
        evaluation = Attributions([method], self.options.samples, examples=None, steps=self.options.steps, shown=0)
        engine, _ = harness.evaluate(self.module, self.data, [evaluation], only=[evaluation.name], accelerator="cpu")
        self.rows = engine.rows[evaluation.name][0]

    def captum(self, network: nn.Module) -> Callable[[], None]:
        """Return a function that runs captum's integrated gradients for the predicted labels, on Heedful's inputs."""
        words, n = HiddenWords(self.module.processor, Composed.whole(self.data.pool)), len(self.data.pool)
        visible = np.ones((n, int(words.features.max())), dtype=bool)
        each = [np.array([i]) for i in range(n)]
        inputs, hidden = ([*words.inputs(np.arange(n), mask, each)] for mask in (visible, ~visible))
        labels = dict(zip(strings(self.rows, "uid"), strings(self.rows, "y"), strict=True))
        outputs = [self.output(labels[uid]) for uid in self.data.pool.uids.to_pylist()]
        beside = [name for name in ("attention_mask", "token_type_ids") if name in inputs[0]]

        def probabilities(input_ids: Tensor, *tensors: Tensor) -> Tensor:
            return network(input_ids=input_ids, **dict(zip(beside, tensors, strict=True))).logits.softmax(dim=-1)

        explainer = LayerIntegratedGradients(probabilities, network.get_input_embeddings())

        def explain() -> None:
            for example, baseline, output in zip(inputs, hidden, outputs, strict=True):
                explainer.attribute(
                    example["input_ids"],
                    baseline["input_ids"],
                    target=output,
                    additional_forward_args=tuple(example[name] for name in beside),
                    n_steps=self.options.steps,
                    internal_batch_size=self.options.internal_batch_size,
                )

        return explain

    def output(self, label: str) -> int:
        return self.module.fit.label_map.column.index(self.data.task.labels.index(label))

    def variants(self) -> dict[str, Callable[[], Run]]:
        """Map the name of each variant to a function that runs and times it."""
        runs: dict[str, tuple[nn.Module, Callable[[], Any]]] = {}
        methods, samples = self.options.methods, self.options.samples
        for method in methods:
            runs[method] = self.network, partial(self.heedful, method)
            if method in MASKING:
                floor = partial(harness.forward_seconds, self.network, self.batches[method], "cpu", "32-true")
                runs[f"floor of {method}"] = self.network, floor
        if "lime" in methods:
            batched = batched_function(self.rival, self.tokenizer, self.data.eval_batch_size, self.module.max_length)
            lime = with_lime(batched, self.data.task.labels, samples)
            runs["lime package"] = self.rival, lambda: lime(self.texts)
        if {"shap", "owen"} & set(methods):
            shap = with_shap(self.rival, self.tokenizer, samples)
            runs["shap package"] = self.rival, lambda: shap(self.texts)
        if "gradients" in methods:
            runs["captum"] = self.rival, self.captum(self.rival)
        return {name: partial(self.timed, *run) for name, run in runs.items()}


def summary(runs: Mapping[str, Sequence[Run]]) -> dict[str, Any]:
    """Compute the medians and ranges of each variant's times, and the ratios of the variants in ``TARGETS``."""
    clock = {name: [run.seconds for run in each] for name, each in runs.items()}
    processor = {name: [run.processor for run in each] for name, each in runs.items()}
    variants = {
        name: {
            "forwards": each[-1].forwards,
            "seconds": harness.spread(clock[name]),
            "processor": harness.spread(processor[name]),
        }
        for name, each in runs.items()
    }
    ratios = [
        {
            "over": over,
            "under": under,
            "ratio": harness.ratio(clock[over], clock[under]),
            "processor": harness.ratio(processor[over], processor[under]),
            "verdict": (target, at_least),
        }
        for over, under, target, at_least in TARGETS
        if over in runs and under in runs
    ]
    return {"variants": variants, "ratios": ratios}


def report(measured: Mapping[str, Any]) -> None:
    """Print the result of :func:`summary` as tables, and whether the ratios reach their targets."""
    variants, ratios = measured["variants"].items(), measured["ratios"]
    rows = [[name, f"{v['forwards']:,}", harness.format_spread(v["seconds"], 1)] for name, v in variants]
    print(harness.table("Attributions of all examples", [["", "forwards", "seconds [min, max]"], *rows]))
    names = [f"{r['over']} over {r['under']}" for r in ratios]
    times = [[harness.format_spread(r[kind]) for kind in ("ratio", "processor")] for r in ratios]
    rows = [[name, *pair] for name, pair in zip(names, times, strict=True)]
    print(harness.table("Ratios within a repeat, median [min, max]", [["", "clock", "processor"], *rows]))
    for name, r in zip(names, ratios, strict=True):
        print(harness.verdict(name, r["ratio"]["median"], *r["verdict"]))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = harness.arguments(__doc__, examples=20, repeats=3, has_devices=False)
    parser.add_argument("--samples", type=int, default=256, help="masks for each example and method")
    parser.add_argument("--steps", type=int, default=32, help="points of integrated gradients")
    parser.add_argument("--batch-size", type=int, default=64, help="batch size of Heedful and of lime's function")
    parser.add_argument("--internal-batch-size", type=int, default=32, help="batch size of captum")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, help="methods of Heedful")
    options = harness.parse(parser, argv)
    with harness.quiet():
        data = harness.mnli(options.data, max_validation=options.examples, eval_batch_size=options.batch_size)
        data.setup("validate")
        module = harness.encoder(options.model, data)
        module.require_head()
        comparison = Comparison(module, data, options)
        measured = summary(harness.interleave(comparison.variants(), options.repeats))
    print(harness.machine_line())
    print(f"{len(data.pool)} pairs, {options.samples} masks, {options.steps} steps, fp32.\n")
    report(measured)
    return harness.save(options, measured | {"n": len(data.pool)})


if __name__ == "__main__":
    main()

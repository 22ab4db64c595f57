"""How well evaluation and training fill a GPU, compared with the forward passes alone and with other libraries.

python -m benchmarks.gpu --minutes 10 --output gpu.json

Per model and precision, the variants of an evaluation are:

Heedful       accuracy with the null control of all pairs, attentiveness with five draws, and files. The time is of the
              whole call, without tokenising.
forwards      (a) The same forward passes on the same inputs, which are on the device already.
pipeline      (b) transformers' pipeline("text-classification") on the unchanged pairs, tokenising included.
Trainer       (b) transformers' Trainer.predict on the unchanged pairs, without tokenising.
CrossEncoder  (c) CrossEncoder.predict of sentence-transformers, if installed, tokenising included.

For a causal model, Heedful scores the texts of three labels after a prompt. (b) then reads the same prompts once, with
a classification head. In bf16, Heedful, (a) and Trainer use autocast; pipeline and CrossEncoder have weights in bf16.

"training" is one epoch of Heedful, "monitoring" the cost of attentiveness in each epoch, and "compiled" an evaluation
with and without torch.compile. MFU is the share of the dense bf16 rate of the card that useful operations take: 2 for
each weight outside embeddings and token, and 4 x layers x hidden size for each token and token of its input, without
padding; three times as many in training.
"""

import argparse
import gc
import importlib.util
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
import transformers
from torch import nn

from benchmarks import harness, monitoring, training
from benchmarks.bare_runs import measured
from benchmarks.gpu_models import MODELS, write_model, write_pairs
from benchmarks.harness import Count
from heedful.assembly.loading import load_model
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import CausalLM, Encoder

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
DRAWS = 5
DEFAULT_BATCH = {"pipeline": 1, "Trainer": 8, "CrossEncoder": 32}
BATCHES = (32, 128, 512)
MOST_BATCHES = 128  # of a rival with small batches, which is slow
TRAINING_BATCHES = (32, 256)
TRAINING_SHARE = 4  # training pairs per evaluated pair


class Run(NamedTuple):
    """Seconds of one run, number of pairs, and number of useful floating-point operations."""

    seconds: float
    pairs: int
    operations: float


def useful_operations(network: nn.Module, tokens: int, attended: int) -> float:
    """Return the operations of forward passes over ``tokens``, which attend to ``attended`` tokens in all."""
    embeddings = {id(module.weight) for module in network.modules() if isinstance(module, nn.Embedding)}
    weights = sum(weight.numel() for weight in network.parameters() if id(weight) not in embeddings)
    config: Any = network.config
    return 2.0 * weights * tokens + 4.0 * config.num_hidden_layers * config.hidden_size * attended


# --- evaluation


class Record(Count):
    """Count of the network of a model that also counts pairs, and keeps the inputs for :meth:`replay`.

    Attributes:
        pairs: Number of predicted pairs.
        calls: Keyword arguments of the network per call, and the states that the cache had before the call.
    """

    def __init__(self, model: Encoder | CausalLM) -> None:
        super().__init__(model.network)
        self.model, self.pairs = model, 0
        self.calls: list[tuple[dict[str, Any], list[tuple[torch.Tensor, ...]]]] = []

    def __enter__(self) -> "Record":
        super().__enter__()
        self.model.predict = self._predict  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: Any) -> None:
        del self.model.predict
        super().__exit__(*error)

    def _predict(self, batch: Mapping[str, Any]) -> Any:
        self.pairs += batch["size"]
        return type(self.model).predict(self.model, batch)

    def _count(self, network: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super()._count(network, args, kwargs)
        cache = kwargs.get("past_key_values")
        layers = [layer[:2] for layer in cache or () if layer[0] is not None]
        # expanded zeros have the shape of the states and take no memory
        states = [tuple(state.new_zeros(1).expand(state.shape) for state in layer) for layer in layers]
        self.calls.append(({name: value for name, value in kwargs.items() if value is not cache}, states))

    def replay(self, device: str, precision: str) -> float:
        """Return the seconds of the recorded forward passes; the device is waited for once, at the end."""
        network: Any = self.network.to(device).eval()
        with torch.inference_mode(), torch.autocast(device, torch.bfloat16, precision == "bf16-mixed"):
            wait(device)
            start = time.perf_counter()
            for inputs, states in self.calls:
                caches = {"past_key_values": transformers.DynamicCache(states, network.config)} if states else {}
                network(**inputs, **caches)
            wait(device)
            return time.perf_counter() - start


def wait(device: str) -> None:
    """Wait until a GPU has done all its work."""
    if device != "cpu":
        torch.accelerator.synchronize()


class Evaluation:
    """Evaluates a model with Heedful, and repeats the forward passes. A first evaluation is recorded and warms up.

    Args:
        options: The command line, and the name, folder (``model``) and precision of the model.
        **settings: Settings of an encoder.
    """

    def __init__(self, options: argparse.Namespace, **settings: Any) -> None:
        self.options = options
        self.data = harness.mnli(options.data, max_validation=options.examples)
        self.data.setup("validate")
        self.model = self.load(**settings)
        self.record = Record(self.model)
        with self.record:
            self.measure()
        self.operations = useful_operations(self.record.network, self.record.real, self.record.attended)

    def load(self, **settings: Any) -> Encoder | CausalLM:
        """Return the model as Heedful loads it, with its weights."""
        if self.options.name != "causal":
            return harness.encoder(self.options.model, self.data, **settings)
        # a random model writes no label
        model: Any = load_model(self.options.model, decoding="likelihood", score="mean")
        model.bind(self.data.task)
        model.prompt_with(Prompting().prompts(self.data)[0])
        model.configure_model()
        return model

    def measure(self) -> None:
        """Evaluate as evaluate.py does, and write the files to a temporary folder."""
        evaluations = [Accuracy(), Attentiveness(DRAWS)]
        with tempfile.TemporaryDirectory() as folder:
            measured(
                self.model, self.data, evaluations, folder=Path(folder, "run"), **harness.trainer_settings(self.options)
            )

    def heedful(self) -> Run:
        start = time.perf_counter()
        self.measure()
        return Run(time.perf_counter() - start, self.record.pairs, self.operations)

    def forwards(self) -> Run:
        seconds = self.record.replay(self.options.device, self.options.precision)
        return Run(seconds, self.record.pairs, self.operations)


class Rivals:
    """Predicts the unchanged pairs of an evaluation, or their prompts, with other libraries."""

    def __init__(self, evaluation: Evaluation) -> None:
        from datasets import Dataset

        self.options, pool = evaluation.options, evaluation.data.pool
        self.reader = transformers.AutoTokenizer.from_pretrained(self.options.model)
        if self.options.name == "causal":
            self.texts = [{"text": evaluation.model.sent(example)["text"]} for example in pool]
        else:
            first, second = harness.pairs(pool, evaluation.data.task).values()
            self.texts = [{"text": a, "text_pair": b} for a, b in zip(first, second, strict=True)]
        self.inputs = Dataset.from_list([dict(self.reader(**text)) for text in self.texts])
        self.dtype = torch.bfloat16 if self.options.precision == "bf16-mixed" else torch.float32

    def variants(self) -> dict[str, Callable[[], Run]]:
        """Return the functions that run each library with each batch size, by names such as "Trainer, 32"."""
        rivals = {"pipeline": self.pipeline, "Trainer": self.trainer}
        if self.options.name != "causal" and importlib.util.find_spec("sentence_transformers"):
            rivals["CrossEncoder"] = self.cross_encoder
        sizes = {name: sorted({DEFAULT_BATCH[name], *BATCHES}) for name in rivals}
        return {f"{name}, {size}": partial(run, size) for name, run in rivals.items() for size in sizes[name]}

    def network(self, dtype: torch.dtype) -> Any:
        labels = harness.NAMED_LABELS
        return transformers.AutoModelForSequenceClassification.from_pretrained(
            self.options.model, dtype=dtype, **labels
        )

    def run(self, predict: Callable[[Any], Any], inputs: Any, batch_size: int, network: nn.Module) -> Run:
        """Return the run of ``predict`` on the first pairs, at most :data:`MOST_BATCHES` batches."""
        n = min(len(self.texts), MOST_BATCHES * batch_size)
        inputs = inputs.select(range(n)) if hasattr(inputs, "select") else inputs[:n]
        lengths = [len(ids) for ids in self.inputs["input_ids"][:n]]
        start = time.perf_counter()
        predict(inputs)
        seconds = time.perf_counter() - start
        return Run(seconds, n, useful_operations(network, sum(lengths), sum(length**2 for length in lengths)))

    def pipeline(self, batch_size: int) -> Run:
        network = self.network(self.dtype)
        settings = {"model": network, "tokenizer": self.reader, "device": self.options.device}
        pipe: Any = transformers.pipeline("text-classification", **settings)
        return self.run(partial(pipe, batch_size=batch_size), self.texts, batch_size, network)

    def trainer(self, batch_size: int) -> Run:
        network = self.network(torch.float32)
        settings = {"per_device_eval_batch_size": batch_size, **harness.hf_settings(self.options)}
        with harness.hf_trainer(network, self.reader, **settings) as trainer:
            return self.run(trainer.predict, self.inputs, batch_size, network)

    def cross_encoder(self, batch_size: int) -> Run:
        from sentence_transformers import CrossEncoder

        settings = {"device": self.options.device, "model_kwargs": {"dtype": self.dtype}}
        encoder: Any = CrossEncoder(self.options.model, **settings)
        predict = partial(encoder.predict, batch_size=batch_size, show_progress_bar=False)
        pairs = [(text["text"], text["text_pair"]) for text in self.texts]
        return self.run(predict, pairs, batch_size, encoder.model)


# --- groups of variants, each of one model in one precision


def compare_evaluation(options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    evaluation = Evaluation(options)
    variants = {"Heedful": evaluation.heedful, "forwards": evaluation.forwards}
    return variants | Rivals(evaluation).variants()


def compare_compiled(options: argparse.Namespace) -> dict[str, Callable[[], Run]]:
    return {"compiled": Evaluation(options, compiled=True).heedful, "eager": Evaluation(options).heedful}


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
    """Return the comparison, the model and the precision of each group, in the order in which they run."""
    encoders = [model for model in models if model != "causal"]
    groups = [("evaluation", model, precision) for model in models for precision in precisions]
    groups += [("training", model, precision) for model in encoders for precision in precisions]
    groups += [("monitoring", model, precisions[-1]) for model in encoders]
    return groups + [("compiled", model, precision) for model in encoders for precision in precisions]


class Budget:
    """The time of the command, divided among its groups, and what was left out for lack of time or memory."""

    def __init__(self, minutes: float, groups: int) -> None:
        self.end, self.groups = time.perf_counter() + 60 * minutes, groups
        self.left_out: list[str] = []

    def is_spent(self) -> bool:
        return time.perf_counter() >= self.end

    def begin(self) -> None:
        """Give the next group an equal share of the time that is left."""
        now = time.perf_counter()
        self.deadline = now + (self.end - now) / self.groups
        self.groups -= 1

    def measure(self, title: str, variants: Mapping[str, Callable[[], T]], repeats: int) -> dict[str, list[T]]:
        """Run every variant once to warm up, and then in repeats; return the runs, of the first pass if it is alone."""
        start = time.perf_counter()
        first: dict[str, list[T]] = {}
        for name, run in variants.items():
            if self.is_spent():
                self.left_out.append(f"{title}: {name}")
                continue
            try:
                first[name] = [run()]
            except torch.OutOfMemoryError:
                self.left_out.append(f"{title}: {name} (too little memory)")
        seconds = time.perf_counter() - start
        again = {name: variants[name] for name in first}
        runs = harness.interleave(again, repeats, lambda: time.perf_counter() + seconds <= self.deadline)
        done = min(map(len, runs.values()), default=0)
        if first and done < repeats:
            self.left_out.append(f"{title}: {repeats - done} of {repeats} repeats")
        return runs if done else first


# --- figures


def card_peak(name: str) -> float | None:
    """Return the dense bf16 rate of a card in TFLOPS; None for an unknown card."""
    return next((rate for card, rate in PEAKS.items() if re.search(rf"\b{card}\b", name)), None)


def summary(runs: Mapping[str, Sequence[Run]], peak: float | None) -> dict[str, dict[str, Any]]:
    """Compute each variant's pairs per second, MFU in percent, and how many times as fast the first variant is."""
    times = {name: [run.seconds / run.pairs for run in each] for name, each in runs.items()}
    figures: dict[str, dict[str, Any]] = {}
    for name, each in runs.items():
        rates = [run.operations / run.seconds / 1e12 for run in each]
        figures[name] = {
            "per_second": harness.spread([1 / seconds for seconds in times[name]]),
            "tflops": harness.spread(rates),
            "mfu": harness.spread([100 * rate / peak for rate in rates]) if peak else None,
            "first_over_it": harness.ratio(times[name], times[next(iter(times))]),
        }
    return figures


def shown_names(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the variants to print and their descriptions: a rival with its default and its fastest batch size."""
    names = {name: name for name in figures if name.partition(", ")[0] not in DEFAULT_BATCH}
    for rival, default in DEFAULT_BATCH.items():
        of_rival = [name for name in figures if name.startswith(f"{rival}, ")]
        names |= {name: f"{name} (default)" for name in of_rival if name == f"{rival}, {default}"}
        tuned = [name for name in of_rival if name.endswith(tuple(f", {size}" for size in BATCHES))]
        if tuned:
            best = max(tuned, key=lambda name: figures[name]["per_second"]["median"])
            names[best] = f"{best} (best)"
    return names


def report(title: str, figures: Mapping[str, Mapping[str, Any]]) -> None:
    first = next(iter(figures))
    rows = [["batch size", "pairs/s", "MFU, %", f"{first} over it"]]
    for name, description in shown_names(figures).items():
        v = figures[name]
        mfu = f"{v['mfu']['median']:.1f}" if v["mfu"] else "-"
        times = "" if name == first else harness.format_spread(v["first_over_it"])
        rows.append([description, harness.format_spread(v["per_second"], 0), mfu, times])
    print(harness.table(title, rows), flush=True)


def monitoring_figures(runs: Mapping[str, Sequence[monitoring.Epoch]], examples: int) -> dict[str, Any]:
    """Compute the rates, the overhead of attentiveness in an epoch of full MNLI, and that of the measured epochs."""
    rates = monitoring.rates(TRAINING_SHARE * examples, examples, runs["without"], runs["with"])
    modelled = monitoring.predicted_seconds(rates, 1, monitoring.LIMIT)
    times = harness.ratio([e.seconds for e in runs["with"]], [e.seconds for e in runs["without"]])
    return {"rates": rates._asdict(), "model": modelled, "measured": times}


def compare(title: str, options: argparse.Namespace, budget: Budget) -> dict[str, Any]:
    """Measure a group, print its figures, and return them; empty if nothing was measured."""
    budget.begin()
    try:
        variants = COMPARISONS[options.kind](options)
    except torch.OutOfMemoryError:
        budget.left_out.append(f"{title} (too little memory)")
        return {}
    runs = budget.measure(title, variants, options.repeats)
    if options.kind != "monitoring":
        figures = summary(runs, options.peak)
        if figures:
            report(title, figures)
        return figures
    if len(runs) < 2:
        return {}
    figures = monitoring_figures(runs, options.examples)
    print(
        f"{title}: attentiveness adds {figures['model']['overhead']:.2f} % to an epoch of full MNLI, by the cost model.\n"
    )
    return figures


# --- the command line


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and add the device, its name and its peak rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    root = os.environ.get("HEEDFUL_DATA")
    parser.add_argument("--data", default=root and f"{root}/mnli", help="folder of MNLI; by default generated pairs")
    parser.add_argument("--model", nargs="+", choices=MODELS, default=list(MODELS), help="models; by default all")
    parser.add_argument(
        "--examples", type=int, default=1000, help="pairs to evaluate; training takes four times as many"
    )
    parser.add_argument("--repeats", type=int, default=5, help="repeats of every variant at most")
    parser.add_argument("--minutes", type=float, default=10, help="time after which no repeat begins")
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
            write_pairs(
                Path(folder), {"train": TRAINING_SHARE * options.examples, "validation_matched": options.examples}
            )
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
            gc.collect()
            if options.device == "cuda":
                torch.cuda.empty_cache()
    print("\n".join(["Left out:", *budget.left_out]) if budget.left_out else "Nothing was left out.")
    return harness.save(options, {"groups": results, "left_out": budget.left_out})


if __name__ == "__main__":
    main()

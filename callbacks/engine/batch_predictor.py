"""Predict batches: each rank predicts its share, and the ranks then exchange predictions."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich import get_console
from rich.progress import track

from heedful.callbacks.engine.predictions import Collector, Predictions, join
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.sampler import evaluation_batches, share, snug_batches
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Encoded
from heedful.records import Examples, HeedfulError, ModelError, RunError, Task, inform, stopping

PADDING = 64  # tokens that a CPU processes in the time of starting a batch; other devices prefer full batches
EVERY = 60.0  # seconds between two lines of progress in a log file
Predict = Callable[[dict[str, Any]], Outputs | None]
InputsOf = Callable[[Sequence[np.ndarray]], Iterator[dict[str, Any]]]  # batches of positions to model inputs


class Pace:
    """Reports the progress through ``total`` examples once a minute, for log files, which show no progress bar."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self._begin = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        """Add finished examples."""
        self.done += count
        time_ = time.monotonic()
        if time_ - self._last >= EVERY and 0 < self.done < self.total and not get_console().is_terminal:
            self._last = time_
            minutes = (time_ - self._begin) / 60
            remaining = minutes / self.done * (self.total - self.done)
            state = f"{self.done:,} of {self.total:,} examples after {minutes:.0f} min"
            inform(f"{self.what}: {state}, about {remaining:.0f} min left.")


def gather_predictions(
    predicted: Predictions, processes: Processes, what: str = "the examples themselves"
) -> Predictions:
    """The predictions of all ranks, by ascending position, on every rank; a collective.

    Raises:
        Stopped: A rank received SIGTERM and may lack predictions; raised on every rank.
        HeedfulError: An example was predicted twice, or the outputs of the model are not finite.
    """
    base = join(processes.meet(predicted))
    if repeated := int((np.diff(base.positions) == 0).sum()):
        raise RunError(f"{repeated} examples were predicted twice ({what}).")
    require_finite(int(base.broken.sum()), len(base), what)
    return base


def require_finite(broken: int, n: int, what: str) -> None:
    """Raise ModelError for outputs that are not finite, which argmax would turn into a label."""
    if broken:
        raise ModelError(
            f"The outputs of the model are not finite for {broken:,} of {n:,} predictions ({what}). Try "
            "trainer.precision 32-true, or train with a lower model.learning_rate."
        )


class BatchPredictor:
    """Predicts batches: batch j goes to rank j mod the number of ranks.

    Args:
        predictor: The model.
        processes: The processes that predict.
        task: The labels.
        batch_size: Maximum number of inputs in a batch.
    """

    def __init__(self, predictor: Predictor, processes: Processes, task: Task, batch_size: int) -> None:
        self.predictor = predictor
        self.processes = processes
        self.task = task
        self.batch_size = batch_size

    @property
    def ranks(self) -> int:
        """Number of predicting ranks; ranks above it idle."""
        return self.predictor.capabilities.ranks or self.processes.world_size

    @property
    def is_on_cpu(self) -> bool:
        """Whether the device is the CPU, where threads that prepare the next inputs would compete with the model."""
        return self.processes.device.type == "cpu"

    def pool(self, pool: Examples, encoded: Encoded, positions: np.ndarray) -> Predictions:
        """Predict examples of a pool, by ascending position: the predictions of all ranks, on every rank."""
        uid_ranks = np.argsort(pool.uid_order)[positions]
        batches = evaluation_batches(encoded.order[positions], uid_ranks, self.batch_size)
        pace = Pace("Base examples", -(-len(positions) // self.ranks))
        mine = self.predict(encoded.batches, [positions[batch] for batch in batches], "Base examples", pace)
        return gather_predictions(mine, self.processes)

    def predict(
        self,
        make: InputsOf,
        batches: Sequence[np.ndarray],
        what: str,
        pace: Pace | None = None,
        predict: Predict | None = None,
    ) -> Predictions:
        """Predict this rank's share of the batches.

        Args:
            make: Returns an iterator over the inputs of batches.
            batches: int64 [inputs] per batch, positions of the predictions.
            what: Label of the progress bar.
            pace: Reports progress in a log file.
            predict: Method of the model; ``predict`` by default.
        """
        collector = Collector(self.task)
        predict = predict or self.predictor.predict
        try:
            with self.processes.precision():  # around all batches: autocast caches the weights that it casts
                for positions, inputs in self.shared(make, batches, what):
                    collector.add(positions, predict({"inputs": inputs, "size": len(positions)}))
                    if pace is not None:
                        pace.advance(len(positions))
        except HeedfulError as error:
            self.processes.tell(error)
            raise
        return collector.predictions()

    def snug_batches(self, lengths: np.ndarray, batch_size: int, passes: int = 1) -> list[np.ndarray]:
        """Cut inputs into batches: on a CPU with little padding, which ``passes`` multiply; elsewhere full batches."""
        padding = PADDING // passes if self.is_on_cpu else len(lengths) * int(lengths.max(initial=0))
        return snug_batches(lengths, batch_size, padding)

    def probabilities(self, make: InputsOf, lengths: np.ndarray, what: str) -> np.ndarray:
        """The probabilities of the labels on every rank: float32 [inputs, labels]; see :meth:`predict`."""
        batches = self.snug_batches(lengths, self.batch_size)
        mine = self.predict(make, batches, what, predict=self.predictor.probabilities)
        return gather_predictions(mine, self.processes, what).probs

    def shared(
        self, make: InputsOf, batches: Sequence[np.ndarray], what: str
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Iterate over this rank's share of the batches, with inputs on the device; ends early after SIGTERM."""
        mine = share(batches, self.processes.rank, self.ranks)
        inputs = make(mine)
        if not self.is_on_cpu:
            inputs = map(self.processes.to_device, ahead(inputs, pin=self.processes.device.type == "cuda"))
        pairs = zip(mine, inputs, strict=True)
        for positions, batch in track(
            pairs, what, len(mine), transient=True, disable=not self.processes.shows_progress
        ):
            if stopping.requested():
                break  # the ranks raise Stopped together, in gather_predictions
            yield positions, batch

"""Predict batches on all ranks, and exchange the predictions between ranks."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from rich import get_console
from rich.progress import track

from heedful.callbacks.engine.predictions import Collector, Predictions, join
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.batches import base_batches, batches_of_rank, snug_batches
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Encoded
from heedful.records import Examples, HeedfulError, ModelError, RunError, Task, inform
from heedful.stopping import requested

PADDING = 64  # tokens that a CPU processes in the time of starting a batch; other devices prefer full batches
EVERY = 60.0  # seconds between two lines of progress in a log file
Predict = Callable[[dict[str, Any]], Outputs | None]
InputsOf = Callable[[Sequence[np.ndarray]], Iterator[dict[str, Any]]]  # batches of positions to model inputs


class Pace:
    """Logs how many of ``total`` units are finished, once a minute, if there is no terminal for a progress bar."""

    def __init__(self, display_name: str, total: int, unit: str = "examples") -> None:
        self.display_name, self.total, self.done, self.unit = display_name, total, 0, unit
        self._begin = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        """Add ``count`` to the number of finished units."""
        self.done += count
        time_ = time.monotonic()
        if time_ - self._last >= EVERY and 0 < self.done < self.total and not get_console().is_terminal:
            self._last = time_
            minutes = (time_ - self._begin) / 60
            remaining = minutes / self.done * (self.total - self.done)
            state = f"{self.done:,} of {self.total:,} {self.unit} after {minutes:.0f} min"
            inform(f"{self.display_name}: {state}, about {remaining:.0f} min left.")


def gather_predictions(
    predicted: Predictions, processes: Processes, display_name: str = "the examples themselves"
) -> Predictions:
    """Return the predictions of all ranks, sorted by position, on every rank; must run on all ranks.

    Raises:
        Stopped: A rank received SIGTERM and may lack predictions; raised on every rank.
        HeedfulError: An example was predicted twice, or the outputs of the model are not finite.
    """
    base = join(processes.gather_patiently(predicted))
    if repeated := int((np.diff(base.positions) == 0).sum()):
        raise RunError(f"{repeated} examples were predicted twice ({display_name}).")
    require_finite(int(base.broken.sum()), len(base), display_name)
    return base


def require_finite(broken: int, n: int, display_name: str) -> None:
    """Raise ModelError if ``broken``, the number of inputs with NaN or infinite outputs among ``n`` inputs, is not 0,
    since argmax would choose a label even for these inputs.
    """
    if broken:
        raise ModelError(
            f"The outputs of the model are not finite for {broken:,} of {n:,} predictions ({display_name}). Try "
            "trainer.precision 32-true, or train with a lower model.learning_rate."
        )


class BatchPredictor:
    """Predicts batches on all ranks: batch j is predicted on rank j mod the number of ranks.

    Args:
        predictor: The model.
        processes: The processes that predict.
        task: The task, with the labels.
        batch_size: Maximum number of inputs in a batch.
    """

    def __init__(self, predictor: Predictor, processes: Processes, task: Task, batch_size: int) -> None:
        self.predictor = predictor
        self.processes = processes
        self.task = task
        self.batch_size = batch_size

    @property
    def ranks(self) -> int:
        """Number of ranks (processes) that predict, counted from rank 0."""
        return self.predictor.capabilities.predicting_ranks(self.processes.world_size)

    @property
    def is_on_cpu(self) -> bool:
        """Whether the device is the CPU, where threads that prepare the next inputs would compete with the model."""
        return self.processes.device.type == "cpu"

    def pool(self, pool: Examples, encoded: Encoded, positions: np.ndarray) -> Predictions:
        """Predict the unchanged examples at these positions in the pool; return the predictions of all ranks, sorted by
        position, on every rank.
        """
        batches = base_batches(pool, encoded.order, positions, self.batch_size)
        pace = Pace("Base examples", -(-len(positions) // self.ranks))
        return gather_predictions(self.predict(encoded.batches, batches, "Base examples", pace), self.processes)

    def predict(
        self,
        make: InputsOf,
        batches: Sequence[np.ndarray],
        display_name: str,
        pace: Pace | None = None,
        predict: Predict | None = None,
    ) -> Predictions:
        """Predict this rank's share of the batches, and return these predictions.

        Args:
            make: Converts a list of batches of positions to an iterator over the model's inputs.
            batches: For each batch, the positions of its inputs: int64 [inputs].
            display_name: Label of the progress bar.
            pace: Logs the progress.
            predict: The method of the model that predicts a batch; by default the method ``predict``.
        """
        collector = Collector(self.task)
        predict = predict or self.predictor.predict
        try:
            with self.processes.precision():  # around all batches: autocast caches the weights that it casts
                for positions, inputs in self.shared(make, batches, display_name):
                    collector.add(positions, predict({"inputs": inputs, "size": len(positions)}))
                    if pace is not None:
                        pace.advance(len(positions))
        except HeedfulError as error:
            self.processes.send_error(error)
            raise
        return collector.predictions()

    def snug_batches(self, lengths: np.ndarray, batch_size: int, passes: int = 1) -> list[np.ndarray]:
        """Cut inputs into batches: with little padding on a CPU, and full batches on other devices.

        Args:
            lengths: int [inputs], tokens per input.
            batch_size: Maximum number of inputs in a batch.
            passes: Number of forward passes over each batch, which multiply the cost of padding.

        Returns:
            For each batch, the indices of its inputs.
        """
        padding = PADDING // passes if self.is_on_cpu else len(lengths) * int(lengths.max(initial=0))
        return snug_batches(lengths, batch_size, padding)

    def probabilities(self, make: InputsOf, lengths: np.ndarray, display_name: str) -> np.ndarray:
        """Predict all inputs; return the probabilities of the labels on every rank: float32 [inputs, labels].

        Args:
            make: Converts a list of batches of indices to an iterator over the model's inputs.
            lengths: int [inputs], tokens per input.
            display_name: Label of the progress bar.
        """
        batches = self.snug_batches(lengths, self.batch_size)
        mine = self.predict(make, batches, display_name, predict=self.predictor.probabilities)
        return gather_predictions(mine, self.processes, display_name).probs

    def shared(
        self, make: InputsOf, batches: Sequence[np.ndarray], display_name: str
    ) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Yield (positions, model inputs on the device) for each batch of this rank; stop early after SIGTERM."""
        mine = batches_of_rank(batches, self.processes.rank, self.ranks)
        inputs = make(mine)
        if not self.is_on_cpu:
            inputs = map(self.processes.to_device, ahead(inputs, pin=self.processes.device.type == "cuda"))
        pairs = zip(mine, inputs, strict=True)
        console = get_console()
        has_bar = self.processes.shows_progress and (console.is_terminal or console.is_jupyter)
        for positions, batch in track(pairs, display_name, len(mine), transient=True, disable=not has_bar):
            if requested():
                break  # the ranks raise Stopped together, in gather_predictions
            yield positions, batch

"""Predict batches on all ranks; store the answers and the probabilities of many examples as arrays."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich import get_console
from rich.progress import track

from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.batches import (
    BatchSize,
    base_batches,
    batches_of_rank,
    evaluation_batches,
    snug_batches,
)
from heedful.datamodules.base.processes import gather_patiently, send_error
from heedful.lightning_modules.outputs import NOT_FINITE, Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Encoded
from heedful.records import NO_LABEL, Examples, HeedfulError, ModelError, RunError, Task, inform
from heedful.stopping import requested

MOST = 16_384  # predictions that stay on the device before they are copied to the host
PADDING = 64  # tokens that a CPU processes in the time of starting a batch; other devices prefer full batches
EVERY = 60.0  # seconds between two lines of progress in a log file
CPU = SimpleNamespace(type="cpu")
InputsOf = Callable[[Sequence[np.ndarray]], Iterator[dict[str, Any]]]  # batches of positions to model inputs


@dataclass(frozen=True)
class Predictions:
    """The predictions for some examples.

    Attributes:
        positions: int64 [predictions], positions of the examples in the pool or in the block.
        answers: int32 [predictions], indices into ``names``; -1 if the outputs are NaN or infinite.
        names: The distinct answers, an Arrow array of strings.
        probs: float32 [predictions, labels]; None if the model gives no probabilities.
        scores: float64 [predictions]; None if the model gives no scores.
    """

    positions: np.ndarray
    answers: np.ndarray
    names: pa.Array
    probs: np.ndarray | None
    scores: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, indices: np.ndarray) -> "Predictions":
        """Return the predictions at these indices."""
        probs, scores = (None if column is None else column[indices] for column in (self.probs, self.scores))
        return Predictions(self.positions[indices], self.answers[indices], self.names, probs, scores)

    def select(self, positions: np.ndarray) -> "Predictions":
        """Return the predictions at these positions, from ascending ones; raise KeyError if one is missing."""
        indices = np.searchsorted(self.positions, positions)
        if (np.append(self.positions, -1)[indices] != positions).any():
            raise KeyError("An example was not predicted.")
        return self.take(indices)

    @property
    def texts(self) -> pa.Array:
        """The answer of each prediction, an Arrow array of strings; null if the outputs are NaN or infinite."""
        return self.names.take(pa.array(self.answers))

    def most_probable(self, labels: Sequence[str]) -> pa.Array:
        """Return the most probable label of every prediction, an Arrow array of strings; the first label wins ties."""
        return pa.array(labels, pa.string()).take(pa.array(self.probs.argmax(axis=1)))

    def count(self, answer: str) -> int:
        """Number of predictions with the given answer."""
        return int(np.isin(self.answers, np.flatnonzero(pc.equal(self.names, answer))).sum())

    @property
    def broken(self) -> np.ndarray:
        """Whether the outputs of each prediction are NaN or infinite: bool [predictions]."""
        broken = self.answers < 0
        broken = broken if self.scores is None else broken | ~np.isfinite(self.scores)
        return broken if self.probs is None else broken | ~np.isfinite(self.probs).all(axis=1)


def concatenate(predictions: Sequence[Predictions]) -> Predictions:
    """Concatenate predictions; their ``names`` may differ, and empty predictions may lack ``probs`` and ``scores``."""
    names = pa.concat_arrays([each.names for each in predictions]).dictionary_encode()
    codes = np.split(names.indices.to_numpy(), np.cumsum([len(each.names) for each in predictions])[:-1])
    answers = [np.append(code, np.int32(-1))[p.answers] for code, p in zip(codes, predictions, strict=True)]
    probs = [each.probs for each in predictions if each.probs is not None]
    scores = [each.scores for each in predictions if each.scores is not None]
    return Predictions(
        np.concatenate([each.positions for each in predictions]),
        np.concatenate(answers),
        names.dictionary,
        np.concatenate(probs) if probs else None,
        np.concatenate(scores) if scores else None,
    )


def join(predictions: Sequence[Predictions]) -> Predictions:
    """Concatenate the predictions of all ranks and sort them by position."""
    joined = concatenate(predictions)
    return joined.take(np.argsort(joined.positions, kind="stable"))


def gather_predictions(predicted: Predictions, display_name: str = "the examples themselves") -> Predictions:
    """Return the predictions of all ranks, sorted by position, on every rank; must run on all ranks.

    Raises:
        Stopped: A rank received SIGTERM and may lack predictions; raised on every rank.
        HeedfulError: An example was predicted twice, or the outputs of the model are not finite.
    """
    base = join(gather_patiently(predicted))
    if repeated := int((np.diff(base.positions) == 0).sum()):
        raise RunError(f"{repeated} examples were predicted twice ({display_name}).")
    require_finite(int(base.broken.sum()), len(base), display_name)
    return base


def require_finite(broken: int, n: int, display_name: str) -> None:
    """Raise ModelError if ``broken`` of ``n`` inputs, not 0, have NaN or infinite outputs, which argmax would hide."""
    if broken:
        raise ModelError(
            f"The outputs of the model are not finite for {broken:,} of {n:,} predictions ({display_name}). Try "
            "trainer.precision 32-true, or train with a lower model.learning_rate."
        )


class Collector:
    """Collects the outputs of batches as :class:`Predictions`; one copy moves many batches from device to host.

    The host waits for a copy in :meth:`predictions` only, so that it can launch further batches before.
    """

    def __init__(self, task: Task, device: Any = CPU) -> None:
        self._labels = pa.array((*task.labels, NO_LABEL) if task.kind.has_labels else (), pa.string())
        self._device = device
        self._held: list[tuple[np.ndarray, Outputs]] = []
        self._size = 0  # predictions in ``_held``
        self._copied: list[tuple[list[np.ndarray], dict[str, Any]]] = []  # positions, and outputs on the host
        self._event: Any = None  # after the last copy

    def add(self, positions: np.ndarray, outputs: Outputs | None) -> None:
        """Add the outputs of a batch, None if it is empty; raise ModelError unless there is one for each position."""
        outputs = outputs or Outputs()
        first = outputs.answers if outputs.probs is None else outputs.probs
        if (count := 0 if first is None else len(first)) != len(positions):
            raise ModelError(
                f"The model returned {count} predictions for a batch of {len(positions)} examples. Return one "
                "prediction per input, in their order."
            )
        if count:
            self._held.append((positions, outputs))
            self._size += count
            if self._size >= MOST:
                self.copy()

    def copy(self) -> None:
        """Start to copy the outputs of the batches to the host."""
        columns = zip(Outputs._fields, zip(*(outputs for _, outputs in self._held), strict=True), strict=False)
        held = {name: _to_host(column) for name, column in columns if column[0] is not None}
        self._copied.append(([positions for positions, _ in self._held], held))
        self._held, self._size = [], 0
        if self._device.type != "cpu":
            self._event = sys.modules["torch"].Event(self._device)
            self._event.record()

    def predictions(self) -> Predictions:
        """Return all predictions, in the order of the calls of :meth:`add`."""
        if self._held or not self._copied:
            self.copy()
        if self._event is not None:
            self._event.synchronize()
        return concatenate([self._decoded(*copied) for copied in self._copied])

    def _decoded(self, positions: list[np.ndarray], held: dict[str, Any]) -> Predictions:
        probs = np.asarray(held["probs"]).astype(np.float32, copy=False) if "probs" in held else None
        names = self._labels
        if "answers" not in held:
            codes = np.zeros(0) if probs is None else probs.argmax(axis=1)
        elif hasattr(held["answers"], "dtype"):
            codes = np.asarray(held["answers"])  # negative numbers mean that the answer is no label, or not finite
            codes = np.where(codes == NOT_FINITE, -1, np.where(codes < 0, len(names) - 1, codes))
        else:
            texts = pa.array(held["answers"], pa.string()).dictionary_encode()
            codes, names = texts.indices.fill_null(-1).to_numpy(), texts.dictionary
        places = np.concatenate([np.zeros(0, dtype=np.int64), *positions])
        scores = np.asarray(held["scores"]).astype(np.float64) if "scores" in held else None
        return Predictions(places, codes.astype(np.int32), names, probs, scores)


def _to_host(batches: Sequence[Any]) -> Any:
    """Concatenate the arrays, tensors or lists of batches; tensors are copied without waiting for their device."""
    if not hasattr(batches[0], "dtype"):
        return list(chain(*batches))
    if all(isinstance(batch, np.ndarray) for batch in batches):
        return np.concatenate(batches)
    import torch

    joined = torch.cat([torch.as_tensor(batch) for batch in batches])
    joined = joined.float() if joined.dtype.itemsize == 2 else joined  # numpy has no bfloat16
    return joined.to("cpu", non_blocking=True)  # into pinned memory


class Pace:
    """Logs how many of ``total`` units are finished, once a minute, if there is no terminal for a progress bar."""

    def __init__(self, display_name: str, total: int, unit: str = "examples") -> None:
        self.display_name, self.total, self.done, self.unit = display_name, total, 0, unit
        self._begin = self._last = time.monotonic()

    def advance(self, count: int) -> None:
        """Add ``count`` to the number of finished units."""
        self.done += count
        now = time.monotonic()
        if now - self._last >= EVERY and 0 < self.done < self.total and not get_console().is_terminal:
            self._last = now
            minutes = (now - self._begin) / 60
            state = f"{self.done:,} of {self.total:,} {self.unit} after {minutes:.0f} min"
            remaining = minutes / self.done * (self.total - self.done)
            inform(f"{self.display_name}: {state}, about {remaining:.0f} min left.")


@dataclass(frozen=True)
class BatchPredictor:
    """Predicts batches of at most the given size on all ranks: batch j on rank j mod :attr:`ranks`."""

    predictor: Predictor
    processes: Processes
    task: Task
    size: BatchSize

    @property
    def ranks(self) -> int:
        """Number of ranks that predict, counted from rank 0."""
        return self.predictor.capabilities.predicting_ranks(self.processes.world_size)

    @property
    def is_on_cpu(self) -> bool:
        """Whether the device is the CPU, where threads that prepare the next inputs would compete with the model."""
        return self.processes.device.type == "cpu"

    def pool(self, pool: Examples, encoded: Encoded, positions: np.ndarray) -> Predictions:
        """Predict the unchanged examples at these positions; return the predictions of all ranks on every rank."""
        batches = base_batches(pool, encoded, positions, self.size)
        pace = Pace("Base examples", -(-len(positions) // self.ranks))
        return gather_predictions(self.predict(encoded.batches, batches, "Base examples", pace))

    def predict(self, *arguments: Any, **settings: Any) -> Predictions:
        """Predict this rank's share of the batches, and return these predictions; arguments as of :meth:`launch`."""
        return self.launch(*arguments, **settings).predictions()

    def launch(
        self,
        make: InputsOf,
        batches: Sequence[np.ndarray],
        display_name: str,
        pace: Pace | None = None,
        predict: Callable[[dict[str, Any]], Outputs | None] | None = None,
    ) -> Collector:
        """Predict this rank's share of the batches, without waiting for the device of the model.

        Args:
            make: Converts a list of batches of positions to an iterator over the model's inputs.
            batches: For each batch, the positions of its inputs: int64 [inputs].
            display_name: Label of the progress bar.
            pace: Logs the progress.
            predict: A method of the model, by default ``predict``.
        """
        collector = Collector(self.task, self.processes.device)
        predict = predict or self.predictor.predict
        try:
            with self.processes.precision():  # around all batches: autocast caches the weights that it casts
                for positions, inputs in self.shared(make, batches, display_name):
                    collector.add(positions, predict({"inputs": inputs, "size": len(positions)}))
                    if pace is not None:
                        pace.advance(len(positions))
                collector.copy()
        except HeedfulError as error:
            send_error(error)
            raise
        return collector

    def snug_batches(self, lengths: np.ndarray, examples: int, passes: int = 1) -> list[np.ndarray]:
        """Cut inputs of these lengths (int [inputs]) into batches, and return the indices of the inputs per batch.

        Batches are full, but on a CPU they have little padding, the less the more forward ``passes`` there are.
        ``examples`` is the largest number of inputs in a batch.
        """
        if self.is_on_cpu:
            return snug_batches(lengths, examples, PADDING // passes)
        tokens = None if self.size.tokens is None else self.size.tokens // passes
        return evaluation_batches(lengths, lengths, np.arange(len(lengths)), BatchSize(examples, tokens))

    def probabilities(self, make: InputsOf, lengths: np.ndarray, display_name: str) -> np.ndarray:
        """Return the labels' probabilities for inputs of these lengths, on every rank: float32 [inputs, labels]."""
        batches = self.snug_batches(lengths, self.size.examples)
        mine = self.predict(make, batches, display_name, predict=self.predictor.probabilities)
        return gather_predictions(mine, display_name).probs

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
                break  # the ranks raise Stopped together, in gather_patiently
            yield positions, batch

"""Store the answers and the probabilities for many examples as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.lightning_modules.outputs import NOT_FINITE, Outputs
from heedful.records import NO_LABEL, ModelError, Task

MOST = 16_384  # predictions that stay on the device before they are copied to the host


@dataclass(frozen=True)
class Predictions:
    """The predictions for some examples.

    Attributes:
        positions: int64 [predictions], positions of the examples in the pool or in the block.
        answers: int32 [predictions], indices into ``names``; -1 if the outputs are NaN or infinite.
        names: The distinct answers, an Arrow array of strings.
        probs: float32 [predictions, labels]; None if the model gives no probabilities.
    """

    positions: np.ndarray
    answers: np.ndarray
    names: pa.Array
    probs: np.ndarray | None

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, indices: np.ndarray) -> "Predictions":
        """Return the predictions at these indices."""
        probs = None if self.probs is None else self.probs[indices]
        return Predictions(self.positions[indices], self.answers[indices], self.names, probs)

    def select(self, positions: np.ndarray) -> "Predictions":
        """Return the predictions for the examples at the given positions, in the given order.

        The attribute ``positions`` of this object must be ascending; the argument may have any order.

        Raises:
            KeyError: An example has no prediction.
        """
        indices = np.searchsorted(self.positions, positions)
        if (np.append(self.positions, -1)[indices] != positions).any():
            raise KeyError("An example was not predicted.")
        return self.take(indices)

    @property
    def texts(self) -> pa.Array:
        """The answer of each prediction, an Arrow array of strings; null if the outputs are NaN or infinite."""
        return self.names.take(pa.array(self.answers))

    def most_probable(self, labels: Sequence[str]) -> pa.Array:
        """Return the most probable of the labels for each prediction, an Arrow array of strings; the first label wins
        ties.
        """
        return pa.array(labels, pa.string()).take(pa.array(self.probs.argmax(axis=1)))

    def count(self, answer: str) -> int:
        """Number of predictions with the given answer."""
        return int(np.isin(self.answers, np.flatnonzero(pc.equal(self.names, answer))).sum())

    @property
    def broken(self) -> np.ndarray:
        """Whether the outputs of each prediction are NaN or infinite: bool [predictions]."""
        broken = self.answers < 0
        return broken if self.probs is None else broken | ~np.isfinite(self.probs).all(axis=1)


def concatenate(predictions: Sequence[Predictions]) -> Predictions:
    """Concatenate predictions; their lists of distinct answers (``names``) may differ."""
    names = pa.concat_arrays([each.names for each in predictions]).dictionary_encode()
    codes = np.split(names.indices.to_numpy(), np.cumsum([len(each.names) for each in predictions])[:-1])
    answers = [np.append(code, np.int32(-1))[p.answers] for code, p in zip(codes, predictions, strict=True)]
    probs = [each.probs for each in predictions if each.probs is not None]  # a rank without examples has none
    return Predictions(
        np.concatenate([each.positions for each in predictions]),
        np.concatenate(answers),
        names.dictionary,
        np.concatenate(probs) if probs else None,
    )


def join(predictions: Sequence[Predictions]) -> Predictions:
    """Concatenate the predictions of all ranks and sort them by position."""
    joined = concatenate(predictions)
    return joined.take(np.argsort(joined.positions, kind="stable"))


class Collector:
    """Collects the outputs of batches, and converts them to :class:`Predictions`. Outputs stay on the device until one
    copy moves many batches to the host.

    Args:
        task: The task, with the labels.
    """

    def __init__(self, task: Task) -> None:
        self._labels = (*task.labels, NO_LABEL) if task.kind.has_labels else ()
        self._names: dict[str, int] = {name: k for k, name in enumerate(self._labels)}
        self._positions = [np.zeros(0, dtype=np.int64)]
        self._probs: list[Any] = []
        self._answers: list[Any] = []
        self._copied: list[tuple[np.ndarray, np.ndarray | None]] = []
        self._size = 0

    def add(self, positions: np.ndarray, outputs: Outputs | None) -> None:
        """Add the outputs of a batch for the examples at these positions; None for an empty batch.

        Raises:
            ModelError: The number of predictions is not the number of positions.
        """
        outputs = outputs or Outputs()
        first = outputs.answers if outputs.probs is None else outputs.probs
        if (count := 0 if first is None else len(first)) != len(positions):
            raise ModelError(
                f"The model returned {count} predictions for a batch of {len(positions)} examples. Return one "
                "prediction per input, in their order."
            )
        if not len(positions):
            return
        self._positions.append(positions)
        if outputs.probs is not None:
            self._probs.append(outputs.probs)
        if hasattr(outputs.answers, "dtype"):
            self._answers.append(outputs.answers)
        elif outputs.answers is not None:
            names = self._names
            codes = [NOT_FINITE if text is None else names.setdefault(text, len(names)) for text in outputs.answers]
            self._answers.append(np.array(codes, dtype=np.int32))
        self._size += len(positions)
        if self._size >= MOST:
            self._copy()

    def _copy(self) -> None:
        probs = _on_host(self._probs).astype(np.float32, copy=False) if self._probs else None
        if not self._answers:
            answers = np.zeros(0, dtype=np.int32) if probs is None else probs.argmax(axis=1).astype(np.int32)
        else:
            codes = _on_host(self._answers).astype(np.int32)
            # other negative numbers mean that the answer is no label
            answers = np.where(codes == NOT_FINITE, -1, np.where(codes < 0, len(self._labels) - 1, codes))
        self._copied.append((answers, probs))
        self._probs, self._answers, self._size = [], [], 0

    def predictions(self) -> Predictions:
        """Return all predictions, in the order of the calls of :meth:`add`."""
        self._copy()
        answers = np.concatenate([answers for answers, _ in self._copied]).astype(np.int32)
        probs = [probs for _, probs in self._copied if probs is not None]
        names = pa.array(list(self._names), pa.string())
        return Predictions(np.concatenate(self._positions), answers, names, np.concatenate(probs) if probs else None)


def _on_host(batches: Sequence[Any]) -> np.ndarray:
    """Concatenate arrays or tensors of batches, and copy them to the host at once."""
    if all(isinstance(batch, np.ndarray) for batch in batches):
        return np.concatenate(batches)
    import torch

    joined = torch.cat([torch.as_tensor(batch) for batch in batches])
    return (joined.float() if joined.is_floating_point() else joined).cpu().numpy()

"""Predictions as columns: a number for each answer, and probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from heedful.lightning_modules.outputs import NOT_FINITE, Outputs
from heedful.records import NO_LABEL, ModelError, Task

MOST = 16_384  # predictions that stay on the device


@dataclass(frozen=True)
class Predictions:
    """The predictions for some examples.

    Attributes:
        positions: int64 [predictions], which examples.
        answers: int32 [predictions], the place of each answer among the names; -1 where the outputs were not finite.
        names: The answers as texts, each once: an Arrow array.
        probs: float32 [predictions, labels]; None where there are none.
    """

    positions: np.ndarray
    answers: np.ndarray
    names: pa.Array
    probs: np.ndarray | None

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, indices: np.ndarray) -> "Predictions":
        """Some of them, in this order."""
        probs = None if self.probs is None else self.probs[indices]
        return Predictions(self.positions[indices], self.answers[indices], self.names, probs)

    def of(self, positions: np.ndarray) -> "Predictions":
        """Those for these examples, in this order; they must stand by ascending position.

        Raises:
            KeyError: There is none for one of them.
        """
        places = np.searchsorted(self.positions, positions)
        is_there = places < len(self)
        is_there[is_there] = self.positions[places[is_there]] == positions[is_there]
        if not is_there.all():
            raise KeyError(f"{int((~is_there).sum())} examples were not predicted.")
        return self.take(places)

    @property
    def texts(self) -> pa.Array:
        """The answers as texts [predictions]."""
        return self.names.take(pa.array(self.answers))

    def most_probable(self, labels: Sequence[str]) -> pa.Array:
        """The most probable of the labels, which the probabilities are of, the first of equal ones: [predictions]."""
        return pa.array(labels, pa.string()).take(pa.array(self.probs.argmax(axis=1)))

    def count(self, answer: str) -> int:
        """How many of them have this answer."""
        return int(np.isin(self.answers, np.flatnonzero(pc.equal(self.names, answer))).sum())

    @property
    def broken(self) -> np.ndarray:
        """Which of them come from outputs that are not finite: bool [predictions]."""
        broken = self.answers < 0
        return broken if self.probs is None else broken | ~np.isfinite(self.probs).all(axis=1)


def concatenated(several: Sequence[Predictions]) -> Predictions:
    """Predictions one after the other."""
    names = pa.concat_arrays([one.names for one in several]).dictionary_encode()
    places = names.indices.to_numpy()
    begin = 0
    answers = []
    for one in several:
        own = np.append(places[begin : begin + len(one.names)], np.int32(-1))  # -1 stays -1
        answers.append(own[one.answers])
        begin += len(one.names)
    probs = [one.probs for one in several if one.probs is not None]  # who has no example has none
    whole = np.concatenate(probs) if probs else None
    return Predictions(
        np.concatenate([one.positions for one in several]), np.concatenate(answers), names.dictionary, whole
    )


def joined(several: Sequence[Predictions]) -> Predictions:
    """The predictions of several processes, by ascending position."""
    whole = concatenated(several)
    return whole.take(np.argsort(whole.positions, kind="stable"))


class Collector:
    """Keeps what a model answers on its device, and brings it over at the end.

    Args:
        task: Says which labels there are.
    """

    def __init__(self, task: Task) -> None:
        self._labels = (*task.labels, NO_LABEL) if task.kind.has_labels else ()
        self._names: dict[str, int] = {name: k for k, name in enumerate(self._labels)}
        self._positions: list[np.ndarray] = []
        self._probs: list[Tensor] = []
        self._answers: list[Tensor | np.ndarray] = []
        self._brought: list[tuple[np.ndarray, np.ndarray | None]] = []
        self._held = 0

    def add(self, positions: np.ndarray, outputs: Outputs | None) -> None:
        """Append the predictions of a batch.

        Raises:
            HeedfulError: They are not as many as the positions.
        """
        if outputs is None:
            outputs = Outputs()
        first = outputs.answers if outputs.probs is None else outputs.probs
        given = 0 if first is None else len(first)
        if given != len(positions):
            raise ModelError(
                f"The model returned {given} predictions for a batch of {len(positions)} examples. Return one "
                "prediction for each input, in their order."
            )
        if not len(positions):
            return
        self._positions.append(positions)
        if outputs.probs is not None:
            self._probs.append(torch.as_tensor(outputs.probs))
        if outputs.answers is not None:
            self._answers.append(self._numbered(outputs.answers))
        self._held += len(positions)
        if self._held >= MOST:
            self._bring()

    def _numbered(self, answers: Tensor | np.ndarray | Sequence[str | None]) -> Tensor | np.ndarray:
        if isinstance(answers, Tensor | np.ndarray):
            return torch.as_tensor(answers)
        names = self._names
        numbers = [-1 if text is None else names.setdefault(text, len(names)) for text in answers]
        return np.array(numbers, dtype=np.int32)

    def _bring(self) -> None:
        """Take what the device holds: one copy for many batches."""
        probs = torch.cat(self._probs).float().cpu().numpy() if self._probs else None
        if not self._answers:
            answers = np.zeros(0, dtype=np.int32) if probs is None else probs.argmax(axis=1).astype(np.int32)
        elif isinstance(self._answers[0], Tensor):
            numbers = torch.cat(self._answers).cpu().numpy().astype(np.int32)
            # a number below 0 is that of no label, unless the outputs were not finite
            answers = np.where(numbers == NOT_FINITE, -1, np.where(numbers < 0, len(self._labels) - 1, numbers))
        else:
            answers = np.concatenate(self._answers)
        self._brought.append((answers, probs))
        self._probs = []
        self._answers = []
        self._held = 0

    def predictions(self) -> Predictions:
        """All that was added, in the order of adding."""
        self._bring()
        positions = np.concatenate([np.zeros(0, dtype=np.int64), *self._positions])
        answers = np.concatenate([answers for answers, _ in self._brought]).astype(np.int32)
        probs = [probs for _, probs in self._brought if probs is not None]
        return Predictions(
            positions, answers, pa.array(list(self._names), pa.string()), np.concatenate(probs) if probs else None
        )

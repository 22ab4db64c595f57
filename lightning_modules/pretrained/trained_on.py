"""What a model was trained on, 8 bytes an example: an evaluation says by it how much of what it measures was seen."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful.lightning_modules.pretrained.weights import hash_of_files
from heedful.records import Examples, ModelError, RunError

FILE = "trained_on.npz"  # in the folder of an exported model


@dataclass(frozen=True)
class TrainedOn:
    """The contents of examples, by which they are found again in whatever file and order, and with whatever label.

    Attributes:
        parts: The parts that make up a content, in their order.
        keys: 64-bit hashes (:meth:`~heedful.records.Examples.content_keys`): uint64, ascending, each once.
    """

    parts: tuple[str, ...]
    keys: np.ndarray

    @classmethod
    def of(cls, examples: Examples, parts: Sequence[str], before: "TrainedOn | None" = None) -> "TrainedOn":
        """What was trained on before, and some examples.

        Args:
            examples: They have the content of all parts.
            parts: All parts of the data, in their order.
            before: Of the model that training begins with.
        """
        if before is None:
            return cls(tuple(parts), np.unique(examples.content_keys(parts)))
        return cls(before.parts, np.union1d(before.keys, before.keys_of(examples, parts)))

    def joined(self, other: "TrainedOn | None") -> "TrainedOn":
        """The contents of both."""
        return self if other is None else TrainedOn(self.parts, np.union1d(self.keys, other.keys))

    def seen(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Which examples were trained on, by the content of all parts of their data: bool [examples]."""
        return np.isin(self.keys_of(examples, parts), self.keys)

    def keys_of(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Parts with the same names go by these, others by their order."""
        return examples.content_keys(self.parts if set(self.parts) == set(parts) else parts)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        return {"parts": list(self.parts), "keys": torch.from_numpy(self.keys.view(np.int64))}

    @classmethod
    def of_state(cls, state: Any) -> "TrainedOn | None":
        """What :meth:`state` returned; None of a checkpoint that does not say it.

        Raises:
            HeedfulError: It is something else.
        """
        if state is None:
            return None
        keys = state.get("keys") if isinstance(state, Mapping) else None
        if not isinstance(keys, torch.Tensor) or keys.dtype != torch.int64 or keys.ndim != 1:
            raise RunError("The checkpoint does not say what it was trained on. Name a checkpoint that train.py wrote.")
        return cls(tuple(state["parts"]), np.unique(keys.numpy().view(np.uint64)))

    def write(self, folder: str | Path) -> None:
        """Write it beside the config of an exported model, with the hash of the weights that lie there."""
        hashed = hash_of_files(Path(folder))
        weights = {} if hashed is None else {"weights": np.array(hashed)}
        np.savez(Path(folder) / FILE, keys=self.keys, parts=np.array(self.parts, dtype=str), **weights)

    @classmethod
    def read(cls, folder: str | Path) -> "TrainedOn | None":
        """What an exported model says; None of one that says nothing.

        Raises:
            HeedfulError: The file is damaged, or belongs to other weights than those in the folder. One that was
                written without weights, or by an earlier version, does not say to which it belongs.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                keys = arrays["keys"]
                parts = tuple(arrays["parts"].tolist())
                weights = str(arrays["weights"]) if "weights" in arrays else None
            if keys.dtype != np.uint64 or keys.ndim != 1:
                raise ValueError
        except (OSError, EOFError, ValueError, KeyError, MemoryError, zipfile.BadZipFile):
            raise ModelError(f"{path} is damaged. Export the model again.") from None
        if weights is not None and hash_of_files(path.parent) not in (None, weights):
            raise ModelError(
                f"{folder} holds other weights than those that its {FILE} was written with. Take all files of one "
                f"export; if you changed the weights yourself, remove {FILE}."
            )
        return cls(parts, np.unique(keys))

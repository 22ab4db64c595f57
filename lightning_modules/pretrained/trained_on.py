"""Hashes of a model's training examples, by which an evaluation finds examples that the model was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful.records import Examples

FILE = "trained_on.npz"  # in the folder of an exported model


@dataclass(frozen=True)
class TrainedOn:
    """Hashes of training examples; the hash of an example depends on the contents of its parts alone.

    Attributes:
        parts: Names of the hashed parts, in order.
        keys: 64-bit hashes (:meth:`~heedful.records.Examples.content_keys`): uint64, ascending, without duplicates.
    """

    parts: tuple[str, ...]
    keys: np.ndarray

    @classmethod
    def of(cls, examples: Examples, parts: Sequence[str], before: "TrainedOn | None" = None) -> "TrainedOn":
        """Hash training examples, and add the hashes of an earlier training.

        Args:
            examples: The new training examples, with all parts.
            parts: All parts of the data, in their order.
            before: Hashes of the earlier training of the model; None without one.
        """
        if before is None:
            return cls(tuple(parts), np.unique(examples.content_keys(parts)))
        return cls(before.parts, np.union1d(before.keys, before.keys_of(examples, parts)))

    def joined(self, more: "TrainedOn | None") -> "TrainedOn":
        """Return these hashes of training examples together with those of ``more``; None adds nothing."""
        return self if more is None else TrainedOn(self.parts, np.union1d(self.keys, more.keys))

    def seen(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Whether the model was trained on each example, compared by the contents of all parts: bool [examples]."""
        return np.isin(self.keys_of(examples, parts), self.keys)

    def keys_of(self, examples: Examples, parts: Sequence[str]) -> np.ndarray:
        """Hash examples by the contents of their parts, as the training examples were hashed: uint64 [examples].

        A hash depends on the order of the parts. If ``parts`` has the names of training, the order of training is used.
        If a name differs, the order of ``parts`` is used, as if the parts of training were renamed.
        """
        return examples.content_keys(self.parts if set(self.parts) == set(parts) else parts)

    def state(self) -> dict[str, Any]:
        """Convert the part names and the hashes of the training examples to an entry of a checkpoint."""
        return {"parts": list(self.parts), "keys": torch.from_numpy(self.keys.view(np.int64))}

    @classmethod
    def of_state(cls, state: Mapping[str, Any] | None) -> "TrainedOn | None":
        """Read the hashes of training examples from an entry of a checkpoint, as :meth:`state` returns it.

        The result is None if there is no entry.
        """
        return None if state is None else cls(tuple(state["parts"]), state["keys"].numpy().view(np.uint64))

    def write(self, folder: str | Path) -> None:
        """Write the hashes of the training examples into the folder of an exported model."""
        np.savez(Path(folder) / FILE, keys=self.keys, parts=np.array(self.parts, dtype=str))

    @classmethod
    def read(cls, folder: str | Path) -> "TrainedOn | None":
        """Read the hashes of training examples in the folder of an exported model; None without a file of hashes."""
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return cls(tuple(arrays["parts"].tolist()), arrays["keys"])

"""What a model was trained on, 8 bytes an example: an evaluation says by it how much of what it measures was seen."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heedful.lightning_modules.pretrained.misfits import reason
from heedful.records import Examples, ModelError

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
    def of_state(cls, state: Mapping[str, Any] | None) -> "TrainedOn | None":
        """What :meth:`state` returned; None of a checkpoint that does not say it."""
        return None if state is None else cls(tuple(state["parts"]), state["keys"].numpy().view(np.uint64))

    def write(self, folder: str | Path) -> None:
        """Write it beside the config of an exported model."""
        np.savez(Path(folder) / FILE, keys=self.keys, parts=np.array(self.parts, dtype=str))

    @classmethod
    def read(cls, folder: str | Path) -> "TrainedOn | None":
        """What an exported model says; None of one that says nothing.

        Raises:
            HeedfulError: The file cannot be read.
        """
        path = Path(folder) / FILE
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(tuple(arrays["parts"].tolist()), arrays["keys"])
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"{path} cannot be read ({reason(error)}). Export the model again.") from None

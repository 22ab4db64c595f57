"""What a run gives back: numbers with intervals, rows, and the folder that holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.records import MetricName
from heedful.records.storage.results import named, read_evaluation, read_results


@dataclass(frozen=True)
class Results:
    """The results of an evaluation.

    Attributes:
        folder: Where results.json and the rows are, as every report reads them.
        content: What results.json says, but for the hashes of the rows.
        each: Of a model that was asked by several prompts, the results of each; then ``content`` is empty.
        kept: What the folder is gone with, where it is a temporary one.
    """

    folder: Path
    content: Mapping[str, Any] = field(repr=False)
    each: tuple["Results", ...] = field(default=(), kw_only=True)
    kept: Any = field(default=None, kw_only=True, repr=False, compare=False)

    @property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """Each measurement by its name: value, n, draws, std, ci95, per_draw, flags, as results.json has them."""
        return named(self.content) if self.content else {}

    def rows(self, evaluation: str) -> pa.Table:
        """The rows of an evaluation; no others than those that the numbers are computed from.

        Args:
            evaluation: Its name, such as "attentiveness".

        Raises:
            HeedfulError: The files in the folder are not those that were written.
            KeyError: There is no such evaluation among the results.
        """
        read = read_evaluation(self.folder, evaluation)
        if read is None:
            raise KeyError(evaluation)
        return read[0]


@dataclass(frozen=True)
class Run(Results):
    """The results of a training run, measured on its best checkpoint.

    Attributes:
        checkpoint: The checkpoint that was measured; None where Lightning ran a few batches to try (fast_dev_run), and
            of a run that was finished before.
        was_finished: Whether the run was finished before, and nothing was trained.
    """

    checkpoint: Path | None = None
    was_finished: bool = False

    @classmethod
    def finished(cls, folder: Path) -> "Run":
        """A run that was finished before."""
        return cls(folder, read_results(folder), was_finished=True)

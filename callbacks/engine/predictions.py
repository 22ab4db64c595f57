"""The base predictions of an epoch, kept as Arrow: a few bytes for each example."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from records import BATCH, Prediction
from records import rows as r


class Predictions:
    """Predictions by position in the pool.

    Args:
        labels: How many labels a probability vector is about.
    """

    def __init__(self, labels: int) -> None:
        self.schema = pa.schema([("position", pa.int64()), ("answer", pa.string()), ("p", r.probs_type(labels))])
        self._pending: list[tuple[int, Prediction]] = []
        self._tables = [self.schema.empty_table()]

    def add(self, positions: Sequence[int], predictions: Sequence[Prediction]) -> None:
        """Append the predictions of a batch."""
        self._pending += zip(positions, predictions, strict=True)
        if len(self._pending) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        positions, answers = [i for i, _ in self._pending], [p.answer for _, p in self._pending]
        probs = r.probs_array([p.probs for _, p in self._pending], self.schema.field("p").type)
        self._tables.append(pa.table([positions, answers, probs], schema=self.schema))
        self._pending.clear()

    def table(self) -> pa.Table:
        """All that was added, in the order of adding."""
        self._flush()
        return pa.concat_tables(self._tables)


class BasePredictions:
    """The predictions of all processes, to look up.

    Args:
        tables: What :meth:`Predictions.table` of each process returned.

    Attributes:
        positions: int64 [predictions], ascending.
    """

    def __init__(self, tables: Sequence[pa.Table]) -> None:
        table = pa.concat_tables(tables)
        positions = table["position"].to_numpy()
        order = np.argsort(positions, kind="stable")
        answers, names = r.codes(table, "answer")
        self.positions, self._answers, self._names = positions[order], answers[order], names
        self.probs = None if table["p"].null_count else r.probabilities(table, "p")[order]

    def __len__(self) -> int:
        return len(self.positions)

    def count(self, answer: str) -> int:
        """How many predictions have this answer."""
        return int(np.isin(self._answers, [k for k, name in enumerate(self._names) if name == answer]).sum())

    def __getitem__(self, position: int) -> Prediction:
        k = int(np.searchsorted(self.positions, position))
        return Prediction(self._names[self._answers[k]], None if self.probs is None else self.probs[k])

"""What an evaluation brings to the engine: its interventions and its metrics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pytorch_lightning import Callback

from datamodules import PairedData
from interventions import Intervention
from metrics import Measurement
from records import Examples, HeedError, is_entailment


class Evaluation(Callback):
    """One evaluation. The engine finds it among the trainer's callbacks, and does the predicting and the writing.

    Attributes:
        name: Its rows go to ``rows/<name>.parquet``.
        figure: The figure over epochs that shows its headlines: ``figures/<figure>.png``.
        needs: The setting without which it has nothing to do, for a message; "" if it always has.
        own: Whether it brings examples of its own, and does without those of the data module.
        by_default: Whether it runs where nobody names it.
    """

    name: str
    figure: str = "attentiveness"
    needs: str = ""
    own: bool = False
    by_default: bool = True

    def pool(self, data: PairedData) -> Examples | None:
        """The examples that it changes: the same object whenever it is asked; None where it has nothing to do.

        Those of the data module are predicted already. Others, of whatever data set, are predicted for this evaluation.
        """
        return data.pool

    def among(self, only: Sequence[str] | None) -> bool:
        """Whether it is one of these evaluations; of None, one of those that nobody needs to name."""
        return self.by_default if only is None else self.name in only

    @property
    def title(self) -> str:
        """Its name, with the settings that are not the usual ones: names the folder of an evaluation."""
        return self.name

    def headlines(self, data: PairedData) -> dict[str, str]:
        """What a reader looks at first: name of a curve to name of a metric."""
        return {}

    def monitors(self, data: PairedData) -> list[str]:
        """Metrics that a checkpoint may be chosen by, with all whose names go on from these."""
        return list(self.headlines(data).values())

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        """What to change.

        Args:
            data: The data module, set up.
            monitoring: True within training, where an evaluation may bound its cost.
        """
        raise NotImplementedError

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        """Numbers from the base rows and the rows of the interventions; pure."""
        raise NotImplementedError

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """What a reader must know to judge the numbers: how much took part, and how much could not."""
        return {}


def fitted(pool: Examples, data: PairedData) -> Examples:
    """Examples of another data set with the parts that the model reads: matched by their order.

    Raises:
        HeedError: They have another number of parts.
    """
    parts = data.full_task.parts
    if len(pool.parts) != len(parts):
        raise HeedError(f"Examples of {', '.join(pool.parts)} do not fit a model of {', '.join(parts)}.")
    return pool.rename_parts(parts).keep_parts(data.task.parts)


def by_split(pool: Examples, data: PairedData) -> list[Examples]:
    """The examples of each split, where several are evaluated together; else all of them."""
    if not data.splits_evaluated:
        return [pool]
    of = np.array(list(pool.column("meta.split")))
    return [pool.take(np.flatnonzero(of == split)) for split in data.splits_evaluated]


def table_of(pool: Examples) -> str:
    """The part that is a table, the first of several."""
    return pool.tables[0]


def require_entailment(labels: Sequence[str], named: str) -> None:
    """Refuse labels without entailment.

    Raises:
        HeedError: No label is called entailment; the message begins with ``named``.
    """
    if not any(map(is_entailment, labels)):
        raise HeedError(f"{named}: entailment is none of the labels {', '.join(labels)}.")


def is_known(metric: str, data: PairedData, evaluations: Sequence[Evaluation]) -> bool:
    """Whether one of these evaluations yields a metric."""
    known = [name for e in evaluations for name in e.monitors(data)]
    return any(metric == name or metric.startswith(f"{name}/") for name in known)

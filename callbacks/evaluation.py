"""What an evaluation brings to the engine: its interventions and its metrics."""

from typing import Any

import pyarrow as pa
from pytorch_lightning import Callback

from datamodules import PairedData
from interventions import Intervention
from metrics import Measurement


class Evaluation(Callback):
    """One evaluation. The engine finds it among the trainer's callbacks, and does the predicting and the writing.

    Attributes:
        name: Its rows go to ``rows/<name>.parquet``.
    """

    name: str

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

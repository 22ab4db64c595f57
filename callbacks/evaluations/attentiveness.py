"""The Counterfactual Attentiveness Test as an evaluation."""

from typing import Any

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation
from datamodules import PairedData
from interventions import Intervention, Swap
from metrics import Measurement, attentiveness, soft_flags, span_attentiveness
from records import BATCH, SOFT, SPAN, HeedError
from records.rows import BASE, where


class Attentiveness(Evaluation):
    """Attentiveness to each part that the data set swaps (``--data.swap``).

    Args:
        draws: Counterfactuals for each example (the paper's k).
        max_examples: In each epoch of training, at most this many examples are changed; None for all. evaluate.py
            always takes all.
    """

    name = "attentiveness"

    def __init__(self, draws: int = 5, max_examples: int | None = 2000) -> None:
        if draws < 1 or (max_examples is not None and max_examples < 1):
            raise HeedError("§attentiveness.draws and §attentiveness.max_examples must be at least 1.")
        self.draws, self.max_examples = draws, max_examples

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"attentiveness: {part}": f"attentiveness/{data.name}/{part}" for part in data.swap}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        limit = self.max_examples if monitoring else None
        return [Swap(part, data.default_label, self.draws, limit=limit) for part in data.swap]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        label, labels = data.default_label, data.full_task.labels
        flags = soft_flags(rows, data.seed) if data.full_task.kind is SOFT else None
        for part in data.swap:
            if data.full_task.kind is SPAN:
                found |= span_attentiveness(rows, data.name, part, data.seed)
                continue
            found |= attentiveness(rows, data.name, part, label, labels, data.seed, flags)
        return found

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        base = where(rows, intervention=BASE)
        if data.default_label is not None:
            base &= ~where(rows, y=data.default_label)
        counts = {}
        for part in data.swap:
            swapped = rows.select(["uid"]).filter(pa.array(where(rows, intervention="swap", part=part, draw=0)))
            uids = (uid for batch in swapped.to_batches(max_chunksize=BATCH) for uid in batch[0].to_pylist())
            related = [len(data.pool.sharing(data.pool.position(uid))) for uid in uids]
            counts[part] = {
                "eligible": int(base.sum()),
                "swapped": swapped.num_rows,
                "partners_excluded": sum(related) - len(related),
                "partners_eligible": len(related) * len(data.pool) - sum(related),
            }
        return counts

"""Evidence: does a model use the rows of a table that people find relevant?"""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation, fitted, table_of
from datamodules import PairedData, PairedTables, load_evidence, load_tables
from interventions import Donors, Intervention, RowEdits, SwapValues
from interventions.tables.allowed_transitions import LABELS
from metrics import Measurement, challenge, evidence, evidence_counts, invalid_transitions
from records import Examples, HeedError

NEUTRAL = LABELS[1]
DELETE, VALUES = "delete", "values"


class Evidence(Evaluation):
    """What annotated evidence tells: which rows a model uses, and whether it follows them to another table.

    Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §5.2, §5.3 and §6. Of each annotated pair every
    row is deleted once; those whose deletion changes the prediction are compared with those that people marked. Then
    the marked rows go to another table of the split with the same keys, and the hypothesis with them, which keeps the
    label. Pairs without a marked row, and neutral ones, do not count.

    Args:
        path: A csv file of annotations like that of TabProbe, about tables of --data.path.
        split: The split of the data that was annotated. What a model was trained on says little about it: see
            --data.without_tables.
    """

    name = "evidence"
    figure = "table_rows"
    needs = "path FILE, annotations of relevant rows"
    own = True

    def __init__(self, path: str | None = None, split: str = "train") -> None:
        self.path, self.split = path, split
        self._pool: Examples | None = None
        self._lenders: Examples | None = None
        self._relevant: dict[str, frozenset[str]] = {}
        self._left_out: dict[str, int] = {}

    @property
    def title(self) -> str:
        return "-".join([self.name, Path(self.path or "").stem, self.split])

    def pool(self, data: PairedData) -> Examples | None:
        if self._pool is None and self.path is not None:
            self._require(data)
            examples = load_tables(data.path, self.split)
            found, self._left_out = load_evidence(self.path, examples)
            self._relevant = {pair.uid: frozenset(pair.keys) for pair in found}
            if not found:
                raise HeedError(f"§evidence.path {self.path} marks no row as relevant to a pair that is not neutral.")
            positions = sorted({examples.position(uid) for uid in self._relevant})
            self._lenders = fitted(examples, data)
            self._pool = self._lenders.take(positions)
        return self._pool

    def _require(self, data: PairedData) -> None:
        flag = f"§evidence.path {self.path}"
        if not isinstance(data, PairedTables) or data.path is None:
            raise HeedError(f"{flag} is about tables: it needs §data infotabs §data.path DIR, or other tables.")
        if data.partial:
            raise HeedError(f"{flag} takes a model of tables and hypotheses; this one reads the {data.partial} alone.")
        if set(data.full_task.labels) != set(LABELS):
            raise HeedError(f"{flag} needs the labels {', '.join(LABELS)}; there are {', '.join(data.task.labels)}.")

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"evidence: {what}": f"evidence/{self._of}/{what}" for what in ("precision", "recall")}

    @property
    def _of(self) -> str:
        """What the annotated examples are called, whatever else is evaluated."""
        return self._pool.uid(0).partition("/")[0]

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        part = table_of(self._pool)
        hypothesis = next(name for name in self._pool.parts if name != part)
        self._swap = SwapValues(self._relevant, self._lenders, part, hypothesis)
        return [RowEdits(DELETE, part, Donors(self._pool, part), relevant=self._relevant), self._swap]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found = evidence(rows, self._of, table_of(self._pool), self._relevant, NEUTRAL, data.seed)
        name = f"{self._of}-evidence"
        moved = invalid_transitions(rows, name, [DELETE], data.seed)
        found |= {k: m for k, m in moved.items() if k.split("/")[2] != DELETE}  # where the relevance is known
        swapped = challenge(rows, f"{self._of}/values", [VALUES], NEUTRAL, data.seed)
        return found | {k: m for k, m in swapped.items() if "/flipped" not in k}

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """How many pairs and tables count, and how many annotated ones do not, for which reason."""
        counted = evidence_counts(rows, table_of(self._pool), self._relevant, NEUTRAL)
        reasons = Counter(self._swap.why_not(self._pool, uid) or "swapped" for uid in self._pool.column("uid"))
        return {"split": self.split, **counted, "left_out": self._left_out, "values": dict(sorted(reasons.items()))}

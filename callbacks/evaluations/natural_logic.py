"""Causal effects of natural-logic features on NLI-XY as an evaluation."""

import hashlib
from typing import Any

import pyarrow as pa
from pytorch_lightning.utilities import rank_zero_info

from callbacks.engine.evaluation import Evaluation, fitted, require_entailment
from datamodules import NaturalLogic as NaturalLogicData
from datamodules import PairedData, load_natural_logic
from datamodules.natural_logic import has_split
from interventions import Counterparts, Design, Intervention, counterparts
from metrics import Measurement, causal_effects, disagreements
from records import BATCH, Examples, HeedError
from records.rows import runs, where

NAME, SEEDS = "nlixy", 400


class NaturalLogic(Evaluation):
    """Total and direct causal effects of contexts and of inserted words, of any model that knows entailment.

    Args:
        path: Folder of NLI-XY; by default that of --data nlixy, if it has the split. Else nothing is measured.
        split: Which split of it to compose examples of.
        seeds: Seed examples of each intervention set, each with all of its matches (the paper's 400).
        paired: Give the sets of TCE and DCE the same seeds.
    """

    name = "natural_logic"
    figure = "natural_logic"
    needs = "path DIR, the folder of NLI-XY"
    own = True

    def __init__(self, path: str | None = None, split: str = "test", seeds: int = SEEDS, paired: bool = False) -> None:
        if seeds < 1:
            raise HeedError("§natural_logic.seeds must be at least 1.")
        self.path, self.split, self.seeds, self.paired = path, split, seeds, paired
        self._design: Design | None = None
        self._pool: Examples | None = None
        self._idle = False

    @property
    def title(self) -> str:
        unusual = [str(self.seeds)] * (self.seeds != SEEDS) + ["paired"] * self.paired
        return "-".join([self.name, self.split, *unusual])

    def pool(self, data: PairedData) -> Examples | None:
        inherited = self.path is None and isinstance(data, NaturalLogicData)
        path = data.path if inherited else self.path
        if path is None or self._idle:
            return None
        if self._pool is None:
            flags = "§natural_logic.path", "§natural_logic.split"
            if inherited and not has_split(path, self.split):
                rank_zero_info(f"{path} has no split {self.split!r}: causal effects are not measured ({flags[1]}).")
                self._idle = True
                return None
            require_entailment(data.task.labels, f"{flags[0]} {path}")
            examples = load_natural_logic(path, self.split, flags)
            self._design, self._pool = Design(examples), fitted(examples, data)
        return self._pool

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {
            f"{effect.upper()}: {part}": f"natural_logic/{NAME}/{part}/{effect}"
            for part in ("context", "insertion")
            for effect in ("tce", "dce")
        }

    def monitors(self, data: PairedData) -> list[str]:
        return [f"natural_logic/{NAME}/{what}" for what in ("context", "insertion", "accuracy")]

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        self._sets: list[Counterparts] = counterparts(self._design, self.seeds, data.seed, self.paired)
        return self._sets

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        return causal_effects(rows, NAME, data.task.labels, data.seed)

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """What is in the sets and what was left out; ``sha256`` identifies the pairs of a set."""
        counts = {"split": self.split, "rules_disagree": disagreements(rows, data.task.labels), **self._design.left_out}
        for chosen in self._sets:
            pairs = where(rows, intervention=chosen.name)
            matched = len(set(runs(rows, "uid")[pairs].tolist()))
            digest = hashlib.sha256()
            for batch in rows.select(["uid", "partner"]).filter(pa.array(pairs)).to_batches(max_chunksize=BATCH):
                digest.update("".join(f"{a}\t{b}\n" for a, b in zip(*batch.to_pydict().values(), strict=True)).encode())
            counts[chosen.name] = {
                "pairs": int(pairs.sum()),
                "seeds": len(chosen.seeds),
                "seeds_without_match": len(chosen.seeds) - matched,
                "sha256": digest.hexdigest(),
            }
        return counts

"""Challenge examples made of what is evaluated, as an evaluation: changed hypotheses, and tables with other titles."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pytorch_lightning.utilities import rank_zero_info

from callbacks.evaluation import Evaluation
from datamodules import PairedData
from interventions import (
    DIRECTIONS,
    KINDS,
    Analyser,
    Intervention,
    PerturbHypothesis,
    RuleAnalyser,
    Source,
    SpacyAnalyser,
    SwapTitle,
)
from interventions.spacy_analyser import INSTALL
from interventions.transitions import LABELS
from metrics import Measurement, challenge, challenge_counts
from records import Examples, HeedError
from records.rows import BASE, select, sliced, strings, where

ENTITIES, TITLE = "entities", "title"
NEUTRAL = LABELS[1]


class Challenge(Evaluation):
    """Accuracy where a change of the hypothesis, or of the title of the table, preserves the label or flips it.

    It takes all data of a table and a hypothesis with the labels entailment, neutral and contradiction, for a model of
    both or of the hypothesis alone. Names of persons, places and organisations are found by spaCy, if it is installed.

    Args:
        kinds: Which changes: entities, nominal_modifiers, negation, numbers, dates, quantifiers (of the hypothesis),
            title (of the table). By default all of them; entities only where spaCy is installed.
    """

    name = "challenge"
    figure = "challenge"
    needs = f"kinds, and data of a table and a hypothesis with the labels {', '.join(LABELS)}"

    def __init__(self, kinds: list[str] | None = None) -> None:
        known = (*KINDS, TITLE)
        if unknown := [kind for kind in kinds or () if kind not in known]:
            raise HeedError(f"--challenge.kinds {unknown[0]}: unknown; known are {', '.join(known)}.")
        self.kinds = list(dict.fromkeys(known if kinds is None else kinds))
        self.all = kinds is None
        self._known: tuple[Examples, Source] | None = None
        if ENTITIES in (kinds or ()):
            self._analyser()

    @property
    def title(self) -> str:
        return self.name if self.all else "-".join([self.name, *self.kinds])

    def pool(self, data: PairedData) -> Examples | None:
        if data.whole is None or not self.kinds or set(data.task.labels) != set(LABELS):
            return None
        table, text = _parts(data.whole)
        return data.pool if table and text in data.pool.parts else None

    def headlines(self, data: PairedData) -> dict[str, str]:
        if self.kinds == [TITLE]:
            return {"titles: preserved": f"challenge/{data.name}/titles/preserved"}
        return {f"hypotheses: {way}": f"challenge/{data.name}/hypotheses/{way}" for way in DIRECTIONS}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        source = self._source(data)
        changes = [PerturbHypothesis(kind, way, source) for kind in self._perturbed(source) for way in DIRECTIONS]
        return [*changes, *self._swaps(source, data)]

    def _swaps(self, source: Source, data: PairedData) -> list[SwapTitle]:
        return [SwapTitle(source, data.pool.parts)] if TITLE in self.kinds else []

    def _perturbed(self, source: Source) -> list[str]:
        """The kinds of changes of hypotheses that can be made."""
        return [k for k in self.kinds if k != TITLE and (k != ENTITIES or source.analyser.knows_entities)]

    def _source(self, data: PairedData) -> Source:
        if self._known is None or self._known[0] is not data.whole:
            analyser, (table, text) = self._analyser(), _parts(data.whole)
            if ENTITIES in self.kinds and not analyser.knows_entities:
                rank_zero_info(f"Challenge hypotheses get no other names, which only spaCy finds: {INSTALL}")
            self._known = data.whole, Source(data.whole, analyser, text, table)
        return self._known[1]

    def _analyser(self) -> Analyser:
        try:
            return SpacyAnalyser()
        except HeedError as error:
            if ENTITIES in self.kinds and not self.all:
                raise HeedError(f"--challenge.kinds {ENTITIES}: {error}") from None
            return RuleAnalyser()

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        perturbed = self._perturbed(self._source(data))
        for name, some in {"": rows, **dict(_splits(rows, data))}.items():
            if perturbed:
                found |= challenge(some, f"{data.name}/hypotheses{name}", _names(perturbed), NEUTRAL, data.seed)
            if TITLE in self.kinds:  # no title flips a label
                of_titles = challenge(some, f"{data.name}/titles{name}", [TITLE], NEUTRAL, data.seed)
                found |= {k: m for k, m in of_titles.items() if "/flipped" not in k}
        for kind in perturbed:
            of_kind = challenge(rows, f"{data.name}/hypotheses/kind={kind}", _names([kind]), NEUTRAL, data.seed)
            found |= {k: m for k, m in of_kind.items() if not k.endswith("/subsamples")}
        return found

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """How many examples were changed, by kind; how many could not be, and why; and by which analyser."""
        source = self._source(data)
        perturbed, counts = self._perturbed(source), {"analyser": source.analyser.name}
        counts["left_out"] = [kind for kind in self.kinds if kind not in (*perturbed, TITLE)]
        for kind in perturbed:
            ways = zip(DIRECTIONS, _names([kind]), strict=True)
            counts[kind] = {way: int(where(rows, intervention=name).sum()) for way, name in ways}
        if perturbed:
            counts["hypotheses"] = challenge_counts(rows, _names(perturbed), NEUTRAL)
        for swap in self._swaps(source, data):
            of_titles = challenge_counts(rows, [TITLE], NEUTRAL)
            counts["titles"] = {k: n for k, n in of_titles.items() if "flipped" not in k}
            reasons = Counter(map(swap.why_not, strings(select(rows, intervention=BASE), "uid")))
            counts["titles"]["without"] = {reason: n for reason, n in sorted(reasons.items()) if reason}
        return counts


def _parts(pool: Examples) -> tuple[str | None, str | None]:
    """Which part is the table and which the hypothesis; None where there is not one of each."""
    tables = [part for part in pool.parts if f"parts.{part}" in pool.tables]
    texts = [part for part in pool.parts if part not in tables]
    return (tables[0], texts[0]) if (len(tables), len(texts)) == (1, 1) else (None, None)


def _names(kinds: Sequence[str]) -> list[str]:
    """The names of the interventions of these kinds."""
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def _splits(rows: pa.Table, data: PairedData) -> Iterator[tuple[str, pa.Table]]:
    """Suffix of a name and rows of each split, where several are evaluated."""
    if "split" in data.pool.meta and rows.num_rows:
        of_row, names = sliced(rows, "split")
        for i in np.argsort(names) if len(names) > 1 else ():
            yield f"/split={names[i]}", rows.filter(pa.array(of_row == i))

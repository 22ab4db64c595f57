"""Challenge examples made of what is evaluated, as an evaluation: changed hypotheses, and tables with other titles."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pytorch_lightning.utilities import rank_zero_info

from callbacks.engine.evaluation import Evaluation, by_split
from datamodules import PairedData
from interventions import (
    DIRECTIONS,
    KINDS,
    Intervention,
    PerturbHypothesis,
    Source,
    SpacyAnalyser,
    SwapTitle,
    best_analyser,
)
from interventions.hypotheses.spacy_analyser import INSTALL
from interventions.tables.allowed_transitions import LABELS
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
            raise HeedError(f"§challenge.kinds {unknown[0]}: unknown; known are {', '.join(known)}.")
        self.kinds = list(dict.fromkeys(known if kinds is None else kinds))
        self.all = kinds is None
        self._known: tuple[Examples, list[Source]] | None = None
        if ENTITIES in (kinds or ()):
            try:
                SpacyAnalyser()
            except HeedError as error:
                raise HeedError(f"§challenge.kinds {ENTITIES}: {error}") from None

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
        changes: list[Intervention] = []
        for source in self._sources(data):
            changes += [PerturbHypothesis(kind, way, source) for kind in self._perturbed(data) for way in DIRECTIONS]
            changes += self._swaps(source, data)
        return changes

    def _sources(self, data: PairedData) -> list[Source]:
        """Where changes are made of: of several splits, each is changed as if it were evaluated alone."""
        if self._known is None or self._known[0] is not data.whole:
            analyser, (table, text) = best_analyser(), _parts(data.whole)
            if ENTITIES in self.kinds and not analyser.knows_entities:
                rank_zero_info(f"Challenge hypotheses get no other names, which only spaCy finds: {INSTALL}")
            pools = by_split(data.whole, data)
            self._known = data.whole, [Source(pool, analyser, text, table) for pool in pools]
        return self._known[1]

    def _perturbed(self, data: PairedData) -> list[str]:
        """The kinds of changes of hypotheses that can be made."""
        names = self._sources(data)[0].analyser.knows_entities
        return [kind for kind in self.kinds if kind != TITLE and (kind != ENTITIES or names)]

    def _swaps(self, source: Source, data: PairedData) -> list[SwapTitle]:
        return [SwapTitle(source, data.pool.parts)] if TITLE in self.kinds else []

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found, perturbed = {}, self._perturbed(data)
        for split, some in {"": rows, **_of_splits(rows, data)}.items():
            for what, names in {"hypotheses": _names(perturbed), "titles": [TITLE] * (TITLE in self.kinds)}.items():
                name = f"{data.name}/{what}"
                of_all = challenge(some, name, names, NEUTRAL, data.seed) if names else {}
                for metric, measured in of_all.items():
                    if what != "titles" or "/flipped" not in metric:  # no title flips a label
                        found[metric.replace(f"/{name}/", f"/{name}/{split}")] = measured
        for kind in perturbed:
            of_kind = challenge(rows, f"{data.name}/hypotheses/kind={kind}", _names([kind]), NEUTRAL, data.seed)
            found |= {metric: m for metric, m in of_kind.items() if not metric.endswith("/subsamples")}
        return found

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """How many examples were changed, by kind; how many could not be, and why; and by which analyser."""
        sources, perturbed = self._sources(data), self._perturbed(data)
        counts: dict[str, Any] = {"analyser": sources[0].analyser.name}
        counts["left_out"] = [kind for kind in self.kinds if kind not in (*perturbed, TITLE)]
        for kind in perturbed:
            ways = zip(DIRECTIONS, _names([kind]), strict=True)
            counts[kind] = {way: int(where(rows, intervention=name).sum()) for way, name in ways}
        if perturbed:
            counts["hypotheses"] = challenge_counts(rows, _names(perturbed), NEUTRAL)
        if TITLE in self.kinds:
            of_titles = challenge_counts(rows, [TITLE], NEUTRAL)
            counts["titles"] = {k: n for k, n in of_titles.items() if "flipped" not in k}
            uids, swaps = strings(select(rows, intervention=BASE), "uid"), [self._swaps(s, data)[0] for s in sources]
            reasons = Counter(swap.why_not(uid) for swap in swaps for uid in uids if swap.source.holds(uid))
            counts["titles"]["without"] = {reason: n for reason, n in sorted(reasons.items()) if reason}
        return counts


def _parts(pool: Examples) -> tuple[str | None, str | None]:
    """Which part is the table and which the hypothesis; None where there is not one of each."""
    tables = pool.tables
    texts = [part for part in pool.parts if part not in tables]
    return (tables[0], texts[0]) if (len(tables), len(texts)) == (1, 1) else (None, None)


def _names(kinds: Sequence[str]) -> list[str]:
    """The names of the interventions of these kinds."""
    return [f"perturb/{kind}/{way}" for kind in kinds for way in DIRECTIONS]


def _of_splits(rows: pa.Table, data: PairedData) -> dict[str, pa.Table]:
    """The rows of each split, where several are evaluated, by what stands in the names of its metrics."""
    if not data.splits_evaluated:
        return {}
    of, names = sliced(rows, "split")
    return {
        f"split={split}/": rows.filter(pa.array(of == (names.index(split) if split in names else -1)))
        for split in data.splits_evaluated
    }

"""The evaluation "challenge": accuracy after changes of the hypothesis, or of the title of the table."""

from collections import Counter
from typing import Any

import pyarrow as pa

from heedful.callbacks.engine.evaluation import NEEDS_GOLD, Evaluation, Nothing, Plan, Setting
from heedful.callbacks.evaluations.pools import by_split
from heedful.interventions import (
    DIRECTIONS,
    KINDS,
    Intervention,
    PerturbHypothesis,
    Source,
    SpacyAnalyser,
    SwapTitle,
    best_analyser,
)
from heedful.interventions.hypotheses.spacy_analyser import INSTALL
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.metrics.tables.challenge import ChallengeSettings, challenge_counts, perturbations
from heedful.records import Context, Examples, HeedfulError, SettingError, inform
from heedful.records.errors import suggestion
from heedful.records.rows import BASE, rows_with, select, strings

ENTITIES, NUMBERS, TITLE = "entities", "numbers", "title"


class Challenge(Evaluation):
    """Accuracy on changes of the hypothesis, or of the title of the table, that preserve or flip the label.

    The evaluation requires data with a table, a hypothesis, and the labels entailment, neutral and contradiction. It
    supports models of both parts and models of the hypothesis alone. spaCy, if installed, finds names of persons,
    places and organisations.

    Args:
        kinds: Kinds of changes: entities, nominal_modifiers, negation, numbers, dates, quantifiers (of the hypothesis),
            title (of the table). By default all of them; entities only if spaCy is installed.
        half_or_double: Flip each number of an entailed hypothesis to its half or double, as the paper does. By default,
            words like "over" before a number are inverted instead, which flips the label more reliably.
    """

    metric = METRICS["challenge"]

    def __init__(self, kinds: list[str] | None = None, half_or_double: bool = False) -> None:
        all_kinds = (*KINDS, TITLE)
        if unknown := [kind for kind in kinds or () if kind not in all_kinds]:
            raise SettingError(f"challenge.kinds {unknown[0]} does not exist. {suggestion(unknown[0], all_kinds)}")
        self.kinds = list(dict.fromkeys(all_kinds if kinds is None else kinds))
        self.half_or_double = half_or_double
        if ENTITIES in (kinds or ()):
            try:
                SpacyAnalyser()
            except HeedfulError as error:
                raise error.at(f"challenge.kinds {ENTITIES}") from None

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        all_parts = data.whole  # with the table, even for a model of the hypothesis alone
        table = text = None
        if all_parts is not None and set(data.task.labels) == set(LABELS):
            table, text = _parts(all_parts)
        if not self.kinds:
            return Nothing("has no kind of change in challenge.kinds")
        if not (table and text in data.pool.parts):
            return Nothing(f"needs a table, a hypothesis and the labels {', '.join(LABELS)}")
        if data.pool.is_unlabelled:
            return Nothing(NEEDS_GOLD)
        analyser = best_analyser()
        if ENTITIES in self.kinds and not analyser.knows_entities:
            inform(f"Challenge hypotheses get no other names, which only spaCy finds: {INSTALL}")
        kinds = [kind for kind in self.kinds if kind != TITLE and (kind != ENTITIES or analyser.knows_entities)]
        changes: list[Intervention] = []
        for pool in by_split(all_parts, data):  # a split has the same changes as in an evaluation of that split alone
            source = Source(pool, analyser, text, table)
            for kind in kinds:
                halved = self.half_or_double and kind == NUMBERS
                flips = PerturbHypothesis(kind, "flipped", source, half_or_double=halved)
                changes += [PerturbHypothesis(kind, "preserved", source), flips]
            changes += [SwapTitle(source, data.pool.parts)] if TITLE in self.kinds else []
        left_out = [kind for kind in self.kinds if kind not in (*kinds, TITLE)]
        settings = ChallengeSettings(tuple(kinds), TITLE in self.kinds)
        return Plan(data.pool, changes, settings, {"analyser": analyser.name, "left_out": left_out})

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count the changed and the unchanged examples by kind of change; for titles, also the reasons why examples are
        unchanged.
        """
        settings = ChallengeSettings.from_context(context)
        kinds = settings.kinds
        counts: dict[str, Any] = {}
        for kind in kinds:
            ways = zip(DIRECTIONS, perturbations([kind]), strict=True)
            counts[kind] = {way: int(rows_with(rows, intervention=name).sum()) for way, name in ways}
            flips = challenge_counts(rows, perturbations([kind]))
            counts[kind] |= {name: flips[name] for name in ("flipped_from_entailment", "flipped_from_contradiction")}
        if kinds:
            counts["hypotheses"] = challenge_counts(rows, perturbations(kinds))
        if settings.title:
            of_titles = challenge_counts(rows, [TITLE])
            counts["titles"] = {k: n for k, n in of_titles.items() if "flipped" not in k}
            uids = strings(select(rows, intervention=BASE), "uid")
            swaps = [swap for swap in plan.interventions if isinstance(swap, SwapTitle)]
            reasons = Counter(swap.why_not(uid) for swap in swaps for uid in uids if swap.source.holds(uid))
            counts["titles"]["without"] = {reason: n for reason, n in sorted(reasons.items()) if reason}
        return counts


def _parts(pool: Examples) -> tuple[str | None, str | None]:
    """Return the names of the part with a table and of the part with the hypothesis; (None, None) unless the parts are
    exactly one table and one text.
    """
    tables = pool.tables
    texts = [part for part in pool.parts if part not in tables]
    return (tables[0], texts[0]) if (len(tables), len(texts)) == (1, 1) else (None, None)

"""The evaluation "challenge": accuracy after changes of the hypothesis, or of the title of the table."""

from collections import Counter
from typing import Any

import pyarrow as pa

from heedful.callbacks.engine.evaluation import NEEDS_GOLD, Evaluation, Nothing, Plan, Setting
from heedful.callbacks.evaluations.pools import by_split
from heedful.interventions import KINDS, PerturbHypothesis, Source, SpacyAnalyser, SwapTitle, best_analyser
from heedful.interventions.hypotheses.spacy_analyser import INSTALL
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.metrics import METRICS
from heedful.metrics.tables.challenge import TITLE, TITLES, ChallengeSettings
from heedful.records import Context, HeedfulError, SettingError, inform
from heedful.records.errors import suggestion
from heedful.records.rows import BASE, select, strings

ENTITIES, NUMBERS = "entities", "numbers"


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
        data, whole = setting.data, setting.data.whole  # with the table, even for a model of the hypothesis alone
        if not self.kinds:
            return Nothing("has no kind of change in challenge.kinds")
        tables, parts = ((), ()) if whole is None else (whole.tables, whole.parts)
        texts = [part for part in parts if part not in tables]
        has_both = (len(tables), len(texts)) == (1, 1) and texts[0] in data.pool.parts
        if not has_both or set(data.task.labels) != set(LABELS):
            return Nothing(f"needs a table, a hypothesis and the labels {', '.join(LABELS)}")
        if data.pool.is_unlabelled:
            return Nothing(NEEDS_GOLD)
        analyser = best_analyser()
        if ENTITIES in self.kinds and not analyser.knows_entities:
            inform(f"Challenge hypotheses get no other names, which only spaCy finds: {INSTALL}")
        kinds = [kind for kind in self.kinds if kind != TITLE and (kind != ENTITIES or analyser.knows_entities)]
        changes = []
        for pool in by_split(whole, data):  # a split has the same changes as in an evaluation of that split alone
            source = Source(pool, analyser, texts[0], tables[0])
            for kind in kinds:
                halves = self.half_or_double and kind == NUMBERS
                changes.append(PerturbHypothesis(kind, "preserved", source))
                changes.append(PerturbHypothesis(kind, "flipped", source, half_or_double=halves))
            changes += [SwapTitle(source, data.pool.parts)] if TITLE in self.kinds else []
        counts = {"analyser": analyser.name, "left_out": [kind for kind in self.kinds if kind not in (*kinds, TITLE)]}
        return Plan(data.pool, changes, ChallengeSettings(tuple(kinds), TITLE in self.kinds), counts)

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count the reasons why titles of tables are unchanged."""
        swaps = [swap for swap in plan.interventions if isinstance(swap, SwapTitle)]
        uids = strings(select(rows, intervention=BASE), "uid") if swaps else []
        reasons = Counter(swap.why_not(uid) for swap in swaps for uid in uids if swap.source.holds(uid))
        without = {reason: n for reason, n in sorted(reasons.items()) if reason}
        return {TITLES: {"without": without}} if swaps else {}

"""Perturb hypotheses about tables (Gupta et al. 2022, "Is My Model Using the Right Evidence?", section 4).

Six kinds of perturbations keep or flip the label; the table stays the same. A flip turns an entailed hypothesis into a
contradiction. The opposite flip, from contradiction to entailment, needs human editors (``counterfactual_tables``).
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Literal

from heedful.interventions.base import EachExample
from heedful.interventions.hypotheses.analysis import Analyser, Edit, apply_edits
from heedful.interventions.hypotheses.claim import Claim, words
from heedful.interventions.hypotheses.entities import has_name, names_of
from heedful.interventions.hypotheses.modifiers import has_clause, readable
from heedful.interventions.hypotheses.quantities import numbers
from heedful.interventions.hypotheses.rules import RULES
from heedful.interventions.tables.donors import table_cluster
from heedful.records import Changed, Examples, generator
from heedful.records.example import as_table, as_text
from heedful.records.rows import GOLD2

KINDS = tuple(RULES)
Direction = Literal["preserved", "flipped"]
DIRECTIONS: tuple[Direction, ...] = ("preserved", "flipped")
VERSIONS = {  # versions of the rules; all other rules have version 1
    ("entities", "flipped"): 2,
    ("entities", "preserved"): 2,
    ("nominal_modifiers", "flipped"): 2,
    ("negation", "preserved"): 2,
    ("negation", "flipped"): 5,
    ("numbers", "preserved"): 2,
    ("numbers", "flipped"): 5,
    ("dates", "flipped"): 6,
    ("dates", "preserved"): 4,
    ("quantifiers", "flipped"): 3,
}
DRAWN = 1  # part of the random key; unlike a version, it keeps the draws of unchanged hypotheses


@dataclass(eq=False)
class Source:
    """The hypotheses and tables of a split, from which perturbations take names and values.

    Attributes:
        pool: Examples with a hypothesis and a table, even if the model reads only the hypothesis.
        analyser: The analyser of hypotheses.
        hypothesis: Name of the part that is the hypothesis.
        table: Name of the part that is the table.
        labels: Names of the labels for entailment and contradiction.
    """

    pool: Examples
    analyser: Analyser
    hypothesis: str = "hypothesis"
    table: str = "premise"
    labels: tuple[str, str] = ("entailment", "contradiction")
    _last: tuple[str, Claim | None] = field(default=("", None), init=False)  # each kind of perturbation needs the claim

    def holds(self, uid: str) -> bool:
        """Whether the example with this uid belongs to the split."""
        return uid in self._uids

    @cached_property
    def _uids(self) -> frozenset[str]:
        return frozenset(self.pool.uids.to_pylist())

    @cached_property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Maps types of entities to the names that occur in both a hypothesis of the split and its table."""
        by_kind: dict[str, set[str]] = defaultdict(set)
        if not self.analyser.knows_entities:
            return {}
        texts = map(as_text, self.pool.column(f"parts.{self.hypothesis}"))
        tables = map(as_table, self.pool.column(f"parts.{self.table}"))
        for text, table in zip(texts, tables, strict=True):
            for start, end, kind in self.analyser.analyse(text).entities:
                if words(text[start:end]) and has_name(table, text[start:end], kind):
                    by_kind[kind].add(text[start:end])
        return names_of(by_kind)

    @cached_property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """Maps keys of table rows, such as "Occupation", to all their short values without digits in the split."""
        by_key: dict[str, set[str]] = defaultdict(set)
        for table in {t.encode(): t for t in map(as_table, self.pool.column(f"parts.{self.table}"))}.values():
            for key, values in table.rows:
                if has_clause(key):
                    by_key[key].update(readable(values))
        return {key: tuple(sorted(values)) for key, values in by_key.items()}

    def claim(self, uid: str) -> Claim | None:
        """Return the claim of an example; None unless its label is entailment or contradiction."""
        if self._last[0] != uid:
            self._last = uid, self._read(uid)
        return self._last[1]

    def cluster(self, uid: str) -> str:
        """Return the name of the cluster of an example's table."""
        return table_cluster(self.pool, self.table, uid)

    def _read(self, uid: str) -> Claim | None:
        example = self.pool[uid]
        if example.label not in self.labels:
            return None
        analysis = self.analyser.analyse(as_text(example[self.hypothesis]))
        entailed = example.label == self.labels[0]
        return Claim(analysis, entailed, as_table(example[self.table]), self.names, self.values)


@dataclass(frozen=True)
class PerturbHypothesis(EachExample):
    """Perturb each hypothesis by one kind of change. If several changes of this kind are possible, one is drawn.

    Attributes:
        kind: Kind of perturbation, one of :data:`KINDS`, such as "numbers".
        direction: "preserved": the label stays. "flipped": an entailed hypothesis becomes a contradiction.
        source: The hypotheses and tables of the split.
        half_or_double: To flip a label, halve or double a number such as 30 in "over 30", as the paper does, instead of
            replacing "over" by "under". The label may then stay the same.
    """

    kind: str
    direction: Direction
    source: Source = field(repr=False, compare=False)
    half_or_double: bool = False
    _: KW_ONLY
    name: str = field(init=False)
    version: int = field(init=False)
    draws: int = 1
    expects: str = GOLD2

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"perturb/{self.kind}/{self.direction}")
        object.__setattr__(self, "version", VERSIONS.get((self.kind, self.direction), 1))

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.source.hypothesis,)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        rule = ("half_or_double",) if self.half_or_double else ()
        return (self.kind, self.direction, self.source.analyser.name, self.source.pool.fingerprint, *rule)

    def covers(self, uid: str) -> bool:
        return self.source.holds(uid)

    def edits(self, uid: str, draw: int, seed: int) -> tuple[Edit, ...]:
        """Return the edits of the hypothesis of an example in one draw; empty if it cannot be perturbed."""
        claim = self.source.claim(uid)
        flip = self.direction == "flipped"
        if claim is None or (flip and not claim.entailed):
            return ()
        rng = generator(seed, self.name, DRAWN, uid, draw)
        rule = partial(numbers, half_or_double=True) if self.half_or_double else RULES[self.kind]
        options = rule(claim, flip, rng)
        return options[int(rng.integers(len(options)))] if options else ()

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        edits = self.edits(uid, draw, seed)
        if not edits:
            return []
        base = pool[uid]
        part = self.source.hypothesis
        gold = self.source.labels[1] if self.direction == "flipped" else base.label
        example = base.replace(part, apply_edits(as_text(base[part]), edits), gold=gold)
        return [Changed(example, variant="; ".join(map(str, edits)), clusters=(uid, self.source.cluster(uid)))]

"""Insert relative clauses from table rows into a hypothesis: "X, whose occupation is mathematician, ..."."""

import re
from collections.abc import Iterable

import numpy as np

from heedful.interventions.hypotheses.analysis import Edit
from heedful.interventions.hypotheses.claim import Claim, Edits, known_words, place_kind, words_and_countries
from heedful.interventions.tables.title_expressions import title_mentions
from heedful.records.storage.yaml_files import word_lists

WORDS = word_lists(__file__)
NOUNS: dict[str, str] = WORDS["nouns"]
VERBS: dict[str, str] = WORDS["verbs"]
COMMON = frozenset(WORDS["common"])
VERBAL = re.compile(
    r" (?:is|was|are|were|has|have|had|does|did|can|could|will|would|began|won|got|came|took|became|made|went|wrote"
    r"|sold|\w{3,}ed)\b"
)
UNREADABLE = re.compile(r"[\d:|;/()\[\]]")
MOST_WORDS = 5


def modifiers(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """Return the possible insertions of a relative clause, see :data:`~heedful.interventions.hypotheses.rules.Rule`.

    The clause follows the first mention of the table's title before a verb: "X, whose occupation is mathematician,
    ...". To keep the label, the clause has a value of a row, and is true. To flip the label, it has a value from
    another table, without words of the hypothesis and its table. A flip skips rows with several values, since a list
    may be incomplete.
    """
    text, table = claim.text, claim.table
    mention = next((m for m in title_mentions(table, text) if VERBAL.match(text[m.end :])), None)
    if mention is None:
        return []
    claim_words = known_words(claim)
    changes: list[Edits] = []
    for key, row in table.rows:
        choices = readable(row)
        several = len(row) > 1
        if not choices or (flip and several):
            continue
        if flip:
            values = (value for value in claim.values.get(key, ()) if place_kind(value) == place_kind(choices[0]))
            choices = [value for value in values if (words := words_and_countries(value)) and not words & claim_words]
        choices = [value for value in choices if value.lower() not in text.lower()]
        clause = _clause(key, choices[int(rng.integers(len(choices)))], several) if choices else ""
        if clause:
            changes.append((Edit(mention.end, mention.end, "", f", {clause},", "nominal_modifiers"),))
    return changes


def readable(values: Iterable[str]) -> list[str]:
    """Return the values that fit into a sentence: at most five words and no digits. Parentheses are removed."""
    without_parentheses = [" ".join(re.sub(r"\([^)]*\)", "", value).split()).strip(" ,;") for value in values]
    return [v for v in without_parentheses if v and not UNREADABLE.search(v) and len(v.split()) <= MOST_WORDS]


def has_clause(key: str) -> bool:
    """Whether a relative clause, such as "whose occupation is ...", can be written for table rows with this key."""
    return key in NOUNS or key in VERBS


def _clause(key: str, value: str, several: bool) -> str:
    if key in VERBS:
        return f"which was {VERBS[key]} by {value}"
    if key in NOUNS:
        value = value.lower() if key in COMMON and re.fullmatch(r"[A-Z][a-z]{3,}", value) else value
        return f"whose {NOUNS[key]} {'includes' if several else 'is'} {value}"
    return ""

"""Relative clauses made of table rows: "X, whose occupation is mathematician, ..."."""

import re
from collections.abc import Iterable

import numpy as np

from heedful.interventions.hypotheses.claim import Claim, Edits, known_words, named, width
from heedful.interventions.hypotheses.text_edits import Edit
from heedful.interventions.tables.title_expressions import title_mentions
from heedful.records.word_lists import word_lists

WORDS = word_lists(__file__)
NOUNS: dict[str, str] = WORDS["nouns"]
VERBS: dict[str, str] = WORDS["verbs"]
COMMON = frozenset(WORDS["common"])
VERBAL = re.compile(
    r" (?:is|was|are|were|has|have|had|does|did|can|could|will|would|began|won|got|came|took|became|made|went|wrote"
    r"|sold|\w{3,}ed)\b"
)
MOST_WORDS = 5


def modifiers(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """A relative clause behind the first title expression that a verb follows, for each row that has one.

    A row of the table makes it true, which keeps the label. Flipped, the value is one of another table that shares no
    meaning with the hypothesis and its table, for a row of a single value: where a table lists several, one that it
    does not list is not always false. A country is another one only where the row names a country: a city lies in one.
    """
    text, table = claim.text, claim.table
    mention = next((m for m in title_mentions(table, text) if VERBAL.match(text[m.end :])), None)
    if mention is None:
        return []
    claim_words = known_words(claim)
    changes: list[Edits] = []
    for key, row in table.rows:
        own = readable(row)
        several = len(row) > 1
        if not own or (flip and several):
            continue
        choices = own
        if flip:
            places = (value for value in claim.values.get(key, ()) if width(value) == width(own[0]))
            choices = [value for value in places if (told := named(value)) and not told & claim_words]
        choices = [value for value in choices if value.lower() not in text.lower()]
        clause = _clause(key, choices[int(rng.integers(len(choices)))], several) if choices else ""
        if clause:
            changes.append((Edit(mention.end, mention.end, "", f", {clause},", "nominal_modifiers"),))
    return changes


def readable(values: Iterable[str]) -> list[str]:
    """The values that can stand in a sentence: short, no digits; parentheses are left out."""
    without_parentheses = [" ".join(re.sub(r"\([^)]*\)", "", value).split()).strip(" ,;") for value in values]
    return [
        v for v in without_parentheses if v and not re.search(r"[\d:|;/()\[\]]", v) and len(v.split()) <= MOST_WORDS
    ]


def has_clause(key: str) -> bool:
    """Whether a clause can be made of a row with this key."""
    return key in NOUNS or key in VERBS


def _clause(key: str, value: str, several: bool) -> str:
    if key in VERBS:
        return f"which was {VERBS[key]} by {value}"
    if key in NOUNS:
        value = value.lower() if key in COMMON and re.fullmatch(r"[A-Z][a-z]{3,}", value) else value
        return f"whose {NOUNS[key]} {'includes' if several else 'is'} {value}"
    return ""

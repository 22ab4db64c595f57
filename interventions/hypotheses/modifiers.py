"""Relative clauses made of table rows: "X, whose occupation is mathematician, ..."."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from interventions.hypotheses.text_edits import Edit
from interventions.tables.title_expressions import title_mentions
from records import Table
from records.word_lists import word_lists

WORDS = word_lists(__file__)
NOUNS: dict[str, str] = WORDS["nouns"]
VERBS: dict[str, str] = WORDS["verbs"]
COMMON = frozenset(WORDS["common"])
VERBAL = re.compile(
    r" (?:is|was|are|were|has|have|had|does|did|can|could|will|would|began|won|got|came|took|became|made|went|wrote"
    r"|sold|\w{3,}ed)\b"
)
MOST_WORDS = 5


def modifiers(
    text: str, table: Table, values: Mapping[str, Sequence[str]], flip: bool, rng: np.random.Generator
) -> list[tuple[Edit, ...]]:
    """A clause for each row that has one, behind the first title expression that a verb follows.

    Args:
        text: The hypothesis.
        table: Its table.
        values: Key to what tables have there.
        flip: Take a value that the table does not have, for a row of a single one: where a table lists several, one
            that it does not list is not always false.
        rng: Draws the value.
    """
    mention = next((m for m in title_mentions(table, text) if VERBAL.match(text[m.end :])), None)
    if mention is None:
        return []
    changes = []
    for key, row in table.rows:
        own, several = readable(row), len(row) > 1
        if flip:
            known = _words(" ".join(value for _, others in table.rows for value in others))
            choices = [value for value in values.get(key, ()) if not _words(value) & known]
        else:
            choices = own
        choices = [value for value in choices if value.lower() not in text.lower()]
        if own and choices and not (flip and several):
            clause = _clause(key, choices[int(rng.integers(len(choices)))], several)
            if clause:
                changes.append((Edit(mention.end, mention.end, "", f", {clause},", "nominal_modifiers"),))
    return changes


def readable(values: Iterable[str]) -> list[str]:
    """The values that can stand in a sentence: short, no digits; parentheses are left out."""
    found = [" ".join(re.sub(r"\([^)]*\)", "", value).split()).strip(" ,;") for value in values]
    return [v for v in found if v and not re.search(r"[\d:|;/()\[\]]", v) and len(v.split()) <= MOST_WORDS]


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


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower())) - {"the", "and", "for"}

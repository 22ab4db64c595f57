"""Persons, locations and organisations in a hypothesis become others of the same type."""

import re
from collections.abc import Mapping

import numpy as np

from heedful.interventions.hypotheses.claim import Claim, Edits, known_words, named, width, words
from heedful.interventions.hypotheses.text_edits import Edit
from heedful.records import Table
from heedful.records.word_lists import word_lists

KEYS = {kind: frozenset(keys) for kind, keys in word_lists(__file__)["keys"].items()}
# A name is what the sentence says of its subject where it stands behind one of these words and ends its phrase.
BEHIND = re.compile(
    r"\b(?:in|at|from|by|of|near|under|for|married|divorced|starred|starring|stars|featured|features|named|called"
    r"|director|producer|actor|actress|artist|label|university|city)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
ENDS = re.compile(
    r"\s*(?:[.,;!]|$|\s(?:in|and|on|for|who|which|when|during|to|at|is|was|has|had|where|while|with|before|after|since|as"
    r"|until|from|by|but)\b)"
)
NOT_ALONE = re.compile(r"\b(?:than|besides|same|different|both|outside|first|last|before|after)\b", re.IGNORECASE)
SEASON = re.compile(r"(?:spring|summer|fall|autumn|winter)\b", re.IGNORECASE)
ARTICLE = re.compile(r"(?:\bthe )?$", re.IGNORECASE)
WITH_ARTICLE = re.compile(r"(?:United|Netherlands|Philippines|Kingdom|Republic|Union|Soviet|U\.?[KS]\b)")


def entities(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """Another person, location or organisation, which neither hypothesis nor table knows; a country for a country.

    An entailed hypothesis is flipped where the table has the old name in a fitting row; a contradicted one stays one.
    A name that shares a word with the title is left alone: about something else, the table says nothing.
    """
    if (claim.entailed and not flip) or claim.analysis.negations or NOT_ALONE.search(claim.text):
        return []
    claim_words = known_words(claim)
    title = words(claim.table.title)
    changes: list[Edits] = []
    verb = claim.verb
    for start, end, kind in claim.analysis.entities:
        if verb and start < verb.end:  # part of the subject
            continue
        old = claim.text[start:end]
        said = BEHIND.search(claim.text[:start]) and ENDS.match(claim.text[end:])
        if not said or words(old) & title or SEASON.match(old) or (flip and not has_name(claim.table, old, kind)):
            continue
        others = [name for name in claim.names.get(kind, ()) if not claim_words & named(name)]
        if kind == "location":  # a state is no other place than its city, nor than its country
            others = [name for name in others if width(name) == width(old)]
        if others and claim.text.count(old) == 1:
            new = others[int(rng.integers(len(others)))]
            if kind == "location":  # with the article that it needs, and without the one that stands there
                article = ARTICLE.search(claim.text[:start])
                start -= len(article[0]) if article else 0
                old = claim.text[start:end]
                new = f"the {new}" if WITH_ARTICLE.match(new) else new
            changes.append((Edit(start, end, old, new, "entities"),))
    return changes


def has_name(table: Table, name: str, kind: str) -> bool:
    """Whether a table has this name under a key that fits its type."""
    content = " | ".join(value for key, values in table.rows if key.rstrip(":") in KEYS[kind] for value in values)
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", content))


def names_of(kinds: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """The names of each type, in the order of the alphabet; one that has several types is left out."""
    several = {name for kind in kinds for other in kinds if kind < other for name in kinds[kind] & kinds[other]}
    return {kind: tuple(sorted(names - several)) for kind, names in sorted(kinds.items())}

"""Replace a person, location or organisation in a hypothesis by a name of the same type."""

import re
from collections import Counter
from collections.abc import Mapping

import numpy as np

from heedful.interventions.hypotheses.analysis import Edit
from heedful.interventions.hypotheses.claim import Claim, Edits, known_words, place_kind, words, words_and_countries
from heedful.records import Table
from heedful.records.storage.yaml_files import word_lists

KEYS = {kind: frozenset(keys) for kind, keys in word_lists(__file__)["keys"].items()}
# a name belongs to the predicate if it follows one of these words (AFTER) and ends its phrase (ENDS)
AFTER = re.compile(
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
    """Return the possible replacements of a name, see :data:`~heedful.interventions.hypotheses.rules.Rule`.

    The new name has the same type (for a place, also the same kind, such as city), and neither the hypothesis nor the
    table mentions it. Names that share a word with the table's title are not replaced, since the table says nothing
    about other subjects. A flip replaces only names that the table has in a row whose key fits the type, such as "Born"
    for a place. To keep the label, only contradicted hypotheses are changed.
    """
    if (claim.entailed and not flip) or claim.analysis.negations or NOT_ALONE.search(claim.text):
        return []
    claim_words = known_words(claim)
    title = words(claim.table.title)
    changes: list[Edits] = []
    verb = claim.verb
    for start, end, kind in claim.analysis.entities:
        if verb and start < verb.end:  # the entity is part of the subject
            continue
        old = claim.text[start:end]
        in_predicate = AFTER.search(claim.text[:start]) and ENDS.match(claim.text[end:])
        if not in_predicate or words(old) & title or SEASON.match(old):
            continue
        if flip and not has_name(claim.table, old, kind):
            continue
        names = [name for name in claim.names.get(kind, ()) if not claim_words & words_and_countries(name)]
        if kind == "location":  # a state does not contradict its city or its country
            names = [name for name in names if place_kind(name) == place_kind(old)]
        if names and claim.text.count(old) == 1:
            new = names[int(rng.integers(len(names)))]
            if kind == "location":  # replace the article as well
                article = ARTICLE.search(claim.text[:start])
                start -= len(article[0]) if article else 0
                old = claim.text[start:end]
                new = f"the {new}" if WITH_ARTICLE.match(new) else new
            changes.append((Edit(start, end, old, new, "entities"),))
    return changes


def has_name(table: Table, name: str, kind: str) -> bool:
    """Whether a name of the type ``kind`` occurs in a table row that fits this type, such as "Born" for "location"."""
    content = " | ".join(value for key, values in table.rows if key.rstrip(":") in KEYS[kind] for value in values)
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", content))


def names_of(kinds: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Return the names of every type of entity, sorted; names with more than one type are dropped."""
    counts = Counter(name for names in kinds.values() for name in names)
    return {kind: tuple(sorted(n for n in names if counts[n] == 1)) for kind, names in sorted(kinds.items())}

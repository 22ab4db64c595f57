"""Rules that perturb a hypothesis so that its label stays or entailment becomes contradiction.

One of the perturbations that a rule returns is drawn later. A rule that is not certain of the new label returns none: a
missing example only reduces the number of examples, whereas a wrong label biases the results. Neutral hypotheses are
not perturbed.
"""

import re
from collections.abc import Callable

import numpy as np

from heedful.interventions.hypotheses.analysis import SUPERLATIVE, Edit, word_before
from heedful.interventions.hypotheses.claim import Claim, Edits
from heedful.interventions.hypotheses.entities import entities
from heedful.interventions.hypotheses.modifiers import modifiers
from heedful.interventions.hypotheses.quantities import dates, numbers
from heedful.records.storage.yaml_files import word_lists

VAGUE = re.compile(r"\b(?:also|still|only|just|some|several|few|sometimes|always|often|had to|any)\b", re.IGNORECASE)
QUANTIFIED = re.compile(
    r"^an? |\b(?:all|every|each|most|many|both|at least|more than|less than|over|under|one)\b", re.I
)
NEGATED = re.compile(r"\b(is|was|are|were|has|have|had|does|do|did)( not\b|n['’]t\b)", re.IGNORECASE)
NOT = re.compile(r"\b(?:is|was|are|were|has|have|had)( not|n['’]t)(?= \w)|( never)(?= \w)", re.IGNORECASE)
UNLIKE = re.compile(
    r" (?:only|all|every|many|just|until|more|less|yet|ever|both|always|a lot|most|very|too|so|again)\b", re.IGNORECASE
)
HAS_NO = re.compile(r"\b(?:has|have|had|is|are|was|were) (no )(?!longer|one\b|other|more|less|fewer|such|place)\w+s\b")
WORDS = word_lists(__file__)
WEAKER: dict[str, str] = WORDS["weaker"]
STRONGER: dict[str, str] = WORDS["stronger"]
NONE: dict[str, str] = WORDS["none"]
NO_COUNT = frozenset(WORDS["no_count"])
PLURAL = frozenset(WORDS["plural"])
NO_PLURAL = frozenset(WORDS["no_plural"])
TIME = re.compile(r"(?:year|month|week|day|decade|century|centurie|hour|minute|time)s?")

# Maps a hypothesis, whether to turn its entailment into a contradiction (else the label stays), and a generator of
# random numbers to all perturbations that the hypothesis allows, each a tuple of edits
Rule = Callable[[Claim, bool, np.random.Generator], list[Edits]]


def negation(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """Return the possible changes of a negation, see :data:`Rule`.

    To flip the label, the main verb is negated or the only negation is removed. To keep the label, a spelling is
    exchanged, such as "was not" and "wasn't".
    """
    text = claim.text
    negations = claim.analysis.negations
    if not flip:
        spellings = [(m, m[1] + ("n't" if m[2] == " not" else " not")) for m in NEGATED.finditer(text)]
        return [(Edit(*m.span(), m[0], new, "negation"),) for m, new in spellings if claim.free(*m.span())]
    changes: list[Edits] = []
    verb = claim.verb
    if not negations and verb and not VAGUE.search(text) and not QUANTIFIED.search(text[: verb.start]):
        changes.append((Edit(verb.start, verb.end, text[verb.start : verb.end], verb.negated, "negation"),))
    if len(negations) != 1 or re.search(r"\b(?:any\w*|yet|ever|longer|single|one)\b", text):
        return changes
    for m in (*NOT.finditer(text), *HAS_NO.finditer(text)):
        start, end = m.span(m.lastindex or 0)
        if not UNLIKE.match(text[end:]) and claim.free(start, end):
            changes.append((Edit(start, end, text[start:end], "", "negation"),))
    return changes


def quantifiers(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """Return the possible changes of a quantifier such as "all", see :data:`Rule`.

    A quantifier is weakened to keep entailment, strengthened to keep contradiction, and negated to flip the label.
    """
    if claim.analysis.negations or (not flip and SUPERLATIVE.search(re.sub(r"(?<!the )[Mm]ost ", "", claim.text))):
        return []
    if flip and len(claim.analysis.quantifiers) > 1:  # as in "some nations sent several athletes"
        return []
    label_keeping = WEAKER if claim.entailed else STRONGER
    scale = NONE if flip else label_keeping
    changes: list[Edits] = []
    for start, end, word in claim.analysis.quantifiers:
        new = scale.get(word)
        if new and claim.free(start, end) and _quantifies(claim.text, start, end, word):
            old = claim.text[start:end]
            changes.append((Edit(start, end, old, new.capitalize() if old[0].isupper() else new, "quantifiers"),))
    return changes


RULES: dict[str, Rule] = {
    "entities": entities,
    "nominal_modifiers": modifiers,
    "negation": negation,
    "numbers": numbers,
    "dates": dates,
    "quantifiers": quantifiers,
}


def _quantifies(text: str, start: int, end: int, word: str) -> bool:
    """Whether a quantifier applies to a noun, unlike "all" in "of all time" and "most" in "the most awards"."""
    previous = word_before(text, start)
    next_word = re.match(r"\s+([\w-]+)", text[end:])
    following = next_word[1].lower() if next_word else ""
    if previous in NO_COUNT or TIME.fullmatch(following) or (word == "most" and previous):
        return False
    if word in PLURAL:
        return following.endswith("s") and not following.endswith(("ous", "less")) and following not in NO_PLURAL
    if word in ("every", "each"):
        return previous != "" and following.isalpha() and following not in ("of", "other", "one", "two", "four")
    return previous not in ("most", "more", "less", "quite")

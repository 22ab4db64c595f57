"""Changes that make a contradicted hypothesis an entailed one: what is said then is all that the hypothesis denies.

What a table contradicts is false, so that its negation is true. The paper makes no such change without people (Gupta
et al. 2022, §4), since a "not" or another comparison denies a part of most sentences alone. Of a single plain clause it
denies the whole; other sentences are left alone.
"""

import operator
import re
from collections.abc import Callable

from heedful.interventions.hypotheses.analysis import SUBORDINATE, SUPERLATIVE, before
from heedful.interventions.hypotheses.claim import Claim, Edits
from heedful.interventions.hypotheses.quantities import DURING, YEARS, directly
from heedful.interventions.hypotheses.rules import VAGUE
from heedful.interventions.hypotheses.text_edits import Edit
from heedful.records.word_lists import word_lists

WORDS = word_lists(__file__)
OF_NUMBERS: dict[str, str] = WORDS["numbers"]
OF_YEARS: dict[str, str] = WORDS["years"]
JOINED = re.compile(  # "is Spanish. It is tall" says two things
    r"[,;:()/&—]|\s[-–]\s|(?-i:[^\WA-Z]\W?)[.!?]\W*\s\W*\w|[.!?]\s+(?:it|he|she|they|this|there)\b"
    r"|\b(?:and|or|but|nor|plus|so|either|both|with|non|through\w*)\b",
    re.IGNORECASE,
)
SCOPE = re.compile(rf"\b(?:{'|'.join(WORDS['scope'])})\b", re.IGNORECASE)
LASTING = re.compile(
    r"\b(?:for|during|from|in) (?:\S+ )*(?:years?|months?|weeks?|days?|decades|long)\b"
    r"|\bfor (?:\S+ )*(?:decade|centur\w+)\b",
    re.IGNORECASE,
)
DIGIT = re.compile(r"\d")
QUANTIFIED = re.compile(r"\b(?:all|every|each|most|many|one)\b", re.IGNORECASE)
# what else may be false: another name than the title's; and how long ago depends on when it is read
ELSEWHERE = re.compile(r"(?<!^)\b[A-Z]\w+|\bago\b")
# one thing: of several, some may be as the sentence says; _ is a title expression
ONE = rf"(?!(?:{'|'.join(WORDS['several'])})\b)\w*(?:[^\Ws]|ss|us|is|series)"
SUBJECT = re.compile(rf"(?:the (?:{ONE} ){{0,2}})?_+|it|he|she|the {ONE}", re.IGNORECASE)
SEVERAL = re.compile(rf"(?<!there )\b(?:are|were)\s*$|\b(?:{'|'.join(WORDS['several'])})\s*$", re.IGNORECASE)
SURE = re.compile(rf"\b(?:{'|'.join(WORDS['sure'])})\b", re.IGNORECASE)


def negated(claim: Claim) -> list[Edits]:
    """Put a "not" to the verb behind the subject: the title, a pronoun, or "the band"."""
    text, verb = claim.masked, claim.verb
    if not verb or claim.found.quantifiers or not _one_clause(claim, text):
        return []
    if LASTING.search(text) or not SUBJECT.fullmatch(text[: verb.start].strip()):
        return []
    return [(Edit(verb.start, verb.end, claim.text[verb.start : verb.end], verb.negated, "negation"),)]


def complementary_numbers(claim: Claim) -> list[Edits]:
    """The words that govern the only number as those that are true of all other numbers: "over" as "at most".

    The table has to have numbers, or it would not say how many. "The bells are over 50 tons" is about each of several,
    and "for people over 50" about some.
    """
    numbers = claim.found.numbers
    tabled = any(DIGIT.search(value) for _, values in claim.table.rows for value in values)
    if len(numbers) != 1 or not tabled or SEVERAL.search(claim.text[: max(0, numbers[0].governor_start)]):
        return []
    if DURING.search(claim.text[: numbers[0].start].rstrip()) or before(claim.text, numbers[0].governor_start) == "at":
        return []
    return _complement(claim, OF_NUMBERS, "numbers", *numbers[0][:2], *numbers[0][3:])


def complementary_years(claim: Claim) -> list[Edits]:
    """The words that govern the only year as those that are true of all other years: "before" as "in or after".

    The table has to have a year of which they are true, and the sentence to be about what has happened to all that
    there is: it was built or born. It need not have closed or died.
    """
    if len(claim.found.dates) != 1 or claim.found.dates[0].unit != "year" or not SURE.search(claim.text):
        return []
    start, end, _, year, governor, governor_start = claim.found.dates[0]
    content = " ".join(value for _, values in claim.table.rows for value in values)
    holds = operator.ge if OF_YEARS.get(governor) == OF_YEARS["before"] else operator.le
    if not any(holds(int(other), year) for other in YEARS.findall(content)):
        return []
    return _complement(claim, OF_YEARS, "dates", start, end, governor, governor_start)


COMPLEMENTS: dict[str, Callable[[Claim], list[Edits]]] = {
    "negation": negated,
    "numbers": complementary_numbers,
    "dates": complementary_years,
}


def _complement(
    claim: Claim, words: dict[str, str], kind: str, start: int, end: int, governor: str, governor_start: int
) -> list[Edits]:
    """The governing words of what stands at a span as their complement, where nothing else could be false."""
    if governor not in words or not directly(claim.text, governor_start) or not claim.free(start, end):
        return []
    behind = governor_start + len(governor)
    text = claim.masked
    rest = text[:governor_start] + text[behind:start] + text[end:]
    if any(p.search(rest) for p in (DIGIT, ELSEWHERE, QUANTIFIED, SUPERLATIVE)) or not _one_clause(claim, rest):
        return []
    old = claim.text[governor_start:behind]
    new = words[governor]
    return [(Edit(governor_start, behind, old, new.capitalize() if old[0].isupper() else new, kind),)]


def _one_clause(claim: Claim, text: str) -> bool:
    """Whether a text is a plain clause that a "not" denies as a whole."""
    return not claim.found.negations and not any(p.search(text) for p in (VAGUE, JOINED, SCOPE, SUBORDINATE))

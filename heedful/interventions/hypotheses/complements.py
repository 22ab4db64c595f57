"""Changes that make a contradicted hypothesis an entailed one: it says then all that it denied, or what the table says.

What a table contradicts is false, so that its negation is true. The paper makes no such change without people (Gupta
et al. 2022, §4), since a "not" or another comparison denies a part of most sentences alone. Of a single plain clause it
denies the whole; other sentences are left alone. A clause that says no more than when something happened is true with
the date of the row that says so.

Names and relative clauses go one way only: a false sentence with one more clause is false, and few contradicted
hypotheses say no more than a name for which there is a row.
"""

import operator
import re
from collections.abc import Callable

from heedful.interventions.hypotheses.analysis import MONTHS, SUBORDINATE, SUPERLATIVE, Date, before
from heedful.interventions.hypotheses.claim import Claim, Edits
from heedful.interventions.hypotheses.quantities import DURING, SPAN, YEARS, as_date, directly, months
from heedful.interventions.hypotheses.rules import VAGUE, unnegated
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
AUXILIARY = r"(?:is|are|was|were|has|have|had)"
OF_ALL: dict[str, str] = WORDS["of_all"]
FRONT = re.compile(rf"(?:{'|'.join(OF_ALL)})\b", re.IGNORECASE)  # the longest come first
HAS_NO = re.compile(rf"(?:{SUBJECT.pattern}|there) {AUXILIARY} $", re.IGNORECASE)
HAS_SEVERAL = re.compile(rf"(?:{SUBJECT.pattern}) (?:(?!an? )\w+ ){{1,4}}(?<! at )$", re.IGNORECASE)
EACH = re.compile(rf"(?:{SUBJECT.pattern}|(?:the \w+|_+)(?:['’]s?)?(?: \w+){{0,3}}) {AUXILIARY} $", re.IGNORECASE)
THINGS = re.compile(  # "loud bells": the s of what is "bell" in the singular
    r"\s+(?!more|less|fewer|such)(?:\w+ )?\w+(?<!ie)(?<![sxz]e)(?<![cs]he)(?<![siu])(s)\b", re.IGNORECASE
)
EVENTS: dict[str, list[str]] = WORDS["events"]
HAPPENED = re.compile(  # @ is a date
    rf"(?:(?:the (?:(?!(?:{'|'.join(WORDS['of_others'])})\b)\w+ ){{0,2}})?_+|it|he|she) (?:{AUXILIARY} )?"
    rf"({'|'.join(EVENTS)}) (?:in|during) (?:the )?@(?:,? (?:of |in )?(?:the year )?@)?\.?",
    re.IGNORECASE,
)
UNSURE = re.compile(rf"\b(?:{'|'.join(WORDS['unsure'])})\b|\?|\d{{4}}s", re.IGNORECASE)
SEASON_OF: dict[str, str] = WORDS["season_of"]
SOUTH = re.compile(rf"\b(?:{'|'.join(WORDS['south'])})\b")


def denied(claim: Claim) -> list[Edits]:
    """Put a "not" to the verb behind the title, a pronoun or "the band", or take the only negation away."""
    text, verb = claim.masked, claim.verb
    if claim.analysis.quantifiers or LASTING.search(text):
        return []
    if claim.analysis.negations:
        return [(edit,) for (edit,) in unnegated(claim) if _denies(text, edit)]
    if not verb or not _one_clause(text) or not SUBJECT.fullmatch(text[: verb.start].strip()):
        return []
    return [(Edit(verb.start, verb.end, claim.text[verb.start : verb.end], verb.negated, "negation"),)]


def _denies(text: str, edit: Edit) -> bool:
    """Whether the negation that an edit takes away denies the whole."""
    subject = re.sub(rf" {AUXILIARY}$", "", text[: edit.start].rstrip(), flags=re.IGNORECASE)
    said_of_it = subject.lower() == "there" or SUBJECT.fullmatch(subject)
    return bool(said_of_it) and _one_clause(text[: edit.start] + text[edit.end :])


def complementary_quantifiers(claim: Claim) -> list[Edits]:
    """The only quantifier as what is true where it is false: "all" as "not all", "no" as "one or more".

    It stands in front of the sentence, behind the verb of the subject, or says how many things the subject has. "Many"
    and "several" have no complement.
    """
    spans = [
        span for span in (*claim.analysis.quantifiers, *claim.analysis.negations) if claim.free(span.start, span.end)
    ]
    if len(spans) != 1:
        return []
    start, end, word = spans[0]
    text = claim.masked
    left = text[:start]
    front = FRONT.match(text)
    things = THINGS.match(text[end:])
    rest = left + text[end:]
    new = ""
    single: Edits = ()
    if front and not left:
        end = front.end()
        new = OF_ALL[front[0].lower()]
    elif word in ("all", "always") and EACH.fullmatch(left):
        new = f"not {word}"
        rest = rest.replace(" the same ", " ")  # "not always the same" denies the whole
    elif word == "no" and things and HAS_NO.fullmatch(left):
        new = "one or more"
    elif word == "multiple" and things and HAS_SEVERAL.fullmatch(left):
        new = "at most one"
        single = (Edit(end + things.start(1), end + things.end(1), "s", "", "quantifiers"),)
    if not new or LASTING.search(rest) or not _one_clause(rest):
        return []
    old = claim.text[start:end]
    return [(Edit(start, end, old, new.capitalize() if old[0].isupper() else new, "quantifiers"), *single)]


def complementary_numbers(claim: Claim) -> list[Edits]:
    """The words that govern the only number as those that are true of all other numbers: "over" as "at most".

    The table has to have numbers, or it would not say how many. "The bells are over 50 tons" is about each of several,
    and "for people over 50" about some.
    """
    numbers = claim.analysis.numbers
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
    if len(claim.analysis.dates) != 1 or claim.analysis.dates[0].unit != "year" or not SURE.search(claim.text):
        return []
    start, end, _, year, governor, governor_start = claim.analysis.dates[0]
    content = " ".join(value for _, values in claim.table.rows for value in values)
    holds = operator.ge if OF_YEARS.get(governor) == OF_YEARS["before"] else operator.le
    if not any(holds(int(other), year) for other in YEARS.findall(content)):
        return []
    return _complement(claim, OF_YEARS, "dates", start, end, governor, governor_start)


def dates_of_the_row(claim: Claim) -> list[Edits]:
    """The dates of a clause that says no more than when something happened, as the row of this event has them.

    The row has to have one year only, and one month where the clause names a month or a season. Seasons are those of
    the north; a month in which one of them ends belongs to none.
    """
    dates = claim.analysis.dates
    text = claim.masked
    for date in reversed(dates):
        text = f"{text[: date.start]}@{text[date.end :]}"
    told = HAPPENED.fullmatch(text)
    rows = [values for key, values in claim.table.rows if told and key.strip(" :") in EVENTS[told[1].lower()]]
    content = re.sub(r"\([^)]*\)", "", " ".join(rows[0])) if len(rows) == 1 else ""
    if len(set(YEARS.findall(content))) != 1 or UNSURE.search(content) or SPAN.search(content):
        return []
    edits = []
    for date in dates:
        old = claim.text[date.start : date.end]
        new = _date_of(content, date)
        if new is None or not claim.free(date.start, date.end):
            return []
        if new.lower() != re.sub("['’]", "", old.lower()).replace("autumn", "fall"):
            edits.append(Edit(date.start, date.end, old, new.capitalize() if old[0].isupper() else new, "dates"))
    return [tuple(edits)] if edits else []


def _date_of(content: str, like: Date) -> str | None:
    """The date of a row with one year, said like another; None where that is not sure."""
    year = int(YEARS.findall(content)[0])
    if like.unit in ("year", "decade"):
        return as_date(year - year % 10 if like.unit == "decade" else year, like)
    if len(months(content)) != 1 or (like.unit == "season" and SOUTH.search(content)):
        return None
    month = MONTHS[min(months(content))]
    return month if like.unit == "month" else SEASON_OF.get(month)


COMPLEMENTS: dict[str, Callable[[Claim], list[Edits]]] = {
    "negation": denied,
    "numbers": complementary_numbers,
    "dates": lambda claim: [*complementary_years(claim), *dates_of_the_row(claim)],
    "quantifiers": complementary_quantifiers,
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
    sure = not any(p.search(rest) for p in (DIGIT, ELSEWHERE, QUANTIFIED, SUPERLATIVE))
    if not sure or claim.analysis.negations or not _one_clause(rest):
        return []
    old = claim.text[governor_start:behind]
    new = words[governor]
    return [(Edit(governor_start, behind, old, new.capitalize() if old[0].isupper() else new, kind),)]


def _one_clause(text: str) -> bool:
    """Whether a text is a plain clause that a "not" denies as a whole."""
    return not any(p.search(text) for p in (VAGUE, JOINED, SCOPE, SUBORDINATE))

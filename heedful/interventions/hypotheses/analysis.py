"""Find the spans of a hypothesis that perturbations change: numbers, dates, quantifiers, negations and verbs.

:class:`RuleAnalyser` uses word lists and regular expressions. ``spacy_analyser.py`` adds named entities and main verbs.

A governor is the word before a number or date that makes it a bound, such as "over" in "over 30 years".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol

from heedful.records.storage.yaml_files import word_lists

WORDS = word_lists(__file__)
INCREASE, DECREASE = "increase", "decrease"
MONOTONICITY: dict[str, dict[str, str]] = WORDS["monotonicity"]  # by governor, then label
MONOTONICITY |= {word: MONOTONICITY[like] for word, like in WORDS["alike"].items()}
OPPOSITE: dict[str, str] = WORDS["opposite"]
TIMES = frozenset(WORDS["times"])
MONTHS: list[str] = WORDS["months"]
SEASONS: dict[str, str] = WORDS["seasons"]
UNITS: list[str] = WORDS["units"]
TENS: list[str] = WORDS["tens"]
# in a sentence with one of these words, a weaker statement need not follow from a stronger one
NEGATIVE = re.compile(
    r"\b(?:no|not|never|none|neither|nor|nobody|nothing|cannot|without|hardly|barely|unlike|except|if|failed|fails|fail"
    r"|lacks?|lacked|refused|unable|unless|false|other than)\b|n['’]t\b",
    re.IGNORECASE,
)
SUPERLATIVE = re.compile(
    r"\b(?:first|last|only|most|least|latest|earliest|\w{3,}est|(?:any|every)(?:one|body)|whoever)\b"
    r"(?<!at least)(?<!at most)",
    re.IGNORECASE,
)
QUANTIFIERS = re.compile(
    r"\b(?:all of the|all of|all the|all|every|each of the|each|most of the|most of|most|many of the|many of|many"
    r"|several of the|several of|several|some of the|some of|some|multiple|various|numerous|a lot of|lots of"
    r"|always|sometimes|often)\b",
    re.IGNORECASE,
)
_GOVERNORS = "|".join(sorted(MONOTONICITY, key=len, reverse=True))
_GOVERNED = re.compile(rf"\b({_GOVERNORS})\s+(?:(?:US|USD)?[$£€₹]\s?|the age of |age |the year |turning )?$", re.I)
_UNDER = re.compile(r"\S+ (?:\w+ ){0,2}(?:labels?|names?|titles?|companies|brands|presidents?|kings?|rulers?)\b")
_WORD_NUMBER = "|".join([*reversed(TENS), *reversed(UNITS[2:])])
_NUMBER = re.compile(
    r"(?<![\w.,:/'’#–-])(?:(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"|(?P<words>(?:(?:{'|'.join(TENS)})[- ](?:{'|'.join(UNITS[1:10])})|(?:{_WORD_NUMBER}))(?![\w-])))"
    r"(?![\w:/–'’-]|[.,]\d)",
    re.IGNORECASE,
)
# further words of the same number, as in "two hundred fifty"
_MORE_BEFORE = re.compile(rf"\b(?:{'|'.join([*UNITS, *TENS])}|hundred|thousand|million|billion)[\s-]+$", re.IGNORECASE)
_MORE_AFTER = re.compile(
    rf"(?:\s(?:hundred|thousand|million|billion))*[\s-]+(?:{'|'.join([*UNITS, *TENS])})\b", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\w.,:/$£€–-])(1[0-9]\d\d|20\d\d)(['’]?s)?(?![\w:/–-]|[.,]\d)")
_YEAR_WORDS = frozenset(WORDS["before_years"]) | {month.lower() for month in MONTHS}
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b")
_SEASON = re.compile(rf"\b(?:in|of|during) (?:the )?({'|'.join(SEASONS)})(?:time)?\b", re.IGNORECASE)
_NAMING = frozenset(WORDS["naming"])
_CAPITALS = frozenset(WORDS["not_names"])


class Number(NamedTuple):
    """A number in a text, from position ``start`` to before ``end``.

    Attributes:
        governor: The governor in lower case, a key of :data:`MONOTONICITY`; "" without one.
        governor_start: Position of the governor's first character; -1 without one.
    """

    start: int
    end: int
    value: Decimal
    governor: str
    governor_start: int


class Date(NamedTuple):
    """A date in a text, from position ``start`` to before ``end``, with its governor as for a :class:`Number`.

    Attributes:
        unit: "year", "decade", "month" or "season".
        value: The year; the first year of the decade; the month, from 0; 0 for a season.
    """

    start: int
    end: int
    unit: str
    value: int
    governor: str
    governor_start: int


class Span(NamedTuple):
    """An entity, quantifier or negation in a text, from position ``start`` to before ``end``.

    Attributes:
        what: The type of an entity, such as "person"; for other spans, the text in lower case.
    """

    start: int
    end: int
    what: str


class Verb(NamedTuple):
    """The finite verb of the main clause, from position ``start`` to before ``end``; "was not" negates "was"."""

    start: int
    end: int
    negated: str


class Edit(NamedTuple):
    """A replacement in a text, from position ``start`` to before ``end``.

    Attributes:
        old: The replaced text; "" for an insertion.
        new: The replacement.
        kind: Kind of change, such as "numbers".
    """

    start: int
    end: int
    old: str
    new: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.start}:{self.end} {self.old!r} -> {self.new!r}"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with its edits applied; the spans of the edits refer to ``text`` and must not overlap.

    Example:
        >>> apply_edits("He is over 40.", [Edit(11, 13, "40", "35", "numbers")])
        'He is over 35.'
    """
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


@dataclass(frozen=True)
class Analysis:
    """The spans of a text that an analyser has found.

    Attributes:
        numbers: Numbers that belong to no date and no name.
        dates: Years, decades, months and seasons.
        quantifiers: Words such as "all", "every" and "many".
        negations: Words such as "no", "not" and "never".
        verb: The finite verb of the main clause; None if it is unknown or cannot be negated.
        entities: Persons, locations and organisations.
    """

    text: str
    numbers: tuple[Number, ...] = ()
    dates: tuple[Date, ...] = ()
    quantifiers: tuple[Span, ...] = ()
    negations: tuple[Span, ...] = ()
    verb: Verb | None = None
    entities: tuple[Span, ...] = ()


class Analyser(Protocol):
    """Interface of analysers, which find the spans of a text that can be perturbed.

    Attributes:
        name: Name and version of the analyser.
        knows_entities: Whether the analyser finds entities.
    """

    @property
    def name(self) -> str: ...

    @property
    def knows_entities(self) -> bool: ...

    def analyse(self, text: str) -> Analysis: ...


@dataclass(frozen=True)
class RuleAnalyser:
    """Finds everything but entities by word lists and regular expressions.

    Example:
        >>> RuleAnalyser().analyse("He was active for over 30 years.").numbers
        (Number(start=23, end=25, value=Decimal('30'), governor='over', governor_start=18),)
    """

    name: str = "rules-3"
    knows_entities: bool = False

    def analyse(self, text: str) -> Analysis:
        dates = _dates(text)
        quantifiers, negations = (
            tuple(Span(*m.span(), m[0].lower()) for m in pattern.finditer(text)) for pattern in (QUANTIFIERS, NEGATIVE)
        )
        return Analysis(text, _numbers(text, dates), dates, quantifiers, negations, auxiliary(text))


def to_words(value: int) -> str:
    """Write a number below 100 in words, such as "twenty-five"."""
    if value < 20:
        return UNITS[value]
    ten, unit = divmod(value, 10)
    return TENS[ten - 2] + (f"-{UNITS[unit]}" if unit else "")


def word_before(text: str, start: int) -> str:
    """Return the last word before position ``start`` of a text, in lower case; "" if there is none."""
    match = re.search(r"([\w.]+)\W*$", text[:start])
    return match[1].lower() if match else ""


def _governor(text: str, start: int) -> tuple[str, int]:
    match = _GOVERNED.search(text[:start])
    if not match or (match[1].lower() == "under" and _UNDER.match(text[start:])):
        return "", -1
    return match[1].lower(), match.start(1)


def _dates(text: str) -> tuple[Date, ...]:
    dates = []
    for m in _YEAR.finditer(text):
        governor, previous = _governor(text, m.start()), word_before(text, m.start())
        is_count = governor[0] not in (*TIMES, "") and previous != "year"
        has_day = re.search(r"\d,\s$", text[: m.start()])  # March 29, 1979
        is_date = has_day or previous in _YEAR_WORDS or (m[2] and previous == "the")
        if is_date and not is_count and not _is_name(text[: m.start()]):
            dates.append(Date(*m.span(), "decade" if m[2] else "year", int(m[1]), *governor))
    for m in _MONTH.finditer(text):
        if (
            m[0] not in ("May", "March")
            or word_before(text, m.start()) in _YEAR_WORDS
            or text[m.end() :][1:2].isdigit()
        ):
            dates.append(Date(*m.span(), "month", MONTHS.index(m[0]), *_governor(text, m.start())))
    dates += [Date(*m.span(1), "season", 0, "", -1) for m in _SEASON.finditer(text)]
    return tuple(sorted(dates))


def _is_name(prefix: str) -> bool:
    """Whether a year that follows ``prefix`` is part of a name, as in "the War of 1812"."""
    match = re.search(r"([A-Z]\w+) of $", prefix)
    return match is not None and match[1] not in MONTHS and match[1].lower() not in SEASONS


def _numbers(text: str, dates: tuple[Date, ...]) -> tuple[Number, ...]:
    numbers = []
    for m in _NUMBER.finditer(text):
        start, end = m.span()
        governor = _governor(text, start)
        word = re.search(r"([\w.&'-]+)\s*[$£€₹]?$", text[:start])
        previous = word[1] if word else ""
        after_name = previous[:1].isupper() and previous.lower() not in _CAPITALS
        year_like = re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", m[0]) and not governor[0]
        in_date = any(abs(start - d.end) < 3 or abs(d.start - end) < 3 or d.start <= start < d.end for d in dates)
        compound = re.match(r" (?:hundred|thousand|million|billion)? ?and (?:\d|[a-z]+ty|\w+teen)", text[end:])
        aged = re.search(r"\b(?:age|turning)\s+(?:of )?$", text[:start])
        timed = governor[0] in TIMES and not aged  # as in "after 5 years", a duration
        ranged = re.match(r"\s?(?:to|or|and|-|–|x|×|by) ?\d", text[end:])
        half = m["words"] and (_MORE_BEFORE.search(text[:start]) or _MORE_AFTER.match(text[end:]))
        if any((year_like, in_date, compound, half, timed, ranged)) or (
            not governor[0] and (after_name or previous.lower().rstrip(".") in _NAMING)
        ):
            continue
        numbers.append(Number(start, end, _value(m), *governor))
    return tuple(numbers)


def _value(m: re.Match[str]) -> Decimal:
    if m["digits"]:
        return Decimal(m["digits"].replace(",", ""))
    words = re.split("[- ]", m["words"].lower())
    return Decimal(sum((TENS.index(w) + 2) * 10 if w in TENS else UNITS.index(w) for w in words))


_AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|did|does)\b")
_PARTICIPLE = re.compile(r"\s+(?:\w+ly\s+)?(?:been|won|had|made|become|gone|held|sold|played|\w+ed|\w+en)\b")
_OBJECT = re.compile(r"\s+(?:an?|the|two|three|four|five|six|many|several|multiple|more|less|over|at least|\d)\b")
SUBORDINATE = re.compile(
    r"\b(?:who|which|that|when|where|while|whose|because|as|than|since|before|after|although|time|until|once)\b", re.I
)
_DO: dict[str, str] = WORDS["do"]


def auxiliary(text: str) -> Verb | None:
    """Return the first auxiliary verb of a text; None if it is in a subordinate clause or cannot be negated."""
    m = _AUXILIARY.search(text)
    if m is None or SUBORDINATE.search(text[: m.start()]):
        return None
    if m[1] in _DO and not _PARTICIPLE.match(text[m.end() :]):
        return Verb(*m.span(), _DO[m[1]]) if _OBJECT.match(text[m.end() :]) else None
    return Verb(*m.span(), f"{m[1]} not")

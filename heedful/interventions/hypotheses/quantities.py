"""Change the numbers and dates in a hypothesis (Gupta et al. 2022, table 2).

The direction that keeps the label follows from the governor: "over 30" entails "over 20". Numbers and dates without a
governor are changed by a large amount.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

import numpy as np

from heedful.interventions.hypotheses.analysis import (
    DECREASE,
    INCREASE,
    MONOTONICITY,
    MONTHS,
    OPPOSITE,
    SEASONS,
    SUPERLATIVE,
    TIMES,
    Date,
    Edit,
    Number,
    to_words,
)
from heedful.interventions.hypotheses.claim import Claim, Edits
from heedful.records.storage.yaml_files import word_lists

WORDS = word_lists(__file__)
ONCE = re.compile(rf"\b(?:{'|'.join(WORDS['once'])})\b", re.IGNORECASE)
OR_SO = re.compile(rf"\b(?:or|and) (?:{'|'.join(WORDS['or_so'])})\b", re.IGNORECASE)
BOUNDED = re.compile(  # an indirect governor, as in "a minimum of 50" and "over about 50"
    rf"\b(?:(?:{'|'.join(MONOTONICITY)})\s+(?:\S+\s+){{1,2}}|(?:{'|'.join(WORDS['bounds'])})\s+(?:\S+\s+){{0,2}})$",
    re.IGNORECASE,
)
AND_MORE = re.compile(r"\s?\+|\s?plus\b", re.IGNORECASE)  # "50+ awards"
GAMES = re.compile(r"\s(?:\w+ )?(?:olympics|olympiad|games|season)\b", re.IGNORECASE)  # "the 84 Olympics"
LATEST = 2020  # no later year is generated
YEARS = re.compile(r"(?<![\d,.])(?:1\d{3}|20\d\d)(?!\d|[,.]\d)")
SPAN = re.compile(
    r"(?<![\d,.])(1\d{3}|20\d\d)\)?\s?(?:-|–|—|to|until)\s?(?:(?:\w+\.?,?\s){0,2}(\d{4})|(\d\d)(?!\d)|(?=present|now|current))",
    re.IGNORECASE,
)
NEAREST, FARTHEST = 5, 40  # minimum and maximum distance, in years, between a year and its replacement
OPEN_ENDED = re.compile(  # as in "by the end of May 1990": other dates may be true as well
    rf"\b(?:{'|'.join([*TIMES, *WORDS['open_ended']])})\s+"
    rf"(?:(?:{'|'.join([*WORDS['of_dates'], *MONTHS, *SEASONS])}|\d{{1,2}}(?:st|nd|rd|th)?),?\s+)*$",
    re.IGNORECASE,
)
BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)
DISTANCE = re.compile(
    r"\b(?:just|right|shortly|soon|immediately|slightly|well|far|little|bit|much|years?|months?|days?|weeks?|or)\s*$",
    re.I,
)
DURING = re.compile(  # as in "took place over 16 days", where "over" is no lower bound
    r"\b(?:place|held|spread|occurred|happened|recorded|filmed|shot|painted|made|written|span\w*|cover\w*) over$",
    re.IGNORECASE,
)


def numbers(claim: Claim, flip: bool, rng: np.random.Generator, half_or_double: bool = False) -> list[Edits]:
    """Return the possible changes of a number, see :data:`~heedful.interventions.hypotheses.rules.Rule`.

    To keep the label, only numbers with a governor change: an entailed "over 30" may become "over 20" (Gupta et al.
    2022, table 2). To flip the label, a number without a governor is halved or doubled, and the governor of another
    number is replaced by its opposite: "over 30" becomes "under 30". With ``half_or_double``, the number changes: "over
    60".
    """
    if claim.analysis.negations:
        return []
    changes = []
    for number in claim.analysis.numbers:
        if not claim.free(number.start, number.end):
            continue
        if flip and number.governor and not half_or_double:
            # "over 60" instead of "over 30" flips the label only if the table's value lies between both numbers
            changes += _opposite(claim, number.governor, number.governor_start)
        elif flip:
            changes += [_renumbered(claim.text, number, value) for value in _flipping(claim, number)]
        elif DURING.search(claim.text[: number.governor_start + len(number.governor)]):
            continue
        elif number.governor and _is_bound(claim.text, number.governor_start):
            new = _moved(number.value, MONOTONICITY[number.governor][claim.label], rng)
            if new is not None and not (_percent(claim.text, number.end) and new >= 100):
                changes.append(_renumbered(claim.text, number, new))
    return [change for change in changes if change[0].old != change[0].new]


def _flipping(claim: Claim, number: Number) -> list[Decimal]:
    """Return the half and the double, as far as they flip the label: after a governor, the stronger one, if any."""
    prefix, suffix = claim.text[: number.start], claim.text[number.end :]
    if number.value < 2 or OR_SO.search(claim.text) or GAMES.match(suffix) or AND_MORE.match(suffix):
        return []
    if not number.governor and BOUNDED.search(prefix):
        return []
    values = _half_and_double(number.value)
    if number.governor:
        less_is_more = MONOTONICITY[number.governor][claim.label] == INCREASE
        values = [value for value in values if (value < number.value) == less_is_more]
    return [value for value in values if not _percent(claim.text, number.end) or value < 100]


def dates(claim: Claim, flip: bool, rng: np.random.Generator) -> list[Edits]:
    """Return the possible changes of a date, see :data:`~heedful.interventions.hypotheses.rules.Rule`.

    With a governor, a year or decade moves in the direction that keeps the label (Gupta et al. 2022, table 2); to flip
    the label, the governor is replaced by its opposite. Without a governor, the new date contradicts the table. This
    flips the label of an entailed hypothesis, and keeps the label of a contradicted one. A new year, decade or month is
    not in the table. A season becomes the opposite season, only to flip the label.
    """
    if claim.analysis.negations:
        return []
    # the separator keeps spans of years within a value
    content = " | ".join(v for _, values in claim.table.rows for v in values)
    changes: list[Edits] = []
    for date in claim.analysis.dates:
        if not claim.free(date.start, date.end):
            continue
        new: str | None = None
        if date.governor:
            if flip:
                changes += _opposite(claim, date.governor, date.governor_start)
            else:
                new = _moved_date(claim, date, rng)
        elif flip or not claim.entailed:
            new = _other_date(claim, date, content, flip, rng)
        if new is not None:
            changes.append((Edit(date.start, date.end, claim.text[date.start : date.end], new, "dates"),))
    return changes


def _moved_date(claim: Claim, date: Date, rng: np.random.Generator) -> str | None:
    """Draw a date 1 to 15 years or decades away that keeps the label; None if a move might not keep it."""
    movable = date.unit in ("year", "decade") and date.governor in TIMES
    if not movable or not _is_bound(claim.text, date.governor_start):
        return None
    step = int(rng.integers(1, 16)) * (10 if date.unit == "decade" else 1)
    new = date.value + (step if MONOTONICITY[date.governor][claim.label] == INCREASE else -step)
    return as_date(new, date) if new <= LATEST else None


def _other_date(claim: Claim, date: Date, content: str, flip: bool, rng: np.random.Generator) -> str | None:
    """Draw a date that is not in ``content``, the values of the table; None if no date surely contradicts it."""
    if any(p.search(claim.text) for p in (OR_SO, BETWEEN)) or OPEN_ENDED.search(claim.text[: date.start]):
        return None
    if date.unit == "season":
        # the table is not searched for seasons: a contradicted hypothesis may become true
        return _like(claim.text[date.start : date.end], SEASONS) if flip else None
    if date.unit == "month":
        present = months(content)
        absent = sorted(set(range(12)) - present - months(claim.text))
        return MONTHS[absent[int(rng.integers(len(absent)))]] if present and absent else None
    years = _other_years(claim, date, content)
    return as_date(years[int(rng.integers(len(years)))], date) if years else None


def _other_years(claim: Claim, date: Date, content: str) -> list[int]:
    """Return years or decades 5 to 40 years away that are not in the table; only earlier ones unless it is unique."""
    years_of_table = {int(year) for year in YEARS.findall(content)}
    if not years_of_table:
        return []
    for first, last, short in SPAN.findall(content):
        end = int(last or first[:2] + short) if last or short else LATEST
        years_of_table.update(range(int(first), end + 1))
    length = 10 if date.unit == "decade" else 1
    once = ONCE.search(claim.text)
    near = range(date.value - FARTHEST, date.value + FARTHEST + 1, length)
    return [
        year
        for year in near
        if abs(year - date.value) >= NEAREST and year + length - 1 <= LATEST
        if years_of_table.isdisjoint(range(year, year + length)) and (once or year + length - 1 < min(years_of_table))
    ]


def as_date(value: int, date: Date) -> str | None:
    """Write the year ``value`` as a year, or as a decade if ``date`` is a decade; None for years up to 1000."""
    if value <= 1000:
        return None
    return f"{value}s" if date.unit == "decade" else str(value)


def _opposite(claim: Claim, governor: str, start: int) -> list[Edits]:
    """Replace a governor by its opposite; empty without one, after "just" or "years", or with a superlative."""
    if governor not in OPPOSITE or not _is_bound(claim.text, start):
        return []
    old = claim.text[start : start + len(governor)]
    return [
        (Edit(start, start + len(governor), old, _like(old, OPPOSITE), "dates" if governor in TIMES else "numbers"),)
    ]


def _is_bound(text: str, start: int) -> bool:
    """Whether the governor at ``start`` is no distance, as in "2 years before 1990", and the text no superlative."""
    return not DISTANCE.search(text[:start]) and not SUPERLATIVE.search(text)


def _like(old: str, words: Mapping[str, str]) -> str:
    """Return the entry of a word in ``words``, with a capital letter if ``old`` has one."""
    new = words[old.lower()]
    return new.capitalize() if old[0].isupper() else new


def _half_and_double(value: Decimal) -> list[Decimal]:
    """Return the half and the double of a number; only the double if the half is at most 1 or has more decimals."""
    half = value / 2
    exact = half == half.quantize(value) if int(value.as_tuple().exponent) < 0 else half == half.to_integral_value()
    return ([half] if exact and half > 1 else []) + [value * 2]


def _moved(value: Decimal, direction: str, rng: np.random.Generator) -> Decimal | None:
    """Draw a number of at least 2 between ``value`` and its half or double; None if there is none."""
    exponent = int(value.normalize().as_tuple().exponent)
    step = Decimal(1).scaleb(min(exponent, value.adjusted() - 1) if value.adjusted() > 0 or exponent < 0 else exponent)
    count = int(value / step)
    if direction == DECREASE:
        low, high = -(-count // 2), count - 1
    else:
        low, high = count + 1, 2 * count
    low = max(low, 1 if exponent < 0 else int(-(-2 // step)))
    return int(rng.integers(low, high + 1)) * step if low <= high else None


def _renumbered(text: str, number: Number, value: Decimal) -> Edits:
    """Return the edit that replaces a number by ``value`` in the same notation: words, commas or decimals."""
    old = text[number.start : number.end]
    if old[0].isalpha() and value == int(value) and value < 100:
        new = to_words(int(value))
        new = new.capitalize() if old[0].isupper() else new
    else:
        new = f"{value:,f}" if "," in old or value >= 10000 else f"{value:f}"
        new = new.rstrip("0").rstrip(".") if "." in new and "." not in old else new
    return (Edit(number.start, number.end, old, new, "numbers"),)


def _percent(text: str, end: int) -> bool:
    return bool(re.match(r"\s?(?:%|percent|per cent)", text[end:]))


def months(text: str) -> set[int]:
    """Return the months that a text names in full or by their first three letters, as indices from 0."""
    return {k for k, month in enumerate(MONTHS) if re.search(rf"\b{month[:3]}(?:{month[3:]})?\b", text)}

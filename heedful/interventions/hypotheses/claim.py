"""A hypothesis about a table, for the rules that change it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heedful.interventions.hypotheses.analysis import Analysis, Verb, auxiliary
from heedful.interventions.hypotheses.text_edits import Edit
from heedful.interventions.tables.title_expressions import inside, title_mentions
from heedful.records import Table
from heedful.records.word_lists import word_lists

Edits = tuple[Edit, ...]
WORDS = word_lists(__file__)
KIN = tuple(map(frozenset, WORDS["kin"]))
SPELLED = {"usa": re.compile(r"\bU\.?\s?S\b"), "britain": re.compile(r"\bU\.?\s?K\b")}  # abbreviations of words of KIN
STATE = re.compile(rf"\b(?:{'|'.join(WORDS['states'])})\b")
LISTS = {"cities": "city", "provinces": "province", "states": "province", "countries": "country"}
LISTS |= {"continents": "continent"}
WIDTHS = {name.lower(): LISTS[names] for names in LISTS for name in WORDS[names]}


@dataclass(frozen=True)
class Claim:
    """A hypothesis to change.

    Attributes:
        analysis: Its analysis: numbers, dates, negations and so on.
        entailed: Whether the table entails it; otherwise the table contradicts it.
        table: Its table.
        names: Replacement names by type of entity.
        values: Values in all tables by key.
    """

    analysis: Analysis
    entailed: bool
    table: Table
    names: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[str]]

    @property
    def label(self) -> str:
        return "entailment" if self.entailed else "contradiction"

    @property
    def text(self) -> str:
        return self.analysis.text

    @property
    def masked(self) -> str:
        """The text with underscores in place of title expressions."""
        text = self.text
        for start, end, _ in title_mentions(self.table, text):
            text = text[:start] + "_" * (end - start) + text[end:]
        return text

    @property
    def verb(self) -> Verb | None:
        """The finite verb of the main clause; the first auxiliary if the analyser found a word of the title."""
        verb = self.analysis.verb
        return verb if verb is None or self.free(verb.start, verb.end) else auxiliary(self.masked)

    def free(self, start: int, end: int) -> bool:
        """Whether a span overlaps no title expression."""
        return not inside(start, end, title_mentions(self.table, self.text))


def words(text: str) -> set[str]:
    """The words of at least three letters in lower case, without particles of names."""
    return set(re.findall(r"\w{3,}", text.lower())) - {"the", "and", "for", "von", "van", "del"}


def named(text: str) -> set[str]:
    """The words of a text; "U.S." and "UK" count as words."""
    return words(text) | {word for word, spelled in SPELLED.items() if spelled.search(text)}


def known_words(claim: Claim) -> set[str]:
    """All words of hypothesis and table, and related words: musician for singer, usa for Texas."""
    text = " ".join((claim.text, claim.table.title, *(v for _, values in claim.table.rows for v in values)))
    all_words = named(text) | ({"usa"} if STATE.search(text) else set())
    return all_words.union(*(group for group in KIN if group & all_words))


def width(name: str) -> str:
    """The kind of a place (country, province, ...), from the text before a comma; "" for other names.

    Example:
        >>> width("U.S."), width("Austin, Texas"), width("the Netherlands")
        ('country', '', 'country')
    """
    return WIDTHS.get(name.partition(",")[0].replace(".", "").strip().lower().removeprefix("the "), "")

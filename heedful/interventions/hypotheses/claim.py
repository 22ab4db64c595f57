"""A hypothesis about a table, as the rules that change it see it."""

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
SPELLED = {"usa": re.compile(r"\bU\.?\s?S\b"), "britain": re.compile(r"\bU\.?\s?K\b")}  # words of KIN in two letters
STATE = re.compile(rf"\b(?:{'|'.join(WORDS['states'])})\b")
LISTS = {"cities": "city", "provinces": "province", "states": "province", "countries": "country"}
LISTS |= {"continents": "continent"}
WIDTHS = {name.lower(): LISTS[names] for names in LISTS for name in WORDS[names]}


@dataclass(frozen=True)
class Claim:
    """A hypothesis that is to be changed.

    Attributes:
        analysis: What an analyser found in it, such as its numbers, dates and negations.
        entailed: Whether the table entails it; otherwise the table contradicts it.
        table: Its table.
        names: Type of entity to names that may stand in for another.
        values: Key to the values that tables have under it.
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
        """The text with underscores in place of title expressions, whose words say nothing."""
        text = self.text
        for start, end, _ in title_mentions(self.table, text):
            text = text[:start] + "_" * (end - start) + text[end:]
        return text

    @property
    def verb(self) -> Verb | None:
        """The finite verb of the main clause; where the analyser's is a word of the title, the first auxiliary."""
        verb = self.analysis.verb
        return verb if verb is None or self.free(verb.start, verb.end) else auxiliary(self.masked)

    def free(self, start: int, end: int) -> bool:
        """Whether a span touches no title expression."""
        return not inside(start, end, title_mentions(self.table, self.text))


def words(text: str) -> set[str]:
    """The words of three letters or more of a text, in lower case, without those that join names."""
    return set(re.findall(r"\w{3,}", text.lower())) - {"the", "and", "for", "von", "van", "del"}


def named(text: str) -> set[str]:
    """The words of a text, with a word for "U.S." and for "UK"."""
    return words(text) | {word for word, spelled in SPELLED.items() if spelled.search(text)}


def known_words(claim: Claim) -> set[str]:
    """All words of hypothesis and table, and those that may speak of the same: of a singer musician, of Texas usa."""
    text = " ".join((claim.text, claim.table.title, *(v for _, values in claim.table.rows for v in values)))
    all_words = named(text) | ({"usa"} if STATE.search(text) else set())
    return all_words.union(*(group for group in KIN if group & all_words))


def width(name: str) -> str:
    """How wide a place is, by what stands in front of a comma: country, province, ...; "" for any other name.

    Example:
        >>> width("U.S."), width("Austin, Texas"), width("the Netherlands")
        ('country', '', 'country')
    """
    return WIDTHS.get(name.partition(",")[0].replace(".", "").strip().lower().removeprefix("the "), "")

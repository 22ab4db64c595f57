"""The claim: a hypothesis about a table, with the names and values that perturbations may put into the hypothesis."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heedful.interventions.hypotheses.analysis import Analysis, Edit, Verb, auxiliary
from heedful.interventions.tables.title_expressions import inside, title_mentions
from heedful.records import Table
from heedful.records.storage.yaml_files import word_lists

Edits = tuple[Edit, ...]
WORDS = word_lists(__file__)
KIN = tuple(map(frozenset, WORDS["kin"]))
SPELLED = {"usa": re.compile(r"\bU\.?\s?S\b"), "britain": re.compile(r"\bU\.?\s?K\b")}  # abbreviations of words in KIN
STATE = re.compile(rf"\b(?:{'|'.join(WORDS['states'])})\b")
LISTS = {"cities": "city", "provinces": "province", "states": "province", "countries": "country"}
LISTS |= {"continents": "continent"}
WIDTHS = {name.lower(): LISTS[names] for names in LISTS for name in WORDS[names]}


@dataclass(frozen=True)
class Claim:
    """A hypothesis that a table entails or contradicts, with the names and values that may be put into it.

    Attributes:
        analysis: The spans of the hypothesis.
        entailed: Whether the table entails the hypothesis; otherwise the table contradicts it.
        names: Maps types of entities to names that may replace an entity.
        values: Maps each key of a table row to the values that tables of the split have for the key.
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
        """The hypothesis with each mention of the table's title replaced by underscores."""
        text = self.text
        for start, end, _ in title_mentions(self.table, text):
            text = text[:start] + "_" * (end - start) + text[end:]
        return text

    @property
    def verb(self) -> Verb | None:
        """The finite verb of the main clause, which is never a word of the table's title; None if it is unknown."""
        verb = self.analysis.verb
        return verb if verb is None or self.free(verb.start, verb.end) else auxiliary(self.masked)

    def free(self, start: int, end: int) -> bool:
        """Whether the span from ``start`` to before ``end`` may be changed: it overlaps no mention of the title."""
        return not inside(start, end, title_mentions(self.table, self.text))


def words(text: str) -> set[str]:
    """Return the words of a text with at least three letters, in lower case, without "the", "and", "von", "van", ..."""
    return set(re.findall(r"\w{3,}", text.lower())) - {"the", "and", "for", "von", "van", "del"}


def words_and_countries(text: str) -> set[str]:
    """Return the :func:`words` of a text, with "usa" added if it has "U.S.", and "britain" if it has "UK"."""
    return words(text) | {word for word, spelled in SPELLED.items() if spelled.search(text)}


def known_words(claim: Claim) -> set[str]:
    """Return the words of the hypothesis and of its table, and related words, such as "musician" for "singer"."""
    text = " ".join((claim.text, claim.table.title, *(v for _, values in claim.table.rows for v in values)))
    all_words = words_and_countries(text) | ({"usa"} if STATE.search(text) else set())
    return all_words.union(*(group for group in KIN if group & all_words))


def place_kind(name: str) -> str:
    """Return the kind of a place: "city", "province", "country" or "continent"; "" if it is unknown.

    Only the text before the first comma is looked up in the lists of places, which do not contain "Austin".

    Example:
        >>> place_kind("U.S."), place_kind("Austin, Texas"), place_kind("the Netherlands")
        ('country', '', 'country')
    """
    return WIDTHS.get(name.partition(",")[0].replace(".", "").strip().lower().removeprefix("the "), "")

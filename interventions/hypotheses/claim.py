"""A hypothesis about a table, as the rules that change it see it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interventions.hypotheses.analysis import Analysis
from interventions.hypotheses.text_edits import Edit
from interventions.tables.title_expressions import inside, title_mentions
from records import Table

Edits = tuple[Edit, ...]
COUNTRIES = {
    r"\bU\.?S\b|United States|America": {"united", "states", "america", "usa"},
    r"\bU\.?K\b|United Kingdom|Brit|Engl": {"united", "kingdom", "britain", "england"},
}


@dataclass(frozen=True)
class Claim:
    """A hypothesis that is to be changed.

    Attributes:
        found: What an analyser found in it.
        entailed: Whether the table entails it; otherwise the table contradicts it.
        table: Its table.
        names: Type of entity to names that may stand in for another.
        values: Key to the values that tables have under it.
    """

    found: Analysis
    entailed: bool
    table: Table
    names: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[str]]

    @property
    def label(self) -> str:
        return "entailment" if self.entailed else "contradiction"

    @property
    def text(self) -> str:
        return self.found.text

    def free(self, start: int, end: int) -> bool:
        """Whether a span touches no title expression."""
        return not inside(start, end, title_mentions(self.table, self.text))


def words(text: str) -> set[str]:
    """The words of three letters or more of a text, in lower case, without those that join names."""
    return set(re.findall(r"\w{3,}", text.lower())) - {"the", "and", "for", "von", "van", "del"}


def known_words(claim: Claim) -> set[str]:
    """All words of hypothesis and table; where they name a country by letters, its names as well."""
    text = " ".join((claim.text, claim.table.title, *(v for _, values in claim.table.rows for v in values)))
    aliases = (names for letters, names in COUNTRIES.items() if re.search(letters, text))
    return words(text).union(*aliases)

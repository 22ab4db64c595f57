"""Title expressions: mentions of a table's title in a hypothesis.

Gupta et al. 2022 find title expressions by dependency paths that they do not specify. Heedful searches for three forms:

1. "title": the complete title;
2. "name": the title without parentheses and without the text after a comma, as in "Journey (band)" and "Ithaca, New
   York";
3. "last": the last name, if the table is about a person.

Pronouns and descriptions such as "the band" are not title expressions.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from heedful.interventions.hypotheses.analysis import Edit
from heedful.records import Table
from heedful.records.storage.yaml_files import word_lists

WORDS = word_lists(__file__)
PERSON_KEYS = frozenset(WORDS["person_keys"])
SUFFIXES = frozenset(WORDS["suffixes"])


class Mention(NamedTuple):
    """A mention of a table's title in a text, from position ``start`` to before ``end``."""

    start: int
    end: int
    form: str  # "title", "name" or "last"


def is_person(table: Table) -> bool:
    """Whether a table is about a person: it has the key "Born" and another key of :data:`PERSON_KEYS`."""
    keys = {key.replace("\u00a0", " ") for key in table.keys}
    return "Born" in keys and len(keys & PERSON_KEYS) > 1


def title_forms(table: Table) -> dict[str, str]:
    """Return the forms of a table's title, by name; of equal forms, only the first."""
    title = table.title.strip()
    name = re.sub(r"\s*\([^)]*\)", "", title).split(", ")[0].strip() or title
    forms = {"title": title, "name": name}
    words = [word for word in name.split() if word.strip(".").lower() not in SUFFIXES]
    if is_person(table) and len(words) > 1 and len(words[-1]) > 2:
        forms["last"] = words[-1]
    first = {text: form for form, text in reversed(forms.items())}
    return {form: text for form, text in forms.items() if first[text] == form}


def title_mentions(table: Table, text: str) -> list[Mention]:
    """Return the mentions of a table's title in a text, in order and without overlaps.

    Example:
        >>> table = Table("Joseph Stalin", (("Born", ("1878",)), ("Died", ("1953",))))
        >>> title_mentions(table, "Joseph Stalin died in 1953, and Stalin was born in 1878.")
        [Mention(start=0, end=13, form='title'), Mention(start=32, end=38, form='last')]
    """
    forms = title_forms(table)
    pattern = "|".join(rf"(?P<{form}>{re.escape(words)})" for form, words in forms.items())
    mentions = [Mention(*m.span(), str(m.lastgroup)) for m in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text)]
    # a last name that follows another name is part of a longer name, which is no form of the title
    return [m for m in mentions if m.form != "last" or not re.search(r"\b[A-Z][\w.]*\s$", text[: m.start])]


def replace_title(text: str, table: Table, lender: Table) -> tuple[Edit, ...]:
    """Return the edits that replace each mention of a table's title in ``text`` by the same form of the lender's title.

    If the lender's title has no last name, as for a city, its name is inserted instead.
    """
    forms = title_forms(lender)
    return tuple(
        Edit(m.start, m.end, text[m.start : m.end], forms.get(m.form) or forms.get("name") or forms["title"], "title")
        for m in title_mentions(table, text)
    )


def inside(start: int, end: int, mentions: Sequence[Mention]) -> bool:
    """Whether the span of a text from ``start`` to before ``end`` overlaps one of the mentions of a title."""
    return any(start < m.end and m.start < end for m in mentions)

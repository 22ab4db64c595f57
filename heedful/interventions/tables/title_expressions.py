"""Where a hypothesis speaks of the title of its table.

The paper finds title expressions by dependency paths and says no more. Here they are forms of the title itself:

1. "title": the title as it stands;
2. "name": the title without a parenthesis and without what follows a comma ("Journey (band)", "Ithaca, New York");
3. "last": the last word of the name, where the table is about a person ("Stalin").

A hypothesis that says "the band" or "it" alone has no title expression.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from heedful.interventions.hypotheses.text_edits import Edit
from heedful.records import Table
from heedful.records.word_lists import word_lists

WORDS = word_lists(__file__)
PERSON_KEYS = frozenset(WORDS["person_keys"])
SUFFIXES = frozenset(WORDS["suffixes"])


class Mention(NamedTuple):
    """A title expression.

    Attributes:
        start: Position of its first character.
        end: Position behind its last one.
        form: Which form of the title it is.
    """

    start: int
    end: int
    form: str


def is_person(table: Table) -> bool:
    """Whether a table is about a person: it knows the birth, and something else that only persons have."""
    keys = {key.replace("\u00a0", " ") for key in table.keys}
    return "Born" in keys and len(keys & PERSON_KEYS) > 1


def title_forms(table: Table) -> dict[str, str]:
    """The forms of a title, longest first; one that is the same as a longer form is left out."""
    title = table.title.strip()
    name = re.sub(r"\s*\([^)]*\)", "", title).split(", ")[0].strip() or title
    forms = {"title": title, "name": name}
    words = [word for word in name.split() if word.strip(".").lower() not in SUFFIXES]
    if is_person(table) and len(words) > 1 and len(words[-1]) > 2:
        forms["last"] = words[-1]
    distinct_forms: dict[str, str] = {}
    for form, text in forms.items():
        if text not in distinct_forms.values():
            distinct_forms[form] = text
    return distinct_forms


def title_mentions(table: Table, text: str) -> list[Mention]:
    """All title expressions in a text, in order, none within another.

    Example:
        >>> table = Table("Joseph Stalin", (("Born", ("1878",)), ("Died", ("1953",))))
        >>> title_mentions(table, "Joseph Stalin died in 1953, and Stalin was born in 1878.")
        [Mention(start=0, end=13, form='title'), Mention(start=32, end=38, form='last')]
    """
    forms = title_forms(table)
    pattern = "|".join(rf"(?P<{form}>{re.escape(words)})" for form, words in forms.items())
    mentions = [Mention(*m.span(), str(m.lastgroup)) for m in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text)]
    # a last name behind another name belongs to a name that is no form of the title ("Conor Anthony McGregor")
    return [m for m in mentions if m.form != "last" or not re.search(r"\b[A-Z][\w.]*\s$", text[: m.start])]


def replace_title(text: str, table: Table, other: Table) -> tuple[Edit, ...]:
    """The edits that make a text about ``table`` one about ``other``: each title expression in the same form.

    Empty where there is no title expression. The last name becomes the other's name where that is no person.
    """
    forms = title_forms(other)
    return tuple(
        Edit(m.start, m.end, text[m.start : m.end], forms.get(m.form) or forms.get("name") or forms["title"], "title")
        for m in title_mentions(table, text)
    )


def inside(start: int, end: int, mentions: Sequence[Mention]) -> bool:
    """Whether a span touches a title expression."""
    return any(start < m.end and m.start < end for m in mentions)

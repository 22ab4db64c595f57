"""Title expressions: where a hypothesis mentions the title of its table.

The paper finds them by dependency paths that it does not specify. Here they are forms of the title:

1. "title": the full title;
2. "name": the title without parentheses and without the text after a comma ("Journey (band)", "Ithaca, New York");
3. "last": the last word of the name, if the table is about a person ("Stalin").

A hypothesis with only "the band" or "it" has no title expression.
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
        end: Position after its last character.
        form: Its form: "title", "name" or "last".
    """

    start: int
    end: int
    form: str


def is_person(table: Table) -> bool:
    """Whether a table is about a person: it has the key "Born" and one more of :data:`PERSON_KEYS`."""
    keys = {key.replace("\u00a0", " ") for key in table.keys}
    return "Born" in keys and len(keys & PERSON_KEYS) > 1


def title_forms(table: Table) -> dict[str, str]:
    """The distinct forms of a title, longest first.

    Returns:
        "title"; "name", the title without brackets and without its end from a comma; of a person (:func:`is_person`),
        "last", the last name.
    """
    title = table.title.strip()
    name = re.sub(r"\s*\([^)]*\)", "", title).split(", ")[0].strip() or title
    forms = {"title": title, "name": name}
    words = [word for word in name.split() if word.strip(".").lower() not in SUFFIXES]
    if is_person(table) and len(words) > 1 and len(words[-1]) > 2:
        forms["last"] = words[-1]
    first = {text: form for form, text in reversed(forms.items())}
    return {form: text for form, text in forms.items() if first[text] == form}


def title_mentions(table: Table, text: str) -> list[Mention]:
    """All title expressions in a text, in order, without overlaps.

    Example:
        >>> table = Table("Joseph Stalin", (("Born", ("1878",)), ("Died", ("1953",))))
        >>> title_mentions(table, "Joseph Stalin died in 1953, and Stalin was born in 1878.")
        [Mention(start=0, end=13, form='title'), Mention(start=32, end=38, form='last')]
    """
    forms = title_forms(table)
    pattern = "|".join(rf"(?P<{form}>{re.escape(words)})" for form, words in forms.items())
    mentions = [Mention(*m.span(), str(m.lastgroup)) for m in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text)]
    # a last name after another name belongs to a name that is no form of the title ("Conor Anthony McGregor")
    return [m for m in mentions if m.form != "last" or not re.search(r"\b[A-Z][\w.]*\s$", text[: m.start])]


def replace_title(text: str, table: Table, lender: Table) -> tuple[Edit, ...]:
    """Edits that replace each title expression of ``table`` by the same form of the title of ``lender``.

    Empty without title expressions. A last name becomes the name of the lender if that is not a person.
    """
    forms = title_forms(lender)
    return tuple(
        Edit(m.start, m.end, text[m.start : m.end], forms.get(m.form) or forms.get("name") or forms["title"], "title")
        for m in title_mentions(table, text)
    )


def inside(start: int, end: int, mentions: Sequence[Mention]) -> bool:
    """Whether a span touches a title expression."""
    return any(start < m.end and m.start < end for m in mentions)

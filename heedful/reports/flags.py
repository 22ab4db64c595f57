"""Texts of flags, from ``flags.yaml``: for each flag, a footnote for tables and a warning for pages."""

import re
from collections.abc import Iterable
from string import ascii_lowercase
from typing import NamedTuple

from heedful.records.word_lists import word_lists


class Flag(NamedTuple):
    """The texts of a flag."""

    short: str  # footnote of a table, without its full stop
    warning: str  # warning of a page


FLAGS = {name: Flag(**texts) for name, texts in word_lists(__file__).items()}
MARK = re.compile(rf" \(({'|'.join(FLAGS)})\)")


def marks(flags: Iterable[str]) -> str:
    """The names of flags in brackets, to follow a number; a terminal replaces each by the letter of a footnote.

    Example:
        >>> marks(["one_sided", "new"])
        ' (one_sided) (new)'
    """
    return "".join(f" ({flag})" for flag in flags)


def letters(texts: Iterable[str]) -> dict[str, str]:
    """Letters of footnotes for the flags in these texts, in the order of the table of flags.

    Example:
        >>> letters(["50.0 (few_examples)", "undefined (one_sided) (new)"])
        {'one_sided': 'a', 'few_examples': 'b'}
    """
    raised = {flag for text in texts for flag in MARK.findall(text)}
    return dict(zip((flag for flag in FLAGS if flag in raised), ascii_lowercase, strict=False))


def lettered(text: str, footnotes: dict[str, str]) -> str:
    """Replace names of flags in a text by letters of footnotes.

    Example:
        >>> lettered("50.0 (few_examples)", {"few_examples": "a"})
        '50.0 (a)'
    """
    return MARK.sub(lambda match: f" ({footnotes.get(match[1], match[1])})", text)


def warnings(flags: Iterable[str]) -> tuple[str, ...]:
    """The warnings of flags; for a flag that is not in the table, its name."""
    return tuple(FLAGS[flag].warning if flag in FLAGS else flag for flag in flags)

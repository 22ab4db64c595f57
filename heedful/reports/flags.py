"""Texts about the flags of measurements, from flags.yaml.

A flag is the name of a reason to read a number with care, such as "few_examples".
"""

import re
from collections.abc import Iterable
from string import ascii_lowercase
from typing import NamedTuple

from heedful.records.storage.yaml_files import word_lists


class Flag(NamedTuple):
    """The texts that explain a flag, in tables and on pages."""

    short: str  # footnote of a table, without a full stop
    warning: str  # warning of a page


FLAGS = {name: Flag(**texts) for name, texts in word_lists(__file__).items()}
MARK = re.compile(rf" \(({'|'.join(FLAGS)})\)")


def marks(flags: Iterable[str]) -> str:
    """Return the names of flags as the suffix of a number. In a terminal, :func:`lettered` replaces names by letters.

    Example:
        >>> marks(["one_sided", "new"])
        ' (one_sided) (new)'
    """
    return "".join(f" ({flag})" for flag in flags)


def letters(texts: Iterable[str]) -> dict[str, str]:
    """Return a footnote letter for each flag that occurs in texts, in the order of flags.yaml.

    Example:
        >>> letters(["50.0 (few_examples)", "undefined (one_sided) (new)"])
        {'one_sided': 'a', 'few_examples': 'b'}
    """
    raised = {flag for text in texts for flag in MARK.findall(text)}
    return dict(zip((flag for flag in FLAGS if flag in raised), ascii_lowercase, strict=False))


def lettered(text: str, footnotes: dict[str, str]) -> str:
    """Replace each flag in a text by its footnote letter. ``footnotes`` maps flags to letters; other flags stay.

    Example:
        >>> lettered("50.0 (few_examples)", {"few_examples": "a"})
        '50.0 (a)'
    """
    return MARK.sub(lambda match: f" ({footnotes.get(match[1], match[1])})", text)


def warnings(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the warning of each flag; for a flag without texts in flags.yaml, its name."""
    return tuple(FLAGS[flag].warning if flag in FLAGS else flag for flag in flags)

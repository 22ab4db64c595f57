"""The one table of flags, ``flags.yaml``: what terminal, reports and pages say of a number that has one."""

from collections.abc import Iterable, Mapping
from string import ascii_lowercase
from typing import NamedTuple

from heedful.records.word_lists import word_lists


class Flag(NamedTuple):
    """What must not be read into a number.

    Attributes:
        short: The footnote of a table, without its full stop.
        warning: The warning of a page.
    """

    short: str
    warning: str


FLAGS = {name: Flag(**texts) for name, texts in word_lists(__file__).items()}


def letters(flags: Iterable[str]) -> dict[str, str]:
    """The letters of the footnotes of these flags, in the order of the table of flags and without a gap.

    Example:
        >>> letters(["few_examples", "one_sided", "new"])
        {'one_sided': 'a', 'few_examples': 'b'}
    """
    raised = set(flags)
    return dict(zip((flag for flag in FLAGS if flag in raised), ascii_lowercase, strict=False))


def marks(flags: Iterable[str], footnotes: Mapping[str, str] | None = None) -> str:
    """Flags behind a number: the letters of their footnotes, or their names where there is none.

    Example:
        >>> marks(["one_sided"], {"one_sided": "a"}), marks(["one_sided", "new"])
        (' (a)', ' (one_sided) (new)')
    """
    return "".join(f" ({(footnotes or {}).get(flag, flag)})" for flag in flags)


def warnings(flags: Iterable[str]) -> tuple[str, ...]:
    """The warning of each flag; of a flag that is not in the table its name."""
    return tuple(FLAGS[flag].warning if flag in FLAGS else flag for flag in flags)

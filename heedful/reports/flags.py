"""The one table of flags, ``flags.yaml``: what terminal, reports and pages say of a number that has one."""

from collections.abc import Iterable
from typing import NamedTuple

from heedful.records.word_lists import word_lists


class Flag(NamedTuple):
    """What must not be read into a number.

    Attributes:
        mark: A letter, in tables.
        short: The footnote of a table, without its full stop.
        warning: The warning of a page.
    """

    mark: str
    short: str
    warning: str


FLAGS = {name: Flag(**texts) for name, texts in word_lists(__file__).items()}


def marks(flags: Iterable[str], with_names: bool = False) -> str:
    """Flags behind a number: their marks, or their names where there are no footnotes.

    Example:
        >>> marks(["one_sided"]), marks(["one_sided", "new"], with_names=True)
        (' (h)', ' (one_sided) (new)')
    """
    return "".join(f" ({FLAGS[flag].mark if flag in FLAGS and not with_names else flag})" for flag in flags)


def warnings(flags: Iterable[str]) -> tuple[str, ...]:
    """The warning of each flag; of a flag that is not in the table its name."""
    return tuple(FLAGS[flag].warning if flag in FLAGS else flag for flag in flags)

"""Names of labels: when two are the same, and how many are shown; shares in messages."""

import re
from collections.abc import Sequence

MANY = 20  # labels; of more, there are no numbers for each


def same_name(name: str) -> str:
    """A label name without case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).lower()


def listing(labels: Sequence[str]) -> str:
    """Labels for a message: all of them, or the first few of many.

    Example:
        >>> listing(["yes", "no"]), listing([str(i) for i in range(3129)])
        ('yes, no', '0, 1, 2, 3, 4, ... (3,129 in all)')
    """
    if len(labels) <= MANY:
        return ", ".join(labels)
    return f"{', '.join(labels[:5])}, ... ({len(labels):,} in all)"


def percent(share: float) -> str:
    """A share in percent, for a message: with two significant digits.

    Example:
        >>> percent(0.831), percent(0.2), percent(0.00012)
        ('83 %', '20 %', '0.012 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def agree(n: int, singular: str, plural: str) -> str:
    """A number before the words that agree with it, for a message.

    Example:
        >>> agree(1, "example is", "examples are"), agree(3129, "example is", "examples are")
        ('1 example is', '3,129 examples are')
    """
    return f"{n:,} {singular if n == 1 else plural}"


def is_entailment(label: str) -> bool:
    """Whether a label is "entailment", however it is spelled.

    Example:
        >>> is_entailment("ENTAILMENT"), is_entailment("not_entailment")
        (True, False)
    """
    return same_name(label) == "entailment"


def is_non_entailment(label: str) -> bool:
    """Whether a label is the absence of entailment, however it is spelled.

    Example:
        >>> is_non_entailment("not_entailment"), is_non_entailment("Non-Entailment"), is_non_entailment("neutral")
        (True, True, False)
    """
    return same_name(label) in ("notentailment", "nonentailment", "noentailment")

"""Compare names of labels, and format labels, shares and counts for messages."""

from collections.abc import Sequence

from heedful.records.text import normalised_label

MANY = 20  # with more labels than this, there are no numbers per label


def listing(labels: Sequence[str]) -> str:
    """Join labels by commas for a message; of more than :data:`MANY` labels, show the first five and their number.

    Example:
        >>> listing(["yes", "no"]), listing([str(i) for i in range(3129)])
        ('yes, no', '0, 1, 2, 3, 4, ... (3,129 in all)')
    """
    if len(labels) <= MANY:
        return ", ".join(labels)
    return f"{', '.join(labels[:5])}, ... ({len(labels):,} in all)"


def percent(share: float) -> str:
    """Format a share in percent with two significant digits.

    Example:
        >>> percent(0.831), percent(0.2), percent(0.00012)
        ('83 %', '20 %', '0.012 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def agree(n: int, singular: str, plural: str) -> str:
    """Format a count, followed by the words in the singular if it is 1, or else in the plural.

    Example:
        >>> agree(1, "example is", "examples are"), agree(3129, "example is", "examples are")
        ('1 example is', '3,129 examples are')
    """
    return f"{n:,} {singular if n == 1 else plural}"


def is_entailment(label: str) -> bool:
    """Whether a label means "entailment", in any spelling.

    Example:
        >>> is_entailment("ENTAILMENT"), is_entailment("not_entailment")
        (True, False)
    """
    return normalised_label(label) == "entailment"


def is_non_entailment(label: str) -> bool:
    """Whether a label means "not entailment", in any spelling.

    Example:
        >>> is_non_entailment("not_entailment"), is_non_entailment("Non-Entailment"), is_non_entailment("neutral")
        (True, True, False)
    """
    return normalised_label(label) in ("notentailment", "nonentailment", "noentailment")

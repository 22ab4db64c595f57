"""Which output of a classification head means which label of a task: matched by name, never by position."""

import re
from collections.abc import Sequence

from records import HeedError, same_name


def is_named(labels: Sequence[str]) -> bool:
    """Whether a head's labels say anything: ``LABEL_0`` and the like do not."""
    return bool(labels) and not all(re.fullmatch(r"label_?\d+", label, re.IGNORECASE) for label in labels)


def match_labels(head: Sequence[str], task: Sequence[str]) -> list[int] | None:
    """For each label of the task, the index of the output with that name; None where the sets of names differ.

    Names are compared letter for letter first, since answers may be as close as "hot dog" and "hotdog".

    Example:
        >>> match_labels(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"])
        [2, 1, 0]
    """
    for name in (str, same_name):
        place = {name(label): i for i, label in enumerate(head)}
        wanted = [name(label) for label in task]
        if len(place) == len(head) and sorted(place) == sorted(wanted):
            return [place[label] for label in wanted]
    return None


def some(labels: Sequence[str], most: int = 10) -> str:
    """Labels for a message, which may be thousands.

    Example:
        >>> some(["a", "b", "c"], most=2)
        'a, b and 1 more'
    """
    return ", ".join(labels) if len(labels) <= most else f"{', '.join(labels[:most])} and {len(labels) - most:,} more"


def head_order(head: Sequence[str], task: Sequence[str], backbone: str) -> list[int]:
    """As :func:`match_labels`, for a head that must fit.

    Raises:
        HeedError: The names do not match; the message says what to set.
    """
    order = match_labels(head, task) if is_named(head) else None
    if order is None:
        clash = f"The model {backbone} has the outputs {some(head)}, and the data the labels {some(task)}: "
        if len(head) != len(task):
            raise HeedError(clash + "it answers another question than the data ask.")
        example = f"--model.labels '[{some(task)}]'"
        raise HeedError(clash + f"name the outputs in the model's order with --model.labels, for example {example}.")
    return order

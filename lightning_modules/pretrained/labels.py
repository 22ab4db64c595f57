"""Which output of a classification head means which label of a task: matched by name, never by position."""

import re
from collections.abc import Sequence

from records import HeedError, listing, same_name


def is_named(labels: Sequence[str]) -> bool:
    """Whether a head's labels say anything: ``LABEL_0`` and the like do not."""
    return bool(labels) and not all(re.fullmatch(r"label_?\d+", label, re.IGNORECASE) for label in labels)


def match_labels(head: Sequence[str], task: Sequence[str]) -> list[int] | None:
    """For each label of the task, the index of the output with that name; None where the sets of names differ.

    Names are compared as they are, and else without case, spaces, hyphens and underscores; of thousands of answers some
    differ in nothing else ("hot dog", "hotdog").

    Example:
        >>> match_labels(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"])
        [2, 1, 0]
    """
    for name in (str, same_name):
        outputs = {name(label): i for i, label in enumerate(head)}
        wanted = [name(label) for label in task]
        if len(outputs) == len(head) == len(wanted) and outputs.keys() == set(wanted):
            return [outputs[label] for label in wanted]
    return None


def head_order(head: Sequence[str], task: Sequence[str], backbone: str) -> list[int]:
    """As :func:`match_labels`, for a head that must fit.

    Raises:
        HeedError: The names do not match; the message says what to set.
    """
    order = match_labels(head, task) if is_named(head) else None
    if order is None:
        clash = f"The model {backbone} has the outputs {listing(head)}, and the data the labels {listing(task)}: "
        if len(head) != len(task):
            raise HeedError(clash + "it answers another question than the data ask.")
        example = f"§model.labels '[{listing(task)}]'"
        raise HeedError(clash + f"name the outputs in the model's order with §model.labels, for example {example}.")
    return order

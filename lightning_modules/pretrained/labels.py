"""Match the outputs of a classification head with the labels of a task, by name and never by position."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.lightning_modules.predictor import LabelMap
from heedful.records import ModelError, inform, is_entailment, listing, normalised_label

NLI = ("entailment", "neutral", "contradiction")


def is_non_entailment(label: str) -> bool:
    """Whether a label means "not entailment", in any spelling.

    Example:
        >>> is_non_entailment("not_entailment"), is_non_entailment("Non-Entailment"), is_non_entailment("neutral")
        (True, True, False)
    """
    return normalised_label(label) in ("notentailment", "nonentailment", "noentailment")


def is_named(labels: Sequence[str]) -> bool:
    """Whether the outputs of a model have meaningful names, unlike ``LABEL_0``."""
    return bool(labels) and not all(re.fullmatch(r"label_?\d+", label, re.IGNORECASE) for label in labels)


def names_of_outputs(config: Mapping[str, Any]) -> list[str]:
    """Return the names of a model's outputs, in order, from its config.json; empty if the names are only numbers."""
    label_of = {int(number): str(label) for number, label in (config.get("id2label") or {}).items()}
    outputs = [label_of[number] for number in sorted(label_of)]
    return outputs if is_named(outputs) else []


def match_labels(head: Sequence[str], task: Sequence[str]) -> list[int] | None:
    """Return, for each label, the index of the output with the same name; None if the sets of names differ.

    Exact names are compared first, then names without case, spaces, hyphens and underscores: some labels of VQA differ
    only in these ("hot dog", "hotdog").

    Args:
        head: Names of the outputs.
        task: Names of the labels.

    Example:
        >>> match_labels(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "neutral", "contradiction"])
        [2, 1, 0]
    """
    for name in (str, normalised_label):
        outputs = {name(label): i for i, label in enumerate(head)}
        wanted = [name(label) for label in task]
        if len(outputs) == len(head) == len(wanted) and outputs.keys() == set(wanted):
            return [outputs[label] for label in wanted]
    return None


def labels_of_outputs(head: Sequence[str], task: Sequence[str], merging: bool = True) -> tuple[int, ...] | None:
    """Return, for each output of a head, the index of the label that it means; None if some outputs mean no label.

    Each output means the label with its name. If the task has the labels entailment and not entailment, outputs for
    neutral and contradiction mean not entailment.

    Args:
        head: Names of the outputs.
        task: Names of the labels.
        merging: Whether several outputs may mean one label.

    Example:
        >>> labels_of_outputs(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "not_entailment"])
        (1, 1, 0)
    """
    order = match_labels(head, task)
    if order is not None:
        return tuple(sorted(range(len(order)), key=order.__getitem__))
    entailing = [is_entailment(name) for name in head]
    of_inference = all(is_non_entailment(name) or normalised_label(name) in NLI for name in head)
    fits = is_two_class(task) and entailing.count(True) == 1 and len(set(map(normalised_label, head))) == len(head) > 1
    if not (fits and of_inference) or (len(head) > 2 and not merging):
        return None
    (entailment,) = (i for i, label in enumerate(task) if is_entailment(label))
    return tuple(entailment if entails else 1 - entailment for entails in entailing)


def is_two_class(task: Sequence[str]) -> bool:
    """Whether a task has exactly two labels: entailment and not entailment."""
    return len(task) == 2 and any(map(is_entailment, task)) and any(map(is_non_entailment, task))


def require_head_for(
    head: Sequence[str],
    task: Sequence[str],
    backbone: str,
    merging: bool = True,
    renaming: bool = True,
    setting: str = "model.labels",
) -> None:
    """Raise an error if the names of a head's outputs do not match the labels of a task.

    Args:
        head: Names of the outputs.
        task: Names of the labels.
        backbone: Name of the model, for the message.
        merging: Whether several outputs may mean one label.
        renaming: Whether the user can name the outputs by a setting.
        setting: Name of this setting, for the message.

    Raises:
        HeedfulError: The names do not match; the message says what to set.
    """
    if is_named(head) and labels_of_outputs(head, task, merging) is not None:
        return
    clash = f"The outputs of {backbone} are {listing(head)}, and the data want {listing(task)}."
    of_three = is_two_class(task) and len(head) == 3 and not is_named(head)
    if not renaming or (len(head) != len(task) and not of_three):
        raise ModelError(f"{clash} Train the model on the data.")
    setting = f"{setting} (labels in measure)" if setting == "model.labels" else setting
    raise ModelError(f"{clash} Set {setting} to the labels that the outputs mean, in the order of the outputs.")


def require_one_of_several(config: Any, backbone: str) -> None:
    """Raise an error for a head that was not trained to choose exactly one label, such as a regression head.

    Raises:
        HeedfulError: The config has a ``problem_type`` other than single_label_classification.
    """
    problem = getattr(config, "problem_type", None)
    if problem not in (None, "single_label_classification"):
        raise ModelError(
            f"The head of {backbone} is for the problem {problem}, and these data have one right label. Take a "
            "model that was trained to choose one label."
        )


def inform_merged(label_map: LabelMap, backbone: str) -> None:
    """Log which outputs of a head are mapped to labels of other names, such as neutral to not_entailment."""
    for number, label in enumerate(label_map.labels):
        merged = [name for name, n in zip(label_map.outputs, label_map.column, strict=True) if n == number]
        if len(merged) > 1:
            rule = (
                "whichever is the most probable" if label_map.collapse == "argmax" else "their probabilities added up"
            )
            inform(f"{backbone}: {' and '.join(merged)} are {label} here, {rule} (model.collapse).")
        elif is_non_entailment(label) and not is_non_entailment(merged[0]):  # the model has no class neutral
            inform(f"{backbone}: {merged[0]} is {label} here.")

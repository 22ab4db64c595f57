"""Fingerprints of examples, compared between processes and when a run resumes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.records import DataError, Examples, Task, inform


def fingerprints(
    task: Task, validation: Examples, train: Examples | None, augmentation: Sequence[Any]
) -> dict[str, str]:
    """Fingerprints of the validation and training examples of a run.

    They cover uids, labels, the content of every part, the order, the template, and how counterfactuals are drawn.

    Args:
        task: The task of the model.
        validation: The validation examples.
        train: The training examples; None without training.
        augmentation: Settings of counterfactuals; empty for none.
    """
    by_split = {"validation": _fingerprint(validation, task.as_dict())}
    if train is not None:
        by_split["train"] = _fingerprint(train, task.as_dict(), augmentation)
    return by_split


def compare(saved: Mapping[str, Any], current: Mapping[str, Any], name: str, allowed: bool) -> list[str]:
    """Compare a resumed run with its checkpoint, and log the differences.

    Args:
        saved: State from ``PairedData.state_dict`` in the checkpoint.
        current: State of this process.
        name: Name of the data set, for messages.
        allowed: Whether the examples may have changed.

    Returns:
        The splits whose examples have changed.
    """
    examples = saved.get("examples", {})
    order = saved.get("order", {})
    splits = [
        split for split, fingerprint in current["examples"].items() if examples.get(split, fingerprint) != fingerprint
    ]
    if splits and not allowed:
        raise DataError(
            f"{name}: the {' and '.join(sorted(splits))} examples have changed since the run began. Give the same "
            "files and settings, begin a new run, or add allow_changed_data true."
        )
    changed = [
        f"{key} was {order[key]}"
        for key, fingerprint in current["order"].items()
        if order.get(key, fingerprint) != fingerprint
    ]
    changed += [f"the {split} examples were different" for split in splits]
    if changed:
        inform(f"{name}: {', '.join(changed)}, so this run does not repeat one that was never stopped.")
    return splits


def _fingerprint(examples: Examples, *settings: Any) -> str:
    return hashlib.sha256(json.dumps([examples.fingerprint, *settings], sort_keys=True).encode()).hexdigest()

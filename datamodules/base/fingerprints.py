"""Which examples a run is about, in a few bytes: compared between processes, and when a run goes on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.records import DataError, Examples, Task, inform


def fingerprints(
    task: Task, validation: Examples, train: Examples | None, augmentation: Sequence[Any]
) -> dict[str, str]:
    """The fingerprints of what a run evaluates and trains on.

    They cover uids, labels, the content of every part, the order, the words around the parts, and how counterfactuals
    are drawn.

    Args:
        task: What the model sees.
        validation: The examples that are evaluated.
        train: Those that are trained on; None where nothing is.
        augmentation: How counterfactuals are drawn; empty for none.
    """
    by_split = {"validation": _fingerprint(validation, task.as_dict())}
    if train is not None:
        by_split["train"] = _fingerprint(train, task.as_dict(), augmentation)
    return by_split


def compare(began: Mapping[str, Any], now: Mapping[str, Any], name: str, allowed: bool) -> list[str]:
    """Compare how a run began with how it goes on, and say what is not the same.

    Args:
        began: As ``PairedData.state_dict`` returned it; of an older checkpoint, what it has of that.
        now: The same of this process.
        name: Of the data, for messages.
        allowed: Whether the examples may be others.

    Returns:
        The splits whose examples are others.

    Raises:
        HeedfulError: They are, and may not be.
    """
    examples = began.get("examples", {})
    order = began.get("order", {})
    splits = [
        split for split, fingerprint in now["examples"].items() if examples.get(split, fingerprint) != fingerprint
    ]
    if splits and not allowed:
        raise DataError(
            f"{name}: the {' and '.join(sorted(splits))} examples are not those that the run began with. Give it the "
            "same files and settings, begin a new run, or add allow_changed_data true."
        )
    changed = [
        f"{key} was {order[key]}"
        for key, fingerprint in now["order"].items()
        if order.get(key, fingerprint) != fingerprint
    ]
    changed += [f"the {split} examples were others" for split in splits]
    if changed:
        inform(f"{name}: {', '.join(changed)}, so this run does not repeat one that was never stopped.")
    return splits


def _fingerprint(examples: Examples, *settings: Any) -> str:
    return hashlib.sha256(json.dumps([examples.fingerprint, *settings], sort_keys=True).encode()).hexdigest()

"""Which examples a run is about, in a few bytes: compared between processes, and when a run goes on."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from pytorch_lightning.utilities import rank_zero_info

from interventions import Swap
from records import Examples, HeedError

if TYPE_CHECKING:
    from datamodules.base.paired_data import PairedData


def gather(value: Any) -> list[Any]:
    """The value of every process, in the order of ranks, on every process."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [value]
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def require_alike(value: Any, what: str) -> None:
    """Compare something that all processes must agree on.

    Args:
        value: What this process has.
        what: What to call it in a message, in the plural.

    Raises:
        HeedError: Another process has another value. Every process raises it.
    """
    values = gather(value)
    if others := [rank for rank, other in enumerate(values) if other != values[0]]:
        raise HeedError(
            f"The {what} of process {others[0]} are not those of process 0: give all processes the same command, and "
            "let every machine see the same files."
        )


def fingerprints(data: "PairedData") -> dict[str, str]:
    """The fingerprints of what a data module trains on (``train``, where it is set up to train) and evaluates.

    They cover uids, labels, the content of every part, the order, the words around the parts, and how counterfactuals
    are drawn.
    """
    task = data.task.as_dict()
    found = {"validation": _fingerprint(data.pool, task)}
    if data.train_examples is not None:
        augmented = [data.augment, data.swap[:1], Swap.version, data.resample_counterfactuals]
        found["train"] = _fingerprint(data.train_examples, task, augmented if data.augment == "counterfactual" else [])
    return found


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
        HeedError: They are, and may not be.
    """
    examples, order = began.get("examples", {}), began.get("order", {})
    splits = [split for split, found in now["examples"].items() if examples.get(split, found) != found]
    if splits and not allowed:
        raise HeedError(
            f"{name}: the {' and '.join(sorted(splits))} examples are not those that the run began with: give it the "
            "same files and the same settings of the data, or begin a new run. With --allow_changed_data true it goes "
            "on with these, and run.json says so."
        )
    changed = [f"{key} was {order[key]}" for key, found in now["order"].items() if order.get(key, found) != found]
    changed += [f"the {split} examples were others" for split in splits]
    if changed:
        rank_zero_info(f"{name}: {', '.join(changed)}, so this run does not repeat one that was never stopped.")
    return splits


def _fingerprint(examples: Examples, *settings: Any) -> str:
    return hashlib.sha256(json.dumps([examples.fingerprint, *settings], sort_keys=True).encode()).hexdigest()

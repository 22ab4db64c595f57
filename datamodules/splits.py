"""Which examples a model is trained and evaluated on: pure functions of examples and a seed."""

from collections.abc import Iterator, Sequence

import numpy as np

from interventions import Swap, generator
from records import Example, Examples, HeedError


def by_hash(examples: Examples, seed: int, purpose: str) -> np.ndarray:
    """Positions in an order that depends on (seed, purpose, uid) alone, so that any prefix is a nested sample."""
    keys = np.fromiter(
        (generator(seed, purpose, uid).integers(2**63) for uid in examples.column("uid")), np.int64, len(examples)
    )
    return np.argsort(keys, kind="stable")


def sample(examples: Examples, n: int, seed: int, purpose: str) -> Examples:
    """``n`` examples chosen by hash, in their old order; the sample of a smaller ``n`` lies within it.

    Raises:
        HeedError: There are fewer than ``n``.
    """
    if not 0 <= n <= len(examples):
        raise HeedError(f"Asked for {n} examples ({purpose}), and there are only {len(examples)}.")
    return examples.take(np.sort(by_hash(examples, seed, purpose)[:n]))


def hold_out(examples: Examples, n: int, seed: int) -> tuple[Examples, Examples]:
    """Split off ``n`` examples for validation: (rest, held out).

    Raises:
        HeedError: Nothing would be left to train on.
    """
    if n < 1:
        raise HeedError(f"--data.hold_out {n} leaves nothing to validate on.")
    if n >= len(examples):
        raise HeedError(f"--data.hold_out {n} leaves nothing of the {len(examples)} training examples.")
    order = by_hash(examples, seed, "hold_out")
    return examples.take(np.sort(order[n:])), examples.take(np.sort(order[:n]))


def partial(examples: Examples, part: str) -> Examples:
    """The examples with one part alone (CAT, §3.1: the partial-input baseline)."""
    if part not in examples.parts:
        raise HeedError(f"--partial {part}: the data has the parts {', '.join(examples.parts)}.")
    return examples.keep_parts([part])


def counterfactual_partners(examples: Examples, swap: Swap, seed: int, draw: int = 0) -> np.ndarray:
    """For each example of another label than the default, the partner whose part it gets (CAT, §6).

    Args:
        examples: The training examples.
        swap: Which part to swap; its ``default_label`` is the label of the new instances.
        seed: The run's seed.
        draw: 0, or the epoch where each epoch draws anew.

    Returns:
        Position of the partner of each example; -1 where there is none, and for examples of the default label.

    Raises:
        HeedError: The task has no default label.
    """
    if swap.default_label is None:
        raise HeedError("--augment counterfactual needs a default label, and this task has none.")
    partners = np.full(len(examples), -1, dtype=np.int64)
    for i, label in enumerate(examples.column("label")):
        if label != swap.default_label:
            partner = swap.partner(examples, i, draw, seed)
            partners[i] = -1 if partner is None else partner
    return partners


class TrainingSet(Sequence[Example]):
    """Examples, followed by their counterfactuals with the default label.

    Args:
        examples: The training examples.
        swap: The swap that makes the counterfactuals; None for none.
        partners: As :func:`counterfactual_partners` returns them.
    """

    def __init__(self, examples: Examples, swap: Swap | None = None, partners: np.ndarray | None = None) -> None:
        self.examples, self.swap = examples, swap
        self.base = np.flatnonzero(partners >= 0) if partners is not None else np.zeros(0, dtype=np.int64)
        self.partner = partners[self.base] if partners is not None else self.base

    def __len__(self) -> int:
        return len(self.examples) + len(self.base)

    def column(self, name: str) -> Iterator[str | None]:
        """Values of the column ``parts.<name>``, as in :meth:`Examples.column`."""
        yield from self.examples.column(name)
        swapped = self.swap is not None and name == f"parts.{self.swap.part}"
        for i in self.partner if swapped else self.base:
            yield self.examples.value(name, i)

    def __getitem__(self, i: int) -> Example:
        i = range(len(self))[i]
        if i < len(self.examples):
            return self.examples[i]
        k = i - len(self.examples)
        base, partner = self.examples[int(self.base[k])], self.examples[int(self.partner[k])]
        changed = self.swap.exchange(base, partner).example
        return Example(f"{base.uid}#{self.swap.part}", changed.parts, self.swap.default_label, changed.groups)

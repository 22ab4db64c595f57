"""Select the demonstrations (solved examples) of a prompt, and augment them (CAT, sections 5.3 and 6)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from heedful.records import SPAN, DataError, Example, Examples, SettingError, Task, generator, random_key
from heedful.records.randomness import random_order

Kind = Literal["plain", "counterfactual", "extra_tuple", "matched_labels"]
# increased when the same settings select different demonstrations or a different order
VERSIONS: dict[Kind, int] = {"plain": 1, "counterfactual": 2, "extra_tuple": 2, "matched_labels": 2}
NONE = SPAN.default_gold("")  # gold label of a question that has no answer


def demonstrations(
    examples: Examples, task: Task, tuples: int, seed: int, draw: int, kind: Kind = "plain", swap: str | None = None
) -> tuple[Example, ...]:
    """Select the demonstrations of a prompt, in the order in which the prompt shows them.

    A tuple has one example of every label. A tuple of questions has one with an answer and, if the data have any, one
    without. Fewer tuples select a subset, and every kind contains the demonstrations of the kind "plain". The selection
    and the order depend on seed, draw and uids, not on the order of the training examples.

    Args:
        examples: The training examples.
        task: The task, which defines the labels.
        tuples: Number of tuples, at least 0.
        seed: Seed of the run.
        draw: Index of the selection; each draw selects anew.
        kind: "plain": tuples of real examples. "counterfactual": also a copy of every example whose label is not the
            default label; the copy has the part ``swap`` of another example, and the default label. "matched_labels":
            also as many real examples with the default label as there would be copies. "extra_tuple": also real
            examples with the default label, until these are half of all (CAT, section 6 and table 7).
        swap: Name of the part to swap, or several joined by "+"; needed by all kinds but "plain".

    Returns:
        The demonstrations. A copy has the uid of its original with "~" appended.

    Raises:
        HeedfulError: If a label has too few examples, ``swap`` or the default label is missing, no example may lend its
            part, or "extra_tuple" would add nothing.

    Example:
        >>> from heedful.records import CLASSIFICATION
        >>> pool = Examples.of([Example(str(i), {"a": f"t{i}", "b": f"u{i}"}, "xyz"[i % 3]) for i in range(9)])
        >>> task = Task(CLASSIFICATION, ("a", "b"), ("x", "y", "z"), default_label="z")
        >>> [e.uid for e in demonstrations(pool, task, 1, seed=0, draw=0, kind="counterfactual", swap="a")]
        ['0~', '2', '4~', '4', '0']
        >>> [e.uid for e in demonstrations(pool, task, 1, seed=0, draw=0, kind="matched_labels", swap="a")]
        ['8', '2', '5', '4', '0']
    """
    parts, default = _swapped_parts_and_label(task, kind, swap)
    by_label = _by_label(examples, task)
    n_default = tuples * (default in by_label)
    n_other = tuples * len(by_label.keys() - {default})
    if kind == "extra_tuple" and n_default >= n_other:
        raise SettingError(
            "prompt.demonstrations extra_tuple adds nothing with two labels: half of the plain demonstrations have the "
            "default label already. Use matched_labels, or plain with another prompt.tuples."
        )
    added = {"extra_tuple": n_other - n_default, "matched_labels": n_other}.get(kind, 0)
    counts = dict.fromkeys(by_label, tuples) | ({default: n_default + added} if added else {})
    key = random_key(seed, "demonstrations", draw)
    nothing = np.zeros(0, dtype=np.int64)
    positions_of = {
        label: _first(_shuffled(examples, by_label.get(label, nothing), key), n, label, task)
        for label, n in counts.items()
    }
    positions = [i for label in by_label for i in positions_of[label][:tuples]]
    positions += positions_of[default][n_default:] if added else []
    selected = [examples[i] for i in positions]
    if kind == "counterfactual":
        selected += _copies(examples, positions, parts, default, seed, draw)
    # the constant False is part of the key of version 1, and keeps its order
    order = generator(seed, "demonstrations", draw, False, tuples).permutation(len(selected))
    return tuple(selected[i] for i in order.tolist())


def _swapped_parts_and_label(task: Task, kind: Kind, swap: str | None) -> tuple[Sequence[str], str]:
    """Return (names of the swapped parts, gold label) of counterfactual copies; both are empty for the kind "plain"."""
    if kind == "plain":
        return (), ""
    if task.default_gold is None or swap is None:
        raise SettingError(
            f"prompt.demonstrations {kind} needs a part to swap and a label for unrelated parts. Give data.swap and "
            "data.default_label, and leave partial out."
        )
    return swap.split("+"), task.default_gold


def _by_label(examples: Examples, task: Task) -> dict[str, np.ndarray]:
    """Map every label to the positions of its examples, int64; for spans, the labels are with and without an answer."""
    labels = list(examples.column("label"))
    if not task.kind.has_spans:
        return {label: np.flatnonzero([each == label for each in labels]) for label in task.labels}
    answered = np.array([label is not None and label != NONE for label in labels], dtype=bool)
    without = np.array([label == NONE for label in labels], dtype=bool)
    return {"an answer": np.flatnonzero(answered)} | ({NONE: np.flatnonzero(without)} if without.any() else {})


def _shuffled(examples: Examples, positions: np.ndarray, key: int) -> np.ndarray:
    return positions[random_order(key, examples.uid_keys[positions])]


def _first(positions: np.ndarray, n: int, label: str, task: Task) -> list[int]:
    """Return the first ``n`` positions of examples with a label; raise DataError if there are fewer."""
    if len(positions) < n:
        called = "no answer" if label == NONE and task.kind.has_spans else label
        raise DataError(
            f"prompt.tuples: the prompt needs {n} training examples with {called!r}, and there are {len(positions)}. "
            "Use fewer tuples."
        )
    return positions[:n].tolist()


def _copies(
    examples: Examples, positions: Sequence[int], parts: Sequence[str], default: str, seed: int, draw: int
) -> list[Example]:
    """Return counterfactual copies, with the ``default`` label, of the demonstrations that have another label."""
    lenders = examples.partners(parts)
    copies = []
    for position in positions:
        example = examples[position]
        if example.label == default:
            continue
        shuffled = _shuffled(examples, lenders.all_of(position), random_key(seed, "lender", draw, example.uid))
        if not len(shuffled):
            raise DataError(
                f"No training example may lend its {' and '.join(parts)} to {example.uid}. Swap another part with "
                "data.swap, or use another kind of prompt.demonstrations."
            )
        lent = {part: examples.value(f"parts.{part}", shuffled[0]) for part in parts}
        copies.append(replace(example, uid=f"{example.uid}~", parts={**example.parts, **lent}, label=default))
    return copies

"""Demonstrations: the solved examples of a prompt, and their augmentation (CAT, §5.3 and §6)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from heedful.records import SPAN, Example, Examples, HeedfulError, Task, generator, random_key, words_of

Kind = Literal["plain", "counterfactual", "extra_tuple", "matched_labels"]
NONE = SPAN.default_gold("")  # the gold label of a question without an answer


def demonstrations(
    examples: Examples, task: Task, tuples: int, seed: int, draw: int, kind: Kind = "plain", swap: str | None = None
) -> tuple[Example, ...]:
    """Choose the demonstrations of a prompt.

    A tuple is one example of every label; for questions, one with an answer and one without, where there are such. The
    examples of fewer tuples are among those of more. Their order is shuffled by (seed, draw, tuples). Examples, order
    and copies depend on uids, and not on the order of the training examples.

    Args:
        examples: Training examples.
        task: Says which labels there are.
        tuples: How many tuples, 0 or more.
        seed: The run's seed.
        draw: Which of several choices of demonstrations.
        kind: "plain"; "counterfactual" puts behind each demonstration of another label its copy with the part ``swap``
            of another example and the default label; "extra_tuple" takes one tuple more (the paper's control);
            "matched_labels" takes real examples, as many of each label as "counterfactual" has.
        swap: The part to swap for counterfactuals.

    Returns:
        The demonstrations, in the order in which they are shown. A copy has the uid of its original and "~" behind it.

    Raises:
        HeedfulError: Too few examples have a label, there is no part to swap or no default label, or an example has no
            partner.

    Example:
        >>> from heedful.records import CLASSIFICATION
        >>> pool = Examples.of([Example(str(i), {"a": f"t{i}", "b": f"u{i}"}, "xyz"[i % 3]) for i in range(9)])
        >>> task = Task(CLASSIFICATION, ("a", "b"), ("x", "y", "z"), default_label="z")
        >>> [e.label for e in demonstrations(pool, task, 1, seed=0, draw=0, kind="counterfactual", swap="a")]
        ['x', 'z', 'y', 'z', 'z']
    """
    parts, default = _augmentation(task, kind, swap)
    n = tuples + (kind == "extra_tuple")
    by_label = _by_label(examples, task)
    counts = dict.fromkeys(by_label, n)
    if kind == "matched_labels":
        counts[default] = n * len(by_label)
    key = random_key(seed, "demonstrations", draw)
    nothing = np.zeros(0, dtype=np.int64)
    ranked = {label: _ranked(examples, by_label.get(label, nothing), key) for label in counts}
    chosen = np.concatenate([_first(ranked[label], k, label, task) for label, k in counts.items()])
    order = generator(seed, "demonstrations", draw, kind == "matched_labels", n).permutation(len(chosen))
    positions = chosen[order]
    if kind == "counterfactual":
        return _with_copies(examples, positions, parts, default, seed, draw)
    return tuple(examples[i] for i in positions.tolist())


def _augmentation(task: Task, kind: Kind, swap: str | None) -> tuple[Sequence[str], str]:
    """The parts that copies swap, and their gold label; nothing where there are no copies and nothing to match them."""
    if kind not in ("counterfactual", "matched_labels"):
        return (), ""
    if task.default_gold is None or swap is None:
        raise HeedfulError(
            f"§prompt.demonstrations {kind} needs a part to swap and a label for parts that have nothing to do with "
            "each other: see §data.swap, §data.default_label and §partial."
        )
    return swap.split("+"), task.default_gold


def _by_label(examples: Examples, task: Task) -> dict[str, np.ndarray]:
    """Gold label to the positions of the examples that have it; of questions, any answer counts as one label."""
    labels = list(examples.column("label"))
    if task.kind is not SPAN:
        return {label: np.flatnonzero([own == label for own in labels]) for label in task.labels}
    answered = np.array([label is not None and label != NONE for label in labels], dtype=bool)
    without = np.array([label == NONE for label in labels], dtype=bool)
    return {"an answer": np.flatnonzero(answered)} | ({NONE: np.flatnonzero(without)} if without.any() else {})


def _ranked(examples: Examples, positions: np.ndarray, key: int) -> np.ndarray:
    """Positions in a random order that depends on the key and the uids alone."""
    uid_keys = examples.uid_keys[positions]
    first, second, *_ = words_of(key, uid_keys)
    return positions[np.lexsort([uid_keys, second, first])]


def _first(positions: np.ndarray, n: int, label: str, task: Task) -> np.ndarray:
    """The first n of them."""
    if len(positions) < n:
        called = "no answer" if label == NONE and task.kind is SPAN else label
        raise HeedfulError(
            f"§prompt.tuples: the prompt needs {n} training examples with {called!r}, and there are {len(positions)}: "
            "ask for fewer tuples."
        )
    return positions[:n]


def _with_copies(
    examples: Examples, positions: np.ndarray, parts: Sequence[str], default: str, seed: int, draw: int
) -> tuple[Example, ...]:
    """Demonstrations, each of another label followed by its counterfactual copy.

    Who may lend is as for :class:`~heedful.interventions.Swap`; who of them lends depends on their uids alone.
    """
    lenders = examples.partners(parts)
    shown = []
    for position in positions.tolist():
        example = examples[position]
        shown.append(example)
        if example.label == default:
            continue
        ranked = _ranked(examples, lenders.all_of(position), random_key(seed, "lender", draw, example.uid))
        if not len(ranked):
            raise HeedfulError(
                f"§prompt.demonstrations counterfactual: no training example may lend its {' and '.join(parts)} to "
                f"{example.uid}: swap another part with §data.swap, or take other §prompt.demonstrations."
            )
        lent = {part: examples.part(part, ranked[0]) for part in parts}
        shown.append(replace(example, uid=f"{example.uid}~", parts={**example.parts, **lent}, label=default))
    return tuple(shown)

"""Demonstrations: the solved examples of a prompt, and their augmentation (CAT, §5.3 and §6)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from heedful.records import SPAN, DataError, Example, Examples, SettingError, Task, generator, random_key, words_of

Kind = Literal["plain", "counterfactual", "extra_tuple", "matched_labels"]
# of each kind: rises when the same settings choose other demonstrations or another order, and reports keep them apart
VERSIONS: dict[Kind, int] = {"plain": 1, "counterfactual": 2, "extra_tuple": 2, "matched_labels": 2}
NONE = SPAN.default_gold("")  # the gold label of a question without an answer


def demonstrations(
    examples: Examples, task: Task, tuples: int, seed: int, draw: int, kind: Kind = "plain", swap: str | None = None
) -> tuple[Example, ...]:
    """Choose the demonstrations of a prompt.

    A tuple is one example of every label; for questions, one with an answer and one without, where there are such. The
    examples of fewer tuples are among those of more, and the plain ones among those of every other kind. All of them,
    copies too, are shuffled together by (seed, draw, tuples). Examples, order and copies depend on uids, and not on the
    order of the training examples.

    Args:
        examples: Training examples.
        task: Says which labels there are.
        tuples: How many tuples, 0 or more.
        seed: The run's seed.
        draw: Which of several choices of demonstrations.
        kind: "plain"; "counterfactual" adds a copy of each demonstration of another label, with the part ``swap`` of
            another example and the default label; "extra_tuple" adds real examples of the default label until half of
            all have it (CAT, §6 and table 7); "matched_labels" has a real example of the default label in the place of
            each copy.
        swap: The part to swap for counterfactuals.

    Returns:
        The demonstrations, in the order in which they are shown. A copy has the uid of its original and "~" behind it.

    Raises:
        HeedfulError: Too few examples have a label, there is no part to swap or no default label, an example has no
            partner, or half of the plain demonstrations have the default label.

    Example:
        >>> from heedful.records import CLASSIFICATION
        >>> pool = Examples.of([Example(str(i), {"a": f"t{i}", "b": f"u{i}"}, "xyz"[i % 3]) for i in range(9)])
        >>> task = Task(CLASSIFICATION, ("a", "b"), ("x", "y", "z"), default_label="z")
        >>> [e.uid for e in demonstrations(pool, task, 1, seed=0, draw=0, kind="counterfactual", swap="a")]
        ['0~', '2', '4~', '4', '0']
        >>> [e.uid for e in demonstrations(pool, task, 1, seed=0, draw=0, kind="matched_labels", swap="a")]
        ['8', '2', '5', '4', '0']
    """
    parts, default = _augmentation(task, kind, swap)
    by_label = _by_label(examples, task)
    own = tuples * (default in by_label)
    others = tuples * len(by_label.keys() - {default})
    if kind == "extra_tuple" and own >= others:
        raise SettingError(
            "prompt.demonstrations extra_tuple adds nothing: of two labels, half of all have the default one anyway. "
            "Take matched_labels, or plain ones with another prompt.tuples."
        )
    added = {"extra_tuple": others - own, "matched_labels": others}.get(kind, 0)
    counts = dict.fromkeys(by_label, tuples) | ({default: own + added} if added else {})
    key = random_key(seed, "demonstrations", draw)
    nothing = np.zeros(0, dtype=np.int64)
    positions_of = {
        label: _first(_ranked(examples, by_label.get(label, nothing), key), n, label, task)
        for label, n in counts.items()
    }
    positions = [i for label in by_label for i in positions_of[label][:tuples]]
    positions += positions_of[default][own:] if added else []
    shown = [examples[i] for i in positions]
    if kind == "counterfactual":
        shown += _copies(examples, positions, parts, default, seed, draw)
    # False keys the order that plain demonstrations have always had
    order = generator(seed, "demonstrations", draw, False, tuples).permutation(len(shown))
    return tuple(shown[i] for i in order.tolist())


def _augmentation(task: Task, kind: Kind, swap: str | None) -> tuple[Sequence[str], str]:
    """The parts that copies swap, and their gold label; nothing for plain demonstrations."""
    if kind == "plain":
        return (), ""
    if task.default_gold is None or swap is None:
        raise SettingError(
            f"prompt.demonstrations {kind} needs a part to swap and a label for unrelated parts. Give data.swap and "
            "data.default_label, and leave partial out."
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


def _first(positions: np.ndarray, n: int, label: str, task: Task) -> list[int]:
    """The first n of them."""
    if len(positions) < n:
        called = "no answer" if label == NONE and task.kind is SPAN else label
        raise DataError(
            f"prompt.tuples: the prompt needs {n} training examples with {called!r}, and there are {len(positions)}. "
            "Ask for fewer tuples."
        )
    return positions[:n].tolist()


def _copies(
    examples: Examples, positions: Sequence[int], parts: Sequence[str], default: str, seed: int, draw: int
) -> list[Example]:
    """The counterfactual copy of each demonstration of another label.

    Who may lend is as for :class:`~heedful.interventions.Swap`; who of them lends depends on their uids alone.
    """
    lenders = examples.partners(parts)
    copies = []
    for position in positions:
        example = examples[position]
        if example.label == default:
            continue
        ranked = _ranked(examples, lenders.all_of(position), random_key(seed, "lender", draw, example.uid))
        if not len(ranked):
            raise DataError(
                f"No training example may lend its {' and '.join(parts)} to {example.uid}. Swap another part with "
                "data.swap, or take other prompt.demonstrations than counterfactual."
            )
        lent = {part: examples.value(f"parts.{part}", ranked[0]) for part in parts}
        copies.append(replace(example, uid=f"{example.uid}~", parts={**example.parts, **lent}, label=default))
    return copies

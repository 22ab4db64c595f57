"""Which examples a model is trained and evaluated on: pure functions of examples and a seed; and names of splits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import block_array, coo_array
from scipy.sparse.csgraph import connected_components

from heedful.interventions import Swap
from heedful.records import CLUSTER, Composed, DataError, Examples, SettingError, generator, keys
from heedful.records.errors import guess

ALIASES = {"train": ("train",), "validation": ("validation", "dev", "valid")}
MOST_VALUES = 50  # of a column that examples are sliced by


def aliases_of(split: str, aliases: Mapping[str, Sequence[str]]) -> list[str]:
    """Other names of a split, "dev_matched" of "validation_matched"; a file that has a name of its own has none.

    Example:
        >>> aliases_of("dev", ALIASES), aliases_of("dev_r1", ALIASES), aliases_of("test", ALIASES)
        (['validation', 'dev', 'valid'], ['validation_r1', 'dev_r1', 'valid_r1'], [])
    """
    for names in aliases.values():
        for name in names:
            if split == name or re.match(rf"{re.escape(name)}[_-]", split) and split not in chain(*aliases.values()):
                return [other + split.removeprefix(name) for other in names]
    return []


def by_hash(examples: Examples, seed: int, purpose: str, groups: Iterable[str] | None = None) -> np.ndarray:
    """Positions in an order that depends on (seed, purpose, uid) alone, so that any prefix is a nested sample.

    With the group of each example, those of one group stand together, and the order of the groups depends on (seed,
    purpose, group) alone.
    """

    def hashes(values: Iterable[str], *purposes: str) -> np.ndarray:
        return np.fromiter((generator(seed, *purposes, v).integers(2**63) for v in values), np.int64, len(examples))

    order = [hashes(examples.column("uid"), purpose)]
    if groups is not None:
        order.append(hashes(groups, purpose, "group"))
    return np.lexsort(order)


def sample(examples: Examples, n: int, seed: int, purpose: str, by_group: bool = False) -> Examples:
    """``n`` examples chosen by hash, in their old order; the sample of a smaller ``n`` lies within it.

    With ``by_group``, all examples of a group are chosen before the next group is begun.

    Raises:
        HeedfulError: There are fewer than ``n``.
    """
    if not 0 <= n <= len(examples):
        raise DataError(f"There are {len(examples)} examples, and {purpose} asks for {n}.")
    return examples.take(np.sort(by_hash(examples, seed, purpose, groups_of(examples) if by_group else None)[:n]))


def limited(examples: Examples, limit: int | float, batch_size: int, seed: int) -> tuple[np.ndarray, int | float]:
    """Choose the examples that ``limit_val_batches`` of the Trainer leaves, by hash: alike on any number of processes.

    Args:
        examples: The pool.
        limit: A number of batches of all processes together, or a share of them.
        batch_size: Examples in a batch.
        seed: The run's seed.

    Returns:
        Their positions, int64 [examples], ascending; and a limit for the Trainer that leaves them all.
    """
    batches = -(-len(examples) // batch_size)
    if isinstance(limit, float) and limit < 1:
        limit = max(1, round(limit * batches))
    if isinstance(limit, float) or limit >= batches:
        return np.arange(len(examples)), limit
    return np.sort(by_hash(examples, seed, "limit_val_batches")[: limit * batch_size]), limit


def groups_of(examples: Examples) -> Iterator[str]:
    """The cluster of each example (its table, say), or the uids without clusters."""
    return examples.column(CLUSTER if examples.has_clusters else "uid")


def kept_together(examples: Examples) -> np.ndarray:
    """What a split must not part: examples with the same parts, and those of one cluster: texts [examples], as objects.

    Neither the label nor the uid matters. Clusters that share an example are called by the first of their names.
    """
    contents = examples.content_keys(examples.parts)
    if not examples.has_clusters:
        return np.array([f"{key:016x}" for key in contents.tolist()], dtype=object)
    names, cluster = np.unique(np.array(list(groups_of(examples)), dtype=object), return_inverse=True)
    kinds, content = np.unique(contents, return_inverse=True)
    shape = (len(names), len(kinds))
    held = coo_array((np.ones(len(examples), dtype=bool), (cluster, content)), shape).tocsr()
    of = connected_components(block_array([[None, held], [held.T, None]]), directed=False)[1][: len(names)]
    first = np.unique(of, return_index=True)[1]  # names ascend
    return names[first[of]][cluster]


def folds_of(groups: Sequence[str], folds: int) -> np.ndarray:
    """The fold of each example for cross-validation: int64 [examples], from 0 to ``folds`` - 1.

    All examples of a group lie in one fold. Groups, in the order of their hashes, go to the smallest fold so far, so
    that two folds never differ by more than the largest group. Neither a seed nor the order of the examples matters.

    Args:
        groups: The group of each example.
        folds: How many.
    """
    names, group, sizes = np.unique(np.array(groups, dtype=object), return_inverse=True, return_counts=True)
    held = np.zeros(folds, dtype=np.int64)
    fold = np.zeros(len(names), dtype=np.int64)
    for i in np.argsort(keys(names), kind="stable"):  # of equal hashes, the first name of the alphabet
        fold[i] = held.argmin()
        held[fold[i]] += sizes[i]
    return fold[group]


def fold_out(examples: Examples, folds: int, fold: int) -> tuple[Examples, Examples]:
    """Split off one fold of ``folds`` for validation, by :func:`kept_together`: (rest, fold).

    Raises:
        HeedfulError: There are fewer groups than folds.
    """
    groups = kept_together(examples)
    if len(set(groups)) < folds:
        what = "values of data.cluster, or else the first of data.groups" if examples.has_clusters else "examples"
        raise DataError(
            f"data.folds {folds}: the training set has only {len(set(groups))} different {what}. Ask for fewer."
        )
    held = folds_of(groups, folds) == fold
    return examples.take(np.flatnonzero(~held)), examples.take(np.flatnonzero(held))


def hold_out(examples: Examples, n: int, seed: int) -> tuple[Examples, Examples]:
    """Split off ``n`` examples for validation: (rest, held out).

    Nothing that :func:`kept_together` names is split: whole groups are split off, until ``n`` examples are or more.

    Raises:
        HeedfulError: Nothing would be left to train on.
    """
    if n < 1:
        raise SettingError(f"data.hold_out {n} is less than 1.")
    if n >= len(examples):
        left = f"nothing of the {len(examples)} training examples"
        raise DataError(f"data.hold_out {n} leaves {left}. Hold out fewer.")
    groups = kept_together(examples)
    order = by_hash(examples, seed, "hold_out", groups)
    ends = np.append(np.flatnonzero(groups[order][1:] != groups[order][:-1]) + 1, len(order))
    end = int(ends[np.searchsorted(ends, n)])
    if end == len(order):
        raise DataError(
            f"data.hold_out {n} leaves nothing to train on: equal examples, and groups (data.cluster, or else the "
            "first of data.groups), are not split. Hold out fewer."
        )
    return examples.take(np.sort(order[end:])), examples.take(np.sort(order[:end]))


def overlap(examples: Examples, others: Examples) -> np.ndarray:
    """Which examples have the same content in all of their parts as one of the others: bool [examples]."""
    if set(examples.parts) != set(others.parts):
        return np.zeros(len(examples), dtype=bool)

    def contents(pool: Examples) -> pa.ChunkedArray:
        return pc.binary_join_element_wise(*(pool.table[f"groups.{part}"] for part in examples.parts), "")

    return pc.is_in(contents(examples), value_set=contents(others)).to_numpy()


def apart(examples: Examples, others: Examples | None) -> tuple[Examples, int]:
    """The examples whose content is not that of one of the others, and how many have it."""
    if others is None or not (again := overlap(examples, others)).any():
        return examples, 0
    return examples.take(np.flatnonzero(~again)), int(again.sum())


def counterfactual_partners(examples: Examples, swap: Swap, seed: int, draw: int = 0) -> np.ndarray:
    """For each example of another label than the default, the partner whose part it gets (CAT, §6).

    Args:
        examples: The training examples.
        swap: Which part to swap; its ``default_label`` is the label of the new instances.
        seed: The run's seed.
        draw: 0, or the epoch where each epoch draws anew.

    Returns:
        Position of the partner of each example; -1 where there is none, and for examples of the default label.
    """
    partners = np.full(len(examples), -1, dtype=np.int64)
    labels = examples.column("label")
    changed = np.flatnonzero(np.fromiter((label != swap.default_label for label in labels), bool, len(examples)))
    partners[changed] = swap.partners(examples, changed, draw, seed)
    return partners


def with_counterfactuals(examples: Examples, swap: Swap, partners: np.ndarray) -> Composed:
    """Examples, followed by their counterfactuals with the default label.

    Args:
        examples: The training examples.
        swap: The swap that makes the counterfactuals.
        partners: As :func:`counterfactual_partners` returns them.
    """
    own = np.arange(len(examples))
    base = np.flatnonzero(partners >= 0)
    lenders = np.concatenate([own, partners[base]])
    return Composed(examples, np.concatenate([own, base]), dict.fromkeys(swap.parts, lenders), label=swap.default_label)


def require_gold(examples: Examples, name: str) -> Examples:
    """Training examples, each of which has a gold label.

    Args:
        examples: Those that are trained on, or shown to a model in context.
        name: The name of the data set.

    Raises:
        HeedfulError: One has none.
    """
    if n := examples.table["label"].null_count:
        raise DataError(
            f"{n:,} of {len(examples):,} training examples of {name} have no gold label. Train on labelled examples; "
            "those without can be evaluated."
        )
    return examples


def require_slices(examples: Examples, columns: Sequence[str], name: str) -> None:
    """Refuse slices by what is not a column of the examples, or tells nearly each of them apart.

    Args:
        examples: Those that are evaluated.
        columns: By which they are to be sliced.
        name: The name of the data set.

    Raises:
        HeedfulError: One of the columns is such.
    """
    for column in columns:
        if column not in examples.meta:
            remedy = guess(column, examples.meta) if examples.meta else "Leave it out, for there are none."
            raise DataError(f"data.slices {column} is not a column of {name}. {remedy}")
        if (values := len(set(examples.column(f"meta.{column}")))) > MOST_VALUES:
            raise DataError(
                f"data.slices {column}: the column has {values:,} different values, which is more than {MOST_VALUES}. "
                "Name a column with fewer values."
            )

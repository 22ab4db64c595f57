"""Functions that choose examples by a seed: samples, folds, held-out examples and counterfactuals."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import block_array, coo_array
from scipy.sparse.csgraph import connected_components

from heedful.interventions import Swap
from heedful.records import CLUSTER, COUNTERPARTS, Composed, DataError, Examples, generator, keys
from heedful.records.errors import suggestion

ALIASES = {"train": ("train",), "validation": ("validation", "dev", "valid")}
MOST_VALUES = 50  # maximum number of different values of a slice column


def aliases_of(split: str, aliases: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all names of a split, including ``split`` itself, in the order of ``aliases``.

    For "validation_matched", the names are "validation_matched", "dev_matched" and "valid_matched". The list is empty
    if ``split`` starts with none of the names in ``aliases``.

    Args:
        split: Name of the split.
        aliases: Maps "train" and "validation" to names that may replace each other at the start of ``split``.

    Example:
        >>> aliases_of("dev", ALIASES), aliases_of("dev_r1", ALIASES), aliases_of("test", ALIASES)
        (['validation', 'dev', 'valid'], ['validation_r1', 'dev_r1', 'valid_r1'], [])
    """
    for names in aliases.values():
        for name in names:
            if split == name or re.match(rf"{re.escape(name)}[_-]", split) and split not in chain(*aliases.values()):
                return [alias + split.removeprefix(name) for alias in names]
    return []


def by_hash(examples: Examples, seed: int, purpose: str, groups: Iterable[str] | None = None) -> np.ndarray:
    """Return the positions of the examples, sorted by a hash of (seed, purpose, uid).

    The first n positions are a random sample; a larger n keeps the examples of a smaller one. With groups, groups are
    sorted by a hash of (seed, purpose, group), and examples are sorted within their group.

    Args:
        examples: The examples.
        seed: The run's seed.
        purpose: Name of the purpose of the order; orders for different purposes are independent.
        groups: Group per example.

    Returns:
        int64 [examples].
    """

    def hashes(values: Iterable[str], *purposes: str) -> np.ndarray:
        return np.fromiter((generator(seed, *purposes, v).integers(2**63) for v in values), np.int64, len(examples))

    order = [hashes(examples.column("uid"), purpose)]
    if groups is not None:
        order.append(hashes(groups, purpose, "group"))
    return np.lexsort(order)


def sample(examples: Examples, n: int, seed: int, purpose: str, by_group: bool = False) -> Examples:
    """Sample ``n`` examples by hash, in their original order; a smaller sample is a subset of a larger sample.

    Sets of counterparts are not divided, so that the sample may be smaller than ``n``.

    Args:
        examples: The examples.
        n: Size of the sample.
        seed: The run's seed.
        purpose: Setting that asks for the sample; samples for different purposes are independent.
        by_group: Whether to take all examples of a cluster (a group of related examples) before the next cluster.

    Raises:
        DataError: There are fewer than ``n`` examples.
    """
    if not 0 <= n <= len(examples):
        raise DataError(f"There are {len(examples)} examples, and {purpose} asks for {n}.")
    return examples.take(np.sort(_first(examples, n, seed, purpose, by_group)))


def _first(examples: Examples, n: int, seed: int, purpose: str, by_group: bool = False) -> np.ndarray:
    """Return the first ``n`` positions of :func:`by_hash`; fewer, if a set of counterparts would be divided."""
    if COUNTERPARTS not in examples.groups:
        return by_hash(examples, seed, purpose, groups_of(examples) if by_group else None)[:n]
    sets = examples.table[f"groups.{COUNTERPARTS}"].to_pylist()
    order = by_hash(examples, seed, purpose, sets)
    ends = [k for k in range(1, len(order) + 1) if k == len(order) or sets[order[k]] != sets[order[k - 1]]]
    if ends[0] > n:
        raise DataError(f"{purpose} {n} is less than the first set of counterparts, which has {ends[0]} examples.")
    return order[: max(end for end in ends if end <= n)]


def limited(examples: Examples, limit: int | float, batch_size: int, seed: int) -> tuple[np.ndarray, int | float]:
    """Return the positions of the examples to evaluate under ``limit_val_batches`` of the Trainer: a sample by hash.

    Args:
        examples: The validation examples.
        limit: ``limit_val_batches``: a share, or a number of batches, which all processes together predict.
        batch_size: Examples in a batch.
        seed: The run's seed.

    Returns:
        Ascending positions of the sample, int64 [examples], and a limit for the Trainer that keeps them all.
    """
    batches = -(-len(examples) // batch_size)
    if isinstance(limit, float) and limit < 1:
        limit = max(1, round(limit * batches))
    if isinstance(limit, float) or limit >= batches:
        return np.arange(len(examples)), limit
    return np.sort(_first(examples, limit * batch_size, seed, "limit_val_batches")), limit


def groups_of(examples: Examples) -> Iterator[str]:
    """Yield the name of the cluster of each example, such as its table; without clusters, yield the uids."""
    return examples.column(CLUSTER if examples.has_clusters else "uid")


def split_groups(examples: Examples) -> np.ndarray:
    """Return the name of the group of each example, for splits that keep groups together: objects [examples].

    Examples with equal content or in the same cluster are in one group, whatever their labels and uids. A group is
    named by its first cluster in alphabetical order; without clusters, by the hash of its content.
    """
    contents = examples.content_keys(examples.parts)
    if not examples.has_clusters:
        return np.array([f"{key:016x}" for key in contents.tolist()], dtype=object)
    names, cluster = np.unique(np.array(list(groups_of(examples)), dtype=object), return_inverse=True)
    kinds, content = np.unique(contents, return_inverse=True)
    shape = (len(names), len(kinds))
    held = coo_array((np.ones(len(examples), dtype=bool), (cluster, content)), shape).tocsr()
    component = connected_components(block_array([[None, held], [held.T, None]]), directed=False)[1][: len(names)]
    first = np.unique(component, return_index=True)[1]  # names are sorted
    return names[first[component]][cluster]


def folds_of(groups: Sequence[str], folds: int) -> np.ndarray:
    """Return the fold of each example, for cross-validation: int64 [examples], from 0 to ``folds`` - 1.

    Groups, in the order of their hashes, are added to the fold that is smallest at that time, so that sizes of folds
    differ by at most the size of the largest group. The folds depend on neither a seed nor the order of the examples.

    Args:
        groups: Name of the group of each example; a group is never divided.
        folds: Number of folds.
    """
    names, group, sizes = np.unique(np.array(groups, dtype=object), return_inverse=True, return_counts=True)
    held = np.zeros(folds, dtype=np.int64)
    fold = np.zeros(len(names), dtype=np.int64)
    for i in np.argsort(keys(names), kind="stable"):  # equal keys are sorted by name
        fold[i] = held.argmin()
        held[fold[i]] += sizes[i]
    return fold[group]


def fold_out(examples: Examples, folds: int, fold: int) -> tuple[Examples, Examples]:
    """Split examples into (training examples, validation examples), where one fold is for validation.

    Args:
        examples: The examples; groups of :func:`split_groups` stay together.
        folds: Number of folds.
        fold: Index of the fold for validation, from 0.

    Raises:
        DataError: There are fewer groups than folds.
    """
    groups = split_groups(examples)
    if len(set(groups)) < folds:
        what = "values of data.cluster or the first of data.groups" if examples.has_clusters else "examples"
        raise DataError(f"data.folds {folds}: the training set has only {len(set(groups))} different {what}.")
    held = folds_of(groups, folds) == fold
    return examples.take(np.flatnonzero(~held)), examples.take(np.flatnonzero(held))


def hold_out(examples: Examples, n: int, seed: int) -> tuple[Examples, Examples]:
    """Split examples into (training examples, validation examples), with at least ``n`` examples for validation.

    The validation examples are a sample by hash, in whole groups of :func:`split_groups`.

    Raises:
        DataError: No training example would remain.
    """
    if n >= len(examples):
        raise DataError(f"data.hold_out {n} leaves none of the {len(examples)} training examples. Hold out fewer.")
    groups = split_groups(examples)
    order = by_hash(examples, seed, "hold_out", groups)
    ends = np.append(np.flatnonzero(groups[order][1:] != groups[order][:-1]) + 1, len(order))
    end = int(ends[np.searchsorted(ends, n)])
    if end == len(order):
        raise DataError(
            f"data.hold_out {n} leaves no training example, since clusters (data.cluster or the first of data.groups) "
            "and equal examples are not split. Hold out fewer."
        )
    return examples.take(np.sort(order[end:])), examples.take(np.sort(order[:end]))


def overlap(examples: Examples, pool: Examples) -> np.ndarray:
    """Whether each example has the same content in every part as an example of the pool: bool [examples]."""
    if set(examples.parts) != set(pool.parts):
        return np.zeros(len(examples), dtype=bool)

    def contents(pool: Examples) -> pa.ChunkedArray:
        return pc.binary_join_element_wise(*(pool.table[f"groups.{part}"] for part in examples.parts), "")

    return pc.is_in(contents(examples), value_set=contents(pool)).to_numpy()


def without_overlap(examples: Examples, pool: Examples | None) -> tuple[Examples, int]:
    """Return the examples whose content is not in the pool, and the number of removed examples."""
    if pool is None or not (in_pool := overlap(examples, pool)).any():
        return examples, 0
    return examples.take(np.flatnonzero(~in_pool)), int(in_pool.sum())


def counterfactual_partners(examples: Examples, swap: Swap, seed: int, draw: int = 0) -> np.ndarray:
    """Draw a partner for each training example whose label is not the default label.

    The training example will take the swapped part from the partner. Source: the Counterfactual Attentiveness Test
    (CAT), section 6.

    Returns:
        Positions of the partners, int64 [examples]; -1 for examples without a partner or with the default label.
    """
    partners = np.full(len(examples), -1, dtype=np.int64)
    labels = examples.column("label")
    eligible = np.flatnonzero(np.fromiter((label != swap.default_label for label in labels), bool, len(examples)))
    partners[eligible] = swap.partners(examples, eligible, draw, seed)
    return partners


def with_counterfactuals(examples: Examples, swap: Swap, partners: np.ndarray) -> Composed:
    """Append counterfactuals to the training examples: copies with a part of the partner and with the default label.

    Args:
        examples: The training examples.
        swap: The swap, with the swapped part and the default label.
        partners: int64 [examples], positions of the partners; -1 for an example without a counterfactual.
    """
    every = np.arange(len(examples))
    base = np.flatnonzero(partners >= 0)
    lenders = dict.fromkeys(swap.parts, np.concatenate([every, partners[base]]))
    return Composed(examples, np.concatenate([every, base]), lenders, label=swap.default_label)


def require_gold(examples: Examples, name: str) -> Examples:
    """Return the training examples unchanged; raise DataError if one of them has no gold label."""
    if n := examples.table["label"].null_count:
        raise DataError(f"{n:,} of {len(examples):,} training examples of {name} have no gold label.")
    return examples


def require_slices(examples: Examples, columns: Sequence[str], name: str) -> None:
    """Raise DataError unless the slice columns are meta columns of the examples, with at most 50 values each."""
    for column in columns:
        if column not in examples.meta:
            remedy = suggestion(column, examples.meta) if examples.meta else "Leave it out: there are no columns."
            raise DataError(f"data.slices {column} is not a column of {name}. {remedy}")
        if (values := len(set(examples.column(f"meta.{column}")))) > MOST_VALUES:
            raise DataError(f"data.slices {column}: the column has {values:,} values, more than {MOST_VALUES}.")

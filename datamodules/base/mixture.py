"""Mixtures: examples of another source replace a share of the training set.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), appendix A: 2 % of
the ambiguous training set of MSGS are unambiguous rows, and 2 % of QQP are rows of PAWS. The paper does not say whether
these rows are added or replace others. Here they replace others, so that the number of training examples, and of steps
in an epoch, is the same for all mixtures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heedful.datamodules.base.splits import by_hash
from heedful.datamodules.loaders.pairs import Columns
from heedful.records import DataError, Examples, SettingError, agree, inform
from heedful.records.errors import suggestion


@dataclass(frozen=True)
class Mixture:
    """Settings of a mixture: examples of another source that replace a share of the training set.

    Attributes:
        share: Share of the training set, between 0 and 1; required.
        split: Split of the source, or file in its folder.
        path: Path of the source; by default the path of the data.
        name: Name in uids and messages; by default the split.
        parts: Maps parts to columns, if the columns differ from the data.
        label: Column of the label, if it differs from the data.
        labels: Maps label names of the data to their spellings in this source, if the spellings differ.
    """

    share: float = 0.0
    split: str = "train"
    path: str | None = None
    name: str | None = None
    parts: dict[str, str] | None = None
    label: str | None = None
    labels: dict[str, list[str | int]] | None = None

    @property
    def display_name(self) -> str:
        """The name of the mixture in uids and messages: ``name``, or the split if there is no ``name``."""
        return self.name or self.split

    def columns(self, data_columns: Columns) -> Columns:
        """Return which columns of the mixture hold the parts and the label.

        Args:
            data_columns: The columns of the data, which are used where the mixture names no other column. The uid, meta
                columns, and groups that are not parts are left out.
        """
        return replace(
            data_columns,
            parts={part: (self.parts or data_columns.parts)[part] for part in data_columns.parts},
            label=self.label or data_columns.label,
            labels=data_columns.labels if self.labels is None else self.labels,
            uid=None,
            groups=[group for group in data_columns.groups if group in data_columns.parts],
            meta=(),
            slices=(),
            cluster=data_columns.cluster if data_columns.cluster in data_columns.parts else None,
            counterpart=None,
        )


def require_mixture(mixture: Sequence[Mixture], parts: Sequence[str], labels: Sequence[str]) -> None:
    """Raise an error unless the mixtures have valid settings and fit the data.

    Args:
        mixture: The mixtures; each share is between 0 and 1, and their sum is less than 1.
        parts: Names of the parts of the data, which each mixture must have.
        labels: Names of the labels of the data; a mixture has no others.

    Raises:
        SettingError: A share or the name of a mixture is not valid.
        DataError: A mixture has other parts, or a label that the data do not have.
    """
    for each in mixture:
        if not 0 < each.share < 1:
            raise SettingError(f"data.mixture: the share {each.share} of {each.display_name} is not between 0 and 1.")
        if each.parts is not None and sorted(each.parts) != sorted(parts):
            part_names = ", ".join(each.parts)
            raise DataError(f"data.mixture: {each.display_name} has the parts [{part_names}], not {', '.join(parts)}.")
        if unknown := [label for label in each.labels or () if label not in labels]:
            raise DataError(
                f"data.mixture: {each.display_name} has the label {unknown[0]!r}, which the data do not have. "
                f"{suggestion(unknown[0], labels)}"
            )
        if not each.display_name or "/" in each.display_name:
            raise SettingError(f"data.mixture: the name {each.display_name!r} is empty or has a slash.")
    if (total := sum(each.share for each in mixture)) >= 1:
        raise SettingError(f"data.mixture has shares that add up to {total:g}. Give shares that add up to less than 1.")


def mixed(examples: Examples, mixture: Sequence[Mixture], read: Callable[[Mixture], Examples], seed: int) -> Examples:
    """Replace shares of the training set by examples of the mixtures.

    Hashes of (seed, uid) choose the replaced and the new examples: a larger share chooses all examples that a smaller
    share chooses. Two mixtures may read the same rows; the second takes no text that the first has taken.

    Args:
        examples: The training set.
        mixture: The mixtures, in order of precedence.
        read: Reads all examples of a mixture.
        seed: The run's seed.

    Returns:
        The mixed training set, of the same size.

    Raises:
        DataError: A mixture has too few examples, or its share is less than one example.
    """
    samples: list[Examples] = []
    used: list[np.ndarray] = []  # hashes of the contents of earlier samples
    for each in mixture:
        pool = read(each)
        n = round(each.share * len(examples))
        contents = pool.content_keys(pool.parts)
        free = np.flatnonzero(~np.isin(contents, np.concatenate([contents[:0], *used])))
        if not 1 <= n <= len(free):
            raise DataError(
                f"data.mixture: the share {each.share:g} of {len(examples):,} training examples is {n:,} of "
                f"{each.display_name}, and there are {len(free):,} to take. Give another share."
            )
        pool = pool.take(free)
        samples.append(pool.take(np.sort(by_hash(pool, seed, "mixture")[:n])))
        used.append(samples[-1].content_keys(pool.parts))
        label = f" with {each.label}" if each.label else ""
        pool_words = f"of the {agree(len(free), 'example', 'examples')} of {each.display_name}{label}"
        inform(f"{agree(n, f'{pool_words} is', f'{pool_words} are')} mixed in.")
    remaining = by_hash(examples, seed, "mixed into")[sum(map(len, samples)) :]
    return Examples.concatenate([examples.take(np.sort(remaining)), *samples])

"""Training sets that are mixed: a share of the examples gives way to examples from elsewhere.

Source: inoculation by a mixture ("Assessing Out-of-Domain Language Model Performance from Few Examples", appendix A):
2 % of the rows of MSGS's ambiguous training set are unambiguous, 2 % of QQP's are PAWS's. The paper does not say
whether they are added. Here they replace others, so that all mixtures have as many examples, and as many steps in an
epoch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from heedful.datamodules.base.splits import by_hash
from heedful.datamodules.loaders.pairs import Columns
from heedful.datamodules.sources.row_filter import ANY_SPLIT, conditions_of
from heedful.datamodules.sources.values import require_path
from heedful.records import DataError, Examples, SettingError, agree, inform
from heedful.records.errors import guess


@dataclass(frozen=True)
class Mixture:
    """Examples that are mixed into the training set.

    Attributes:
        share: How large a part of the training set they are, as 0.02; it must be named.
        split: The split, or the file in a folder, that they are read from.
        path: Where it lies; by default, where the data themselves lie.
        name: What they are called in uids and messages; by default the split.
        parts: Part to column, where columns have other names there.
        label: Column of the label, where that is another.
        labels: Label to its spellings, where these are others; the names are those of the data.
        where: Column to the value or values of the rows to take from.
    """

    share: float = 0.0
    split: str = "train"
    path: str | None = None
    name: str | None = None
    parts: dict[str, str] | None = None
    label: str | None = None
    labels: dict[str, list[str | int]] | None = None
    where: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_path(self.path, "data.mixture.path")

    @property
    def called(self) -> str:
        """The name in uids and messages."""
        return self.name or self.split

    def columns(self, of_data: Columns) -> Columns:
        """How its rows become examples, given how those of the data do: they have neither ids nor meta columns."""
        return replace(
            of_data,
            parts={part: (self.parts or of_data.parts)[part] for part in of_data.parts},
            label=self.label or of_data.label,
            labels=of_data.labels if self.labels is None else self.labels,
            uid=None,
            groups=[group for group in of_data.groups if group in of_data.parts],
            meta=(),
            slices=(),
            cluster=of_data.cluster if of_data.cluster in of_data.parts else None,
        )


def require_mixture(mixture: Sequence[Mixture], parts: Sequence[str], labels: Sequence[str]) -> None:
    """Check the settings of mixtures against those of the data.

    Raises:
        HeedfulError: Shares are none, or leave nothing; or parts or labels are not those of the data.
    """
    for each in mixture:
        if not 0 < each.share < 1:
            raise SettingError(
                f"data.mixture has the share {each.share} of {each.called}. Give a share between 0 and 1, such as 0.02."
            )
        if each.parts is not None and sorted(each.parts) != sorted(parts):
            raise DataError(
                f"data.mixture: {each.called} has the parts [{', '.join(each.parts)}]. Name a column for each part of "
                f"the data: {', '.join(parts)}."
            )
        if unknown := [label for label in each.labels or () if label not in labels]:
            raise DataError(
                f"data.mixture: {each.called} has the label {unknown[0]!r}, which the data do not have. "
                f"{guess(unknown[0], labels)}"
            )
        if not each.called or "/" in each.called:
            raise SettingError(f"data.mixture: {each.called!r} cannot stand in uids. Give it a name without a slash.")
        conditions_of(each.where, ANY_SPLIT)
    if (total := sum(each.share for each in mixture)) >= 1:
        raise SettingError(
            f"data.mixture has shares that add up to {total:g}, which leaves nothing of the training set. Give "
            "smaller shares."
        )


def mixed(examples: Examples, mixture: Sequence[Mixture], read: Callable[[Mixture], Examples], seed: int) -> Examples:
    """Replace some of the examples by those of mixtures.

    Both those that give way and those that come are chosen by (seed, uid): those of a smaller share are among those of
    a larger one. No two mixtures, which may read the same rows with other labels, share a text.

    Args:
        examples: The training set.
        mixture: What is mixed into it.
        read: Reads all examples that a mixture takes some from.
        seed: The run's seed.

    Returns:
        As many examples.

    Raises:
        DataError: A mixture has too few examples, or its share is less than one example.
    """
    taken: list[Examples] = []
    used: list[np.ndarray] = []  # contents
    for each in mixture:
        pool = read(each)
        n = round(each.share * len(examples))
        contents = pool.content_keys(pool.parts)
        free = np.flatnonzero(~np.isin(contents, np.concatenate([contents[:0], *used])))
        if not 1 <= n <= len(free):
            raise DataError(
                f"data.mixture: the share {each.share:g} of {len(examples):,} training examples is {n:,} of "
                f"{each.called}, and there are {len(free):,} to take. Give another share."
            )
        pool = pool.take(free)
        taken.append(pool.take(np.sort(by_hash(pool, seed, "mixture")[:n])))
        used.append(taken[-1].content_keys(pool.parts))
        label = f" with {each.label}" if each.label else ""
        pool_words = f"of the {agree(len(free), 'example', 'examples')} of {each.called}{label}"
        inform(f"{agree(n, f'{pool_words} is', f'{pool_words} are')} mixed in.")
    staying = by_hash(examples, seed, "mixed into")[sum(map(len, taken)) :]
    return Examples.concatenate([examples.take(np.sort(staying)), *taken])

"""Inoculation: training on a few examples of a challenge set (Liu, Schwartz and Smith, 2019)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from heedful.datamodules.base.splits import sample
from heedful.datamodules.sources.values import require_path
from heedful.records import DataError, Examples, SettingError


class Challenges(NamedTuple):
    """Where data take challenge examples from; None for nowhere.

    Attributes:
        from_file: Reads all examples of a challenge set from a path.
        perturbed: Makes ``n`` of the training set, by group or not; those of a smaller ``n`` are among them.
    """

    from_file: Callable[[str], Examples] | None = None
    perturbed: Callable[[int, bool], Examples] | None = None


@dataclass(frozen=True)
class Inoculation:
    """A few examples of a challenge set to fine-tune on.

    Attributes:
        path: A file or folder in the format of the data set.
        n: How many of its examples. A larger n adds examples to those of a smaller one.
        by_group: Take all examples of one group (of one table, say) before those of the next, so that the others can be
            evaluated on.
        perturbed: Without a path: of tables, hypotheses of the training set, each changed in one way that keeps its
            label or flips it.
    """

    path: str | None = None
    n: int = 100
    by_group: bool = False
    perturbed: bool = False

    def __post_init__(self) -> None:
        require_path(self.path, "data.inoculation.path")

    def examples(self, challenges: Challenges, name: str, seed: int) -> Examples:
        """The examples to train on.

        Args:
            challenges: Where the data take them from.
            name: Name of the data set.
            seed: The run's seed.

        Raises:
            HeedfulError: Not exactly one source is named, the data have no such source, or it has fewer than ``n``.
        """
        if (self.path is None) != self.perturbed:
            raise SettingError(
                "augment inoculation needs data.inoculation.path or, for tables, data.inoculation.perturbed true. "
                "Give one of the two."
            )
        if self.perturbed:
            if challenges.perturbed is None:
                raise DataError(f"data.inoculation.perturbed is for hypotheses about tables, and {name} has none.")
            return challenges.perturbed(self.n, self.by_group)
        if challenges.from_file is None:
            raise DataError(f"{name} cannot be inoculated, for it is not read from files.")
        return sample(challenges.from_file(self.path), self.n, seed, "inoculation", self.by_group)

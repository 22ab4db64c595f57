"""Inoculation: training on a few examples of a challenge set (Liu, Schwartz and Smith, 2019)."""

from dataclasses import dataclass

from heedful.datamodules.sources.values import require_path
from heedful.records import SettingError


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

    def require_source(self) -> None:
        """Refuse an inoculation without exactly one source of examples."""
        if (self.path is None) != self.perturbed:
            raise SettingError(
                "augment inoculation needs data.inoculation.path or, for tables, data.inoculation.perturbed true. "
                "Give one of the two."
            )

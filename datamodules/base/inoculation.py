"""Inoculation: training on a few examples of a challenge set (Liu, Schwartz and Smith, 2019)."""

from dataclasses import dataclass

from heedful.records import SettingError


@dataclass(frozen=True)
class Inoculation:
    """Settings of inoculation: the challenge examples that replace the training set.

    Attributes:
        path: File or folder of the challenge set, in the format of the data set.
        n: Number of training examples. Samples are nested: a larger ``n`` keeps the examples of a smaller one.
        by_group: Whether to use all examples of one group (of one table, say) before the next group, so that few groups
            are seen.
        perturbed: Use changed training examples instead of ``path``, for hypotheses about tables: each hypothesis gets
            one change that keeps or flips its label.
    """

    path: str | None = None
    n: int = 100
    by_group: bool = False
    perturbed: bool = False

    def require_source(self) -> None:
        """Raise SettingError unless exactly one of ``path`` and ``perturbed`` is set."""
        if (self.path is None) != self.perturbed:
            raise SettingError("augment inoculation needs data.inoculation.path or data.inoculation.perturbed true.")

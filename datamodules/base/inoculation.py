"""Inoculation: training on a few examples of a challenge set (Liu, Schwartz and Smith, 2019)."""

from dataclasses import dataclass

from heedful.datamodules.sources.values import require_path
from heedful.records import SettingError


@dataclass(frozen=True)
class Inoculation:
    """Examples of a challenge set to fine-tune on.

    Attributes:
        path: A file or folder in the format of the data set.
        n: Number of examples. Samples are nested: a larger ``n`` keeps the examples of a smaller one.
        by_group: Whether to exhaust one group (one table, say) before the next, so that the other groups stay unseen.
        perturbed: For tables, instead of ``path``: use hypotheses of the training set, each with one change that keeps
            or flips its label.
    """

    path: str | None = None
    n: int = 100
    by_group: bool = False
    perturbed: bool = False

    def __post_init__(self) -> None:
        require_path(self.path, "data.inoculation.path")

    def require_source(self) -> None:
        """Require exactly one source of examples."""
        if (self.path is None) != self.perturbed:
            raise SettingError(
                "augment inoculation needs data.inoculation.path or, for tables, data.inoculation.perturbed true. "
                "Give one of the two."
            )

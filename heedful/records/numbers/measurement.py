"""A number, its sample size and its uncertainty."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One metric.

    Attributes:
        value: The number; None if undefined (see ``reason``).
        n: Number of base examples; for transitions and the unread share, number of changed examples.
        clusters: Number of clusters of the interval; None if each example is a cluster.
        draws: Number of draws; None for metrics without draws.
        std: Sample standard deviation over draws (ddof 1); None for fewer than two.
        ci95: 95 % interval [low, high], or None.
        per_draw: The value per draw.
        flags: Warnings that a reader must know before quoting the number.
        reason: Why the number is undefined.
    """

    value: float | None
    n: int
    draws: int | None = None
    std: float | None = None
    ci95: tuple[float, float] | None = None
    per_draw: tuple[float, ...] = ()
    flags: tuple[str, ...] = ()
    reason: str | None = None
    clusters: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry of results.json, without the number of clusters if each example is a cluster."""
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        if self.clusters is None:
            del values["clusters"]
        return values

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined ({self.reason})"
        spread = "" if self.std is None else f" ± {100 * self.std:.1f}"
        return f"{100 * self.value:.1f}{spread}"

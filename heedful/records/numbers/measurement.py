"""``Measurement``: the value of a metric with its sample size and its uncertainty."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

DIGITS = 12  # significant digits of numbers in results
ZERO = 1e-15  # differences of equal shares are up to this size, depending on the processor


@dataclass(frozen=True)
class Measurement:
    """The value of a metric with its sample size and its uncertainty.

    Attributes:
        value: The value; None if it is undefined (see ``reason``).
        n: Number of base examples; for transitions and for shares of unread changes, number of changed examples.
        draws: Number of draws; None for metrics without draws.
        std: Sample standard deviation over the draws (ddof 1); None for fewer than two draws.
        ci95: 95 % confidence interval (low, high), or None.
        per_draw: The values of the draws.
        flags: Names of the warnings that belong to the value.
        reason: Why the value is undefined; None if it is defined.
        clusters: Number of clusters that the interval is over; None if each example is a cluster.
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

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create from an entry of results.json."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fields)

    @property
    def low(self) -> float | None:
        """Lower bound of the 95 % interval; None without an interval."""
        return self.ci95[0] if self.ci95 else None

    @property
    def high(self) -> float | None:
        """Upper bound of the 95 % interval; None without an interval."""
        return self.ci95[1] if self.ci95 else None

    def rounded(self) -> Self:
        """Round all values to 12 significant digits, and to 0 below 1e-15, as processors differ in the last bits."""
        value, std = (None if x is None else _rounded(x) for x in (self.value, self.std))
        ci95 = self.ci95 and (_rounded(self.ci95[0]), _rounded(self.ci95[1]))
        return replace(self, value=value, std=std, ci95=ci95, per_draw=tuple(map(_rounded, self.per_draw)))

    def as_dict(self) -> dict[str, Any]:
        """Convert to an entry of results.json; ``clusters`` is omitted if each example is a cluster."""
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        if self.clusters is None:
            del values["clusters"]
        return values

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined ({self.reason})"
        spread = "" if self.std is None else f" ± {100 * self.std:.1f}"
        return f"{100 * self.value:.1f}{spread}"


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if abs(value) >= ZERO else 0.0

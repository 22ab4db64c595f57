"""``Number``, a named measurement; and ``Settings``, the base class of the settings of metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from heedful.records import Context, Measurement, MetricName

Numbers = dict[MetricName, Measurement]
Counts = Mapping[str, Any]  # counts by name, or by part and name


@dataclass(frozen=True)
class Settings:
    """Base class of the settings of a metric; the context of rows stores them as JSON."""

    @classmethod
    def from_context(cls, context: Context) -> Self:
        """Read the settings of a metric from the context of rows, which also holds other settings."""
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in context.own.items() if name in names}
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary for JSON, without those that have their default values."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class Number:
    """A number of an evaluation.

    Attributes:
        name: Name in results.json.
        measured: Value, interval and unit.
        headline: Whether tables that compare runs show the number.
        changed: Changed rows that the number is about, also those without an answer: bool [rows]. Two shares are then
            computed beside the number: the share of these rows without an answer and, among the others, the share whose
            change is unread (does not reach the model). None for numbers without these shares.
    """

    name: MetricName
    measured: Measurement
    headline: bool = False
    changed: np.ndarray | None = None


def measured(numbers: Iterable[Number | Counts]) -> Numbers:
    """Map the names of numbers to their measurements; counts are skipped."""
    return {number.name: number.measured for number in numbers if isinstance(number, Number)}


def merged_counts(first: Counts, second: Counts) -> dict[str, Any]:
    """Merge counts; mappings with the same name are merged as well.

    Example:
        >>> merged_counts({"premise": {"swapped": 3}}, {"premise": {"eligible": 4}, "pairs": 2})
        {'premise': {'swapped': 3, 'eligible': 4}, 'pairs': 2}
    """
    both = {k: {**first[k], **v} if isinstance(v, Mapping) and k in first else v for k, v in second.items()}
    return {**first, **both}

"""The numbers of an evaluation: names, values, and the context in which rows become numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from heedful.records.task import CLASSIFICATION, KINDS, TaskKind

RISING = ("accuracy", "attentiveness", "exact_match", "f1")  # families in which higher is better
FALLING = ("loss", "null", "transitions")  # families in which lower is better
NO_DIRECTION = {"majority", "eligible", "drop", "unread", "no_answer"}  # statistics that are neither good nor bad

Unit = Literal["percent", "ratio"]


class MetricName(NamedTuple):
    """The name of a metric: a tuple of fields in Python, and a text in results.json and in TensorBoard.

    Attributes:
        data: Name of the data set, or of examples that the evaluation itself provides.
        part: The changed part or the change, such as "premise" or "delete"; "" for metrics without one.
        statistic: Statistic other than the main one, such as "to_default" or "precision".
        slice: Subset of the examples, such as "split=alpha1" or "from_neutral"; "" for all examples.

    Example:
        >>> str(MetricName("attentiveness", "mnli", "premise", slice="from_neutral"))
        'attentiveness/mnli/premise/from_neutral'
    """

    family: str
    data: str
    part: str = ""
    statistic: str = ""
    slice: str = ""

    @property
    def by(self) -> tuple[str, str]:
        """The column and the value of a slice such as "split=alpha1"; two empty texts for any other slice."""
        column, equals_sign, value = self.slice.partition("=")
        is_label = column.removeprefix("from_").removeprefix("gold_").startswith('"')
        return (column, value) if equals_sign and not is_label else ("", "")

    def __str__(self) -> str:
        last = (self.slice, self.statistic) if self.family == "challenge" else (self.statistic, self.slice)
        return "/".join(filter(None, (self.family, self.data, self.part, *last)))


def direction_of(metric: str) -> Literal["max", "min"] | None:
    """Return "max" or "min" if a higher or a lower value of a metric of results.json is better, None if neither is.

    Example:
        >>> direction_of("accuracy/mnli/macro_f1"), direction_of("loss"), direction_of("accuracy/mnli/majority")
        ('max', 'min', None)
    """
    family, *words = metric.split("/")
    if NO_DIRECTION.intersection(words):
        return None
    return "max" if family in RISING else "min" if family in FALLING else None


@dataclass(frozen=True)
class Measurement:
    """The value of a metric, or the reason why it is undefined, with its sample size and its uncertainty.

    Attributes:
        n: Number of base examples; for transitions and for shares of unread changes, number of changed examples.
        std: Sample standard deviation over the draws (ddof 1); None for fewer than two draws.
        ci95: 95 % confidence interval (low, high).
        flags: Names of the warnings that belong to the value.
        clusters: Number of clusters that the interval is over; None if each example is a cluster.
        unit: "percent" for shares and their differences, "ratio" for plain numbers.
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
    unit: Unit = "percent"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create from an entry of results.json."""
        return cls(**_with_tuples(values))

    @property
    def low(self) -> float | None:
        return self.ci95[0] if self.ci95 else None

    @property
    def high(self) -> float | None:
        return self.ci95[1] if self.ci95 else None

    def rounded(self) -> Self:
        """Round all values to 12 significant digits, and to 0 below 1e-15, as processors differ in the last bits."""
        value, std = (None if x is None else _rounded(x) for x in (self.value, self.std))
        ci95 = self.ci95 and (_rounded(self.ci95[0]), _rounded(self.ci95[1]))
        return replace(self, value=value, std=std, ci95=ci95, per_draw=tuple(map(_rounded, self.per_draw)))

    def as_dict(self) -> dict[str, Any]:
        """Convert to an entry of results.json; ``clusters`` is omitted if each example is a cluster, and ``unit`` if it
        is "percent".
        """
        omitted = {"clusters": None, "unit": "percent"}
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {k: v for k, v in values.items() if k not in omitted or v != omitted[k]}

    def __str__(self) -> str:
        if self.value is None:
            return f"undefined ({self.reason})"
        spread = "" if self.std is None else f" ± {100 * self.std:.1f}"
        return f"{100 * self.value:.1f}{spread}"


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.12g}") if abs(value) >= 1e-15 else 0.0  # differences of equal shares are up to 1e-15


@dataclass(frozen=True)
class Context:
    """What a metric needs besides rows, in whose file it is stored: the task and the settings of the evaluation.

    Attributes:
        parts: Names of the parts that the model reads.
        labels: In the order of the probabilities.
        splits: The evaluated splits; empty if there is only one.
        slices: Names of the meta columns, such as "genre"; numbers are also computed for each of their values.
        own: Settings of the evaluation itself, as JSON values.
        counts: Numbers that the evaluation counted, such as excluded partners.
    """

    data: str
    seed: int = 0
    kind: TaskKind = CLASSIFICATION
    parts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default_label: str | None = None
    splits: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)
    unlabelled: bool = False
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def default_answer(self) -> str | None:
        """The right answer if the parts are unrelated, if any."""
        return self.kind.default_answer(self.default_label)

    def as_dict(self) -> dict[str, Any]:
        """Convert to the metadata of a file of rows, without ``counts``; ``unlabelled`` is omitted if it is false."""
        entry = asdict(self) | {"kind": self.kind.name}
        return {k: v for k, v in entry.items() if k != "counts" and (k != "unlabelled" or v)}

    @classmethod
    def of(cls, entry: Mapping[str, Any], counts: Mapping[str, Any] = MappingProxyType({})) -> "Context":
        """Create a context from the result of :meth:`as_dict` and from ``counts``, which files store separately."""
        return cls(**_with_tuples(entry) | {"kind": KINDS[entry["kind"]], "counts": counts})

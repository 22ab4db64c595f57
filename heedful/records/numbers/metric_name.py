"""Names of metrics: a tuple of fields (:class:`MetricName`) in Python, and a text in results.json."""

import math
from typing import Literal, NamedTuple

SLICE_FIRST = ("challenge",)  # families whose names have the slice before the statistic
SHARES = (  # families of metrics between 0 and 1
    "abstention",
    "accuracy",
    "attentiveness",
    "challenge",
    "default_label",
    "evidence",
    "exact_match",
    "f1",
    "naive_partial",
    "null",
    "transitions",
    "two_class",
)
SIGNED = ("matthews", "drop")  # endings of the statistics in these families that lie between -1 and 1

RISING = ("accuracy", "attentiveness", "exact_match", "f1")  # families in which higher is better
FALLING = ("loss", "null", "transitions")  # families in which lower is better
NO_DIRECTION = {"majority", "eligible", "drop", "unread", "no_answer"}  # statistics that are neither good nor bad


def direction_of(metric: str) -> Literal["max", "min"] | None:
    """Return "max" if a higher value of a metric is better, "min" if a lower value is better, or None if neither is.

    Args:
        metric: Name of the metric in results.json.

    Example:
        >>> direction_of("accuracy/mnli/macro_f1"), direction_of("loss"), direction_of("accuracy/mnli/majority")
        ('max', 'min', None)
    """
    family, *words = metric.split("/")
    if NO_DIRECTION.intersection(words):
        return None
    return "max" if family in RISING else "min" if family in FALLING else None


class MetricName(NamedTuple):
    """The name of a metric.

    Attributes:
        family: Kind of measurement, such as "accuracy", "attentiveness" or "transitions".
        data: Name of the data set, or of examples that the evaluation itself provides.
        part: The changed part or the change, such as "premise" or "delete"; "" for metrics without one.
        statistic: Statistic other than the main one, such as "to_default" or "precision"; "" for the main one.
        slice: Subset of the examples, such as "split=alpha1" or "from_neutral"; "" for all examples.

    Example:
        >>> name = MetricName("attentiveness", "mnli", "premise", slice="from_neutral")
        >>> str(name), name.data
        ('attentiveness/mnli/premise/from_neutral', 'mnli')
    """

    family: str
    data: str
    part: str = ""
    statistic: str = ""
    slice: str = ""

    @property
    def by(self) -> tuple[str, str]:
        """The column and the value if ``slice`` has the form "column=value"; two empty texts for any other slice.

        Example:
            >>> MetricName("accuracy", "infotabs", slice="split=alpha1").by
            ('split', 'alpha1')
        """
        column, equals_sign, value = self.slice.partition("=")
        is_label = column.removeprefix("from_").startswith('"')
        return (column, value) if equals_sign and not is_label else ("", "")

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and highest possible value of the metric.

        In the families :data:`SHARES`, such as "accuracy", the values are -1 and 1 for the statistics :data:`SIGNED`
        (Matthews correlation and drop), and 0 and 1 for all other statistics. In all other families, such as "loss",
        the values are infinite.

        Example:
            >>> MetricName("accuracy", "mnli", statistic="matthews").bounds
            (-1.0, 1.0)
        """
        if self.family not in SHARES:
            return -math.inf, math.inf
        return -1.0 if self.statistic.endswith(SIGNED) else 0.0, 1.0

    def __str__(self) -> str:
        """The name in results.json and in TensorBoard."""
        last = self.statistic, self.slice
        fields = (self.family, self.data, self.part, *(last[::-1] if self.family in SLICE_FIRST else last))
        return "/".join(field for field in fields if field)

"""The name of a metric: a value with fields, written to results.json as one text that is never parsed."""

import math
from typing import Literal, NamedTuple

SLICE_FIRST = ("challenge",)  # families whose texts have the slice before the statistic
SHARES = (  # families of shares, or of means of numbers between 0 and 1
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
SIGNED = ("matthews", "drop")  # how the statistics of these families end that are between -1 and 1

RISING = ("accuracy", "attentiveness", "exact_match", "f1")  # families whose highest number is the best
FALLING = ("loss", "null", "transitions")
NO_DIRECTION = {"majority", "eligible", "drop", "unread", "no_answer"}  # statistics that are neither good nor bad


def direction_of(metric: str) -> Literal["max", "min"] | None:
    """Whether a higher or a lower value of a metric is better; None if neither is.

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
    """The name of a number, by fields.

    Attributes:
        family: The kind of measurement: "accuracy", "attentiveness", "transitions".
        data: Name of the data set, or of the examples that the evaluation provides.
        part: The changed part, or the change: "premise", "delete", "context"; "" for metrics without a part.
        statistic: "to_default", "precision"; "" for the main number.
        slice: Slice of the examples: a label, "split=alpha1", "from_neutral"; "" for all.

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
        """The column and the value of a slice "column=value"; two empty texts for other slices, such as a label in
        quotes.

        Example:
            >>> MetricName("accuracy", "infotabs", slice="split=alpha1").by
            ('split', 'alpha1')
        """
        column, equals_sign, value = self.slice.partition("=")
        is_label = column.removeprefix("from_").startswith('"')
        return (column, value) if equals_sign and not is_label else ("", "")

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest possible value.

        Example:
            >>> MetricName("accuracy", "mnli", statistic="matthews").bounds
            (-1.0, 1.0)
        """
        if self.family not in SHARES:
            return -math.inf, math.inf
        return -1.0 if self.statistic.endswith(SIGNED) else 0.0, 1.0

    def __str__(self) -> str:
        """The name of the metric in results.json and in TensorBoard."""
        last = self.statistic, self.slice
        fields = (self.family, self.data, self.part, *(last[::-1] if self.family in SLICE_FIRST else last))
        return "/".join(field for field in fields if field)

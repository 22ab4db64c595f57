"""What an evaluation makes of its rows: numbers, and how they are shown; both from a rows file alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from records import Measurement
from records.context import Context
from records.display import Chart, Shown
from records.metric_name import MetricName

Numbers = dict[MetricName, Measurement]


def _no_charts(context: Context) -> tuple[Chart, ...]:
    return ()


@dataclass(frozen=True)
class Metric:
    """The numbers of an evaluation.

    Attributes:
        name: Of the evaluation; its rows stand in ``rows/<name>.parquet``.
        score: Makes the numbers from the rows and the context; pure. In the order of reading.
        show: Says how these numbers are shown, from the numbers, the context and the counts of the evaluation.
        charts: The curves over epochs, from the context; called before anything is measured.
    """

    name: str
    score: Callable[[pa.Table, Context], Numbers]
    show: Callable[[Numbers, Context, Mapping[str, Any]], Shown]
    charts: Callable[[Context], tuple[Chart, ...]] = _no_charts

"""One long frame of the numbers of runs, a row for each number; :func:`.tables.tabulate` makes tables of it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from heedful.records import Measurement, MetricName

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("run", "evaluation", "data", "part", "statistic", "slice")  # evaluation is the family of a metric name
NUMBERS = ("value", "low", "high", "n", "flags", "unit", "clusters", "std", "draws", "reason")
COLUMNS = ("run", "data", "evaluation", *NAMES[3:], *NUMBERS)
Entry = Measurement | Mapping[str, Any]  # a measurement, or its entry in results.json


def fields_of(m: Entry) -> dict[str, Any]:
    """Return the fields of a measurement that a frame has as columns; missing fields are None.

    Example:
        >>> fields_of(Measurement(0.5, 20, ci95=(0.4, 0.6), flags=("one_sided",)))["low"]
        0.4
    """
    entry = m if isinstance(m, Mapping) else vars(m)
    low, high = entry.get("ci95") or (None, None)
    unit = "share" if entry.get("unit", "percent") == "percent" else entry["unit"]
    fields = {**entry, "low": low, "high": high, "flags": ", ".join(entry["flags"]), "unit": unit}
    return {name: fields.get(name) for name in NUMBERS}


def frame_of(runs: Iterable[tuple[str, Mapping[MetricName, Entry]]]) -> "pd.DataFrame":
    """Return the numbers of runs in one long frame.

    Args:
        runs: Name of the run, and its numbers by name.

    Returns:
        A row for each run and number. The columns are run, data, evaluation (the first word of the name of the
        number), part, statistic and slice ("" for none); value, low and high (ends of the 95 % interval), n, flags
        (joined by commas) and unit ("share": between 0 and 1; "ratio": a plain number); clusters, std and draws (of
        partners; of a mean: of seeds), and reason, why a number is undefined. Missing numbers are NaN.
    """
    import pandas as pd

    entries = [dict(zip(NAMES, (run, *name), strict=True)) | fields_of(m) for run, by in runs for name, m in by.items()]
    types = dict.fromkeys(("value", "low", "high", "std"), "float64") | {"n": "int64"}
    return pd.DataFrame(entries, columns=COLUMNS).astype(types | dict.fromkeys(("clusters", "draws"), "Int64"))


def entries_of(frame: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame as entries of results.json; missing fields are None."""
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        bounds = None if row["low"] is None else (row["low"], row["high"])
        yield {**row, "ci95": bounds, "flags": list(filter(None, row["flags"].split(", ")))}

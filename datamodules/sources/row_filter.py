"""Filter rows by the values of their columns, for the setting ``data.where``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.sources.values import Rows, as_text, brief, column_name, is_empty, listed
from heedful.records import DataError, SettingError, inform

MOST_NAMED = 10  # maximum number of values in a message

SPLITS = ("train", "validation")
ANY_SPLIT = ""  # for conditions that do not depend on a split


def conditions_of(where: Mapping[str, Any], split: str) -> dict[str, tuple[str, ...]]:
    """Map columns to the values, as text, that rows of a split must have.

    Args:
        where: The setting ``data.where``, which maps a column to a value or a list of values, and "train" or
            "validation" to conditions for this split only.
        split: "train" or "validation"; conditions for other splits are left out.
    """
    conditions = {}
    for column, values in where.items():
        if isinstance(values, Mapping):
            if column not in SPLITS:
                raise SettingError(f"data.where: {brief(column)} has nested conditions. Only train and validation may.")
            conditions |= conditions_of(values, ANY_SPLIT) if column == split else {}
            continue
        several = list(values) if isinstance(values, list | tuple) else [values]
        if not several or not all(isinstance(value, str | int | float | None) for value in several):
            raise SettingError(f"data.where: {brief(column)} has {brief(values)}. Give it a value or a list of values.")
        conditions[column] = tuple(dict.fromkeys(map(_text, several)))
    return conditions


def filtered(rows: Rows, where: str, conditions: Mapping[str, Sequence[str]]) -> Rows:
    """Yield the rows that meet all conditions.

    Args:
        rows: Pairs (row number, values by column).
        where: Name of the source in messages.
        conditions: Accepted values by column, from :func:`conditions_of`.

    Raises:
        HeedfulError: A column is missing, no row has one of the accepted values, or no row meets all conditions.
    """
    values: dict[str, Counter[str]] = {column: Counter() for column in conditions}
    seen = matching = 0
    for row, columns in rows:
        seen += 1
        for column, counts in values.items():
            if column not in columns:
                raise DataError(f"data.where: {where}, row {row}, has no column {column!r}. {listed(columns)}")
            counts[_text(columns[column])] += 1
        if all(_text(columns[column]) in wanted for column, wanted in conditions.items()):
            matching += 1
            yield row, columns
    for column, wanted in conditions.items():
        if absent := [value for value in wanted if value not in values[column]]:
            common = [column_name(value) for value, _ in values[column].most_common(MOST_NAMED)]
            more = " and others" if len(values[column]) > MOST_NAMED else ""
            has = f"It has {', '.join(common)}{more}."
            raise SettingError(f"data.where: the column {column!r} of {where} never has {brief(absent[0])}. {has}")
    if not matching:
        text = "; ".join(f"{column} is {' or '.join(wanted)}" for column, wanted in conditions.items())
        raise DataError(f"data.where: no row of {where} meets all conditions ({text}).")
    inform(f"{where}: data.where keeps {matching:,} of {seen:,} rows.")


def _text(value: Any) -> str:
    """Convert a value to text, to compare it with accepted values; "" for a missing value."""
    return "" if is_empty(value) else as_text(value)

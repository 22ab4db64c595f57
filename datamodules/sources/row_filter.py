"""A choice among the rows of a source by the values of their columns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from heedful.datamodules.sources.values import Rows, brief, column_name, is_empty, listed, plain
from heedful.records import DataError, SettingError, inform

MOST_NAMED = 10  # values of a column that a message lists
MOST_KEPT = 1000  # values of a column that are counted for it

SPLITS = ("train", "validation")
ANY_SPLIT = ""  # of what has no splits of its own


def conditions_of(where: Mapping[str, Any], split: str) -> dict[str, tuple[str, ...]]:
    """The conditions on the rows of a split: column to the values that it may have, as text.

    Args:
        where: Column to a value or a list of values; or a split to such conditions, which hold for that split alone.
        split: "train", "validation" or :data:`ANY_SPLIT`.

    Raises:
        SettingError: A condition names no value, or something that is not a value.
    """
    conditions = {}
    for column, values in where.items():
        if isinstance(values, Mapping):
            if column not in SPLITS:
                raise SettingError(
                    f"data.where: {brief(column)} has conditions of its own. Give it a value; only train and "
                    "validation have conditions of their own."
                )
            conditions |= conditions_of(values, ANY_SPLIT) if column == split else {}
            continue
        several = list(values) if isinstance(values, list | tuple) else [values]
        if not several or not all(isinstance(value, str | int | float | None) for value in several):
            raise SettingError(f"data.where: {brief(column)} has {brief(values)}. Give it a value or a list of values.")
        conditions[column] = tuple(dict.fromkeys(map(_text, several)))
    return conditions


def filtered(rows: Rows, where: str, conditions: Mapping[str, Sequence[str]]) -> Rows:
    """Yield the rows whose columns have one of the wanted values, with their numbers.

    Args:
        rows: (row, columns) pairs.
        where: Name of the source in messages.
        conditions: As :func:`conditions_of` returns them.

    Raises:
        HeedfulError: A column is missing, a wanted value does not occur, or no row is left.
    """
    values: dict[str, Counter[str]] = {column: Counter() for column in conditions}
    seen = kept = 0
    for row, columns in rows:
        seen += 1
        for column, counts in values.items():
            if column not in columns:
                raise DataError(f"data.where: {where}, row {row}, has no column {column!r}. {listed(columns)}")
            value = _text(columns[column])
            if value in counts or len(counts) < MOST_KEPT or value in conditions[column]:
                counts[value] += 1
        if all(_text(columns[column]) in wanted for column, wanted in conditions.items()):
            kept += 1
            yield row, columns
    for column, wanted in conditions.items():
        if absent := [value for value in wanted if value not in values[column]]:
            there = [column_name(value) for value, _ in values[column].most_common(MOST_NAMED)]
            more = " and others" if len(values[column]) > MOST_NAMED else ""
            raise SettingError(
                f"data.where: the column {column!r} of {where} never has the value {brief(absent[0])}. It has "
                f"{', '.join(there)}{more}."
            )
    if not kept:
        asked = "; ".join(f"{column} is {' or '.join(wanted)}" for column, wanted in conditions.items())
        raise DataError(f"data.where: no row of {where} has all of these ({asked}). Name values that occur together.")
    inform(f"{where}: data.where keeps {kept:,} of {seen:,} rows.")


def _text(value: Any) -> str:
    """A value as it is compared: an empty one is no text."""
    return "" if is_empty(value) else plain(value)

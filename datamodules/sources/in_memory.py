"""Rows that are in memory, as people have them in Python: frames, tables, data sets and lists of dictionaries."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.datamodules.sources.arrow_files import dataset_rows, table_rows
from heedful.datamodules.sources.hub_and_local import missing_split
from heedful.datamodules.sources.values import Rows, WholeFloat, brief, column_name, is_empty, require_text
from heedful.records import DataError, SettingError

BLOCK = 4096  # rows of a frame that are Python objects at a time


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory; they give the examples that the same rows give from a file.

    A ``datasets.Dataset``, a pyarrow Table and a polars frame have the values that a parquet file of them has, and a
    list of dictionaries those of a jsonl file. In a pandas frame and in a list, ``None``, NaN and ``pd.NA`` are missing
    values, numpy's scalars are Python's, and arrays are lists. A column of floats in a pandas frame that are all whole
    numbers cannot be read as text, since pandas makes such a column of integers where one is missing: see
    :class:`WholeFloat`.

    Attributes:
        content: The rows, which are read for whatever split is asked for; or the name of each split to its rows, as in
            a ``DatasetDict``.
    """

    content: Any
    remedy = "Give rows for each, as {'train': ..., 'validation': ...}"  # where there are no splits

    def __post_init__(self) -> None:
        for rows in self.content.values() if self.has_splits else [self.content]:
            _reader(rows)

    @property
    def has_splits(self) -> bool:
        """Whether training and validation can be told apart."""
        return isinstance(self.content, Mapping)

    @property
    def named(self) -> str:
        """What to call all of it in an error."""
        return "the mapping" if self.has_splits else _reader(self.content)[0]

    def rows(self, split: str, aliases: Sequence[str]) -> tuple[str, Rows]:
        """(Name for errors, rows) of a split, numbered from 1.

        Args:
            split: The split's name.
            aliases: Other names to look for.

        Raises:
            HeedfulError: There is no such split, or it has no rows.
        """
        content = self.content
        where = self.named
        if self.has_splits:
            name = next((name for name in (split, *aliases) if name in content), None)
            if name is None:
                raise missing_split("data.path", (split, *aliases), list(content))
            content = content[name]
            where = _place(content, name)
        if not len(content):
            raise DataError(f"{where} has no rows. Give it some.")
        return where, _reader(content)[1](content, where)

    def same(self, first: str, second: str) -> bool:
        """Whether two places, as :meth:`rows` names them, are splits that hold equal rows."""
        splits = self.content.items() if self.has_splits else ()
        rows_of_place = {_place(rows, name): rows for name, rows in splits}
        if not {first, second} <= rows_of_place.keys():
            return False
        rows, others = (_reader(rows_of_place[place])[1](rows_of_place[place], place) for place in (first, second))
        return rows_of_place[first] is rows_of_place[second] or all(
            row == other for row, other in zip_longest(rows, others)
        )


def _place(rows: Any, split: str) -> str:
    """What to call the rows of a split in an error."""
    return f"{_reader(rows)[0]} ({column_name(split)})"


def _reader(content: Any) -> tuple[str, Callable[[Any, str], Rows]]:
    """What to call rows in memory, and the function that reads them. No library is imported to recognise its own.

    Raises:
        HeedfulError: They are nothing that is read.
    """
    if isinstance(content, pa.Table):
        return "the table", table_rows
    if _is(content, "datasets", "Dataset"):
        return "the data set", dataset_rows
    if _is(content, "pandas", "DataFrame"):
        return "the frame", frame_rows
    if isinstance(content, list | tuple):
        return "the list", listed_rows
    if hasattr(content, "to_arrow") and hasattr(content, "columns"):
        return "the frame", lambda frame, where: table_rows(frame.to_arrow(), where)
    held = "None" if content is None else f"something of the type {type(content).__name__}"
    raise SettingError(
        f"data.path holds {held}, which is neither a path nor rows. Give a path, a frame, a table, a data set, a list "
        "of dictionaries, or one of these for each split."
    )


def _is(content: Any, package: str, name: str) -> bool:
    """Whether this is of a class of a package, which is then imported already."""
    made_by = getattr(sys.modules.get(package), name, None)
    return made_by is not None and isinstance(content, made_by)


def frame_rows(frame: Any, where: str) -> Rows:
    """Yield (row, columns) of a pandas DataFrame, whatever its index.

    Raises:
        HeedfulError: A column has no name of its own, or a value holds a NUL character.
    """
    names = list(frame.columns)
    _require_names(names, where)
    columns = [_column(frame.iloc[:, i]) for i in range(len(names))]
    for start in range(0, len(frame), BLOCK):
        blocks = [column(start, start + BLOCK) for column in columns]
        for row, values in enumerate(zip(*blocks, strict=True), start + 1):
            columns_of_row = dict(zip(names, values, strict=True))
            require_text(columns_of_row, where, row)
            yield row, columns_of_row


def listed_rows(rows: Sequence[Any], where: str) -> Rows:
    """Yield (row, columns) of a list of dictionaries.

    Raises:
        HeedfulError: A row is something else, or holds a NUL character.
    """
    for row, columns in enumerate(rows, 1):
        if not isinstance(columns, Mapping):
            raise DataError(f"{where}, row {row}: {brief(columns)} is not a dictionary of columns.")
        values = native(columns)
        _require_names(list(values), f"{where}, row {row}")
        require_text(values, where, row)
        yield row, values


def _require_names(names: Sequence[Any], where: str) -> None:
    """Check that the columns have names of their own, which are texts."""
    if other := [name for name in names if not isinstance(name, str)]:
        raise DataError(f"{where}: the column {brief(other[0])} is not named by a text. Rename it.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{where}: the column {brief(twice)} is repeated. Rename one.")


def _column(series: Any) -> Callable[[int, int], Iterator[Any]]:
    """A function that makes Python objects of some rows of a column of a pandas frame."""
    dtype = getattr(series.dtype, "categories", series).dtype
    if not isinstance(dtype, np.dtype) or dtype.kind != "f":
        return lambda start, stop: [native(value) for value in series.iloc[start:stop].tolist()]
    values = series.to_numpy(dtype)
    number = WholeFloat if (np.isnan(values) | (values == np.floor(values))).all() else float
    return lambda start, stop: [None if value != value else number(value) for value in values[start:stop].tolist()]


def native(value: Any) -> Any:
    """A value as a jsonl file would give it: missing ones are None, numpy's scalars Python's, arrays lists."""
    if isinstance(value, str | int | None) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.floating | np.integer | np.bool_ | np.str_ | np.bytes_):
        value = value.item()
    if is_empty(value) and not isinstance(value, str) or _is_missing(value):
        return None
    if isinstance(value, Mapping):
        return {name: native(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple) or isinstance(value, np.ndarray) and value.ndim:
        return [native(inner) for inner in value]
    return value


def _is_missing(value: Any) -> bool:
    """Whether this is what pandas has for a missing value, beside NaN."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)

"""Rows of parquet files and of Arrow tables, in pieces that fit into the memory whatever a file unpacks to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heedful.datamodules.sources.values import LONGEST_LINE, Rows, brief, most_unpacked, require_text, too_large
from heedful.records import DataError

BATCH_BYTES = 2**26  # that are unpacked at a time
WIDTHS = {"INT64": 8, "DOUBLE": 8, "INT32": 4, "FLOAT": 4, "INT96": 12, "BYTE_ARRAY": 4}  # a text has an offset
REMEDY = "If it is sound, save it as .jsonl."


def parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row, columns) of a parquet file.

    Raises:
        HeedfulError: It is damaged, a column is repeated, or it unpacks to far more than its size.
    """
    row = 0
    unpacked = 0
    most = most_unpacked(path)
    where = "its footer"
    try:
        with pq.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise DataError(f"{path}, header: a column of {brief(names)} is repeated. Rename one.")
            _require_columns(file, path)
            if _least(file) > most:
                raise too_large(path, most, REMEDY)
            for group in range(file.num_row_groups):
                where = f"row group {group}"
                for batch in file.iter_batches(_rows_at_a_time(file, path, group, most), row_groups=[group]):
                    batch.validate(full=True)
                    unpacked += weight(batch)
                    if unpacked > most:
                        raise too_large(path, most, REMEDY)
                    yield from batch_rows(batch, str(path), row)
                    row += batch.num_rows
            if row != file.metadata.num_rows:
                said = file.metadata.num_rows
                raise DataError(f"{path} holds {row} rows, and its footer says {said}. Take a whole copy of it.")
    except MemoryError:
        raise DataError(
            f"{path}, after row {row}: its rows do not fit into the memory. Check that it is the file that you mean."
        ) from None
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        raise DataError(f"{path} is damaged in {where}, after row {row}. Take a whole copy of it.") from None


def dataset_rows(saved: Any, where: str) -> Rows:
    """Rows of a ``datasets.Dataset`` as Arrow has them: columns of pictures or sounds, whose files may lie anywhere,
    are not decoded, and the format that the data set was saved with does not matter.

    Raises:
        HeedfulError: It is damaged, or a row is not text or too large.
    """
    tables = saved.with_format("arrow").iter(256)
    return _rows_of((batch for table in tables for batch in table.to_batches()), where)


def table_rows(table: pa.Table, where: str) -> Rows:
    """Rows of an Arrow table.

    Raises:
        HeedfulError: A column is repeated, the table is damaged, or a row is not text or too large.
    """
    names = table.column_names
    if len(set(names)) < len(names):
        raise DataError(f"{where}: a column of {brief(names)} is repeated. Rename one.")
    return _rows_of(table.to_batches(256), where)


def _rows_of(batches: Iterable[pa.RecordBatch], where: str) -> Rows:
    row = 0
    try:
        for batch in batches:
            batch.validate(full=True)
            yield from batch_rows(batch, where, row)
            row += batch.num_rows
    except (pa.ArrowException, OSError, ValueError):
        raise DataError(f"{where} is damaged after row {row}. Take a whole copy of it.") from None


def batch_rows(batch: pa.RecordBatch, where: str, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row, columns) of a batch.

    Args:
        batch: Some rows.
        where: What to call their source in an error.
        row: The last row before them.

    Raises:
        HeedfulError: A row is larger than a line of a text file may be, or holds a NUL character.
    """
    size = batch.num_rows if weight(batch) <= LONGEST_LINE else 1
    for start in range(0, batch.num_rows, max(size, 1)):
        piece = batch.slice(start, size)
        if size == 1 and weight(piece) > LONGEST_LINE:
            raise DataError(
                f"{where}, row {row + 1}: larger than {LONGEST_LINE >> 20} MiB. Check that it is the file that you "
                "mean."
            )
        for columns in piece.to_pylist():
            row += 1
            require_text(columns, where, row)
            yield row, columns


def weight(rows: pa.RecordBatch | pa.Array) -> int:
    """Bytes that rows take at most when what they share is written out for each."""
    if isinstance(rows, pa.RecordBatch):
        return sum(map(weight, rows.columns))
    if isinstance(rows, pa.DictionaryArray):
        return len(rows) * (8 + _longest(rows.dictionary))
    if isinstance(rows, pa.RunEndEncodedArray):
        return len(rows) * max((weight(rows.values.slice(i, 1)) for i in range(len(rows.values))), default=0)
    if isinstance(rows, pa.StructArray):
        return sum(map(weight, rows.flatten()))
    if isinstance(rows, pa.MapArray):
        start = rows.offsets[0].as_py()
        stop = rows.offsets[-1].as_py()
        return 8 * len(rows) + sum(weight(held.slice(start, stop - start)) for held in (rows.keys, rows.items))
    if pa.types.is_nested(rows.type) and hasattr(rows, "flatten"):
        return 8 * len(rows) + weight(rows.flatten())
    return rows.nbytes


def _longest(values: pa.Array) -> int:
    """Bytes of the longest value."""
    if hasattr(values, "dictionary") or pa.types.is_nested(values.type):
        return weight(values)
    try:
        return pc.max(pc.binary_length(values)).as_py() or 0
    except pa.ArrowNotImplementedError:  # numbers, and views of text
        return values.nbytes // max(len(values), 1) if pa.types.is_primitive(values.type) else values.nbytes


def _require_columns(file: pq.ParquetFile, path: Path) -> None:
    """Read a row of each row group: asked about a column whose entry is damaged, pyarrow would end the process.

    Texts stay in their dictionary, however many rows share them.
    """
    texts = [file.schema.column(i) for i in range(len(file.schema.names))]
    names = [column.path for column in texts if column.physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, memory_map=True, read_dictionary=names) as again:
        for group in range(file.num_row_groups):
            next(again.iter_batches(1, row_groups=[group]), None)


def _least(file: pq.ParquetFile) -> int:
    """Bytes that a file unpacks to at least, by what its footer says."""
    total = 0
    for group in range(file.num_row_groups):
        meta = file.metadata.row_group(group)
        for i in range(meta.num_columns):
            column = meta.column(i)
            width = WIDTHS.get(column.physical_type) or max(file.schema.column(i).length or 0, 1)
            total += max(column.total_uncompressed_size, column.num_values * width)
    return total


def _rows_at_a_time(file: pq.ParquetFile, path: Path, group: int, most: int) -> int:
    """How many rows of a row group are unpacked together.

    A dictionary page lets rows share one long text, which is written out for each when they are unpacked.
    """
    nested = any(pa.types.is_nested(kind) or pa.types.is_binary(kind) for kind in file.schema_arrow.types)
    size = 64 if nested else 4096  # pictures, say
    meta = file.metadata.row_group(group)
    longest = 0
    for i in range(meta.num_columns):
        column = meta.column(i)
        if not column.has_dictionary_page or column.physical_type != "BYTE_ARRAY":
            continue
        if size * column.total_uncompressed_size <= BATCH_BYTES and column.num_values <= meta.num_rows:
            continue
        shared = _shared(path, group, column.path_in_schema)
        longest += shared
        if column.num_values > meta.num_rows and column.num_values * shared > most:  # a list may hold all of them
            raise too_large(path, most, REMEDY)
    return max(1, min(size, BATCH_BYTES // max(longest, 1)))


def _shared(path: Path, group: int, column: str) -> int:
    """Bytes of the longest text that rows of a column share."""
    with pq.ParquetFile(path, memory_map=True, read_dictionary=[column]) as file:
        batch = next(file.iter_batches(1, row_groups=[group], columns=[column]), None)
        values = batch.column(0) if batch is not None and batch.num_columns else None
        while values is not None and not isinstance(values, pa.DictionaryArray):
            if isinstance(values, pa.StructArray):
                values = values.field(0) if values.type.num_fields else None
            else:
                values = values.values if hasattr(values, "values") else None
        return 0 if values is None else _longest(values.dictionary)

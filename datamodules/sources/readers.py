"""Readers of files and of rows in memory, which yield pairs (row number, values by column).

Their error messages name the file and the row.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from heedful.datamodules.sources.values import Rows, brief, column_name, reason
from heedful.records import DataError, SettingError, open_file

SUFFIXES = ("jsonl", "json", "csv", "tsv", "parquet")
TEXT = "txt"  # a tsv or csv file, if it is named explicitly; found in a folder, it may be any text
QUOTES = "Correct the row. If quotes are characters, set data.quoting false or pass rows of pandas.read_csv(quoting=3)."
Row = dict[str, Any]


def inside(folder: Path, path: Any) -> Path:
    """Return the absolute path of a file in a folder, given the relative path that a data file contains.

    Raises:
        DataError: The path is not a text, or leads out of the folder, perhaps by a symbolic link.
    """
    try:
        root = folder.resolve()
        target = (root / path).resolve()
        if target != root and target.is_relative_to(root):
            return target
    except (OSError, RuntimeError, TypeError, ValueError):  # not a text, a long name, circular links
        pass
    raise DataError(f"{folder}: the path {brief(path)} does not lead to a file in this folder.")


def suffix_of(name: str) -> str:
    """Return the suffix of a file name in lower case, without the dot; a final ".gz" or ".zst" is ignored."""
    return Path(unpacked(name.lower())).suffix[1:]


def unpacked(name: str) -> str:
    """Return the name of a file without a final ".gz" or ".zst"."""
    return name.removesuffix(".gz").removesuffix(".zst")


def read(path: Path, quoting: bool = True, header: Sequence[str] = ()) -> Iterator[tuple[int, Row]]:
    """Yield pairs (row number, values by column) of a file; rows are counted from 1, without the header.

    Args:
        path: A csv, tsv, parquet or jsonl file, or a json file with an object per line or with a list of objects, which
            may be the value of "data". Text may be compressed (.gz, .zst).
        quoting: Whether fields of a csv or tsv file may be double-quoted; otherwise quotes are part of the text.
        header: Column names, for a csv or tsv file without a header and for a json file whose rows are lists.

    Raises:
        DataError: The file is missing, empty, broken, or neither UTF-8, UTF-16 nor UTF-32.
    """
    suffix = suffix_of(path.name)
    if suffix not in (*SUFFIXES, TEXT):
        raise DataError(f"{path} has none of the suffixes {', '.join((*SUFFIXES, TEXT))} (text also with .gz or .zst).")
    row = 0
    try:
        with open_file(path) as packed:
            for row, columns in _rows(packed, path, suffix, quoting, header):
                yield row, columns
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, after row {row}: {_not_utf_8(error)}") from None
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise DataError(f"{path}, after row {row}: damaged ({reason(error)}). Take a whole copy.") from None
    if not row:
        raise DataError(f"{path} has no rows. Take a whole copy of it.")


def _rows(packed: IO[bytes], path: Path, suffix: str, quoting: bool, header: Sequence[str]) -> Rows:
    if suffix == "parquet":
        import pyarrow.parquet as pq

        yield from arrow_rows(pq.ParquetFile(packed, page_checksum_verification=True).iter_batches(1024))
        return
    file: Any = packed
    if path.name.lower().endswith(".gz"):
        file = gzip.GzipFile(fileobj=packed)
    elif path.name.lower().endswith(".zst"):
        file = io.BufferedReader(pa.CompressedInputStream(packed, "zstd"))
    encoding = json.detect_encoding(file.peek(4)[:4])  # from a byte order mark or from zeros
    encoding = "utf-8-sig" if encoding == "utf-8" else encoding
    if suffix == "jsonl":
        lines = io.TextIOWrapper(file, encoding=encoding, newline="\n")
        yield from _json_lines(file if encoding == "utf-8-sig" else map(str.encode, lines), path)
    elif suffix == "json":
        yield from _json(file.read().decode(encoding), path, header)
    else:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        first = text.readline()
        has_commas = suffix == "csv" or (suffix == TEXT and "," in first and "\t" not in first)
        yield from _delimited(chain([first], text), path, "," if has_commas else "\t", quoting, header)


def _json_lines(lines: Iterable[bytes], path: Path) -> Rows:
    for row, line in enumerate(lines, 1):
        if line.strip():
            try:
                columns = json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                raise _no_json(f"{path}, row {row}", error) from None
            yield row, _object(columns, path, row)


def _json(text: str, path: Path, header: Sequence[str]) -> Rows:
    try:
        rows = json.loads(text)
    except ValueError as error:
        if not str(error).startswith("Extra data"):
            raise _no_json(str(path), error) from None
        yield from _json_lines(text.encode().split(b"\n"), path)
        return
    if isinstance(rows, dict):  # an object with the rows and a version, as in SQuAD; or a single row
        rows = rows["data"] if isinstance(rows.get("data"), list) else [rows]
    if not isinstance(rows, list):
        raise DataError(f"{path} holds {brief(rows)}, not rows. Save a list of objects, or one object a line.")
    for row, columns in enumerate(rows, 1):
        if header and isinstance(columns, list):
            if len(columns) != len(header):
                raise DataError(f"{path}, row {row} has {len(columns)} fields, and data.columns names {len(header)}.")
            columns = dict(zip(header, columns, strict=True))
        yield row, _object(columns, path, row)


def _no_json(where: str, error: ValueError) -> DataError:
    if isinstance(error, UnicodeDecodeError):
        return DataError(f"{where}: {_not_utf_8(error)}")
    return DataError(f"{where}: not valid JSON ({reason(error)}). Take a whole copy of it.")


def _not_utf_8(error: UnicodeDecodeError) -> str:
    """Say how bytes that are not UTF-8 read in the most frequent other encoding, and what to do."""
    found = f"not {error.encoding.upper()} (byte {error.object[error.start]:#04x})"
    try:
        if error.encoding != "utf-8" or not error.object[: error.start].isascii():  # damaged
            return f"{found}. Take a whole copy."
        around = brief(error.object[max(0, error.start - 10) : error.start + 10].decode("cp1252"))
    except UnicodeDecodeError:
        return f"{found}. Take a whole copy, or convert it to UTF-8."
    return f"{found}; as cp1252 it reads {around}. If so: iconv -f cp1252 -t utf-8 FILE; else take a whole copy."


def _object(columns: Any, path: Path, row: int) -> Row:
    if not isinstance(columns, dict):
        raise DataError(f"{path}, row {row}: {brief(columns)} is not an object with columns.")
    _require_characters(columns, f"{path}, row {row}")
    return columns


def _require_characters(columns: Mapping[str, Any], where: str) -> None:
    """Raise DataError if a value holds a lone surrogate, which no encoding can write."""
    for name, value in columns.items():
        has_texts = (
            isinstance(value, Mapping) or isinstance(value, list) and isinstance(next(iter(value), 0), str | dict)
        )
        text = json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True) if has_texts else value
        try:
            (text if isinstance(text, str) else "").encode()
        except UnicodeEncodeError as error:
            half = brief(error.object[max(0, error.start - 20) : error.end])
            raise DataError(
                f"{where}: the column {column_name(name)} holds half of a character, as of an emoji, at the end of "
                f"{half}. Cut texts between characters."
            ) from None


def _delimited(file: Iterable[str], path: Path, delimiter: str, quoting: bool, names: Sequence[str]) -> Rows:
    """Yield the rows of a csv or tsv file, all fields as text; ``names`` are the columns of a file without a header."""
    remedy = QUOTES if quoting else ""
    header = list(names)
    row = 0
    csv.field_size_limit(2**31 - 1)
    form = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    try:
        for fields in csv.reader(file, delimiter=delimiter, quoting=form, strict=True):
            if len(fields) < 2 and not "".join(fields).strip():
                continue
            if not header:
                header = _header(fields, path)
                continue
            row += 1
            _require_fields(fields, header, names, f"{path}, row {row}", delimiter, remedy)
            yield row, {name: value for name, value in zip(header, fields, strict=True) if name}
    except csv.Error as error:
        raise DataError(f"{path}, row {row + 1}: not a row of fields ({reason(error)}). {remedy}") from None


def _header(names: list[str], path: Path) -> list[str]:
    """Return the column names of a file; raise DataError if they are not distinct."""
    inner = names[1 if not names[0] else 0 :]  # tools store row numbers in a first column without a name
    while inner and not inner[-1]:
        inner.pop()
    if not inner or "" in inner or len(set(inner)) < len(inner):
        raise DataError(f"{path}: the header {brief(names)} has an empty or a repeated column.")
    return names


def _require_fields(
    fields: Sequence[str], header: Sequence[str], names: Sequence[str], where: str, delimiter: str, remedy: str
) -> None:
    """Raise DataError unless the fields of a row fit the header; quotes in a tsv file may not merge several lines."""
    if len(fields) != len(header):
        expected = f"{'data.columns' if names else 'the header'} names {len(header)}"
        raise DataError(f"{where} has {len(fields)} fields, and {expected}. {remedy}")
    if names and list(fields) == list(names):
        raise DataError(f"{where}: this is a header. Remove it, or leave data.columns out.")
    if delimiter == "\t" and any("\t" in value and "\n" in value for value in fields):
        raise DataError(f"{where}: several lines within quotes, with a tab in them. {remedy}")


def arrow_rows(batches: Iterable[Any]) -> Rows:
    """Yield pairs (row number from 1, values by column) from Arrow record batches."""
    row = 0
    for batch in batches:
        for columns in batch.to_pylist():
            row += 1
            yield row, columns


def rows_in_memory(content: Any) -> tuple[str, Rows]:
    """Read the rows of a pandas or polars frame, an Arrow table, a ``datasets.Dataset``, or a list of dictionaries.

    Types are recognised without importing their libraries.

    Returns:
        A name of the content for messages, such as "the frame", and pairs (row number, values by column).
    """
    if isinstance(content, list | tuple):
        return "the list", _dictionaries(content, "the list")
    if getattr(content, "format", None) and content.format["type"] == "custom":  # of set_transform
        return "the data set", _dictionaries(content, "the data set")
    if hasattr(content, "with_format"):  # does not decode pictures and sounds
        return "the data set", arrow_rows(content.with_format("arrow").iter(256))
    table, name = content, "the table"
    if hasattr(content, "iloc"):
        name = "the frame"
        _require_unique(list(content.columns), name)
        try:
            table = pa.Table.from_pandas(content, preserve_index=False)
        except (pa.ArrowException, ValueError, TypeError):  # a column has values of several types
            return name, _dictionaries(content.to_dict("records"), name)
    elif hasattr(content, "to_arrow"):
        table, name = content.to_arrow(), "the frame"
    if not isinstance(table, pa.Table):
        kind = "None" if content is None else f"a value of the type {type(content).__name__}"
        raise SettingError(f"data.path is {kind}, not a path, a frame, a table, a data set or a list of dictionaries.")
    _require_unique(table.column_names, name)
    return name, arrow_rows(table.to_batches(256))


def _require_unique(columns: Sequence[Any], name: str) -> None:
    if len(set(columns)) < len(columns):
        raise DataError(f"{name}: a column of {brief(columns)} is repeated. Rename one.")


def _dictionaries(rows: Iterable[Any], where: str) -> Rows:
    for row, columns in enumerate(rows, 1):
        if not isinstance(columns, Mapping):
            raise DataError(f"{where}, row {row}: {brief(columns)} is not a dictionary of columns.")
        if wrong := [name for name in columns if not isinstance(name, str)]:
            raise DataError(f"{where}, row {row}: the name of the column {column_name(wrong[0])} is not a text.")
        converted = {name: native(value) for name, value in columns.items()}
        _require_characters(converted, f"{where}, row {row}")
        yield row, converted


def native(value: Any) -> Any:
    """Convert numpy scalars and arrays, also inside of dictionaries and lists, to Python values, and missing values of
    pandas to None; return other values unchanged.
    """
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return native(value.tolist())
    if isinstance(value, Mapping):
        return {name: native(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [native(inner) for inner in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else value

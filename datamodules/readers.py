"""Strict streaming readers of local files: every row is yielded or its file and row are named in an error."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from records import HeedError

SUFFIXES = ("jsonl", "json", "csv", "tsv", "parquet")
Row = dict[str, Any]

csv.field_size_limit(2**27)  # a whole article fits into a field


def kind(path: Path) -> str:
    """The format of a file by its name: one of :data:`SUFFIXES`, with or without ``.gz``.

    Raises:
        HeedError: The suffix is none of them.
    """
    parts = path.name.lower().removesuffix(".gz").rsplit(".", 1)
    if len(parts) < 2 or parts[1] not in SUFFIXES:
        raise HeedError(f"{path} is none of the formats that can be read: {', '.join(SUFFIXES)} (text also as .gz).")
    return parts[1]


def read(path: Path, quoting: bool = True) -> Iterator[tuple[int, Row]]:
    """Yield (row, columns) of a file; rows count from 1, without the header.

    Args:
        path: A csv or tsv file with a header, a json list of objects, a jsonl or a parquet file.
        quoting: Whether fields of a csv or tsv file may stand in double quotes. If not, a quote is a character.

    Raises:
        HeedError: The file is missing, empty, not UTF-8, or broken; the message names the row where one is known.
    """
    form = kind(path)
    if not path.is_file():
        raise HeedError(f"{path} does not exist.")
    if form == "parquet":
        yield from _parquet(path)
        return
    found = False
    reader = {"jsonl": _jsonl, "json": _json}.get(form) or (lambda lines, path: _delimited(lines, path, form, quoting))
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as binary:
        row = 0
        try:
            for row, columns in reader(_lines(binary), path):
                found = True
                yield row, columns
        except UnicodeDecodeError as error:
            raise HeedError(f"{path} is not UTF-8 after row {row} ({error.reason}): convert it first.") from None
        except (OSError, EOFError, zlib.error) as error:
            raise HeedError(f"{path} is damaged after row {row}: {error}.") from None
    if not found:
        raise HeedError(f"{path} has no rows.")


def _lines(binary: IO[bytes]) -> Iterator[str]:
    """Lines that end in a line feed and in nothing else, decoded one by one, so that a broken row is known."""
    for number, line in enumerate(binary):
        yield line.decode("utf-8" if number else "utf-8-sig")


def _jsonl(lines: Iterator[str], path: Path) -> Iterator[tuple[int, Row]]:
    for row, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            columns = json.loads(line)
        except ValueError as error:
            raise HeedError(f"{path}, row {row}: not valid JSON ({error}).") from None
        yield row, _object(columns, path, row)


def _json(lines: Iterator[str], path: Path) -> Iterator[tuple[int, Row]]:
    try:
        rows = json.loads("".join(lines))
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise HeedError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(rows, list):
        raise HeedError(f"{path} holds no list of rows but one {type(rows).__name__}; one object a line is .jsonl.")
    for row, columns in enumerate(rows, 1):
        yield row, _object(columns, path, row)


def _object(columns: Any, path: Path, row: int) -> Row:
    if not isinstance(columns, dict):
        raise HeedError(f"{path}, row {row}: expected an object with columns, found {type(columns).__name__}.")
    return columns


def _delimited(lines: Iterator[str], path: Path, form: str, quoting: bool) -> Iterator[tuple[int, Row]]:
    options: dict[str, Any] = {"delimiter": "\t" if form == "tsv" else ",", "strict": True}
    hint = "if its quotes are plain characters, set --data.quoting false"
    options |= {} if quoting else {"quoting": csv.QUOTE_NONE}
    rows = csv.reader(lines, **options)
    row = -1
    try:
        header: list[str] | None = None
        for row, values in enumerate(rows):  # the header is row 0
            if header is None:
                header = values
                if len(set(header)) < len(header) or not all(header):
                    raise HeedError(f"{path}: the header {header} has an empty or a repeated column.")
            elif values:
                if len(values) != len(header):
                    raise HeedError(
                        f"{path}, row {row}: {len(values)} fields where the header has {len(header)} ({hint})."
                    )
                yield row, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise HeedError(f"{path}, row {row + 1}: {error} ({hint}).") from None


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    row = 0
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise HeedError(f"{path}: the header {names} has a repeated column.")
            for batch in file.iter_batches(4096):
                for columns in batch.to_pylist():
                    row += 1
                    yield row, columns
    except (pa.ArrowException, OSError) as error:
        raise HeedError(f"{path} is damaged after row {row}: {str(error).splitlines()[0]}.") from None
    if not row:
        raise HeedError(f"{path} has no rows.")

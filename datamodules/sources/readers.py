"""Strict streaming readers of local files: every row is yielded or its file and row are named in an error."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from heedful.datamodules.sources.arrow_files import parquet_rows
from heedful.datamodules.sources.values import (
    LONGEST_JSON,
    LONGEST_LINE,
    NUL,
    UNPACKED_WHOLE,
    brief,
    most_unpacked,
    reason,
    require_text,
    too_large,
)
from heedful.records import DataError, HeedfulError, open_file

SUFFIXES = ("jsonl", "json", "csv", "tsv", "parquet")
TEXT = "txt"  # a file as tsv has it, under a name that may stand for anything
REMEDY = "If it is sound, unpack it."
Row = dict[str, Any]

PLAIN_QUOTES = "Mend the row, or, if its quotes are plain characters, set data.quoting false."
ESCAPED_NUL = "\\u0000"  # how json writes it

csv.field_size_limit(LONGEST_LINE)


def inside(folder: Path, path: Any) -> Path:
    """The file or folder that a path written inside a data file names; it must lie below ``folder``.

    Such a path comes from whoever made the data, so it may be neither absolute nor lead out of the folder, not even
    through a symbolic link. Separators are "/" everywhere.

    Raises:
        HeedfulError: It leaves the folder, or is no path.
    """
    refused = DataError(
        f"{folder}: the path {brief(path)} does not lead to something in this folder. Name a path within the folder."
    )
    if not isinstance(path, str) or re.search("[\0\\\\\ud800-\udfff]", path):
        raise refused
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive:
        raise refused
    try:
        root = folder.resolve()
        target = (root / path).resolve()
    except (OSError, RuntimeError, ValueError):  # a name that is too long, links in a circle
        raise refused from None
    if target == root or not target.is_relative_to(root):
        raise refused
    return target


def kind(path: Path) -> str:
    """The format of a file by its name: one of :data:`SUFFIXES` or :data:`TEXT`, with or without ``.gz``.

    Raises:
        HeedfulError: The suffix is none of them.
    """
    parts = path.name.lower().removesuffix(".gz").rsplit(".", 1)
    if len(parts) < 2 or parts[1] not in (*SUFFIXES, TEXT):
        endings = ", ".join((*SUFFIXES, TEXT))
        raise DataError(f"{path} has no suffix of a format that is read. Those are {endings} (text also as .gz).")
    return parts[1]


def read(path: Path, quoting: bool = True, header: Sequence[str] = ()) -> Iterator[tuple[int, Row]]:
    """Yield (row, columns) of a file; rows count from 1, without the header.

    Args:
        path: A csv file, a tsv file (which may be called txt), a json list of objects (or an object that has it under
            "data"), json or jsonl with an object in each line, or a parquet file. The first column of a csv or tsv
            file, and the last ones, are left out if they have no name.
        quoting: Whether fields of a csv or tsv file may stand in double quotes. If not, a quote is a character.
        header: Names of the columns, of a csv or tsv file without a header, or of a json file whose rows are lists.

    Raises:
        HeedfulError: The file is missing, empty, not UTF-8, or broken; the message names the row where one is known.
    """
    form = kind(path)
    row = 0
    try:
        if form == "parquet":
            open_file(path).close()  # names a file that is missing
        rows = parquet_rows(path) if form == "parquet" else _text_file(path, form, quoting, header)
        for row, columns in rows:
            yield row, columns
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 after row {row} ({error.reason}). Save it as UTF-8, or correct it there."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is damaged after row {row} ({reason(error)}). Take a whole copy of it.") from None
    if not row:
        raise DataError(f"{path} has no rows. Take a whole copy of it.")


def _text_file(path: Path, form: str, quoting: bool, header: Sequence[str]) -> Iterator[tuple[int, Row]]:
    with open_file(path) as packed, gzip.GzipFile(fileobj=packed) if is_gz(path) else packed as file:
        if form == "jsonl":
            yield from _jsonl(file, path)
        elif form == "json":
            yield from _json(file, path, header)
        else:
            yield from _delimited(file, path, "," if form == "csv" else "\t", quoting, header)


def is_gz(path: Path) -> bool:
    """Whether a file is compressed, by its name."""
    return path.name.lower().endswith(".gz")


def _lines(file: IO[bytes], path: Path) -> Iterator[str]:
    """Lines that end in a line feed and in nothing else, decoded one by one, so that a broken row is known."""
    number = 0
    unpacked = 0
    most = most_unpacked(path)
    longest = min(LONGEST_LINE, most_unpacked(path, UNPACKED_WHOLE))
    while line := file.readline(longest + 1):
        number += 1
        unpacked += len(line)
        if len(line) > longest:
            raise DataError(
                f"{path}, line {number}: longer than {longest >> 20} MiB. Check that it is the file that you mean."
            )
        if unpacked > most:
            raise too_large(path, most, REMEDY)
        yield line.decode("utf-8-sig" if number == 1 else "utf-8")


def _jsonl(file: IO[bytes], path: Path) -> Iterator[tuple[int, Row]]:
    for row, line in enumerate(_lines(file, path), 1):
        if line.strip():
            yield row, _object(_parsed(line, f"{path}, row {row}"), path, row, ESCAPED_NUL in line)


def _json(file: IO[bytes], path: Path, header: Sequence[str]) -> Iterator[tuple[int, Row]]:
    most = min(LONGEST_JSON, most_unpacked(path, UNPACKED_WHOLE))
    if _is_object(file.readline(min(most, LONGEST_LINE))) and file.readline(min(most, LONGEST_LINE)).strip():
        file.seek(0)
        yield from _jsonl(file, path)
        return
    file.seek(0)
    content = file.read(most + 1)
    if len(content) > LONGEST_JSON:
        raise DataError(
            f"{path} is a list of more than {LONGEST_JSON >> 20} MiB. Save it as .jsonl, one object a line."
        )
    if len(content) > most:
        raise too_large(path, most, REMEDY)
    text = content.decode("utf-8-sig")
    rows = _parsed(text, str(path))
    nul = ESCAPED_NUL in text
    del content, text
    if isinstance(rows, dict):  # beside a version, as in SQuAD; else an object is a row
        rows = rows["data"] if isinstance(rows.get("data"), list) else [rows]
    if not isinstance(rows, list):
        raise DataError(f"{path} holds {brief(rows)}, not rows. Save a list of objects, or one object a line.")
    for row, columns in enumerate(rows, 1):
        if header and isinstance(columns, list):
            _require_fields(columns, list(header), f"{path}, row {row}", True)
            columns = dict(zip(header, columns, strict=True))
        yield row, _object(columns, path, row, nul)


def _is_object(line: bytes) -> bool:
    """Whether a line is a JSON object of its own."""
    try:
        return line.lstrip(b"\xef\xbb\xbf").startswith(b"{") and isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except RecursionError:
        raise DataError(f"{where}: not valid JSON (nested too deeply). Take a whole copy of it.") from None
    except ValueError as error:  # a number of more digits than Python reads is one as well
        raise DataError(f"{where}: not valid JSON ({reason(error)}). Take a whole copy of it.") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> Row:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {brief(next(n for n in names if names.count(n) > 1))} stands twice in an object")
    return values


def _object(columns: Any, path: Path, row: int, nul: bool) -> Row:
    """A row, which is looked through where ``nul`` says that its source may hold a NUL."""
    if not isinstance(columns, dict):
        raise DataError(f"{path}, row {row}: {brief(columns)} is not an object with columns.")
    if nul:
        require_text(columns, str(path), row)
    return columns


def _delimited(
    file: IO[bytes], path: Path, delimiter: str, quoting: bool, given: Sequence[str]
) -> Iterator[tuple[int, Row]]:
    header = list(given)
    named_columns = slice(None)
    row = 0 if given else -1  # the last that was read; the header is row 0
    taken: list[str] = []  # the lines of the row that is read

    def place() -> str:
        return f"{path}, row {row + 1}" if row >= 0 else f"{path}, header"

    def lines() -> Iterator[str]:
        for line in _lines(file, path):
            if NUL in line:
                raise DataError(f"{place()}: a NUL character. Save it as UTF-8, or correct it there.")
            taken.append(line)
            yield line

    style = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    rows = csv.reader(lines(), delimiter=delimiter, strict=True, quoting=style)
    remedy = PLAIN_QUOTES if quoting else ""
    try:
        if not given and (header := next(rows, None)) is not None:
            named_columns = _named(header)
            _require_names(header[named_columns], header, path)
            row = 0
            taken.clear()
        for row, values in enumerate(rows, 1):
            if delimiter == "\t":
                _require_one_row(taken, header, f"{path}, row {row}", remedy)
            taken.clear()
            if values:
                _require_fields(values, header, f"{path}, row {row}", bool(given), remedy)
                yield row, dict(zip(header[named_columns], values[named_columns], strict=True))
    except csv.Error as error:
        raise _broken(error, "".join(taken[-1:]), place(), remedy) from None


def _require_one_row(lines: Sequence[str], header: Sequence[str], where: str, remedy: str) -> None:
    """Check that no plain quotes join rows: a row of several lines, each of which has a tab for each column."""
    if len(lines) > 1 and all(line.count("\t") == len(header) - 1 for line in lines):
        raise DataError(f"{where}: {len(lines)} lines, each like a row, within quotes. {remedy}")


def _require_names(names: Sequence[str], header: Sequence[str], path: Path) -> None:
    """Check that the columns of a header have names of their own."""
    if not header:
        raise DataError(
            f"{path}: the first line is empty, and should be the header. Correct the header, or name the columns with "
            "data.columns."
        )
    if len(set(names)) < len(names) or not names or not all(names):
        raise DataError(
            f"{path}: the header {brief(header)} has an empty or a repeated column. Correct the header, or name the "
            "columns with data.columns."
        )


def _require_fields(values: Sequence[Any], header: Sequence[str], where: str, given: bool, remedy: str = "") -> None:
    """Check that a row has a field for each column; ``given`` says that the header is not in the file."""
    if given and values == header:
        raise DataError(f"{where}: this is a header. Take it out, or leave data.columns out.")
    if len(values) != len(header):
        columns = "data.columns names" if given else "the header has"
        raise DataError(f"{where}: the fields are {len(values)}, and {columns} {len(header)}. {remedy}")


def _broken(error: csv.Error, line: str, where: str, remedy: str) -> HeedfulError:
    """The error for a row that csv cannot read, whose last line is ``line``."""
    if "\r" in line.rstrip("\r\n"):  # as in files of old Macs
        return DataError(f"{where}: a carriage return within a line. Save it with a line feed at the end of each line.")
    return DataError(f"{where}: not a row of fields ({reason(error)}). {remedy}")


def _named(header: Sequence[str]) -> slice:
    """All columns but one without a name in front, where tools number the rows, and those without a name at the end,
    which spreadsheets leave."""
    stop = len(header)
    while stop and not header[stop - 1]:
        stop -= 1
    return slice(1 if stop and not header[0] else 0, stop)

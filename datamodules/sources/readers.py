"""Readers of files and of rows in memory: each yields (row, columns), and an error names the file and the row."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa

from heedful.datamodules.sources.values import Rows, brief, column_name, reason
from heedful.records import DataError, SettingError, open_file

SUFFIXES = ("jsonl", "json", "csv", "tsv", "parquet")
TEXT = "txt"  # tab-separated, or any other text
CHUNK = 8192  # rows of a csv file that pandas parses together
Row = dict[str, Any]


def inside(folder: Path, path: Any) -> Path:
    """The file that a path in a data file names; it must lie below ``folder``, also behind symbolic links.

    Raises:
        DataError: It does not.
    """
    try:
        root = folder.resolve()
        target = (root / path).resolve()
        if target != root and target.is_relative_to(root):
            return target
    except (OSError, RuntimeError, TypeError, ValueError):  # no text, a long name, a circle of links
        pass
    raise DataError(f"{folder}: the path {brief(path)} does not lead to a file in this folder.")


def kind(path: Path) -> str:
    """The format of a file by its name: one of :data:`SUFFIXES` or :data:`TEXT`, with or without ``.gz`` or ``.zst``.

    Raises:
        DataError: The suffix is none of them.
    """
    suffix = unpacked(path.name.lower()).rpartition(".")[2]
    if suffix not in (*SUFFIXES, TEXT):
        raise DataError(f"{path} has none of the suffixes {', '.join((*SUFFIXES, TEXT))} (text also with .gz or .zst).")
    return suffix


def unpacked(name: str) -> str:
    """The name of a file without ".gz" or ".zst"."""
    return name.removesuffix(".gz").removesuffix(".zst")


def read(path: Path, quoting: bool = True, header: Sequence[str] = ()) -> Iterator[tuple[int, Row]]:
    """Yield (row, columns) of a file; rows count from 1, without the header.

    Args:
        path: A csv or tsv file; a json list of objects, or an object that has it under "data"; json or jsonl with an
            object in each line; a parquet file. Text may be compressed (.gz, .zst).
        quoting: Whether fields of a csv or tsv file may stand in double quotes. If not, a quote is a character.
        header: Names of the columns, of a csv or tsv file without a header, or of a json file whose rows are lists.

    Raises:
        DataError: The file is missing, empty, not UTF-8, or broken.
    """
    suffix = kind(path)
    row = 0
    try:
        with open_file(path) as packed:
            for row, columns in _rows(packed, path, suffix, quoting, header):
                yield row, columns
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(
            f"{path} cannot be read after row {row} ({reason(error)}). Take a whole copy of it; text has to be UTF-8."
        ) from None
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
    if suffix == "jsonl":
        yield from _json_lines(file, path)
    elif suffix == "json":
        yield from _json(file.read().decode("utf-8-sig"), path, header)
    else:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        yield from _delimited(text, path, "," if suffix == "csv" else "\t", quoting, header)


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
    if isinstance(rows, dict):  # with the rows beside a version, as in SQuAD; or one row
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
    why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not valid JSON ({reason(error)})"
    return DataError(f"{where}: {why}. Take a whole copy of it, in UTF-8.")


def _object(columns: Any, path: Path, row: int) -> Row:
    if not isinstance(columns, dict):
        raise DataError(f"{path}, row {row}: {brief(columns)} is not an object with columns.")
    return columns


def _delimited(file: IO[str], path: Path, delimiter: str, quoting: bool, given: Sequence[str]) -> Rows:
    """Rows of a csv or tsv file as pandas parses them: all fields are text, and an empty one is not missing."""
    import pandas as pd

    remedy = "Mend the row, or, if its quotes are plain characters, set data.quoting false; "
    remedy += "in measure, set quoting false."
    remedy = remedy if quoting else ""
    header = list(given)
    row = 0
    csv.field_size_limit(2**31 - 1)  # the engine is the csv module of Python
    try:
        chunks = pd.read_csv(
            file,
            sep=delimiter,
            header=None,
            dtype=str,
            keep_default_na=False,
            engine="python",  # the other engine makes missing fields of a short row empty
            quoting=_quoting(quoting),
            chunksize=CHUNK,
        )
        for chunk in chunks:
            fields: list[list[Any]] = [chunk[column].tolist() for column in chunk.columns]
            for values in zip(*fields, strict=True):
                if not header:
                    header = _names(values, path)
                    continue
                row += 1
                _require_fields(values, header, given, f"{path}, row {row}", delimiter, remedy)
                yield row, {name: value for name, value in zip(header, values, strict=True) if name}
    except (csv.Error, pd.errors.ParserError) as error:
        broken = _broken_row(file, delimiter, quoting, bool(given))
        raise DataError(f"{path}, row {broken}: not a row of fields ({reason(error)}). {remedy}") from None
    except pd.errors.EmptyDataError:
        return


def _broken_row(file: IO[str], delimiter: str, quoting: bool, is_headless: bool) -> int:
    """The first row with open quotes or with more fields than the first, which pandas does not always name."""
    file.seek(0)
    rows = filter(None, csv.reader(file, delimiter=delimiter, quoting=_quoting(quoting), strict=True))
    row = int(is_headless)
    with suppress(csv.Error):
        most = len(next(rows))
        while len(next(rows, ())) <= most:
            row += 1
    return row + 1


def _quoting(quoting: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE


def _names(header: Sequence[Any], path: Path) -> list[str]:
    """Names of columns; "" for a first one without a name, where tools number rows, and for nameless last ones."""
    names = ["" if name != name else str(name) for name in header]
    named = [name for name in names if name]
    inner = names[1 if not names[0] else 0 : len(names) - next((i for i, name in enumerate(names[::-1]) if name), 0)]
    if not named or inner != named or len(set(named)) < len(named):
        raise DataError(
            f"{path}: the header {brief(names)} has an empty or a repeated column. Correct the header, or name the "
            "columns with data.columns."
        )
    return names


def _require_fields(
    values: Sequence[Any], header: Sequence[str], given: Sequence[str], where: str, delimiter: str, remedy: str
) -> None:
    """Refuse a row with a missing field, which pandas makes NaN, and rows of a tsv file that quotes have joined."""
    if len(values) != len(header) or values[-1] != values[-1]:
        n = sum(value == value for value in values)
        raise DataError(
            f"{where}: the fields are {n}, and {'data.columns names' if given else 'the header has'} {len(header)}. "
            f"{remedy}"
        )
    if given and list(values) == list(given):
        raise DataError(f"{where}: this is a header. Take it out, or leave data.columns out.")
    if delimiter == "\t" and any("\t" in value and "\n" in value for value in values):
        raise DataError(f"{where}: several lines within quotes, with a tab in them. {remedy}")


def arrow_rows(batches: Iterable[Any]) -> Rows:
    """Rows of record batches or tables of Arrow."""
    row = 0
    for batch in batches:
        for columns in batch.to_pylist():
            row += 1
            yield row, columns


def rows_in_memory(content: Any) -> tuple[str, Rows]:
    """(Name for messages, rows) of a frame of pandas or polars, a table of Arrow, a ``datasets.Dataset``, or a list of
    dictionaries. No library is imported to recognise its own.

    Raises:
        HeedfulError: They are nothing of that.
    """
    if isinstance(content, list | tuple):
        return "the list", _dictionaries(content, "the list")
    if hasattr(content, "with_format"):  # columns of pictures and sounds are not decoded
        return "the data set", arrow_rows(content.with_format("arrow").iter(256))
    table, name = content, "the table"
    if hasattr(content, "iloc"):
        name = "the frame"
        _require_unique(list(content.columns), name)
        try:
            table = pa.Table.from_pandas(content, preserve_index=False)
        except (pa.ArrowException, ValueError, TypeError):  # a column mixes types
            return name, _dictionaries(content.to_dict("records"), name)
    elif hasattr(content, "to_arrow"):
        table, name = content.to_arrow(), "the frame"
    if not isinstance(table, pa.Table):
        held = "None" if content is None else f"something of the type {type(content).__name__}"
        raise SettingError(
            f"data.path holds {held}, which is neither a path nor rows. Give a path, a frame, a table, a data set, a "
            "list of dictionaries, or one of these for each split."
        )
    _require_unique(table.column_names, name)
    return name, arrow_rows(table.to_batches(256))


def _require_unique(columns: Sequence[Any], name: str) -> None:
    if len(set(columns)) < len(columns):
        raise DataError(f"{name}: a column of {brief(columns)} is repeated. Rename one.")


def _dictionaries(rows: Sequence[Any], where: str) -> Rows:
    for row, columns in enumerate(rows, 1):
        if not isinstance(columns, Mapping):
            raise DataError(f"{where}, row {row}: {brief(columns)} is not a dictionary of columns.")
        if other := [name for name in columns if not isinstance(name, str)]:
            raise DataError(f"{where}, row {row}: the column {column_name(other[0])} is not named by a text.")
        yield row, {name: native(value) for name, value in columns.items()}


def native(value: Any) -> Any:
    """A value as a jsonl file gives it: scalars and arrays of numpy as Python's, missing values of pandas as None."""
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return native(value.tolist())
    if isinstance(value, Mapping):
        return {name: native(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [native(inner) for inner in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else value

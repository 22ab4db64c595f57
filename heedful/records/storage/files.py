"""Read and write files: atomic replacement, JSON, temporary Arrow files, and errors with a remedy."""

import errno
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from heedful.records.errors import DataError, HeedfulError, ModelError, RunError, SettingError

FAILURES = [os.strerror(n) for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)]
WRITING = ".writing"  # suffix of temporary files


def unreadable(display_name: str, error: Exception) -> HeedfulError:
    reason = getattr(error, "strerror", None) or error
    return DataError(f"{display_name} cannot be read: {reason}. Check the path and its permissions.")


def open_file(path: str | Path, display_name: str | None = None) -> BufferedReader:
    """Open a file in binary mode for reading; raises DataError, with the path or ``display_name``, if that fails."""
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:  # ValueError for a null character in the path
        raise unreadable(display_name or str(path), error) from None


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` at the end, but not after an exception."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}{WRITING}")
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.touch()
            yield temporary
            flush_file(temporary)
            temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a locked folder, see :func:`atomic_path`."""
    for path in folder.glob(f".*{WRITING}"):
        path.unlink()


def flush_file(path: Path) -> None:
    """Force the content of a file to disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def writing(path: str | Path, remedy: str = "Make room, or name another folder.") -> Iterator[None]:
    """Convert errors about a path that is being written, such as a full disk, to RunError; other errors pass."""
    path = Path(path)
    try:
        yield
    except (SettingError, DataError, ModelError):
        raise
    except Exception as error:  # a RunError may be about a file below the path
        if not (reason := _failure(error, path)):
            raise
    else:
        return
    raise RunError(f"{path} cannot be written: {reason}. {remedy}")


def _failure(error: Exception, path: Path) -> str:
    """Return why ``path`` cannot be written; "" for an error about neither it, a parent nor a hidden file beside it."""
    if isinstance(error, OSError) and error.filename is not None:
        failed = Path(os.fsdecode(error.filename))
        is_near = failed.is_relative_to(path.parent) and str(failed.relative_to(path.parent)).startswith(".")
        is_own = failed.is_relative_to(path) or path.is_relative_to(failed) or is_near
        return (error.strerror or str(error)) if is_own else ""
    text = f"{error} {error.__context__}"  # safetensors quotes the error of the system, and torch chains it
    return next((failure for failure in FAILURES if failure in text), "")


def write_json(path: str | Path, value: Any) -> None:
    """Write a JSON file atomically, with sorted keys; raises ValueError for NaN and Infinity."""
    text = as_json(value)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # a path may contain any bytes


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: str | Path) -> Any:
    """Read a JSON file; raises DataError if it is missing, or is not JSON; NaN and Infinity are not JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        with open_file(path) as file:
            return json.loads(file.read(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}. Replace it by a complete copy.") from None


def spooling() -> AbstractContextManager[None]:
    """:func:`writing` for code that writes temporary files, with the advice to set TMPDIR."""
    return writing(tempfile.gettempdir(), "Set TMPDIR to a folder with more room.")


class Spool:
    """Writer of Arrow record batches to an unnamed temporary file, which is finally mapped into memory."""

    def __init__(self, schema: pa.Schema) -> None:
        with spooling():
            self._file = tempfile.TemporaryFile(prefix="heedful-")  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        with spooling():
            self._writer.write(table)
            self._file.flush()  # otherwise a forked process would write the buffer a second time

    def finish(self) -> pa.Table:
        """Close the file, map it into memory, and return its rows."""
        with spooling():
            self._writer.close()
            self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping stays valid
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

"""Atomic files, JSON files, and tables that are spooled to disk."""

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

from heedful.records.errors import DataError, HeedfulError, RunError

FAILURES = [os.strerror(n) for n in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)]
WRITING = ".writing"  # suffix of files that are being written


def unreadable(display_name: str, error: Exception) -> HeedfulError:
    """The error of a file that cannot be read."""
    reason = getattr(error, "strerror", None) or error
    return DataError(f"{display_name} cannot be read: {reason}. Check its permissions and its disk.")


def open_file(path: str | Path, display_name: str | None = None) -> BufferedReader:
    """Open a file for reading bytes.

    Args:
        path: The path.
        display_name: Name in messages, such as "config x.yaml"; by default the path.

    Raises:
        DataError: The file does not exist, is a folder, or cannot be read.
    """
    display_name = display_name or str(path)
    try:
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{display_name} does not exist.") from None
    except IsADirectoryError:
        raise DataError(f"{display_name} is a folder, not a file. Name a file.") from None
    except (OSError, ValueError) as error:  # a name that is too long, or that holds a NUL
        raise unreadable(display_name, error) from None


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces ``path`` on success and is removed on errors.

    Raises:
        RunError: The file cannot be written.
    """
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
    """Remove temporary files of :func:`atomic_path` that killed processes left in a locked folder."""
    for path in folder.glob(f".*{WRITING}"):
        path.unlink()


def share_file(path: Path) -> None:
    """Set the permissions of a file by the umask."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


def flush_file(path: Path) -> None:
    """Flush the content of a file to disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def writing(path: str | Path, remedy: str = "Make room, or name another folder.") -> Iterator[None]:
    """Convert errors of the system and of libraries while a path is written.

    Args:
        path: The file or the folder.
        remedy: Remedy in the message.

    Raises:
        RunError: The path cannot be written, as on a full disk.
    """
    path = Path(path)
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            failed = Path(os.fsdecode(error.filename))
            if not (failed.is_relative_to(path.parent) or path.is_relative_to(failed)):
                raise
        reason = os.strerror(error.errno) if error.errno else str(error)
    except Exception as error:  # of safetensors and torch, which quote or chain the error of the system
        text = f"{error} {error.__context__}"
        reason = next((failure for failure in FAILURES if failure in text), "")
        if not reason:
            raise
    else:
        return
    raise RunError(f"{path} cannot be written: {reason}. {remedy}")


def write_json(path: str | Path, value: Any) -> None:
    """Write strict JSON with sorted keys, atomically; raises ValueError for NaN and Infinity."""
    text = as_json(value)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # a path may hold any bytes


def as_json(value: Any) -> str:
    """The text that :func:`write_json` writes."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: str | Path) -> Any:
    """Read a JSON file.

    Raises:
        DataError: The file is missing or not strict JSON.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    try:
        with open_file(path) as file:
            return json.loads(file.read(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}. Take a whole copy of it.") from None


def spooling() -> AbstractContextManager[None]:
    """:func:`writing` for temporary files."""
    return writing(tempfile.gettempdir(), "Set TMPDIR to a folder with more room.")


class Spool:
    """Arrow record batches in an unnamed temporary file, which is memory-mapped at the end.

    Args:
        schema: The columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        with spooling():
            self._file = tempfile.TemporaryFile(prefix="heedful-")  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Append rows."""
        with spooling():
            self._writer.write(table)
            self._file.flush()  # forked processes would write the buffer again

    def finish(self) -> pa.Table:
        """Close the file and map it into memory."""
        with spooling():
            self._writer.close()
            self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping remains
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

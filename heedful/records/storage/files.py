"""Files that are either whole or absent, and tables that are spooled to disk."""

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
WRITING = ".writing"  # ends the name of a file that is being written


def unreadable(display_name: str, error: Exception) -> HeedfulError:
    """The error of a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or error
    return DataError(f"{display_name} cannot be read: {reason}. Check its permissions and its disk.")


def open_file(path: str | Path, display_name: str | None = None) -> BufferedReader:
    """Open a file to read its bytes.

    Args:
        path: The path.
        display_name: What the message calls it, such as "config x.yaml"; the path itself if not given.

    Raises:
        HeedfulError: Nothing is there, a folder, or a file that may not be read.
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
    """Yield a temporary path in the folder of ``path``; on success it is flushed to disk and renamed to ``path``.

    A reader therefore sees the old file or the new one, never a part. On an error the temporary file is removed.

    Raises:
        HeedfulError: The file cannot be written.
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
    """Remove what killed processes were writing by :func:`atomic_path`, from a folder that this process has locked."""
    for path in folder.glob(f".*{WRITING}"):
        path.unlink()


def share_file(path: Path) -> None:
    """Give a file the rights that new files have here."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)


def flush_file(path: Path) -> None:
    """Have the content of a file written to disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def writing(path: str | Path, remedy: str = "Make room, or name another folder.") -> Iterator[None]:
    """Say in one sentence that a file or a folder cannot be written; what libraries raise differs.

    Args:
        path: The file or the folder.
        remedy: What to do.

    Raises:
        HeedfulError: The disk is full, the folder cannot be written to, or the like.
    """
    path = Path(path)
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            other = Path(os.fsdecode(error.filename))
            if not (other.is_relative_to(path.parent) or path.is_relative_to(other)):
                raise
        reason = os.strerror(error.errno) if error.errno else str(error)
    except Exception as error:  # safetensors repeats the system's words in one of its own, torch hides them behind it
        told = f"{error} {error.__context__}"
        reason = next((words for words in FAILURES if words in told), "")
        if not reason:
            raise
    else:
        return
    raise RunError(f"{path} cannot be written: {reason}. {remedy}")


def write_json(path: str | Path, value: Any) -> None:
    """Write strict JSON (no NaN, no Infinity) with sorted keys, atomically.

    Raises:
        ValueError: ``value`` holds a float that JSON cannot express.
    """
    text = as_json(value)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")  # a path may hold any bytes


def as_json(value: Any) -> str:
    """A value as :func:`write_json` writes it."""
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: str | Path) -> Any:
    """Read a JSON file.

    Raises:
        HeedfulError: The file is missing, or is not strict JSON.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    try:
        with open_file(path) as file:
            return json.loads(file.read(), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}. Take a whole copy of it.") from None


def spooling() -> AbstractContextManager[None]:
    """:func:`writing` of temporary files."""
    return writing(tempfile.gettempdir(), "Let TMPDIR name a folder with more room.")


class Spool:
    """Arrow record batches on disk, memory-mapped when the last is written: they take no memory of the process.

    The file has no name, so a process that is killed leaves none.

    Args:
        schema: The columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        with spooling():
            self._file = tempfile.TemporaryFile(prefix="heedful-")  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Append rows. Raises HeedfulError on a full disk."""
        with spooling():
            self._writer.write(table)
            self._file.flush()  # a forked process must not inherit what is still to be written

    def finish(self) -> pa.Table:
        """Close the file and map it. Raises HeedfulError on a full disk."""
        with spooling():
            self._writer.close()
            self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping keeps the content
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

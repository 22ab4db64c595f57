"""Files that are either whole or absent, and tables that are spooled to disk."""

import errno
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from records.errors import HeedError

FAILED = {  # words of an exception that is no OSError: the reason
    "No space left on device": "No space left on device",
    "Disk quota exceeded": "Disk quota exceeded",
    "File too large": "File too large",
    "Read-only file system": "Read-only file system",
    "Permission denied": "Permission denied",
    "PytorchStreamWriter failed writing": "the disk is full, or the file too large",
}


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; on success it is flushed to disk and renamed to ``path``.

    A reader therefore sees the old file or the new one, never a part. On an error the temporary file is removed.

    Raises:
        HeedError: The file cannot be written.
    """
    path = Path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    temporary = Path(name)
    try:
        with writing(path):
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Say in one sentence that a file or a folder cannot be written; what libraries raise differs.

    Raises:
        HeedError: The disk is full, the folder cannot be written to, or the like.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and not _concerns(Path(os.fsdecode(error.filename)), Path(path)):
            raise
        reason = os.strerror(error.errno) if error.errno else str(error)
    except Exception as error:  # torch and safetensors have exceptions of their own
        failed = next((words for words in FAILED if words in str(error)), None)
        if failed is None:
            raise
        reason = FAILED[failed]
    else:
        return
    raise HeedError(f"{path} cannot be written: {reason}.")


def _concerns(named: Path, path: Path) -> bool:
    """Whether an error about one path is about writing another: it lies beside or below it, or on the way to it."""
    return named.is_relative_to(path.parent) or path.is_relative_to(named)


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
        HeedError: The file is missing, or is not strict JSON.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not a number of JSON")

    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise HeedError(f"{path} does not exist.") from None
    except OSError as error:
        raise HeedError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise HeedError(f"{path} is not valid JSON: {error}.") from None


@contextmanager
def spooling() -> Iterator[None]:
    """Say in one sentence that a temporary file cannot be written.

    Raises:
        HeedError: The disk is full.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        if error.errno == errno.ENOENT:  # there is no usable folder at all
            raise HeedError(f"{reason}; let TMPDIR name a folder that can be written to.") from None
        raise HeedError(f"{tempfile.gettempdir()}: {reason}; let TMPDIR name a folder with more room.") from None


class Spool:
    """Arrow record batches on disk, memory-mapped when the last is written: they take no memory of the process.

    The file has no name, so a process that is killed leaves none.

    Args:
        schema: The columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        with spooling():
            self._file = tempfile.TemporaryFile(prefix="heed-")  # noqa: SIM115
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Append rows.

        Raises:
            HeedError: The disk is full.
        """
        with spooling():
            self._writer.write(table)
            self._file.flush()  # a forked process must not inherit what is still to be written

    def finish(self) -> pa.Table:
        """Close the file and map it.

        Raises:
            HeedError: The disk is full.
        """
        with spooling():
            self._writer.close()
            self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()  # the mapping keeps the content
        return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()

"""Locks of folders."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from heedful.records.errors import RunError
from heedful.records.storage.files import writing

LOCK = ".lock"  # in the folder


@contextmanager
def locked(folder: Path, display_name: str | None = None, new: Sequence[Path] = ()) -> Iterator[None]:
    """Create and lock a folder; at the end, remove it and new parents if they are still empty.

    Args:
        folder: The folder.
        display_name: Prefix of messages, such as "output x"; by default the folder.
        new: Folders that the caller has created, the folder first.

    Raises:
        RunError: Another process has locked the folder, or it cannot be written to.
    """
    new = [*new, *(path for path in (folder, *folder.parents) if not path.exists())]
    lock = FileLock(folder / LOCK, timeout=0)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            message = f"{display_name or folder}: another process writes into the folder. Wait, or name another folder."
            raise RunError(message) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # up to the first folder that is not empty
            for path in new:
                path.rmdir()

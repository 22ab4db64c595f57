"""Lock folders against other processes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from heedful.records.errors import RunError
from heedful.records.storage.files import writing

LOCK = ".lock"  # name of the lock file in the folder


@contextmanager
def locked(folder: Path, display_name: str | None = None, new: Sequence[Path] = ()) -> Iterator[None]:
    """Context manager that creates a folder and locks it; at the end, it removes the new folders that are still empty.

    Args:
        folder: The folder.
        display_name: Start of error messages, such as "output x"; by default the folder.
        new: Folders that the caller has just created, innermost first, which are also removed if they are empty.

    Raises:
        RunError: If another process holds the lock, or the folder cannot be written to.
    """
    new = [*new, *(path for path in (folder, *folder.parents) if not path.exists())]
    lock = FileLock(folder / LOCK, timeout=0)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            message = f"{display_name or folder}: another process writes to the folder. Wait, or name another folder."
            raise RunError(message) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # stops at the first folder that is not empty
            for path in new:
                path.rmdir()

"""A folder that one process at a time writes into."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from heedful.records.errors import RunError
from heedful.records.storage.files import writing

LOCK = ".lock"  # in the folder


@contextmanager
def locked(folder: Path, display_name: str | None = None, made: Sequence[Path] = ()) -> Iterator[None]:
    """Make a folder, and keep other processes out of it; one that is made and still empty in the end is removed.

    Args:
        folder: The folder.
        display_name: Begins the message, such as "output x"; by default the folder.
        made: Folders that were made for it before, itself first.

    Raises:
        RunError: Another process has locked it, or it cannot be written to.
    """
    made = [*made, *(path for path in (folder, *folder.parents) if not path.exists())]
    lock = FileLock(folder / LOCK, timeout=0)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            raise RunError(
                f"{display_name or folder}: another process writes there. Wait until it has ended, or name another "
                "folder."
            ) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)  # whoever opened it meanwhile sees that it is gone
        lock.release()
        with suppress(OSError):  # the first that is not empty
            for path in made:
                path.rmdir()

"""A folder that one process at a time writes into."""

import atexit
import fcntl
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from heedful.records.errors import HeedfulError, RunError, printable

LOCK = ".lock"
ANOTHER = "Name another folder."


class _Held(NamedTuple):
    """The open lock of a folder, the folders that were made for it, and whether other processes have it as well."""

    lock: int
    made: Sequence[Path]
    is_shared: bool


_held: dict[Path, _Held] = {}


def missing(folder: Path) -> list[Path]:
    """The folders that must be made for this one to exist, itself first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def claim(folder: Path, display_name: str, made: Sequence[Path] = (), shared_by: str = "") -> None:
    """Make a folder and keep other processes out of it for as long as this one lives; again has no effect.

    The kernel frees the lock when the process ends, however it ends. Its children do not have it.

    Args:
        folder: The folder.
        display_name: What the user wrote, such as "output x"; the message begins with it.
        made: Folders that were made for it, to be removed by :func:`release` if they are still empty.
        shared_by: Such as "a shard", where processes share the folder that all claim it so, and only those that want
            it alone are kept out.

    Raises:
        HeedfulError: Another process has claimed it, or it cannot be made or written to.
    """
    try:
        folder = folder.resolve()
        if _is_held(folder):
            return
        if file := next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None):
            raise RunError(f"{display_name}: {file} is a file, not a folder. {ANOTHER}")
        made = [*made, *missing(folder)]
        folder.mkdir(parents=True, exist_ok=True)
        handle = _locked(folder / LOCK, display_name, shared_by)
    except (OSError, RuntimeError, HeedfulError) as error:
        _remove(made)
        if isinstance(error, HeedfulError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise RunError(f"{display_name} cannot be written to: {reason}. {ANOTHER}") from None
    _held[folder] = _Held(handle, made, bool(shared_by))


def _is_held(folder: Path) -> bool:
    if folder not in _held:
        return False
    with suppress(OSError):
        if os.path.samestat(os.fstat(_held[folder].lock), os.stat(folder / LOCK)):
            return True
    os.close(_held.pop(folder).lock)  # the folder was removed meanwhile
    return False


def owner_of(folder: Path) -> str | None:
    """Who has claimed a folder; None where nobody has, and where the file system has no locks."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _name_in(handle)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _name_in(lock: int) -> str:
    """The name of its owner in an open lock."""
    return os.pread(lock, 200, 0).decode("utf-8", "replace") or "another process"


def _locked(path: Path, display_name: str, shared_by: str) -> int:
    """The lock file, open and locked."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared_by else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _name_in(handle)
            os.close(handle)
            raise RunError(
                f"{display_name}: {owner} writes there. Wait until it has ended, or name another folder."
            ) from None
        except OSError as error:
            where = printable(str(path.parent))
            others = f"no other process but {shared_by}" if shared_by else "no other process"
            print(f"{where}: no locks ({error.strerror}), so let {others} write there.", file=sys.stderr)
            return handle
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                break
        os.close(handle)  # whoever had it has removed it
    with suppress(OSError):  # on a full disk the owner has no name
        os.ftruncate(handle, 0)
        os.pwrite(handle, (shared_by or f"process {os.getpid()} on {platform.node()}").encode(), 0)
    return handle


def release() -> None:
    """Give up all that this process has claimed, and remove the folders that were made for it and are still empty.

    A lock that is shared stays as a file: others may have it.
    """
    while _held:
        folder, (handle, made, is_shared) = _held.popitem()
        with suppress(OSError):
            if not is_shared and os.path.samestat(os.fstat(handle), os.stat(folder / LOCK)):
                (folder / LOCK).unlink()
        os.close(handle)
        _remove(made)


def _remove(made: Sequence[Path]) -> None:
    """Remove folders that are still empty, each before the one that holds it."""
    with suppress(OSError):  # the first that is not empty
        for path in made:
            path.rmdir()


def _forget() -> None:
    """A child has the same open lock, which would outlive its parent."""
    for held in _held.values():
        os.close(held.lock)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(release)

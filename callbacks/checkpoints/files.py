"""Checkpoint files: written whole or not at all, and looked over before they are read."""

import errno
import os
import zipfile
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO
from torch.serialization import get_unsafe_globals_in_checkpoint

from heedful.records import HeedfulError, ModelError, RunError, atomic_path
from heedful.records.storage.files import flush_file

LAST, PREVIOUS = "last.ckpt", "previous.ckpt"
INTERRUPTED, PUT_ASIDE = "interrupted.ckpt", "damaged.ckpt"
DAMAGED = RunError("It is damaged (cut short, or its checksums do not fit).")


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place, flushes it to disk and renames it; the ``last.ckpt`` before it stays.

    At any moment ``last.ckpt`` or ``previous.ckpt`` is whole, whenever the process is killed. Lightning calls it on
    rank 0 alone.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        path = Path(path)
        with atomic_path(path) as temporary:
            with open(temporary, "wb") as file:  # whose errors say why nothing can be written
                torch.save(checkpoint, file)
            flush_file(temporary)  # before the old one makes way
            if path.name == LAST and path.exists():
                path.replace(path.with_name(PREVIOUS))
        flush(path.parent)  # the renaming, too, is to outlive a power cut

    def load_checkpoint(
        self, path: str | Path, map_location: Any = "cpu", weights_only: bool | None = True
    ) -> dict[str, Any]:
        require_whole(Path(path), str(path))
        try:
            content = torch.load(path, map_location=map_location, weights_only=True)
        except (ValueError, UnpicklingError, EOFError, KeyError) as error:  # torch reads fields that zipfile skips
            raise DAMAGED.at(str(path)) from error
        require_of_run(content, str(path))
        return content


def flush(folder: Path) -> None:
    """Have the names in a folder written to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def kept(folder: Path) -> list[Path]:
    """The checkpoints of a finished run: not those that only an unfinished one needs.

    Where no other was saved, the results are of ``last.ckpt``.
    """
    there = sorted(folder.glob("*.ckpt"))
    best = [path for path in there if path.name not in (LAST, PREVIOUS, INTERRUPTED, PUT_ASIDE)]
    return best or [path for path in there if path.name == LAST]


def remove_states(folder: Path) -> None:
    """Remove all other checkpoints than those that are :func:`kept` from ``checkpoints/`` of a finished run."""
    stay = kept(folder)
    for path in sorted(folder.glob("*.ckpt")):
        if path not in stay:
            path.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Whether a checkpoint is complete, and holds nothing but what is loaded."""
    return fault(path) is None


def fault(path: Path) -> HeedfulError | None:
    """The fault of a checkpoint, without its name; None where it has none.

    It is damaged unless the zip file has its directory, and every part in it its checksum. Only then is its outline
    unpickled, by torch's safe loader: torch reads fields of a zip file that zipfile does not.
    """
    try:
        status = path.stat()
        return _fault(path.absolute(), status.st_mtime_ns, status.st_size)
    except OSError as error:
        return RunError(f"It cannot be read: {error.strerror or error}. Check its permissions and its disk.")


@cache  # a run that goes on asks several times for all checksums of the same file
def _fault(path: Path, modified: int, size: int) -> HeedfulError | None:
    """See :func:`fault`; an OSError is of the disk, not of what the file holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.testzip() is not None:
                return DAMAGED
        try:
            outline(path)
        except UnpicklingError:
            if unsafe := get_unsafe_globals_in_checkpoint(path):
                return ModelError(
                    f"It holds something else than numbers and plain values ({min(unsafe)}), which is not loaded. Name "
                    "another one, or save it again without that."
                )
            raise
    except Exception as error:  # a flipped bit leads to exceptions of many kinds
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # EINVAL: a place before the start
            raise
        return DAMAGED
    return None


def outline(path: Path) -> dict[str, Any]:
    """A checkpoint whose tensors stay on the disk."""
    return torch.load(path, map_location="cpu", weights_only=True, mmap=True)


def require_whole(path: Path, display_name: str) -> None:
    """Check a checkpoint that the user named.

    Args:
        path: The file.
        display_name: What the user wrote, such as "checkpoint x/best.ckpt"; the message begins with it.

    Raises:
        HeedfulError: There is no such file, it cannot be read, it holds what is not loaded, or it is damaged; then the
            message names the whole ones beside it.
    """
    if not path.is_file():
        raise RunError(f"{display_name} does not exist.")
    error = fault(path)
    if error is None:
        return
    if error is DAMAGED:
        others = [str(other) for other in sorted(path.parent.glob("*.ckpt")) if other != path and is_whole(other)]
        whole = f"Whole are {', '.join(others)}." if others else "No other in its folder is whole: copy it again."
        error = RunError(f"{DAMAGED} {whole}")
    raise error.at(display_name)


def require_of_run(content: Any, display_name: str) -> None:
    """Check what a file holds that torch could read.

    Raises:
        HeedfulError: It is not what Lightning and a Classifier write; ``display_name`` begins the message.
    """
    kinds = {"state_dict": dict, "task": dict, "pytorch-lightning_version": str, "epoch": int, "global_step": int}
    names = {"state_dict": "weights", "pytorch-lightning_version": "version of Lightning", "global_step": "step"}
    for key, kind in kinds.items():
        if not isinstance(content, dict) or not isinstance(content.get(key), kind):
            raise RunError(
                f"{display_name} is not a checkpoint that train.py wrote: it lacks its {names.get(key, key)}. Name a "
                "checkpoint that train.py wrote."
            )


def best_of(run: Path, display_name: str, finished: bool) -> Path:
    """The best checkpoint of a run, or the last one of a finished run that was to keep no best.

    Args:
        run: The folder of the run.
        display_name: Begins the message.
        finished: Whether the run is finished.

    Raises:
        HeedfulError: There is none.
    """
    best = run / "checkpoints" / "best.ckpt"
    last = run / "checkpoints" / LAST
    if best.is_file():
        return best
    if finished and last.is_file():
        return last
    others = ", ".join(sorted(map(str, best.parent.glob("*.ckpt"))))
    wrong = f"{display_name}: {best} does not exist{'' if others else ', and the run saved no other'}."
    ways = [f"name one of {others}"] if others else []
    ways += [] if finished else [f"finish the run with resume {run}"]
    remedy = ", or ".join(ways or ["train the model again"])
    raise RunError(f"{wrong} {remedy[0].upper()}{remedy[1:]}.")


def newest(folder: Path) -> tuple[Path | None, bool]:
    """The newest whole checkpoint to go on from.

    Args:
        folder: ``checkpoints/`` of a run.

    Returns:
        ``last.ckpt``, else ``previous.ckpt``, or None where nothing was saved; and whether ``last.ckpt`` is damaged.

    Raises:
        HeedfulError: Something was saved, and it is damaged; or the newest that is not cannot be loaded.
    """
    paths = [folder / name for name in (LAST, PREVIOUS) if (folder / name).is_file()]
    whole = next((path for path in paths if fault(path) is not DAMAGED), None)
    if paths:
        require_whole(whole or paths[0], str(whole or paths[0]))
    return whole, bool(paths) and paths[0].name == LAST and whole != paths[0]


def progress(path: Path) -> tuple[int, int]:
    """How far a checkpoint is: (epoch counted from 1, optimizer steps done). Reads no tensor.

    Raises:
        HeedfulError: The checkpoint holds weights alone.
    """
    saved = outline(path)
    require_of_run(saved, str(path))
    if "optimizer_states" not in saved:
        run = path.absolute().parent.parent
        raise RunError(
            f"{path} holds weights alone, from which training cannot go on. Go on with resume {run}; if that is "
            "finished, begin a new run with init_from."
        )
    return saved["epoch"] + 1, saved["global_step"]

"""Checkpoint files: replaced as a whole, and checked when they are read."""

import zipfile
from pathlib import Path
from textwrap import shorten
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO

from heedful.records import RunError, atomic_path

LAST = "last.ckpt"
CONTENT = {"state_dict": dict, "task": dict, "pytorch-lightning_version": str, "epoch": int, "global_step": int}


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its path and renames it: a killed process leaves the old file or the new one."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            torch.save(checkpoint, file)

    def load_checkpoint(
        self, path: str | Path, map_location: Any = "cpu", weights_only: bool | None = True
    ) -> dict[str, Any]:
        outline(Path(path))
        with zipfile.ZipFile(path) as archive:  # torch compares no checksums
            if (part := archive.testzip()) is not None:
                raise RunError(f"{path} is damaged: the checksum of {part} is wrong. Copy the file again.")
        return torch.load(path, map_location=map_location, weights_only=True)


def outline(path: Path, display_name: str = "") -> dict[str, Any]:
    """A checkpoint of a :class:`Classifier`, whose tensors stay on disk.

    Args:
        path: The file.
        display_name: Name of the file in the message; the path by default.

    Raises:
        RunError: The file is missing or damaged, holds other objects than tensors and plain values, or lacks a part.
    """
    display_name = display_name or str(path)
    if not path.is_file():
        raise RunError(f"{display_name} does not exist.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # damage leads to exceptions of many types
        reason = shorten(str(error).partition("\n")[0], 100, placeholder=" ...")
        raise RunError(f"{display_name} cannot be read as a checkpoint: {reason} Name another file.") from error
    for key, kind in CONTENT.items():
        if not isinstance(content, dict) or not isinstance(content.get(key), kind):
            raise RunError(f"{display_name} lacks {key}. Name a checkpoint whose weights train.py wrote.")
    return content


def progress(path: Path) -> tuple[int, int]:
    """Progress of a checkpoint to resume from: (epoch counted from 1, optimizer steps).

    Raises:
        RunError: The checkpoint cannot be read, or holds weights alone.
    """
    saved = outline(path)
    if "optimizer_states" not in saved:
        run = path.absolute().parent.parent
        raise RunError(
            f"{path} holds weights alone, from which training cannot resume. Set resume {run}, or init_from {run} if "
            "that run is finished."
        )
    return saved["epoch"] + 1, saved["global_step"]


def best_of(run: Path, display_name: str, finished: bool) -> Path:
    """The best checkpoint of a run, or the last one of a finished run that was to keep no best.

    Raises:
        RunError: There is none; ``display_name`` begins the message.
    """
    best, last = (run / "checkpoints" / name for name in ("best.ckpt", LAST))
    if best.is_file():
        return best
    if finished and last.is_file():
        return last
    others = ", ".join(map(str, sorted(best.parent.glob("*.ckpt")))) or "none"
    raise RunError(f"{display_name}: {best} does not exist; other checkpoints: {others}. Name one, or resume {run}.")


def remove_last(folder: Path) -> None:
    """Remove ``last.ckpt`` from ``checkpoints/`` of a finished run, unless it is the only checkpoint."""
    if any(path.name != LAST for path in folder.glob("*.ckpt")):
        (folder / LAST).unlink(missing_ok=True)

"""Read and write checkpoint files: files are written atomically, and checked when they are read."""

import zipfile
from pathlib import Path
from textwrap import shorten
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO

from heedful.records import RunError, atomic_path

LAST = "last.ckpt"
KEYS = ("state_dict", "task", "pytorch-lightning_version", "epoch", "global_step")


class AtomicCheckpointIO(TorchCheckpointIO):
    """Reads and writes checkpoint files for Lightning; a killed process leaves either the old or the new file."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            torch.save(checkpoint, file)

    def load_checkpoint(
        self, path: str | Path, map_location: Any = "cpu", weights_only: bool | None = True
    ) -> dict[str, Any]:
        outline(Path(path))
        with zipfile.ZipFile(path) as archive:  # torch compares no checksums
            if (entry := archive.testzip()) is not None:
                raise RunError(f"{path} is damaged: the checksum of {entry} is wrong. Copy the file again.")
        return torch.load(path, map_location=map_location, weights_only=True)


def outline(path: Path, display_name: str = "") -> dict[str, Any]:
    """Return the content of a checkpoint file, without loading its tensors into memory.

    Raises:
        RunError: The file is missing or damaged; the message begins with ``display_name``, by default the path.
    """
    display_name = display_name or str(path)
    if not path.is_file():
        raise RunError(f"{display_name} does not exist.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # damage leads to exceptions of many types
        reason = shorten(str(error).partition("\n")[0], 100, placeholder=" ...")
        raise RunError(f"{display_name} cannot be read as a checkpoint: {reason} Name another file.") from error
    if missing := [key for key in KEYS if not isinstance(content, dict) or key not in content]:
        raise RunError(f"{display_name} lacks {missing[0]}. Name a checkpoint that train.py wrote.")
    return content


def progress(path: Path) -> tuple[int, int]:
    """Return the epoch (from 1) and the optimizer steps of a checkpoint; raise RunError if it holds weights only."""
    saved = outline(path)
    if "optimizer_states" not in saved:
        run = path.absolute().parent.parent
        raise RunError(f"{path} holds weights only. Set resume {run}, or init_from {run} if that run is finished.")
    return saved["epoch"] + 1, saved["global_step"]


def best_of(run: Path, display_name: str, finished: bool) -> Path:
    """Return the path of ``best.ckpt`` in a run folder, or of ``last.ckpt`` if a finished run has no ``best.ckpt``;
    raise RunError, with ``display_name`` before its message, if the run has no such checkpoint.
    """
    best, last = (run / "checkpoints" / name for name in ("best.ckpt", LAST))
    if best.is_file() or (finished and last.is_file()):
        return best if best.is_file() else last
    existing = ", ".join(map(str, sorted(best.parent.glob("*.ckpt")))) or "none"
    raise RunError(f"{display_name}: {best} does not exist; other checkpoints: {existing}. Name one, or resume {run}.")


def remove_last(folder: Path) -> None:
    """Remove ``last.ckpt`` from the folder of checkpoints of a finished run, unless it is the only checkpoint."""
    if any(path.name != LAST for path in folder.glob("*.ckpt")):
        (folder / LAST).unlink(missing_ok=True)

"""The folder that the command line names: claimed before anything is read, and never one that holds something else."""

from pathlib import Path
from typing import NamedTuple

from jsonargparse import Namespace

from heedful.cli.runs import TEMPORARY, is_first
from heedful.records import HeedfulError, writing
from heedful.records.storage.claim import LOCK, claim

EMPTY_BOARD = 100  # bytes; TensorBoard begins its file with 88 that say its version


class Named(NamedTuple):
    """A folder that the command line names.

    Attributes:
        folder: The folder.
        flag: What the user wrote.
        goes_on: Whether a run that is there goes on.
    """

    folder: Path
    flag: str
    goes_on: bool


def named_folder(config: Namespace, evaluating: bool) -> Named | None:
    """The folder of the run to be continued, or ``--output``; None where a new one is to be made."""
    resumed = config.get("resume")
    output = config.output
    if resumed and (Path(resumed) / "config.yaml").is_file():
        return Named(Path(resumed), f"--resume {resumed}", True)
    if not resumed and not evaluating and config.ckpt_path:
        of_checkpoint = Path(config.ckpt_path).absolute().parent.parent
        if (of_checkpoint / "config.yaml").is_file() and (
            not output or Path(output).resolve() == of_checkpoint.resolve()
        ):
            return Named(of_checkpoint, f"--ckpt_path {config.ckpt_path}", True)
    return Named(Path(output), f"--output {output}", False) if output else None


def claim_named(config: Namespace, evaluating: bool) -> Named | None:
    """Keep other processes out of the folder that the command line names, if it names one.

    Args:
        config: The configuration of the command.
        evaluating: Whether nothing is trained.

    Raises:
        HeedfulError: ``--output`` holds something, or another process writes into the folder.
    """
    named = named_folder(config, evaluating)
    if named is None or not is_first():
        return None
    if not named.goes_on:
        _require_unused(named, evaluating)  # the lock, too, is not to be written into a folder of others
    claim(named.folder, named.flag)
    if not named.goes_on:
        _require_unused(named, evaluating)  # another process may have used it meanwhile
    return named


def _require_unused(named: Named, evaluating: bool) -> None:
    with writing(named.folder):
        held = held_in(named.folder) if named.folder.is_dir() else []
    if "config.yaml" in held:
        more = "" if evaluating else f", or use --resume {named.folder}"
        raise HeedfulError(f"{named.flag} holds a run already: name another folder{more}.")
    if held:
        raise HeedfulError(
            f"{named.flag} is not empty, and not the folder of a run (it holds {held[0]}): name another folder."
        )


def held_in(folder: Path) -> list[str]:
    """The names in a folder, but for the lock and for what a start leaves that ends before it writes config.yaml."""
    left = [path for path in folder.iterdir() if path.name != LOCK and not TEMPORARY.fullmatch(path.name)]
    return sorted(path.name for path in left if not _is_empty_board(path))


def _is_empty_board(path: Path) -> bool:
    """Whether it is a file of TensorBoard, which makes it first of all, in which nothing is logged yet."""
    return path.name.startswith("events.out.tfevents.") and path.stat().st_size <= EMPTY_BOARD

"""The folder that the user names: claimed before anything is read, and never one that holds something else."""

import re
from pathlib import Path
from typing import NamedTuple

from heedful.assembly.config import Config
from heedful.assembly.plan import checkpoint_of
from heedful.assembly.saved_settings import brief, differences, saved_settings, setting_name
from heedful.assembly.starts import is_first
from heedful.records import HeedfulError, RunError, writing
from heedful.records.storage.claim import LOCK, claim
from heedful.records.storage.files import WRITING
from heedful.records.storage.results import RESULTS

TEMPORARY = re.compile(  # what a process was writing when it ended; earlier versions had no last word
    rf"\..+\.(ckpt|html|json|md|parquet|png|yaml)\.\w{{8}}({re.escape(WRITING)})?"
)
EMPTY_BOARD = 100  # bytes; TensorBoard begins its file with 88 that say its version


class Named(NamedTuple):
    """A folder that the user names.

    Attributes:
        folder: The folder.
        flag: What the user wrote.
        goes_on: Whether a run that is there goes on.
    """

    folder: Path
    flag: str
    goes_on: bool


def named_folder(config: Config) -> Named | None:
    """The folder of the run to be continued, or ``output``; None where a new one is to be made."""
    resumed = None if config.evaluating else config.resume
    settings = config.run_settings()
    output, checkpoint = settings.output, checkpoint_of(settings)
    if resumed and (Path(resumed) / "config.yaml").is_file():
        return Named(Path(resumed), f"resume {resumed}", True)
    if not resumed and not config.evaluating and checkpoint:
        of_checkpoint = Path(checkpoint).absolute().parent.parent
        if (of_checkpoint / "config.yaml").is_file() and (
            not output or Path(output).resolve() == of_checkpoint.resolve()
        ):
            return Named(of_checkpoint, f"ckpt_path {checkpoint}", True)
    return Named(Path(output), f"output {output}", False) if output else None


def claim_named(config: Config) -> Named | None:
    """Keep other processes out of the folder that the user names, if one is named.

    An evaluation that was stopped there is taken up by the command that began it.

    Raises:
        HeedfulError: ``output`` holds something else, or another process writes into the folder.
    """
    named_by_user = named_folder(config)
    if named_by_user is None or not is_first():
        return None
    if not named_by_user.goes_on:
        _require_unused(named_by_user, config)  # no lock, too, into a folder of others
    claim(named_by_user.folder, named_by_user.flag)
    if not named_by_user.goes_on:
        _require_unused(named_by_user, config)  # another process may have used it meanwhile
    return named_by_user


def _require_unused(named_by_user: Named, config: Config) -> None:
    """Refuse a folder that holds something else than what the same evaluation has left when it was stopped."""
    with writing(named_by_user.folder):
        held = held_in(named_by_user.folder) if named_by_user.folder.is_dir() else []
    of_prompts = [
        named_by_user.folder / name for name in held if (named_by_user.folder / name / "config.yaml").is_file()
    ]
    stopped = [named_by_user.folder] if "config.yaml" in held and RESULTS not in held else of_prompts
    if config.evaluating and stopped and len(of_prompts) in (0, len(held)):
        for folder in stopped:
            _require_same(named_by_user, folder, config)
        return
    if "config.yaml" in held:
        more = "" if config.evaluating else f", or use resume {named_by_user.folder}"
        raise RunError(f"{named_by_user.flag} holds a run already. Name another folder{more}.")
    if held:
        raise RunError(f"{named_by_user.flag} holds {held[0]}, which is not of a run. Name another folder.")


def _require_same(named_by_user: Named, folder: Path, config: Config) -> None:
    """Refuse to take up an evaluation that was stopped with other settings, or of another checkpoint."""
    try:
        before = saved_settings(folder)
    except HeedfulError:  # of another command
        raise RunError(f"{named_by_user.flag} holds a run already. Name another folder.") from None
    changed = differences(before, config.as_dict())
    checkpoint = checkpoint_of(config.run_settings())
    if before.get("checkpoint") != checkpoint:
        changed = {"checkpoint": (before.get("checkpoint"), checkpoint), **changed}
    for name, (began, now) in changed.items():
        raise RunError(
            f"{setting_name(name)} {brief(now)}: {named_by_user.flag} holds an evaluation that was stopped, with "
            f"{brief(began)}. Repeat its command, which goes on there, or name another folder."
        )


def held_in(folder: Path) -> list[str]:
    """The names in a folder, but for the lock and for what a start leaves that ends before it writes config.yaml."""
    left = [path for path in folder.iterdir() if path.name != LOCK and not TEMPORARY.fullmatch(path.name)]
    return sorted(path.name for path in left if not _is_empty_board(path))


def _is_empty_board(path: Path) -> bool:
    """Whether it is a file of TensorBoard, which makes it first of all, in which nothing is logged yet."""
    return path.name.startswith("events.out.tfevents.") and path.stat().st_size <= EMPTY_BOARD

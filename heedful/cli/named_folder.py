"""The folder that the command line names: claimed before anything is read, and never one that holds something else."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jsonargparse import ArgumentParser, Namespace

from heedful.cli.runs import TEMPORARY, brief, differences, flag_of, is_first, saved_settings
from heedful.records import HeedfulError, writing
from heedful.records.storage.claim import LOCK, claim
from heedful.records.storage.results import RESULTS
from heedful.records.storage.yaml_files import read_yaml

FOLDERS = {"default_root_dir", "dir", "dirpath", "log_dir", "save_dir"}  # settings of what Lightning's classes write
NAMES = {"filename", "name", "prefix", "sub_dir", "version"}
EMPTY_BOARD = 100  # bytes; TensorBoard begins its file with 88 that say its version


def require_inside(config: Namespace, argv: Sequence[str]) -> None:
    """Refuse files of settings that have loggers, profilers or callbacks write elsewhere than into the run's folder.

    A run that goes on writes where it did before.

    Args:
        config: The configuration of the command.
        argv: The command line as it was typed, where each of them may be named.

    Raises:
        HeedfulError: A folder is named elsewhere, or a name leads out of its folder.
    """
    typed = {argument.partition("=")[0] for argument in argv if argument.startswith("--")}
    before = named_folder(config, evaluating=False) if config.get("resume") else None
    own = read_yaml(str(before.folder / "config.yaml"), before.flag) if before is not None and before.goes_on else {}
    known = set(_settings(own.get("trainer"), "--trainer"))
    for flag, value in (found for found in _settings(config.get("trainer"), "--trainer") if found not in known):
        key = flag.rpartition(".")[2]
        leads_out = key in FOLDERS or (key in NAMES and ("/" in value or value in (".", "..")))
        if leads_out and not any(flag == given or flag.startswith(f"{given}.") for given in typed):
            raise HeedfulError(
                "command-line-only",
                f"{flag} {value}: a file of settings may not have a run write elsewhere than into its folder.",
                "Leave it out there, or type it on the command line.",
            )


def _settings(value: Any, flag: str) -> Iterator[tuple[str, str]]:
    """The flag and the value of each setting that is a text or a path, as they are typed."""
    if isinstance(value, Namespace | Mapping):
        for name, inner in (vars(value) if isinstance(value, Namespace) else value).items():
            yield from _settings(inner, flag if name == "init_args" else f"{flag}.{name}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _settings(inner, flag)
    elif isinstance(value, str | os.PathLike):
        yield flag, str(value)


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


def claim_named(config: Namespace, evaluating: bool, parser: ArgumentParser) -> Named | None:
    """Keep other processes out of the folder that the command line names, if it names one.

    An evaluation that was stopped there is taken up by the command that began it.

    Args:
        config: The configuration of the command.
        evaluating: Whether nothing is trained.
        parser: Reads the configuration of what was stopped.

    Raises:
        HeedfulError: ``--output`` holds something else, or another process writes into the folder.
    """
    named = named_folder(config, evaluating)
    if named is None or not is_first():
        return None
    if not named.goes_on:
        _require_unused(named, config, evaluating, parser)  # no lock, too, into a folder of others
    claim(named.folder, named.flag)
    if not named.goes_on:
        _require_unused(named, config, evaluating, parser)  # another process may have used it meanwhile
    return named


def _require_unused(named: Named, config: Namespace, evaluating: bool, parser: ArgumentParser) -> None:
    """Refuse a folder that holds something else than what the same evaluation has left when it was stopped."""
    with writing(named.folder):
        held = held_in(named.folder) if named.folder.is_dir() else []
    of_prompts = [named.folder / name for name in held if (named.folder / name / "config.yaml").is_file()]
    stopped = [named.folder] if "config.yaml" in held and RESULTS not in held else of_prompts
    if evaluating and stopped and len(of_prompts) in (0, len(held)):
        for folder in stopped:
            _require_same(named, folder, config, parser)
        return
    if "config.yaml" in held:
        more = "" if evaluating else f", or use --resume {named.folder}"
        raise HeedfulError("folder-taken", f"{named.flag} holds a run already.", f"Name another folder{more}.")
    if held:
        raise HeedfulError("folder-taken", f"{named.flag} holds {held[0]}, which is not of a run.")


def _require_same(named: Named, folder: Path, config: Namespace, parser: ArgumentParser) -> None:
    """Refuse to take up an evaluation that was stopped with other settings, or of another checkpoint."""
    try:
        before = saved_settings(folder, parser)
    except HeedfulError:  # of another command
        raise HeedfulError("folder-taken", f"{named.flag} holds a run already.") from None
    found = differences(before, config, parser)
    if before.get("checkpoint") != config.get("checkpoint"):
        found = {"checkpoint": (before.get("checkpoint"), config.get("checkpoint")), **found}
    for name, (began, now) in found.items():
        raise HeedfulError(
            "folder-taken",
            f"--{flag_of(name)} {brief(now)}: {named.flag} holds an evaluation that was stopped, with {brief(began)}.",
            "Repeat its command, which goes on there, or name another folder.",
        )


def held_in(folder: Path) -> list[str]:
    """The names in a folder, but for the lock and for what a start leaves that ends before it writes config.yaml."""
    left = [path for path in folder.iterdir() if path.name != LOCK and not TEMPORARY.fullmatch(path.name)]
    return sorted(path.name for path in left if not _is_empty_board(path))


def _is_empty_board(path: Path) -> bool:
    """Whether it is a file of TensorBoard, which makes it first of all, in which nothing is logged yet."""
    return path.name.startswith("events.out.tfevents.") and path.stat().st_size <= EMPTY_BOARD

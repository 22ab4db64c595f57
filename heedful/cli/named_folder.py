"""The folder that the command line names: claimed before anything is read, and never one that holds something else."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jsonargparse import Namespace

from heedful.cli.runs import TEMPORARY, is_first
from heedful.records import HeedfulError, writing
from heedful.records.storage.claim import LOCK, claim
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
                f"{flag} {value}: what a run writes lies in its folder. A file of settings may not name another place: "
                "leave it out there, or type it on the command line."
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

"""The files of a run are those that it wrote: their sha256 in its run.json, and who reads them compares.

config.yaml has one for each start of the run, and is any of these files: a start that was killed before it wrote its
own leaves that of the start before. Checkpoints and the exported model have theirs once they are written for good:
config and tokenizer when training starts, checkpoints, weights and the numbers of the epochs at its end.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from heedful.records.errors import RunError
from heedful.records.storage.results import RUN, file_hash, read_run

CONFIG, CONFIG_HASH = "config.yaml", "config"  # the file, and its hash in the description of each start
FILES = "files"  # in run.json: paths in the folder of the run to hashes
RUN_ID = "id"  # in run.json; the same stands in each checkpoint, under "run"
CHECKPOINTS = "checkpoints"
BACKBONE = f"{CHECKPOINTS}/backbone"


def hashes_of(run: Path, others: Iterable[Path] = ()) -> dict[str, str]:
    """Path to sha256 of each file of the exported model, and of others in the folder of the run."""
    return {path.relative_to(run).as_posix(): file_hash(path) for path in (*_exported(run / BACKBONE), *others)}


def require_exported(folder: Path) -> None:
    """Refuse an exported model whose files are not those that its run wrote, and to which files were added.

    Args:
        folder: The folder of a model; one that is not ``checkpoints/backbone`` of a run is left alone.

    Raises:
        HeedfulError: A file is missing, is another one, or was added after the run was finished.
    """
    folder = folder.absolute()
    if folder.parts[-2:] != tuple(BACKBONE.split("/")):
        return
    run = folder.parents[1]
    about = read_run(run)
    if (run / CONFIG).is_file() and not (run / RUN).is_file():
        raise RunError(f"{run / RUN} is missing, which the run wrote. Copy the whole folder of the run.")
    own = {name for name in _recorded(run) if name.startswith(f"{BACKBONE}/")}
    require_files(run, own)
    if "finished" not in about or not own:
        return
    added = sorted({path.relative_to(run).as_posix() for path in _exported(folder) if path.suffix != ".md"} - own)
    if added:
        raise RunError(f"{run / added[0]} is not among the files that the run exported. Remove it.")


def require_files(run: Path, names: Iterable[str]) -> None:
    """Refuse files that are not those that a run wrote; of files that it did not record, nothing is known.

    Args:
        run: The folder of the run.
        names: Their paths in it.

    Raises:
        HeedfulError: One is missing, or is another one.
    """
    recorded = _recorded(run)
    for name in sorted(set(names) & recorded.keys()):
        path = run / name
        if not path.is_file():
            raise RunError(f"{path} is missing, which the run wrote. Copy the whole folder of the run.")
        if _hash(path) != recorded[name]:
            raise RunError(
                f"{path} is not the file that the run wrote: its sha256 is not the one in {RUN}. Bring the file back "
                "that was written, or begin a new run."
            )


def require_config(run: Path) -> None:
    """Refuse a config.yaml in the folder of a run, or of an evaluation, that was edited or is of another one.

    Raises:
        HeedfulError: It is none of those that were written there.
    """
    about = read_run(run)
    resumed = about.get("resumed", [])
    starts = [about, *(resumed if isinstance(resumed, list) else [])]
    hashes = {start[CONFIG_HASH] for start in starts if isinstance(start, dict) and CONFIG_HASH in start}
    if hashes and _hash(run / CONFIG) not in hashes:
        raise RunError(
            f"{run / CONFIG} was edited, or is of another run: its sha256 is not in {RUN}. Bring it back, or begin a "
            "new run with a copy: python train.py --config FILE."
        )


def _exported(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def _recorded(run: Path) -> dict[str, Any]:
    """Path to hash of each file that a run recorded.

    Raises:
        HeedfulError: run.json is damaged.
    """
    about = read_run(run)
    may_lack = "finished" not in about or about.get("written", 0) < 7  # of a run that goes on, and earlier schemas
    hashes = about.get(FILES, {} if may_lack else None)
    if not isinstance(hashes, dict):
        raise RunError(
            f"{run / RUN} is damaged: {FILES!r} does not hold the sha256 of files. Bring the file back, or evaluate "
            "again."
        )
    return hashes


def _hash(path: Path) -> str:
    status = path.stat()
    return _hash_of(path.absolute(), status.st_mtime_ns, status.st_size)


@cache  # a command asks several times for the same file, which may be large
def _hash_of(path: Path, modified: int, size: int) -> str:
    return file_hash(path)

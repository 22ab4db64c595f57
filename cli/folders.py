"""Where a command writes: into a folder of its own, which it claims, and never over what something else has left."""

import hashlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torchvision_fix  # noqa: F401

from callbacks import Evaluation
from callbacks.outputs.run_folder import new_version
from cli.runs import TEMPORARY, differences, is_first, tidy, with_run
from cli.short_forms import expand
from records import HeedError, read_json, writing
from records.storage.claim import LOCK, claim, missing

if TYPE_CHECKING:
    from cli.app import HeedCLI

LONGEST = 24  # of a value in a name
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


def named_folder(cli: "HeedCLI") -> Named | None:
    """The folder of the run to be continued, or ``--output``; None where a new one is to be made."""
    resumed, output = cli.config.get("resume"), cli.config.output
    if resumed and (Path(resumed) / "config.yaml").is_file():
        return Named(Path(resumed), f"--resume {resumed}", True)
    if not resumed and not cli.evaluating and cli.config.ckpt_path:
        of_checkpoint = Path(cli.config.ckpt_path).absolute().parent.parent
        if (of_checkpoint / "config.yaml").is_file() and (
            not output or Path(output).resolve() == of_checkpoint.resolve()
        ):
            return Named(of_checkpoint, f"--ckpt_path {cli.config.ckpt_path}", True)
    return Named(Path(output), f"--output {output}", False) if output else None


def claim_named(cli: "HeedCLI") -> Named | None:
    """Keep other processes out of the folder that the command line names, if it names one.

    Raises:
        HeedError: ``--output`` holds something, or another process writes into the folder.
    """
    named = named_folder(cli)
    if named is None or not is_first():
        return None
    if not named.goes_on:
        _require_unused(named)  # the lock, too, is not to be written into a folder of others
    claim(named.folder, named.flag)
    if not named.goes_on:
        _require_unused(named)  # another process may have used it meanwhile
    return named


def run_folder(cli: "HeedCLI", *tail: str) -> Path:
    """The folder of the run to be continued, ``--output``, or a new ``runs/<data>/<model>/<tail>/version_N``.

    Raises:
        HeedError: ``--output`` holds something, or another process writes into the folder.
    """
    if named := claim_named(cli):
        tidy(named.folder)
        return named.folder
    parent = Path("runs", cli.datamodule.name, cli.model_name, *tail)
    made = missing(parent)
    with writing(parent):
        folder = new_version(parent)
    claim(folder, str(folder), [folder.resolve(), *(path.resolve() for path in made)])
    return folder


def _require_unused(named: Named) -> None:
    with writing(named.folder):
        held = _held(named.folder) if named.folder.is_dir() else []
    if "config.yaml" in held:
        raise HeedError(f"{named.flag} holds a run already: name another folder, or use --resume {named.folder}.")
    if held:
        raise HeedError(
            f"{named.flag} is not empty, and not the folder of a run (it holds {held[0]}): name another folder."
        )


def _held(folder: Path) -> list[str]:
    """The names in a folder, but for the lock and for what a start leaves that ends before it writes config.yaml."""
    left = [path for path in folder.iterdir() if path.name != LOCK and not TEMPORARY.fullmatch(path.name)]
    return sorted(path.name for path in left if not _is_empty_board(path))


def _is_empty_board(path: Path) -> bool:
    """Whether it is a file of TensorBoard, which makes it first of all, in which nothing is logged yet."""
    return path.name.startswith("events.out.tfevents.") and path.stat().st_size <= EMPTY_BOARD


def evaluation_folder(cli: "HeedCLI") -> Path:
    """The folder for an evaluation of a checkpoint, claimed; ``cli.about`` then says what is special about it.

    A plain ``evaluate.py --checkpoint FILE`` has the name of the data, the checkpoint and the evaluations. Whatever
    else was set stands behind that, with a hash of all of it. The same settings and examples have the same folder.

    Raises:
        HeedError: Another process writes there, or the folder holds something else.
    """
    checkpoint, about = Path(cli.config.checkpoint).absolute(), identity(cli)
    run, settings, sha256 = checkpoint.parent.parent, about["settings"], about["sha256"]
    cli.about["evaluation"] = about
    parts = [] if cli.without_data else [cli.datamodule.name, cli.datamodule.evaluated]
    parts += [checkpoint.stem, *(e.title for e in _evaluations(cli) if e.own or cli.only or e.title != e.name)]
    name = "-".join(part for part in parts if part != "best")
    hashed = "-".join([name, *_words(settings, cli), sha256[:8]])
    elsewhere = checkpoint.parent.name != "checkpoints"
    for folder in [run / "evaluations" / n for n in ([] if settings or elsewhere else [name]) + [hashed]]:
        if _is_free(folder, sha256):
            claim(folder, str(folder))
            tidy(folder)
            return folder
    raise HeedError(
        f"{folder} holds something else than this evaluation: move it away, or choose a folder by --output."
    )


def identity(cli: "HeedCLI") -> dict[str, Any]:
    """Name the checkpoint, the special settings and the examples of an evaluation, with a hash of them all."""
    checkpoint = Path(cli.config.checkpoint).absolute()
    pools = [cli.datamodule.pool, *(planned.plan.pool for planned in cli.planned.values())]
    about: dict[str, Any] = {"checkpoint": str(checkpoint.relative_to(checkpoint.parent.parent))}
    about |= {"settings": special(cli), "examples": sorted({pool.fingerprint for pool in pools if pool is not None})}
    return about | {"sha256": hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()}


def special(cli: "HeedCLI") -> dict[str, Any]:
    """The settings that a plain ``evaluate.py --checkpoint FILE`` does not have, by their dotted names."""
    plain = cli.parser.parse_args(expand(with_run(["--checkpoint", cli.config.checkpoint])))
    return {name: now for name, (_, now) in differences(plain, cli.config, cli.parser).items()}


def _words(settings: Mapping[str, Any], cli: "HeedCLI") -> list[str]:
    """A few of the settings in words for a name: not those that the rest of the name says."""
    said = {"evaluations", *(e.name for e in _evaluations(cli) if e.own)}
    if any(argument.partition("=")[0] == "--data" for argument in sys.argv):
        said.add("data")  # whose file differs from that of the run in much
    words = []
    for name, value in settings.items():
        if name.split(".")[0] not in said and ".splits." not in name:
            text = "" if value is None or isinstance(value, dict | list) else str(value)
            short = len(text) <= LONGEST and re.fullmatch(r"[\w.,-]+", text)
            words.append("_".join([name.rsplit(".", 1)[-1], *([text] if short else [])]))
    return words[:3]


def _is_free(folder: Path, sha256: str) -> bool:
    """Whether a folder holds at most what the same evaluation has left."""
    if not folder.is_dir():
        return not folder.exists()
    if set(_held(folder)) <= {"config.yaml"}:  # killed before it wrote run.json, an evaluation has no results
        return True
    if not (folder / "run.json").is_file():
        return False
    try:
        about = read_json(folder / "run.json")
    except HeedError:
        return False
    evaluation = about.get("evaluation") if isinstance(about, dict) else None
    return isinstance(evaluation, dict) and evaluation.get("sha256") == sha256


def _evaluations(cli: "HeedCLI") -> list[Evaluation]:
    """Those that have something to do."""
    return [planned.evaluation for planned in cli.planned.values()]

"""Create the folder of a run, and lock it while a command writes into it."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from heedful.assembly.config import Config
from heedful.assembly.plan import Plan, checkpoint_of
from heedful.assembly.saved import remove_unfinished_files
from heedful.assembly.short_names import model_folder
from heedful.assembly.starts import is_first
from heedful.callbacks.outputs.run_folder import new_version
from heedful.records import RunError, writing
from heedful.records.arguments import IN_MEMORY
from heedful.records.storage.files import WRITING
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.lock import LOCK, locked
from heedful.records.storage.results import CONFIG, RUN

LEFT = rf"{LOCK}|\..+{WRITING}|events\.out\.tfevents\..+"  # files of a run that was killed before it wrote run.json


def named_folder(config: Config, held: ExitStack) -> Path | None:
    """Lock and return the folder of the run to resume, or else the folder ``output``.

    Args:
        config: All settings.
        held: Releases the lock when it closes.

    Returns:
        The folder; None if the settings name neither folder, and on ranks other than rank 0.

    Raises:
        RunError: ``output`` is neither empty nor the run to resume, or another process writes into the folder.
    """
    if not is_first():
        return None
    if config.resume is not None:
        run = Path(config.resume)
        if not (run / RUN).is_file():
            require_unused(run, True, LEFT)
        held.enter_context(locked(run))
        return run
    if (output := config.run_settings().output) is None:
        return None
    folder = Path(output)
    require_unused(folder, config.evaluating)
    held.enter_context(locked(folder, f"output {folder}"))
    return folder


def require_unused(folder: Path, evaluating: bool, allowed: str = LOCK) -> None:
    """Raise RunError if the folder ``output`` has files other than ``allowed``, or if it or a parent is a file."""
    with writing(folder):
        if file := next((path for path in (folder, *folder.parents) if path.is_file()), None):
            raise RunError(f"output {folder}: {file.name} is a file. Name another folder.")
        paths = folder.iterdir() if folder.is_dir() else ()
        names = sorted(path.name for path in paths if not re.fullmatch(allowed, path.name))
    if names:
        remedy = f", or resume {folder}" if CONFIG in names and not evaluating else ""
        raise RunError(f"output {folder} is not empty: it has {names[0]}. Name another folder{remedy}.")


def model_name(plan: Plan) -> str:
    """Return the name of the model for the paths of run folders, such as its short name or its hub id with safe
    characters.
    """
    section = plan.record["model"]
    settings = {} if IN_MEMORY in str(section["init_args"].get("backbone")) else section["init_args"]
    backbone = settings.get("backbone") or getattr(plan.model, "backbone", None) or settings.get("name")
    return model_folder(str(backbone or type(plan.model).__name__), section["class_path"])


def hyperparameters(plan: Plan) -> dict[str, Any]:
    """Return the settings that TensorBoard compares between runs, by name."""
    values = ((s, *item) for s in ("data", "model") for item in plan.record[s]["init_args"].items())
    settings = {f"settings.{s}.{name}": v for s, name, v in values if isinstance(v, str | int | float)}
    return settings | {
        "data": plan.data.name,
        "model": model_name(plan),
        "regime": plan.data.regime,
        "seed": plan.data.seed,
        "epochs": plan.trainer["max_epochs"],
        "learning_rate": plan.classifier.learning_rate,
        "train_batch_size": plan.data.batch_size,
    }


def run_folder(plan: Plan, held: ExitStack, output: Path | None, *tail: str) -> Path:
    """Return the folder of a new run: ``output``, or a new folder ``runs/<data>/<model>/<tail>/version_N``.

    A new folder is locked until ``held`` closes. ``output`` is from :func:`named_folder`, which has locked this folder;
    unfinished files in ``output`` are removed.
    """
    if output is None:
        return _new(Path("runs", plan.data.name, model_name(plan), *tail), held)
    remove_unfinished_files(output)
    return output


def evaluation_folder(plan: Plan, held: ExitStack) -> Path:
    """Create, lock and return a folder ``evaluations/<data>-<split>/version_N`` in the run of the evaluated checkpoint.

    The name also includes the checkpoint, unless that is ``best.ckpt``, and the evaluations that the call names or that
    load other data.
    """
    checkpoint = Path(str(checkpoint_of(plan.config.run_settings()))).absolute()
    evaluations = [planned.evaluation for planned in plan.plans.planned.values()]
    parts = [plan.data.name, plan.data.evaluated] if plan.data.pool else []
    parts += [checkpoint.stem, *(e.name for e in evaluations if e.brings_examples or plan.plans.only)]
    name = folder_name(*(part for part in parts if part != "best"))
    return _new(checkpoint.parent.parent / "evaluations" / name, held)


def _new(parent: Path, held: ExitStack) -> Path:
    missing = [path for path in (parent, *parent.parents) if not path.exists()]
    with writing(parent):
        folder = new_version(parent)
    held.enter_context(locked(folder, new=[folder, *missing]))
    return folder

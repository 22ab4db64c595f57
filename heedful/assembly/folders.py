"""Create the folder of a run, and lock it while a command writes into it."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from heedful.assembly.job import Job
from heedful.assembly.loading import model_folder
from heedful.assembly.saved import is_begun, remove_unfinished_files
from heedful.callbacks.outputs.run_folder import new_version
from heedful.records import RunError, writing
from heedful.records.arguments import IN_MEMORY
from heedful.records.messages import is_first
from heedful.records.storage.files import WRITING
from heedful.records.storage.results import LOCK, RUN, folder_name, locked

CURVES = "events.out.tfevents."  # first words of the names of TensorBoard's files
LEFT = rf"{LOCK}|\..+{WRITING}|{re.escape(CURVES)}.*"  # files of a run that was killed before it wrote run.json


def named_folder(output: str | Path | None, held: ExitStack, resumes: bool = False) -> Path | None:
    """Lock the folder of the results (or of a run to resume) until ``held`` closes; return None on other ranks."""
    if output is None or not is_first():
        return None
    folder = Path(output)
    if not (resumes and (folder / RUN).is_file()):
        with writing(folder):
            if file := next((path for path in (folder, *folder.parents) if path.is_file()), None):
                raise RunError(f"output {folder}: {file.name} is a file. Name another folder.")
            paths = folder.iterdir() if folder.is_dir() else ()
            harmless = LEFT if resumes and (folder / LOCK).is_file() else LOCK
            names = sorted(path.name for path in paths if not re.fullmatch(harmless, path.name))
        if names:
            remedy = f", or resume {folder}" if is_begun(folder) else ""
            raise RunError(f"output {folder} is not empty: it has {names[0]}. Name another folder{remedy}.")
    held.enter_context(locked(folder, f"output {folder}"))
    held.callback(_remove_curves, folder)
    if resumes:
        remove_unfinished_files(folder)
    return folder


def _remove_curves(folder: Path) -> None:
    """Remove TensorBoard's files from the folder of a run that was stopped before it wrote run.json."""
    for path in folder.glob(f"{CURVES}*") if not (folder / RUN).is_file() else ():
        path.unlink()


def model_name(job: Job) -> str:
    """Return the name of the model for paths, such as its short name or its hub id with safe characters."""
    section = job.record["model"]
    settings = {} if IN_MEMORY in str(section["init_args"].get("backbone")) else section["init_args"]
    backbone = settings.get("backbone") or getattr(job.model, "backbone", None) or settings.get("name")
    return model_folder(str(backbone or type(job.model).__name__), section["class_path"])


def hyperparameters(job: Job) -> dict[str, Any]:
    """Return the settings that TensorBoard compares between runs, by name."""
    values = ((s, *item) for s in ("data", "model") for item in job.record[s]["init_args"].items())
    settings = {f"settings.{s}.{name}": v for s, name, v in values if isinstance(v, str | int | float)}
    return settings | {
        "data": job.data.name,
        "model": model_name(job),
        "regime": job.data.regime,
        "seed": job.data.seed,
        "epochs": job.trainer["max_epochs"],
        "learning_rate": job.model.learning_rate,
        "train_batch_size": job.data.batch_size,
    }


def new_folder(job: Job, held: ExitStack, *tail: str) -> Path:
    """Create and lock a new folder ``runs/<data>/<model>/<tail>/version_N``, and return it."""
    return _new(Path("runs", job.data.name, model_name(job), *tail), held)


def evaluation_folder(job: Job, held: ExitStack) -> Path:
    """Create, lock and return a folder ``evaluations/<data>-<split>/version_N`` in the run of the evaluated checkpoint.

    The name also includes the checkpoint, unless that is ``best.ckpt``, and the evaluations that the call names or that
    load other data.
    """
    checkpoint = Path(str(job.checkpoint)).absolute()
    evaluations = [planned.evaluation for planned in job.plans.planned.values()]
    parts = [job.data.name, job.data.evaluated] if job.data.pool else []
    parts += [checkpoint.stem, *(e.name for e in evaluations if e.brings_examples or job.plans.only)]
    name = folder_name(*(part for part in parts if part != "best"))
    return _new(checkpoint.parent.parent / "evaluations" / name, held)


def _new(parent: Path, held: ExitStack) -> Path:
    missing = [path for path in (parent, *parent.parents) if not path.exists()]
    with writing(parent):
        folder = new_version(parent)
    held.enter_context(locked(folder, new=[folder, *missing]))
    return folder

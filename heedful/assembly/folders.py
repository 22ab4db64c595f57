"""Where a command writes: into a folder of its own, which is locked for as long as the command works there."""

from contextlib import ExitStack
from pathlib import Path

from heedful.assembly.config import Config
from heedful.assembly.plan import Plan, checkpoint_of
from heedful.assembly.saved import tidy
from heedful.assembly.starts import is_first
from heedful.callbacks.outputs.run_folder import new_version
from heedful.records import RunError, writing
from heedful.records.storage.folder_names import folder_name
from heedful.records.storage.lock import LOCK, locked
from heedful.records.storage.results import CONFIG


def named_folder(config: Config, held: ExitStack) -> Path | None:
    """The folder of the run that goes on, or ``output``, locked; None where a new one is to be made.

    Args:
        config: All settings.
        held: Holds the lock.

    Raises:
        RunError: ``output`` holds something, or another process writes into the folder.
    """
    if not is_first():
        return None
    if run := resumed_run(config):
        held.enter_context(locked(run))
        return run
    if (output := config.run_settings().output) is None:
        return None
    folder = Path(output)
    require_unused(folder, config.evaluating)
    held.enter_context(locked(folder, f"output {folder}"))
    return folder


def resumed_run(config: Config) -> Path | None:
    """The folder of the run that goes on, from ``resume`` or from the checkpoint of ``ckpt_path``."""
    settings = config.run_settings()
    checkpoint, output = checkpoint_of(settings), settings.output
    if config.evaluating or config.resume or not checkpoint:
        return Path(config.resume) if config.resume else None
    run = Path(checkpoint).absolute().parent.parent
    return run if (run / CONFIG).is_file() and (not output or Path(output).resolve() == run.resolve()) else None


def require_unused(folder: Path, evaluating: bool) -> None:
    """Refuse a named folder that holds something.

    Raises:
        RunError: It does, or it is a file.
    """
    with writing(folder):
        if file := next((path for path in (folder, *folder.parents) if path.exists() and not path.is_dir()), None):
            raise RunError(f"output {folder}: {file} is a file, not a folder. Name another folder.")
        names = sorted(path.name for path in folder.iterdir() if path.name != LOCK) if folder.is_dir() else []
    if names:
        more = f", or go on with resume {folder}" if CONFIG in names and not evaluating else ""
        raise RunError(f"output {folder} exists and is not empty: it holds {names[0]}. Name another folder{more}.")


def run_folder(plan: Plan, held: ExitStack, output: Path | None, *tail: str) -> Path:
    """The folder named by the call, or else a new ``runs/<data>/<model>/<tail>/version_N``, locked."""
    if output is None:
        return _new(Path("runs", plan.data.name, plan.model_name, *tail), held)
    tidy(output)
    return output


def evaluation_folder(plan: Plan, held: ExitStack) -> Path:
    """A new ``evaluations/<data>-<split>/version_N`` in the folder of the run whose checkpoint is evaluated, locked.

    The name has the checkpoint, unless it is the best one, and the evaluations that the call asks for.
    """
    checkpoint = Path(str(checkpoint_of(plan.config.run_settings()))).absolute()
    evaluations = [planned.evaluation for planned in plan.plans.planned.values()]
    parts = [plan.data.name, plan.data.evaluated] if plan.data.pool else []
    parts += [
        checkpoint.stem,
        *(e.title for e in evaluations if e.brings_examples or plan.plans.only or e.title != e.name),
    ]
    name = folder_name(*(part for part in parts if part != "best"))
    return _new(checkpoint.parent.parent / "evaluations" / name, held)


def _new(parent: Path, held: ExitStack) -> Path:
    missing = [path for path in (parent, *parent.parents) if not path.exists()]
    with writing(parent):
        folder = new_version(parent)
    held.enter_context(locked(folder, made=[folder, *missing]))
    return folder

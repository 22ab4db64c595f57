"""``heedful.train``: train a model, and write the folder of the run."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, seed_everything
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import TensorBoardLogger

from heedful.assembly.config import assemble
from heedful.assembly.folders import hyperparameters, named_folder, new_folder
from heedful.assembly.held_out import require_held_out
from heedful.assembly.job import Job
from heedful.assembly.results import Run
from heedful.assembly.saved import (
    initial_model,
    is_begun,
    learn_from_run,
    require_same_settings,
    settings_of_file,
    start_of,
)
from heedful.assembly.settings import SEED, Settings, several, write_settings
from heedful.assembly.trainers import make_trainer, session
from heedful.callbacks import BestCheckpoint, Board, Evaluation, RunFolder
from heedful.callbacks.checkpoints.files import outline, remove_last
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.outputs.page import Page, RecomputedContents
from heedful.callbacks.outputs.run_folder import export, is_finished
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.callbacks_of_lightning import end_averaging
from heedful.records import ModelError, SettingError
from heedful.records.messages import is_first
from heedful.records.numbers import direction_of
from heedful.records.storage.results import CONFIG


def train(
    model: str | PathLike[str] | Classifier | None = None,
    data: Any = None,
    *,
    augment: str | PathLike[str] | None = None,
    debug: str | None = None,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation | type[Evaluation]] | str | None = None,
    checkpoint: Mapping[str, Any] | BestCheckpoint | None = None,
    trainer: Mapping[str, Any] | None = None,
    config: str | PathLike[str] | None = None,
    seed: int | None = None,
    output: str | PathLike[str] | None = None,
    init_from: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    ckpt_path: str | PathLike[str] | None = None,
    allow_changed_data: bool = False,
    allow_package: str | Sequence[str] | None = None,
    **settings: Mapping[str, Any] | Evaluation,
) -> Run:
    """Train a classifier over paired inputs, and measure after every epoch whether it uses every part of them.

    Settings and results are the same as for train.py.

    Args:
        model: A name in configs/model, a YAML file, a hub id, the folder of a model, or a model from ``load_model``;
            by default MiniLM, whose weights come with Heedful.
        data: A name in configs/data, a YAML file, rows in memory, or data from ``load_data``; by default the generated
            data.
        augment: A name in configs/experiment, such as "counterfactual".
        debug: A name in configs/debug, such as "fast": two steps.
        partial: The only part that the model receives.
        slices: Columns whose values break down accuracy and attentiveness.
        evaluations: Names, classes or objects of evaluations; by default all evaluations of training.
        checkpoint: Settings of ``heedful.callbacks.BestCheckpoint``, such as {"monitor": METRIC}.
        trainer: Settings of Lightning's Trainer, such as {"max_epochs": 3, "devices": 2}.
        config: A file of settings, such as the config.yaml of a run; other arguments override it.
        seed: Seed of everything random, from 0 to 4294967295; by default 0.
        output: Folder of the run; by default a new folder in runs/.
        init_from: Finished run whose model is trained further.
        resume: Run to resume with its settings, which other arguments override; or one of its checkpoints. A run that
            does not exist is started in this folder, and the results of a finished run are read.
        ckpt_path: "last" with ``output=RUN`` is the same as ``resume=RUN``.
        allow_changed_data: Resume although the examples have changed.
        allow_package: Python packages that may provide weights and the classes of a saved run.
        **settings: Settings of evaluations by name, such as ``attentiveness={"draws": 3}``.

    Returns:
        The run, on every process: its folder, its numbers and rows, and its best checkpoint.

    Raises:
        HeedfulError: A setting is wrong, the data or the model cannot be read, or the folder cannot be written.

    Examples:
        >>> import heedful, tempfile
        >>> data = heedful.load_data("planted", n_train=32, n_validation=16)
        >>> once = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False}
        >>> run = heedful.train(data=data, trainer=once, output=f"{tempfile.mkdtemp()}/run")
        >>> run.numbers[heedful.MetricName("accuracy", "planted")]["n"]
        16
    """
    call = {**settings, "model": model, "data": data, "augment": augment, "debug": debug, "partial": partial}
    call |= {"slices": slices, "evaluations": evaluations, "checkpoint": checkpoint, "trainer": trainer, SEED: seed}
    call |= {"output": output, "allow_changed_data": allow_changed_data or None}
    with session(allow_package):
        return run(job_of(call, several(config), init_from=init_from, resume=resume, ckpt_path=ckpt_path))


def job_of(
    call: Settings,
    files: Sequence[str | PathLike[str]] = (),
    words: Sequence[str] = (),
    init_from: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    ckpt_path: str | PathLike[str] | None = None,
) -> Job:
    """Assemble a training from the arguments of :func:`train`, which override files, and from words of a command line,
    which override both; ``call`` has the other arguments by name.
    """
    if ckpt_path is not None:
        if fspath(ckpt_path) != "last" or call["output"] is None:
            raise SettingError(f"ckpt_path {ckpt_path}: write ckpt_path last and output RUN, or resume RUN.")
        resume, call["output"] = resume or call["output"], None
    if resume is not None and call["output"] is not None:
        raise SettingError("resume cannot be combined with output. Leave it out.")
    folder, checkpoint = (None, None) if resume is None else start_of(fspath(resume))
    saved = settings_of_file(folder / CONFIG) if folder is not None and is_begun(folder) else None
    layers = [settings_of_file(file, f"config {fspath(file)}") for file in files]
    if init_from is not None:
        if call["model"] is not None:
            raise SettingError("init_from and model both name a model. Leave one of them out.")
        if saved is None:
            saved = str(Path(init_from) / CONFIG), {"model": initial_model(fspath(init_from))}
    if checkpoint is not None and isinstance(call["model"], Classifier) and call["model"].task is not None:
        call["model"] = call["model"].with_arguments()  # a copy: the caller's model keeps its weights
    job = assemble("fit", call, layers, words, saved)
    job.checkpoint = checkpoint
    job.output, job.resumes = (job.output, False) if folder is None else (str(folder), True)
    return job


def run(job: Job) -> Run:
    """Train a model, measure its best checkpoint, and write model and results into the folder of the run; if the run is
    already finished, only read its results.

    Returns:
        The results, on every process.
    """
    with ExitStack() as held:
        folder = Path(job.output) if job.output is not None and job.resumes else None
        is_done = folder is not None and is_begun(folder) and is_finished(folder)
        if folder is not None and (is_done or job.checkpoint is not None):
            require_same_settings(job.record, folder)
        output = named_folder(job.output, held, job.resumes)  # fails before the data are read
        if folder is not None and is_done:
            if is_first():
                remove_last(folder / "checkpoints")  # left by a killed process
            return Run.finished(folder)
        seed_everything(job.seed, workers=True, verbose=False)
        prepare(job)
        if output is None and is_first():
            output = new_folder(job, held, job.data.regime)
        return _fit(job, output)


def prepare(job: Job) -> None:
    """Read the data, bind the model to their task and plan the evaluations, before any folder is created."""
    model, best, trainer = job.model, job.best, job.trainer
    if job.checkpoint is not None:
        outline(Path(job.checkpoint), f"resume {job.checkpoint}")
    if best.dirpath:
        raise SettingError(f"checkpoint.dirpath {best.dirpath}: checkpoints are saved in the run. Set output.")
    if not model.capabilities.trains:
        raise ModelError(f"{model.description} cannot be trained. Measure it with evaluate.py.")
    learn_from_run(model)
    job.set_up()
    job.plan()
    best.require_known(job.plans, job.data)
    for callback in trainer["callbacks"]:
        _require_monitored(callback, job.plans)
    if trainer["limit_val_batches"] == 0 and not trainer["fast_dev_run"]:
        raise SettingError(f"trainer.limit_val_batches 0 leaves checkpoint.monitor {best.monitor} unmeasured.")
    if job.checkpoint is None:
        model.require_weights()
    if model.learned.parts is not None:
        require_held_out(model, job.data, None, False)


def _require_monitored(callback: Callback, plans: Plans) -> None:
    if isinstance(callback, EarlyStopping) and callback.strict:
        plans.require_monitored(callback.monitor, "trainer.callbacks.monitor")
        if (mode := direction_of(callback.monitor)) not in (None, callback.mode):
            raise SettingError(f"trainer.callbacks.mode {callback.mode}: {callback.monitor} needs mode {mode}.")


def _fit(job: Job, folder: Path | None) -> Run:
    run = RunFolder(folder, lambda path: write_settings(job.record, path))
    board = Board(hyperparameters(job), lambda: run.written)
    engine = job.engine([run, board, Page(lambda: run.written, RecomputedContents.of(job.plans, job.data))])
    settings = dict(job.trainer)
    if settings["logger"] in (None, True) and not settings["fast_dev_run"]:
        settings["logger"] = TensorBoardLogger(str(folder), name="", version="", default_hp_metric=False)
    trainer = make_trainer([engine, run, board], settings, "fit", last=[job.best], folder=folder)
    trainer.fit(job.model, job.data, ckpt_path=job.checkpoint, weights_only=True)
    if job.trainer["fast_dev_run"]:
        return Run(run.written, {})
    best = job.best.best_model_path or job.best.last_model_path
    if not best:
        raise SettingError("No checkpoint was saved. See trainer.max_epochs and trainer.limit_train_batches.")
    end_averaging(trainer)
    trainer.validate(job.model, job.data, ckpt_path=best, weights_only=True, verbose=False)
    if engine.measurements is None:
        raise SettingError("Nothing was evaluated. See trainer.limit_val_batches.")
    if trainer.is_global_zero:
        board.final(engine.measurements)
    engine.require_measured(job.model, "the weights of checkpoints/backbone")
    if trainer.is_global_zero:
        export(job.model, run.written, weights=True)
        run.finish()
    return Run(run.written, engine.measurements.content, checkpoint=Path(best))

"""``heedful.train``: train a model, and write the folder of the run."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import seed_everything
from pytorch_lightning.loggers import TensorBoardLogger

from heedful.assembly.config import Call, Config, Layer, resolve
from heedful.assembly.evaluation import contents_of
from heedful.assembly.folders import hyperparameters, named_folder, run_folder
from heedful.assembly.plan import Plan, checkpoint_of, prepare
from heedful.assembly.results import Run
from heedful.assembly.saved import (
    initial_model,
    is_begun,
    require_same_settings,
    saved_settings,
    settings_of_file,
    start_of,
)
from heedful.assembly.settings import SEED, several, write_settings
from heedful.assembly.starts import is_first
from heedful.assembly.trainers import allowing, calm_lightning, make_trainer, restored_flags
from heedful.callbacks import BestCheckpoint, Board, Evaluation, RunFolder
from heedful.callbacks.checkpoints.files import remove_last
from heedful.callbacks.outputs.page import Page
from heedful.callbacks.outputs.run_folder import export, is_finished
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.callbacks_of_lightning import end_averaging
from heedful.records import SettingError
from heedful.records.storage.results import CONFIG


def train(
    model: str | PathLike[str] | Classifier | None = None,
    data: Any = None,
    *,
    augment: str | PathLike[str] | None = None,
    debug: str | None = None,
    partial: str | None = None,
    slices: Sequence[str] | str | None = None,
    evaluations: Sequence[str | Evaluation] | str | None = None,
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
        evaluations: Names or objects of the evaluations to run; by default all evaluations of training.
        checkpoint: Settings of ``heedful.callbacks.BestCheckpoint``, such as {"monitor": METRIC}.
        trainer: Settings of Lightning's Trainer, such as {"max_epochs": 3, "devices": 2}.
        config: A file of settings, such as the config.yaml of a run; other arguments override it.
        seed: Seed of everything random, from 0 to 4294967295; by default 0.
        output: Folder of the run; by default a new folder in runs/.
        init_from: Finished run whose model is trained further.
        resume: Stopped run, or one of its checkpoints, to resume with the run's settings; other arguments override
            them.
        ckpt_path: "last" resumes the run in ``output`` if there is one, and begins it otherwise.
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
    nested: dict[str, Any] = {**settings, "trainer": trainer, "checkpoint": checkpoint, SEED: seed}
    nested |= {"evaluations": evaluations, "allow_changed_data": allow_changed_data or None}
    with allowing(allow_package):
        call = Call(model, data, augment, debug, partial, slices, settings=nested)
        return trained(configured(call, several(config), output, init_from, resume, ckpt_path))


def configured(
    call: Call,
    files: Sequence[str | PathLike[str]] = (),
    output: str | PathLike[str] | None = None,
    init_from: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    ckpt_path: str | PathLike[str] | None = None,
) -> Config:
    """Combine all settings of a training into a :class:`Config`; arguments without a description are as for
    :func:`train`.

    Args:
        call: The model, the data and all other settings of the call, from Python or from the command line.
        files: Paths of YAML files of settings, which ``call`` overrides.
    """
    layers = [Layer(settings_of_file(fspath(file), f"config {file}"), f"config {file}") for file in files]
    in_files = {name: value for layer in layers for name, value in layer.values.items() if value is not None}
    output, ckpt_path = output or in_files.get("output"), ckpt_path or in_files.get("ckpt_path")
    run, checkpoint = start_of(*(None if path is None else fspath(path) for path in (resume, ckpt_path, output)))
    resumed = run if run is not None and is_begun(run) else None
    if resumed is not None:
        layers.insert(0, Layer(saved_settings(resumed), str(resumed / CONFIG), is_trusted=False))
    if init_from is not None and (resumed is None or resume is not None):  # ckpt_path last may resume it
        models = {"model": call.model, "resume": resume}
        if conflicts := [name for name, value in models.items() if value is not None]:
            raise SettingError(f"init_from and {conflicts[0]} both name a model. Leave one of them out.")
        first = fspath(init_from)
        layers.append(Layer({"model": initial_model(first)}, str(Path(first) / CONFIG), is_trusted=False))
    if isinstance(call.model, Classifier) and checkpoint is not None and call.model.task is not None:
        call.model = call.model.with_arguments()  # a copy: the caller's model keeps its weights
    call.layers = layers
    call.settings = {**call.settings, "output": output if run is None else None, "ckpt_path": checkpoint}
    call.resume = None if run is None else str(run)
    return resolve(False, call)


def trained(config: Config) -> Run:
    """Train a model, measure its best checkpoint, and write model and results into the folder of the run; if the run is
    already finished, only read its results.

    Returns:
        The results, on every process.
    """
    with calm_lightning(), restored_flags(), ExitStack() as held:
        run = Path(config.resume or "")
        if checkpoint_of(config.run_settings()) is not None:
            require_same_settings(config.as_dict(), run)
        output = named_folder(config, held)  # fails before the data are read
        if config.resume is not None and is_finished(run):
            require_same_settings(config.as_dict(), run)
            if is_first():
                remove_last(run / "checkpoints")  # left by a killed process
            return Run.finished(run)
        seed_everything(config.run_settings().seed, workers=True, verbose=False)
        plan = prepare(config)
        return _trained(plan, run_folder(plan, held, output, plan.data.regime) if is_first() else None)


def _trained(plan: Plan, folder: Path | None) -> Run:
    run = RunFolder(folder, lambda path: write_settings(plan.record, path))
    board = Board(hyperparameters(plan), lambda: run.written)
    engine = plan.engine([run, board, Page(lambda: run.written, contents_of(plan))])
    settings = dict(plan.trainer)
    if settings["logger"] in (None, True) and not settings["fast_dev_run"]:
        settings["logger"] = TensorBoardLogger(str(folder), name="", version="", default_hp_metric=False)
    assert plan.checkpoints is not None
    trainer = make_trainer([engine, run, board], settings, evaluating=False, last=[plan.checkpoints], folder=folder)
    checkpoint = checkpoint_of(plan.config.run_settings())
    trainer.fit(plan.classifier, plan.data, ckpt_path=checkpoint, weights_only=True)
    if plan.trainer["fast_dev_run"]:
        return Run(run.written, {})
    best = plan.checkpoints.best_model_path or plan.checkpoints.last_model_path
    if not best:
        raise SettingError("No checkpoint was saved. See trainer.max_epochs and trainer.limit_train_batches.")
    end_averaging(trainer)
    trainer.validate(plan.classifier, plan.data, ckpt_path=best, weights_only=True, verbose=False)
    if engine.measurements is None:
        raise SettingError("Nothing was evaluated. See trainer.limit_val_batches.")
    if trainer.is_global_zero:
        board.final(engine.measurements)
    engine.require_measured(plan.classifier, "the weights of checkpoints/backbone")
    if trainer.is_global_zero:
        export(plan.classifier, run.written, weights=True)
        run.finish()
    return Run(run.written, engine.measurements.content, checkpoint=Path(best))

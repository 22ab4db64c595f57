"""Training: from the settings of a run to its folder."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytorch_lightning import seed_everything
from pytorch_lightning.loggers import TensorBoardLogger

from heedful.assembly.config import Call, Config, Layer, resolve
from heedful.assembly.evaluation import contents_of
from heedful.assembly.folders import named_folder, run_folder
from heedful.assembly.plan import Plan, checkpoint_of, prepare
from heedful.assembly.results import Run
from heedful.assembly.saved import (
    initial_model,
    require_same_settings,
    saved_settings,
    settings_of_file,
    start_of,
)
from heedful.assembly.settings import SEED, write_settings
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
    """Train a classifier over paired inputs, and measure in every epoch whether it heeds every part of them.

    The same as train.py, with the same settings and the same results.

    Args:
        model: A name in configs/model, a YAML file, a hub id, the folder of a model, or a model of Heedful; by default
            MiniLM, whose weights come with Heedful. ``load_model`` takes settings as well.
        data: A name in configs/data, a YAML file, data of Heedful, or rows in memory; by default the embedded data.
            ``load_data`` takes settings as well.
        augment: A name in configs/experiment, such as "counterfactual".
        partial: Train and evaluate on this part alone.
        slices: Columns by whose values accuracy and attentiveness are broken down.
        evaluations: Only these, by name or as objects; by default, all that are measured while a model trains.
        checkpoint: Settings of ``heedful.callbacks.BestCheckpoint``, such as {"monitor": METRIC}.
        trainer: Settings of Lightning's Trainer, such as {"max_epochs": 3, "devices": 2}.
        config: A file of settings, such as the config.yaml of a run; other arguments override.
        seed: From 0 to 4294967295, by default 0; all that is random follows from it.
        output: Folder of the run; by default a new one in runs/.
        init_from: Finished run to take the model from, to train it on other data.
        resume: Run that was stopped: go on with it, as configured; other arguments override.
        ckpt_path: Continue the run of this checkpoint; "last": the one in ``output``.
        allow_changed_data: Go on though the examples are not the same.
        allow_package: Python packages that weights and the classes of a saved run may come from.
        **settings: Evaluation to its settings, such as ``attentiveness={"draws": 3}``.

    Returns:
        The run: its folder, its numbers, its rows and its best checkpoint, on every process.

    Raises:
        HeedfulError: Something is wrong with the settings, the data, the model or the disk.

    Examples:
        >>> import heedful, tempfile
        >>> data = heedful.load_data("planted", n_train=32, n_validation=16)
        >>> once = {"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False}
        >>> run = heedful.train(data=data, trainer=once, output=f"{tempfile.mkdtemp()}/run")
        >>> run.numbers[heedful.MetricName("accuracy", "planted")]["n"]
        16
    """
    own: dict[str, Any] = {**settings, "trainer": trainer, "checkpoint": checkpoint, SEED: seed}
    own |= {"evaluations": evaluations, "allow_changed_data": allow_changed_data or None}
    with allowing(allow_package):
        call = Call(model, data, augment, partial, slices, settings=own)
        files = [] if config is None else [config]
        return trained(configured(call, files, output, init_from, resume, ckpt_path))


def configured(
    call: Call,
    files: Sequence[str | PathLike[str]] = (),
    output: str | PathLike[str] | None = None,
    init_from: str | PathLike[str] | None = None,
    resume: str | PathLike[str] | None = None,
    ckpt_path: str | PathLike[str] | None = None,
) -> Config:
    """All settings of a training, from Python or from the command line.

    Args:
        call: The settings of the call.
        files: Files of settings, the first ones first.
        output: See :func:`train`, and so for the others.

    Raises:
        HeedfulError: A setting is wrong, or there is no such run.
    """
    layers = [Layer(settings_of_file(fspath(file), f"config {file}"), f"config {file}") for file in files]
    of_files = {name: value for layer in layers for name, value in layer.values.items() if value is not None}
    start = start_of(
        None if resume is None else fspath(resume),
        of_files.get("ckpt_path") if ckpt_path is None else fspath(ckpt_path),
        of_files.get("output") if output is None else fspath(output),
    )
    if start.run is not None:
        layers.insert(0, Layer(saved_settings(start.run), str(start.run / CONFIG), is_trusted=False))
    is_begun = start.run is not None and resume is None  # ckpt_path last resumes a run that began from init_from
    if init_from is not None and not is_begun:
        named = {"model": call.model, "resume": resume, "ckpt_path": start.ckpt_path}
        if others := [name for name, value in named.items() if value is not None]:
            raise SettingError(f"init_from and {others[0]} both say where the model comes from. Leave one of them out.")
        run = fspath(init_from)
        layers.append(Layer({"model": initial_model(run)}, str(Path(run) / CONFIG), is_trusted=False))
    if isinstance(call.model, Classifier) and start.ckpt_path is not None and call.model.task is not None:
        call.model = call.model.with_arguments()  # weights in memory stay with their object
    call.layers = layers
    call.settings = {**call.settings, "output": start.output, "ckpt_path": start.ckpt_path}
    call.resume = start.output if start.may_exist else None if start.run is None else str(start.run)
    return resolve(False, call)


def trained(config: Config) -> Run:
    """Train a model, measure its best checkpoint, and write both into the folder of the run.

    Args:
        config: All settings.

    Returns:
        The results, on every process.

    Raises:
        HeedfulError: Something is wrong with the settings, the data, the model or the disk.
    """
    with calm_lightning(), restored_flags(), ExitStack() as held:
        require_resumable(config)
        output = named_folder(config, held)  # before anything is read
        if config.resume is not None and is_finished(Path(config.resume)):
            return _finished(config, Path(config.resume))
        seed_everything(config.run_settings().seed, workers=True, verbose=False)
        plan = prepare(config)
        return _trained(plan, run_folder(plan, held, output, plan.data.regime) if is_first() else None)


def require_resumable(config: Config) -> None:
    """Refuse settings that a resumed run would record and not follow."""
    if checkpoint := checkpoint_of(config.run_settings()):
        began = Path(config.resume or Path(checkpoint).absolute().parent.parent)
        if (began / CONFIG).is_file():
            require_same_settings(config.as_dict(), began)


def _finished(config: Config, run: Path) -> Run:
    """The results of a finished run, as they are."""
    require_same_settings(config.as_dict(), run)
    if is_first():
        remove_last(run / "checkpoints")  # left there by a process that was killed
    return Run.finished(run)


def _trained(plan: Plan, folder: Path | None) -> Run:
    run = RunFolder(folder, lambda path: write_settings(plan.record, path))
    board = Board(plan.hyperparameters, lambda: run.written)
    engine = plan.engine([run, board, Page(lambda: run.written, contents_of(plan))])
    settings = dict(plan.trainer)
    if settings["logger"] in (None, True) and not settings["fast_dev_run"]:
        settings["logger"] = TensorBoardLogger(str(folder), name="", version="", default_hp_metric=False)
    assert plan.checkpoints is not None
    trainer = make_trainer([engine, run, board], settings, evaluating=False, own=[plan.checkpoints], folder=folder)
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

"""``prepare``: reads the data, binds the model and plans the evaluations, before a folder is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from pytorch_lightning.callbacks import EarlyStopping

from heedful.assembly.config import Config, Objects, load_data
from heedful.assembly.held_out import require_held_out
from heedful.assembly.identity import identity_of
from heedful.assembly.prompting import prompts_of
from heedful.assembly.saved import max_epochs_of
from heedful.assembly.settings import EvaluationSettings, RunSettings, TrainingSettings
from heedful.assembly.short_names import model_folder
from heedful.assembly.trainers import precision_of, require_fit, several
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Engine, Evaluation, Setting
from heedful.callbacks.checkpoints.files import outline, progress
from heedful.callbacks.engine.engine import Writer
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.evaluations import chosen
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.datamodules import PairedData
from heedful.lightning_modules import BasePredictor, Classifier
from heedful.records import SettingError
from heedful.records.arguments import IN_MEMORY
from heedful.records.numbers.metric_name import direction_of
from heedful.records.prompts.prompt import Prompt


@dataclass(frozen=True)
class Plan:
    """A run that is ready to begin: its data are read, its model is bound to their task, its evaluations are planned.

    Attributes:
        config: All settings.
        model: The model.
        data: The data, set up.
        trainer: Settings of Lightning's Trainer.
        evaluations: All evaluations, with and without settings; the engine runs those that have something to do.
        plans: The plans of the evaluations.
        unfinished: Progress of the run of the checkpoint, such as "epoch 1 of 4, step 30"; None if it is finished.
        checkpoints: Saves checkpoints; None in an evaluation.
        prompts: The prompts to measure; empty for a model that is not asked in context.
        record: All settings, as config.yaml holds them.
    """

    config: Config
    model: BasePredictor
    data: PairedData
    trainer: Mapping[str, Any]
    evaluations: Sequence[Evaluation]
    plans: Plans
    unfinished: str | None
    checkpoints: BestCheckpoint | None
    prompts: Sequence[Prompt]
    record: Mapping[str, Any]

    def engine(self, writers: Sequence[Writer] = ()) -> Engine:
        """The callback that measures, and hands the measurements to writers."""
        identity = partial(identity_of, self.record, self.model)
        return Engine(self.config.evaluating, self.plans.only, self.plans, writers, self.unfinished, identity)

    @property
    def classifier(self) -> Classifier:
        """The model of a training; :func:`prepare` refuses models that cannot be trained."""
        return cast(Classifier, self.model)

    @property
    def model_name(self) -> str:
        """The short name of the backbone, or its id as a folder name."""
        section = self.record["model"]
        of_model = {} if IN_MEMORY in str(section["init_args"].get("backbone")) else section["init_args"]
        backbone = of_model.get("backbone") or getattr(self.model, "backbone", None) or of_model.get("name")
        return model_folder(str(backbone or type(self.model).__name__), section["class_path"])

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """What runs are compared by, of which TensorBoard shows the first five of the alphabet, and other settings."""
        values = ((s, *item) for s in ("data", "model") for item in self.record[s]["init_args"].items())
        settings = {f"settings.{s}.{name}": v for s, name, v in values if isinstance(v, str | int | float)}
        return settings | {
            "data": self.data.name,
            "model": self.model_name,
            "regime": self.data.regime,
            "seed": self.data.seed,
            "epochs": self.trainer["max_epochs"],
            "learning_rate": self.classifier.learning_rate,
            "train_batch_size": self.data.batch_size,
        }


def prepare(config: Config) -> Plan:
    """Read the data, bind the model to their task and plan the evaluations; mistakes show here.

    Raises:
        HeedfulError: The data cannot be read, the model does not fit them, or the checkpoint is damaged.
    """
    objects = config.objects()
    settings = config.run_settings()
    checkpoint = checkpoint_of(settings)
    require_fit(objects.trainer, goes_on=checkpoint is not None and not config.evaluating)
    if checkpoint is not None:
        _require_checkpoint(checkpoint, config.evaluating)
    checkpoints = None if config.evaluating else objects.group
    if checkpoints is not None and checkpoints.dirpath:
        raise SettingError(f"checkpoint.dirpath {checkpoints.dirpath}: checkpoints lie in the run. Set output.")
    configured = {evaluation.name for evaluation in objects.evaluations}
    without_settings = [kind for name, kind in EVALUATIONS.items() if not kind.has_settings and name not in configured]
    evaluations = [*(kind() for kind in without_settings), *objects.evaluations]
    only = chosen(settings.evaluations, {evaluation.name for evaluation in evaluations})
    needs_data = only is None or any(not item.brings_examples for item in evaluations if item.name in only)
    data = _bound_data(config, objects, "" if needs_data else "-".join(only or ()))
    model = objects.model
    prompts = prompts_of(objects.group if config.evaluating else None, model, data)
    model.require_precision(precision_of(objects.trainer, config.evaluating))
    unfinished = _unfinished(checkpoint) if config.evaluating else None
    record = _record(config, model)
    plans = Plans.of(evaluations, Setting(data, not config.evaluating, _read, model.capabilities), only)
    plans.require(model)
    _require_monitored(plans, objects, checkpoints, data)
    if not (isinstance(settings, EvaluationSettings) and settings.dry_run):
        if checkpoint is None:
            model.require_weights()
        require_held_out(model, data, checkpoint, config.evaluating)
    return Plan(config, model, data, objects.trainer, evaluations, plans, unfinished, checkpoints, prompts, record)


def checkpoint_of(settings: RunSettings) -> str | None:
    """The checkpoint whose weights are loaded: to be evaluated, or to resume from."""
    return settings.ckpt_path if isinstance(settings, TrainingSettings) else vars(settings)["checkpoint"]


def _record(config: Config, model: BasePredictor) -> dict[str, Any]:
    record = config.as_dict()
    arguments = record["model"]["init_args"]
    if "backbone" in arguments and config.evaluating and model.has_learned:
        arguments["backbone"] = IN_MEMORY
    return record


def _bound_data(config: Config, objects: Objects, name: str) -> PairedData:
    """Set up the data and bind the model to their task.

    If all evaluations bring examples of their own, ``name`` names the results, the data are not read, and their labels
    are those of the model.
    """
    data, model = objects.data, objects.model
    if config.evaluating and name:
        data = data.without_examples(name)
        learned = model.task if model.has_learned else None
        if learned is None:
            model.bind(data.task, trains=False)  # reads the labels of its head
        if labels := model.known_labels if learned is None else learned.labels:
            data.settle_labels(labels, default_label=None)
    settings = config.run_settings()
    data.setup(
        "validate" if config.evaluating else "fit",
        allow_changed=isinstance(settings, TrainingSettings) and settings.allow_changed_data,
    )
    model.bind(data.task, trains=not config.evaluating)
    if config.evaluating and not model.has_learned:
        model.require_learned_parts(data.full_task.parts)
        model.require_head()
    return data


def _unfinished(checkpoint: str | None) -> str | None:
    """Progress of the run of a checkpoint, such as "epoch 1 of 4, step 30"; None if the run is finished."""
    if checkpoint is None:
        return None
    run = Path(checkpoint).absolute().parent.parent
    if is_finished(run):
        return None
    saved = outline(Path(checkpoint))
    epochs = max_epochs_of(run, f"checkpoint {checkpoint}")
    return f"epoch {saved['epoch'] + 1}{f' of {epochs}' if epochs > 0 else ''}, step {saved['global_step']:,}"


def _read(name: str, path: str | None) -> PairedData:
    """Data by a short name and a path, set up."""
    data = load_data(name, **({} if path is None else {"path": path}))
    data.setup("validate")
    return data


def _require_monitored(plans: Plans, objects: Objects, checkpoints: BestCheckpoint | None, data: PairedData) -> None:
    """Refuse to save checkpoints or to stop by a metric that no evaluation yields, or in the wrong direction."""
    if checkpoints is None:
        return
    checkpoints.require_known(plans, data)
    trainer = objects.trainer
    for callback in several(trainer["callbacks"]):
        if not isinstance(callback, EarlyStopping) or not callback.strict:
            continue
        plans.require_monitored(callback.monitor, "trainer.callbacks.monitor")
        if (direction := direction_of(callback.monitor)) not in (None, callback.mode):
            raise SettingError(
                f"trainer.callbacks.mode {callback.mode}: the best {callback.monitor} is the {direction}imum. Set mode "
                f"{direction}."
            )
    if trainer["limit_val_batches"] == 0 and not trainer["fast_dev_run"]:
        raise SettingError(f"trainer.limit_val_batches 0 leaves checkpoint.monitor {checkpoints.monitor} unmeasured.")


def _require_checkpoint(checkpoint: str, evaluating: bool) -> None:
    """Refuse a checkpoint that is damaged or that no run wrote."""
    display_name = f"{'checkpoint' if evaluating else 'ckpt_path'} {checkpoint}"
    path = Path(checkpoint)
    outline(path, display_name)
    if not evaluating:
        progress(path)  # training resumes from more than weights

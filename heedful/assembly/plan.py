"""Prepare a run before any folder is created: read the data, bind the model to their task, and plan the evaluations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from pytorch_lightning.callbacks import EarlyStopping

from heedful.assembly.config import Config, Objects
from heedful.assembly.held_out import require_held_out
from heedful.assembly.identity import identity_of
from heedful.assembly.measured_rows import load_other_data
from heedful.assembly.prompting import prompts_of
from heedful.assembly.saved import require_same_task, unfinished_of
from heedful.assembly.settings import EvaluationSettings, RunSettings, TrainingSettings, several
from heedful.assembly.trainers import precision_of, require_fit
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Engine, Setting
from heedful.callbacks.checkpoints.files import outline, progress
from heedful.callbacks.engine.engine import Writer
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.evaluations import chosen
from heedful.datamodules import PairedData
from heedful.lightning_modules import BasePredictor, Classifier
from heedful.records import SettingError
from heedful.records.arguments import IN_MEMORY
from heedful.records.numbers.metric_name import direction_of
from heedful.records.prompts.prompt import Prompt


@dataclass(frozen=True)
class Plan:
    """A run that is prepared: the data are read, the model is bound to their task, and the evaluations are planned.

    Attributes:
        config: All settings.
        model: The model, bound to the task.
        data: The data module, set up.
        trainer: Settings of Lightning's Trainer.
        plans: The plans of the evaluations.
        unfinished: How far the training of the evaluated checkpoint had got, such as "epoch 1 of 4, step 30"; None if
            it is finished, and in a training.
        checkpoints: The callback that saves checkpoints; None if the run does not train.
        prompts: The prompts to measure; empty for a model without prompts.
        record: All settings, as in config.yaml.
    """

    config: Config
    model: BasePredictor
    data: PairedData
    trainer: Mapping[str, Any]
    plans: Plans
    unfinished: str | None
    checkpoints: BestCheckpoint | None
    prompts: Sequence[Prompt]
    record: Mapping[str, Any]

    def engine(self, writers: Sequence[Writer] = ()) -> Engine:
        """Create the callback that measures. It passes its measurements to ``writers``, which save or log them."""
        identity = partial(identity_of, self.record, self.model)
        return Engine(self.config.evaluating, self.plans.only, self.plans, writers, self.unfinished, identity)

    @property
    def classifier(self) -> Classifier:
        """The model of a training, which is always a Classifier."""
        return cast(Classifier, self.model)


def prepare(config: Config) -> Plan:
    """Read the data, bind the model to their task and plan the evaluations.

    Raises:
        HeedfulError: The data cannot be read, the model does not match the data, or the checkpoint is damaged.
    """
    objects = config.objects()
    settings = config.run_settings()
    checkpoint = checkpoint_of(settings)
    require_fit(objects.trainer)
    if checkpoint is not None:
        outline(Path(checkpoint), f"{'checkpoint' if config.evaluating else 'ckpt_path'} {checkpoint}")
        if not config.evaluating:
            progress(Path(checkpoint))  # raises for a checkpoint without the state of the Trainer
    checkpoints = None if config.evaluating else objects.group
    if checkpoints is not None and checkpoints.dirpath:
        raise SettingError(f"checkpoint.dirpath {checkpoints.dirpath}: checkpoints are saved in the run. Set output.")
    configured = {evaluation.name for evaluation in objects.evaluations}
    without_settings = [kind for name, kind in EVALUATIONS.items() if not kind.has_settings and name not in configured]
    evaluations = [*(kind() for kind in without_settings), *objects.evaluations]
    only = chosen(settings.evaluations, {evaluation.name for evaluation in evaluations})
    needs_data = only is None or any(not item.brings_examples for item in evaluations if item.name in only)
    data = _bound_data(config, objects, "" if needs_data else "-".join(only or ()))
    model = objects.model
    prompts = prompts_of(objects.group if config.evaluating else None, model, data)
    model.require_precision(precision_of(objects.trainer, config.evaluating))
    unfinished = unfinished_of(checkpoint) if config.evaluating and checkpoint else None
    record = config.as_dict()
    if "backbone" in record["model"]["init_args"] and config.evaluating and model.has_learned:
        record["model"]["init_args"]["backbone"] = IN_MEMORY
    plans = Plans.of(evaluations, Setting(data, not config.evaluating, load_other_data, model.capabilities), only)
    plans.require(model)
    _require_monitored(plans, objects, checkpoints, data)
    if not (isinstance(settings, EvaluationSettings) and settings.dry_run):
        if checkpoint is None:
            model.require_weights()
            if not config.evaluating:
                require_same_task(cast(Classifier, model))
        require_held_out(model, data, checkpoint, config.evaluating)
    return Plan(config, model, data, objects.trainer, plans, unfinished, checkpoints, prompts, record)


def checkpoint_of(settings: RunSettings) -> str | None:
    """Return the path of the checkpoint that an evaluation loads, or from which a training resumes; None without a
    checkpoint.
    """
    return settings.ckpt_path if isinstance(settings, TrainingSettings) else vars(settings)["checkpoint"]


def _bound_data(config: Config, objects: Objects, name: str) -> PairedData:
    """Set up the data, bind the model to their task, and return the data.

    Args:
        config: All settings.
        objects: The data module and the model.
        name: Ignored in training. In an evaluation, "" returns the data with their examples. Any other name returns a
            copy with this name and without examples, for evaluations that bring their own examples. The copy gets the
            labels of the model, if known.
    """
    data, model = objects.data, objects.model
    if config.evaluating and name:
        data = data.without_examples(name)
        learned = model.task if model.has_learned else None
        if learned is None:
            model.bind(data.task, trains=False)  # reads the labels of the head
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


def _require_monitored(plans: Plans, objects: Objects, checkpoints: BestCheckpoint | None, data: PairedData) -> None:
    """Check the metrics that callbacks monitor in a training. If ``checkpoints`` is None, no training follows, and
    nothing is checked.

    Raises:
        SettingError: None of ``plans`` measures a monitored metric; the ``mode`` of EarlyStopping ("min" or "max") is
            wrong for its metric; or the Trainer skips the validation, so that no metric is measured.
    """
    if checkpoints is None:
        return
    checkpoints.require_known(plans, data)
    trainer = objects.trainer
    for callback in several(trainer["callbacks"]):
        if isinstance(callback, EarlyStopping) and callback.strict:
            plans.require_monitored(callback.monitor, "trainer.callbacks.monitor")
            if (direction := direction_of(callback.monitor)) not in (None, callback.mode):
                raise SettingError(
                    f"trainer.callbacks.mode {callback.mode}: {callback.monitor} needs mode {direction}."
                )
    if trainer["limit_val_batches"] == 0 and not trainer["fast_dev_run"]:
        raise SettingError(f"trainer.limit_val_batches 0 leaves checkpoint.monitor {checkpoints.monitor} unmeasured.")

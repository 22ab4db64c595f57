"""What a run is made of, and how it is checked and planned before a folder is made."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback
from pytorch_lightning.callbacks import EarlyStopping

from heedful.assembly.config import Config, load_data
from heedful.assembly.held_out import require_held_out
from heedful.assembly.identity import identity_of
from heedful.assembly.prompting import prompts_of
from heedful.assembly.saved import max_epochs_of
from heedful.assembly.settings import EvaluationSettings, RunSettings, TrainingSettings
from heedful.assembly.short_names import model_folder
from heedful.assembly.starts import seed_all
from heedful.assembly.trainers import precision_of, require_fit, several
from heedful.callbacks import EVALUATIONS, BestCheckpoint, Engine, Setting
from heedful.callbacks.checkpoints.files import outline, progress, require_of_run, require_whole
from heedful.callbacks.engine.engine import Planned
from heedful.callbacks.outputs.run_folder import is_finished
from heedful.datamodules import PairedData
from heedful.records import ExamplesBuilder, ModelError, SettingError, Task, listing
from heedful.records.arguments import IN_MEMORY
from heedful.records.errors import guess
from heedful.records.numbers.metric_name import direction_of
from heedful.records.prompts.prompt import Prompt


class Job:
    """A run before it begins: its parts, its settings, and what becomes of them when it is prepared.

    Args:
        config: All settings.

    Attributes:
        evaluating: Whether nothing is trained: every evaluation is exhaustive and in full precision.
        about: What goes into run.json beside what every run says.
        engine: Runs the evaluations; from :meth:`prepare` on.
        planned: The evaluations that have something to do, by name; from :meth:`prepare` on.
        prompts: Those that a model is asked by, of one that is asked in context; from :meth:`prepare` on.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.evaluating = config.evaluating
        self.settings: RunSettings = config.run_settings()
        objects = config.objects()
        self.model = objects.model
        self.data = objects.data
        self.evaluations = objects.evaluations
        self.plain = [kind() for kind in EVALUATIONS.values() if not kind.has_settings]
        self.trainer = objects.trainer
        self.best: BestCheckpoint | None = None if self.evaluating else objects.group
        self.prompting = objects.group if self.evaluating else None
        self.about: dict[str, Any] = {}
        self.engine: Engine
        self.planned: dict[str, Planned] = {}
        self.in_memory = self._learned_task()
        self.prompts: list[Prompt] = []

    @property
    def training(self) -> TrainingSettings:
        """The settings of training."""
        assert isinstance(self.settings, TrainingSettings)
        return self.settings

    @property
    def evaluation(self) -> EvaluationSettings:
        """The settings of evaluation."""
        assert isinstance(self.settings, EvaluationSettings)
        return self.settings

    @property
    def kept(self) -> BestCheckpoint:
        """Which checkpoints are kept, in training."""
        assert self.best is not None
        return self.best

    @property
    def checkpoint(self) -> str | None:
        """The checkpoint whose weights are taken: to be evaluated, or to go on from."""
        return self.evaluation.checkpoint if self.evaluating else self.training.ckpt_path

    @property
    def model_name(self) -> str:
        """The short name of the backbone, or its id as a folder name."""
        section = self.record["model"]
        of_model = {} if IN_MEMORY in str(section["init_args"].get("backbone")) else section["init_args"]
        backbone = str(of_model.get("backbone") or getattr(self.model, "backbone", None) or of_model.get("name"))
        named = backbone if backbone != "None" else type(self.model).__name__
        return model_folder(named, section["class_path"])

    @property
    def record(self) -> dict[str, Any]:
        """All settings, as config.yaml holds them."""
        record = self.config.as_dict()
        model = record["model"]["init_args"]
        if (self.in_memory is not None or self.model.from_memory) and "backbone" in model:
            model["backbone"] = IN_MEMORY
        return record

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The settings by which runs are compared; TensorBoard shows the first five of the alphabet at once."""
        data = self.data
        compared: dict[str, Any] = {
            "data": data.name,
            "model": self.model_name,
            "regime": data.regime,
            "seed": data.seed,
        }
        compared |= {"epochs": self.trainer["max_epochs"], "learning_rate": self.model.learning_rate}
        return compared | {"train_batch_size": data.batch_size}

    def prepare(self) -> None:
        """Have the data read, the model fitted to them and the evaluations planned; mistakes show here.

        Raises:
            HeedfulError: The data cannot be read, the model does not fit them, or the checkpoint is damaged.
        """
        seed_all(self.settings.seed)
        require_fit(self.trainer)
        if self.best is not None and (folder := self.best.dirpath):
            raise SettingError(
                f"checkpoint.dirpath {folder}: checkpoints lie in the folder of the run. Choose that with output."
            )
        self.data.allow_changed = not self.evaluating and self.training.allow_changed_data
        self._prepare_model()
        self.prompts = prompts_of(self.prompting, self.model, self.data)
        self.model.require_precision(precision_of(self.trainer, self.evaluating))
        self._plan_evaluations()
        if not (self.evaluating and self.evaluation.dry_run):
            self._require_weights()
            require_held_out(self)
            self.engine.identity = identity_of(self.record, self.model)

    def _require_weights(self) -> None:
        """Refuse a checkpoint that is damaged or of another run, and a model that has no weights without one."""
        if self.checkpoint is None:
            self.model.require_weights()
        else:
            display_name = f"{'checkpoint' if self.evaluating else 'ckpt_path'} {self.checkpoint}"
            path = Path(self.checkpoint)
            require_whole(path, display_name)
            require_of_run(outline(path), display_name)
            self.engine.unfinished = self.unfinished
            if not self.evaluating:
                progress(path)  # training goes on from more than weights

    @property
    def only(self) -> Sequence[str] | None:
        """The evaluations that were asked for, or None for all.

        Raises:
            HeedfulError: One is unknown, is not measured in training, or none is named.
        """
        names = self.settings.evaluations
        if unknown := [name for name in names or [] if name not in EVALUATIONS]:
            raise SettingError(f"evaluations {unknown[0]} is not an evaluation. {guess(unknown[0], EVALUATIONS)}")
        if names == []:
            raise SettingError("evaluations names nothing. Name some, or leave it out.")
        of_this = {evaluation.name for evaluation in (*self.plain, *self.evaluations)}
        if later := [name for name in names or [] if name not in of_this]:
            raise SettingError(
                f"evaluations {later[0]} is not measured while a model trains. Measure it with evaluate.py."
            )
        return names

    @property
    def unfinished(self) -> str | None:
        """How far the run is whose checkpoint is evaluated, such as "epoch 1 of 4, step 30"; None of a finished run."""
        checkpoint = Path(self.checkpoint).absolute() if self.evaluating and self.checkpoint else None
        if checkpoint is None or is_finished(checkpoint.parent.parent):
            return None
        saved = outline(checkpoint)
        of = max_epochs_of(checkpoint.parent.parent, f"checkpoint {checkpoint}")
        return f"epoch {saved['epoch'] + 1}{f' of {of}' if of > 0 else ''}, step {saved['global_step']:,}"

    @property
    def without_data(self) -> bool:
        """Whether the evaluations that were asked for all bring examples of their own."""
        return self.evaluating and self.only is not None and all(EVALUATIONS[name].own for name in self.only)

    def _prepare_model(self) -> None:
        """Have the data read and the model fitted to them; without data, to the labels of its own head."""
        if self.without_data:
            self.data = self.data.with_arguments()  # that of the user stays as it is
            self.data.name = "-".join(self.only or ())
            self.data.pool = ExamplesBuilder(self.data.task.parts).finish()
        self.data.setup("validate" if self.evaluating else "fit")
        if self.in_memory is not None:
            self._require_learned(self.in_memory)
            return
        self.model.require_parts(self.data.task)
        self.model.keeps_head = self.evaluating
        self.model.prepare(self.data.task)
        if self.without_data and self.model.answers:
            self.data.settle_labels(self.model.answers, default_label=None)
            self.model.prepare(self.data.task)
        if self.evaluating:
            self.model.require_learned_parts(self.data.full_task.parts)
            self.model.require_head()

    def _learned_task(self) -> Task | None:
        """What a model has learned whose weights are in memory alone, and which is evaluated with them.

        Raises:
            HeedfulError: It is to be trained, from other weights than its settings say.
        """
        model = self.model
        if self.checkpoint is not None or model.needs_prompt or model.task is None:
            return None
        if not self.evaluating and next(model.parameters(), None) is not None:
            raise SettingError(
                "model has weights of an earlier call, and not those that its settings name. Make it once more with "
                "load_model, or train on from a run with init_from RUN."
            )
        return model.task if self.evaluating and model.has_learned else None

    def _require_learned(self, task: Task) -> None:
        """Refuse data for whose parts and labels a model in memory was not trained."""
        if self.without_data:
            self.data.settle_labels(task.labels, default_label=None)
        here = self.model.in_learned_order(self.data.task)
        do = "Measure its run, with checkpoint RUN."
        wrong = "model in memory was trained on {}, and the data have {}."
        if task.labels != here.labels:
            raise ModelError(f"{wrong.format(listing(task.labels), listing(here.labels))} {do}")
        if task.parts != here.parts:
            raise ModelError(f"{wrong.format(listing(task.parts), listing(here.parts))} {do}")
        if replace(here, default_label=task.default_label) != task:
            raise ModelError(f"model in memory was trained on data of another kind. {do}")
        self.model.task = here

    def _plan_evaluations(self) -> None:
        """Have the evaluations make their plans, for which they read the examples that they bring."""
        self.engine = Engine(self.evaluating, self.only)
        of_model = self.model.repeated, self.model.has_probabilities
        setting = Setting(self.data, not self.evaluating, _read, *of_model)
        self.engine.prepare([*self.plain, *self.evaluations], setting)
        self.planned = self.engine.planned
        for name, nothing in self.engine.idle.items() if self.only else ():
            raise SettingError(f"evaluations {name} {nothing.reason}. Leave it out, or add what is missing.")
        for plan in (planned.plan for planned in self.planned.values()):
            if plan.inquiry is not None:
                plan.inquiry.require(self.model.processor, plan.pool)
        if self.best is not None:
            self.best.require_known(self.engine, self.data)
        for callback in self.own_callbacks if not self.evaluating else ():
            if isinstance(callback, EarlyStopping) and callback.strict:
                self.engine.require_monitored(callback.monitor, "trainer.callbacks.monitor")
                _require_direction(callback)
        if self.best is not None and self.trainer["limit_val_batches"] == 0 and not self.trainer["fast_dev_run"]:
            raise SettingError(f"trainer.limit_val_batches 0 leaves checkpoint.monitor {self.best.monitor} unmeasured.")

    @property
    def own_callbacks(self) -> Sequence[Callback]:
        """The callbacks that the settings of the Trainer name."""
        return several(self.trainer["callbacks"])


def _require_direction(stopping: EarlyStopping) -> None:
    """Refuse to stop a training because a number improves.

    Raises:
        SettingError: The best value of the metric is at the other end.
    """
    if (direction := direction_of(stopping.monitor)) not in (None, stopping.mode):
        raise SettingError(
            f"trainer.callbacks.mode {stopping.mode}: the best {stopping.monitor} is the {direction}imum. "
            f"Set mode {direction}."
        )


def _read(name: str, path: str | None) -> PairedData:
    """A data module, set up, from the short name of a data set and its path."""
    data = load_data(name, **({} if path is None else {"path": path}))
    data.setup("validate")
    return data

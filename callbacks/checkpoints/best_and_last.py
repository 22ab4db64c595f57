"""Checkpoints: the best epoch and the last state, from which a stopped run goes on to the same bits.

``last.ckpt`` is written at the end of each epoch that is validated, every so many optimizer steps and on SIGTERM,
always between two steps and never within the batches that one step accumulates. Ctrl-C may come in the middle of a
step, so what was learned since then goes to ``interrupted.ckpt``: good enough to evaluate, and never what a run goes on
from unless it is named.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, ModelPruning
from torch import Tensor

from heedful.callbacks.checkpoints.files import INTERRUPTED, LAST, PREVIOUS, PUT_ASIDE, progress
from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.engine.stop import is_asked
from heedful.datamodules import PairedData
from heedful.lightning_modules.callbacks_of_lightning import model_to_save
from heedful.lightning_modules.lightning_internals import (
    accumulates,
    checkpoint_of,
    kept_metrics,
    rewind_validation,
    save_after_validation,
    trains_next,
)
from heedful.records import SettingError, inform
from heedful.records.arguments import RecordsArguments
from heedful.records.command_lines import start_of
from heedful.records.errors import guess
from heedful.records.numbers.metric_name import direction_of
from heedful.records.stopping import Stopped, postpone

ACCURACY = "accuracy"  # stands for that on the data set, whose name is not known yet


class BestCheckpoint(RecordsArguments, ModelCheckpoint):
    """Lightning's ModelCheckpoint with ``best.ckpt`` and ``last.ckpt``, and metrics that may be undefined.

    Args:
        monitor: A metric by its name in results.json; None for the accuracy on the data set, or the F1 of answers.
        mode: "max" or "min"; None for the direction of the metric.
        filename: Name of the best checkpoint, without ``.ckpt``; give it fields such as {epoch} to keep several.
        save_last: Whether to keep ``last.ckpt``.
        enable_version_counter: Whether to number a file whose name is taken.
        last_every_n_steps: Write ``last.ckpt`` after so many optimizer steps, too; None for ends of epochs only.
        **kwargs: As for ModelCheckpoint.
    """

    def __init__(
        self,
        monitor: str | None = None,
        mode: Literal["max", "min"] | None = None,
        filename: str = "best",
        save_last: bool = True,
        enable_version_counter: bool = False,
        last_every_n_steps: int | None = 1000,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("save_top_k", 1) not in (0, 1) and "{" not in filename:
            raise SettingError(
                f"checkpoint.save_top_k {kwargs['save_top_k']} keeps several files, all called {filename}.ckpt. Add a "
                "field to checkpoint.filename, such as 'best-{epoch}'."
            )
        self._require_name(filename, kwargs.get("auto_insert_metric_name", True))
        self._require_measured(kwargs)
        if mode not in (None, "max", "min"):
            raise SettingError(f"checkpoint.mode {mode} should be max or min.")
        direction = direction_of(monitor or ACCURACY)
        if mode is not None and direction not in (None, mode):
            raise SettingError(
                f"checkpoint.mode {mode}: the best {monitor or ACCURACY} is the {direction}imum. Leave it out."
            )
        if last_every_n_steps is not None and last_every_n_steps < 1:
            raise SettingError(f"checkpoint.last_every_n_steps {last_every_n_steps} should be at least 1, or null.")
        self.last_every_n_steps = last_every_n_steps
        self._last_step = 0  # of last.ckpt
        self._stopping = self._rewound = self._at_last_step = False
        self._metrics: dict[str, Tensor] = {}
        super().__init__(
            monitor=monitor or ACCURACY,
            mode=mode or direction or "max",
            filename=filename,
            save_last=save_last,
            enable_version_counter=enable_version_counter,
            **kwargs,
        )

    @staticmethod
    def _require_measured(settings: Mapping[str, Any]) -> None:
        """Refuse settings by which ``best.ckpt`` is not what was measured, or a run cannot go on from ``last.ckpt``.

        Raises:
            HeedfulError: There is one.
        """
        for name in ("every_n_train_steps", "train_time_interval", "save_on_train_epoch_end"):
            if settings.get(name):
                raise SettingError(
                    f"With checkpoint.{name} the best checkpoint is not what was measured. Take "
                    "trainer.val_check_interval, or for last.ckpt checkpoint.last_every_n_steps."
                )
        if settings.get("save_weights_only"):
            raise SettingError(
                "With checkpoint.save_weights_only a stopped run cannot go on from last.ckpt. Leave it out: best.ckpt "
                "holds weights alone as it is, and last.ckpt is removed at the end."
            )

    @staticmethod
    def _require_name(filename: str, with_names: bool) -> None:
        """Refuse a name of the best checkpoint that belongs to another file, or that leads into another folder.

        Raises:
            HeedfulError: It does.
        """
        fields = re.findall(r"{[^}]*}", filename)
        plain = re.sub(r"{[^}]*}", "", filename)
        if f"{filename}.ckpt" in (LAST, PREVIOUS, INTERRUPTED, PUT_ASIDE):
            raise SettingError(
                f"checkpoint.filename {filename} is the name of another checkpoint. Choose another name."
            )
        if not filename or filename.startswith(".") or "/" in plain or "\\" in plain:
            raise SettingError(
                f"checkpoint.filename {filename!r} is not the name of a file in the folder of the run. Choose a name "
                "without / and without a dot in front."
            )
        if with_names and any("/" in field for field in fields):
            raise SettingError(
                f"checkpoint.filename {filename} is filled in with names of metrics, which have a /. Add "
                "checkpoint.auto_insert_metric_name false."
            )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        plans = next((c.plans for c in trainer.callbacks if isinstance(c, Engine)), Plans({}))
        self.require_known(plans, trainer.datamodule)
        if any(isinstance(callback, ModelPruning) for callback in trainer.callbacks):
            save_after_validation(self)  # what was measured, before it is pruned
        super().setup(trainer, pl_module, stage)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        kept_metrics(trainer).update(self._metrics)
        postpone()  # to the end of a step

    def require_known(self, plans: Plans, data: PairedData) -> None:
        """Refuse to monitor a metric that no evaluation yields.

        Where the call asks for evaluations without accuracy and names no metric, the last epoch is the best.

        Raises:
            HeedfulError: No evaluation yields the metric.
        """
        if self.monitor == ACCURACY:
            self.monitor = f"{data.task.kind.quality}/{data.name}"
            if plans.only is not None and not plans.is_known(self.monitor):
                inform(f"{self.monitor} is not measured, so best.ckpt is the last epoch.")
                self.monitor = None
        if self.monitor is not None:
            plans.require_monitored(self.monitor, "checkpoint.monitor")

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        engines = (c for c in trainer.callbacks if isinstance(c, Engine) and c.measurements is not None)
        is_measured = any(self.monitor in engine.measurements for engine in engines)
        if is_measured and self.monitor not in monitor_candidates:
            inform(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.")
        elif self.save_top_k and self.monitor is not None and self.monitor not in monitor_candidates:
            self._save_last_checkpoint(trainer, monitor_candidates)  # what was learned is kept
            measured = sorted(name for name in monitor_candidates if "/" in name)
            raise SettingError(f"checkpoint.monitor {self.monitor} was not measured. {guess(self.monitor, measured)}")
        else:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        self._last_global_step_saved = trainer.global_step  # last.ckpt is the last epoch, not the last best one

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if trainer.global_step == trainer.max_steps and not accumulates(trainer):
            self._at_last_step = trainer.should_stop = True  # Lightning validates a run that is to stop, as it is now
        if accumulates(trainer) or not trains_next(trainer):
            return
        self._stopping = is_asked(trainer)
        if self._stopping or self._is_due(trainer):
            before = self._last_global_step_saved
            self._save_last_checkpoint(trainer, {})
            self._last_global_step_saved = before  # a validation at this step may still be the best

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self._stopping:  # only now, when the loggers have what belongs to the last step
            raise Stopped

    def _is_due(self, trainer: Trainer) -> bool:
        """Whether this is the N-th optimizer step."""
        return self.last_every_n_steps is not None and trainer.global_step % self.last_every_n_steps == 0

    def _save_last_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        """Nothing within the batches that one step accumulates: their gradients are in no checkpoint."""
        if trainer.fast_dev_run or accumulates(trainer):  # False at the end of an epoch
            return
        super()._save_last_checkpoint(trainer, monitor_candidates)
        self._last_step = trainer.global_step

    def _save_checkpoint(self, trainer: Trainer, filepath: str) -> None:
        """Only ``last.ckpt``, which a run goes on from, holds the states of the optimizer; others what was measured.

        Raises:
            HeedfulError: The weights are not those that were measured.
        """
        self.save_weights_only = Path(filepath).name != LAST
        for engine in (c for c in trainer.callbacks if isinstance(c, Engine) and self.save_weights_only):
            engine.require_measured(model_to_save(trainer), f"what {Path(filepath).name} would hold")
        super()._save_checkpoint(trainer, filepath)
        self.save_weights_only = False

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        checkpoint["should_stop"] = trainer.should_stop and not self._at_last_step  # more steps may be asked for
        if self._rewound:
            rewind_validation(checkpoint["loops"])
            checkpoint["metrics"] = dict(trainer.callback_metrics)  # the validation may be about those of training

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """A run that was stopped early stays so."""
        trainer.should_stop = checkpoint.get("should_stop", False)
        self._last_step = checkpoint["global_step"]
        self._metrics = checkpoint.get("metrics", {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The folder of the run may have been moved, or named by another path, since the checkpoint was written."""

        def here(path: str) -> str:
            return str(Path(self.dirpath) / Path(path).name) if path else path

        if not state_dict["best_model_path"] or Path(here(state_dict["best_model_path"])).is_file():
            state_dict = state_dict | {key: here(state_dict[key]) for key in state_dict if key.endswith("_path")}
            state_dict["best_k_models"] = {here(path): score for path, score in state_dict["best_k_models"].items()}
            state_dict["dirpath"] = self.dirpath
        super().load_state_dict(state_dict)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The end is where a run goes on that is stopped in its final evaluation."""
        if self._last_step != trainer.global_step:
            self._save_last_checkpoint(trainer, {})
        if trainer.is_global_zero:
            self._interrupted.unlink(missing_ok=True)
        postpone(trainer.world_size > 1)

    @property
    def _interrupted(self) -> Path:
        return Path(self.dirpath) / INTERRUPTED

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Keep what was learned when the user stops a run; rank 0 saves alone, since the others may be gone."""
        if isinstance(exception, Stopped):
            if trainer.state.fn == "fit" and trainer.validating:
                self._save_before_validation(trainer)
            if self.dirpath:
                exception.message = self._where(trainer, "SIGTERM")
        elif not isinstance(exception, KeyboardInterrupt):
            super().on_exception(trainer, pl_module, exception)
        elif trainer.is_global_zero and self.dirpath and not trainer.fast_dev_run:
            more = ""
            if trainer.state.fn == "fit" and trainer.global_step:
                state = checkpoint_of(trainer, self.save_weights_only)
                trainer.strategy.checkpoint_io.save_checkpoint(state, str(self._interrupted))
                more = f"; {self._interrupted} can be evaluated"
            print(f"{self._where(trainer, 'Ctrl-C')}{more}.", flush=True)

    def _save_before_validation(self, trainer: Trainer) -> None:
        """Save a run that stops within a validation, so that it goes on with all of that validation.

        Lightning takes a run that has all of its steps, or that is to stop early, to be validated; such a run goes on
        from the checkpoint before.
        """
        if not trainer.should_stop and not 0 <= trainer.max_steps <= trainer.global_step:
            self._rewound = True
            self._save_last_checkpoint(trainer, {})

    def _where(self, trainer: Trainer, cause: str) -> str:
        """The place where a run was stopped, and how to go on with it."""
        last = Path(self.dirpath) / LAST
        run = Path(self.dirpath).parent
        try:
            step = progress(last)[1] if last.is_file() else None
        except Exception:  # it is damaged, which resume says; the run ends by the signal all the same
            step = None
        saved = "; nothing was saved yet" if step is None else f"; what is saved is step {step:,}"
        saved = ", which is saved" if step == trainer.global_step else saved
        how = "python train.py --resume" if start_of("train")[0] == "python" else "heedful train --resume"
        return f"stopped by {cause} at step {trainer.global_step:,}{saved}: go on with {how} {run}"

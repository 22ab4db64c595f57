"""Save the best checkpoint, and ``last.ckpt``, from which a stopped run resumes with bit-identical results.

``last.ckpt`` is written after every validation, every ``last_every_n_steps`` optimizer steps and on SIGTERM. It is
always written between two optimizer steps, since checkpoints do not contain accumulated gradients.
"""

import re
from pathlib import Path
from typing import Any, Literal

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from torch import Tensor

from heedful.callbacks.checkpoints.files import LAST
from heedful.callbacks.engine.callback import EvaluationCallback
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.engine.processes import is_stop_requested
from heedful.command_lines import resume_command
from heedful.datamodules import PairedData
from heedful.lightning_modules.callbacks_of_lightning import model_to_save
from heedful.lightning_modules.lightning_internals import accumulates, resume_by_epochs, trains_next
from heedful.records import SettingError, inform
from heedful.records.arguments import RecordsArguments
from heedful.records.errors import suggestion
from heedful.records.numbers import direction_of
from heedful.stopping import Stopped, postpone

ACCURACY = "accuracy"  # stands for the accuracy on the data set until the name of the data set is known


class BestCheckpoint(RecordsArguments, ModelCheckpoint):
    """A ModelCheckpoint of Lightning that writes ``best.ckpt`` and ``last.ckpt``; an epoch with an undefined metric is
    never the best.

    Args:
        monitor: Name of the metric in results.json; None for the accuracy on the data set, or the F1 of answers.
        mode: "max" or "min"; None for the direction of the metric.
        filename: Name of the best checkpoint without ``.ckpt``. To keep several, include fields such as {epoch}.
        save_last: Whether to write ``last.ckpt``.
        enable_version_counter: Whether to append a version to the name of an existing file.
        last_every_n_steps: Number of optimizer steps between two writes of ``last.ckpt`` in an epoch; None for never.
        **kwargs: Arguments of ModelCheckpoint.
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
            raise SettingError("checkpoint.save_top_k needs a field in checkpoint.filename, such as 'best-{epoch}'.")
        direction = direction_of(monitor or ACCURACY)
        if mode is not None and direction not in (None, mode):
            raise SettingError(f"checkpoint.mode {mode}: the best {monitor or ACCURACY} is the {direction}imum.")
        self.last_every_n_steps = last_every_n_steps
        self._last_step = 0  # the number of optimizer steps in last.ckpt
        self._stopping = self._at_last_step = False
        super().__init__(
            monitor=monitor or ACCURACY,
            mode=mode or direction or "max",
            filename=filename,
            save_last=save_last,
            enable_version_counter=enable_version_counter,
            **kwargs,
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        plans = next((c.plans for c in trainer.callbacks if isinstance(c, EvaluationCallback)), Plans({}))
        self.require_known(plans, trainer.datamodule)
        resume_by_epochs(trainer)
        super().setup(trainer, pl_module, stage)

    def require_known(self, plans: Plans, data: PairedData) -> None:
        """Raise SettingError if no evaluation yields the metric; without a default metric, the last epoch is best."""
        if self.monitor == ACCURACY:
            self.monitor = f"{data.task.kind.quality}/{data.name}"
            if plans.only is not None and not plans.is_known(self.monitor):
                inform(f"{self.monitor} is not measured, so best.ckpt is the last epoch.")
                self.monitor = None
        if self.monitor is not None:
            plans.require_monitored(self.monitor, "checkpoint.monitor")

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        postpone()  # SIGTERM waits for the end of an optimizer step

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if trainer.global_step == trainer.max_steps and not accumulates(trainer):
            self._at_last_step = trainer.should_stop = True  # Lightning then validates, even within an epoch
        if accumulates(trainer) or not trains_next(trainer):
            return
        self._stopping = is_stop_requested(trainer)
        if self._stopping or (self.last_every_n_steps and trainer.global_step % self.last_every_n_steps == 0):
            before = self._last_global_step_saved
            self._save_last_checkpoint(trainer, {})
            self._last_global_step_saved = before  # else Lightning would not save a best epoch that ends at this step

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self._stopping:  # not earlier: the loggers get the numbers of a step after on_train_batch_end
            raise Stopped

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        if self.monitor is None or self.monitor in monitor_candidates:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        else:
            found = [c.measurements for c in trainer.callbacks if isinstance(c, EvaluationCallback) and c.measurements]
            names = [str(name) for measurements in found for name in measurements.numbers]
            is_number = re.sub("/(low|high)$", "", self.monitor) in names
            hint = "" if is_number else f" {suggestion(self.monitor, names)}"
            inform(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.{hint}")
        self._last_global_step_saved = trainer.global_step  # so that Lightning saves last.ckpt after every epoch

    def _save_last_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        if not trainer.fast_dev_run and not accumulates(trainer):
            super()._save_last_checkpoint(trainer, monitor_candidates)
            self._last_step = trainer.global_step

    def _save_checkpoint(self, trainer: Trainer, filepath: str) -> None:
        """Save a checkpoint: ``last.ckpt`` with optimizer states, others only with the weights that were measured."""
        name = Path(filepath).name
        self.save_weights_only = name != LAST
        for engine in (c for c in trainer.callbacks if isinstance(c, EvaluationCallback) and name != LAST):
            engine.require_measured(model_to_save(trainer), f"the weights of {name}")
        super()._save_checkpoint(trainer, filepath)

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        # False after the last step, since a resumed run may have a higher max_steps
        checkpoint["should_stop"] = trainer.should_stop and not self._at_last_step

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        trainer.should_stop = checkpoint.get("should_stop", False)
        self._last_step = checkpoint["global_step"]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state from a checkpoint, with paths in the current folder of the run, which may have moved."""

        def moved(path: str) -> str:
            return str(Path(self.dirpath) / Path(path).name) if path else path

        if not (best := state_dict["best_model_path"]) or Path(moved(best)).is_file():
            state_dict = state_dict | {key: moved(state_dict[key]) for key in state_dict if key.endswith("_path")}
            state_dict["best_k_models"] = {moved(path): score for path, score in state_dict["best_k_models"].items()}
            state_dict["dirpath"] = self.dirpath
        super().load_state_dict(state_dict)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save ``last.ckpt``, from which a run that is stopped in its final evaluation resumes."""
        if self._last_step != trainer.global_step:
            self._save_last_checkpoint(trainer, {})
        postpone(trainer.world_size > 1)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        if not isinstance(exception, (Stopped, KeyboardInterrupt)):
            super().on_exception(trainer, pl_module, exception)
        elif self.dirpath:
            saved = f"step {self._last_step:,} is saved" if self._last_step else "nothing was saved yet"
            command = resume_command(Path(self.dirpath).parent, [pl_module, trainer.datamodule])  # type: ignore[attr-defined]
            message = f"at step {trainer.global_step:,}; {saved}: {command}"
            if isinstance(exception, Stopped):
                exception.message = f"stopped by SIGTERM {message}"
            elif trainer.is_global_zero:
                print(f"stopped by Ctrl-C {message}", flush=True)

"""Checkpoints: the best epoch, and the last saved state, from which a stopped run resumes to the same bits.

``last.ckpt`` is written at the end of each validated epoch, every so many optimizer steps and on SIGTERM; always
between two steps and never within the batches that one step accumulates.
"""

from pathlib import Path
from typing import Any, Literal

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, ModelPruning
from torch import Tensor

from heedful.callbacks.checkpoints.files import LAST
from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.evaluation import Plans
from heedful.callbacks.engine.stop import is_asked
from heedful.datamodules import PairedData
from heedful.lightning_modules.callbacks_of_lightning import model_to_save
from heedful.lightning_modules.lightning_internals import accumulates, save_after_validation, trains_next
from heedful.records import SettingError, inform
from heedful.records.arguments import RecordsArguments
from heedful.records.command_lines import start_of
from heedful.records.numbers.metric_name import direction_of
from heedful.records.stopping import Stopped, postpone

ACCURACY = "accuracy"  # accuracy on the data set, whose name is not known yet


class BestCheckpoint(RecordsArguments, ModelCheckpoint):
    """Lightning's ModelCheckpoint with ``best.ckpt`` and ``last.ckpt``, and metrics that may be undefined.

    Args:
        monitor: Metric by its name in results.json; None for the accuracy on the data set, or the F1 of answers.
        mode: "max" or "min"; None for the direction of the metric.
        filename: Name of the best checkpoint, without ``.ckpt``; give it fields such as {epoch} to keep several.
        save_last: Whether to keep ``last.ckpt``.
        enable_version_counter: Whether to number a file whose name is taken.
        last_every_n_steps: Number of optimizer steps between two ``last.ckpt``; None for ends of epochs only.
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
        direction = direction_of(monitor or ACCURACY)
        if mode is not None and direction not in (None, mode):
            raise SettingError(
                f"checkpoint.mode {mode}: the best {monitor or ACCURACY} is the {direction}imum. Leave it out."
            )
        self.last_every_n_steps = last_every_n_steps
        self._last_step = 0  # of last.ckpt
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
        plans = next((c.plans for c in trainer.callbacks if isinstance(c, Engine)), Plans({}))
        self.require_known(plans, trainer.datamodule)
        if any(isinstance(callback, ModelPruning) for callback in trainer.callbacks):
            save_after_validation(self)  # the weights that were measured, before they are pruned
        super().setup(trainer, pl_module, stage)

    def require_known(self, plans: Plans, data: PairedData) -> None:
        """Refuse to monitor a metric that no evaluation yields.

        Where the call asks for evaluations without accuracy and names no metric, the last epoch is the best.

        Raises:
            SettingError: No evaluation yields the metric.
        """
        if self.monitor == ACCURACY:
            self.monitor = f"{data.task.kind.quality}/{data.name}"
            if plans.only is not None and not plans.is_known(self.monitor):
                inform(f"{self.monitor} is not measured, so best.ckpt is the last epoch.")
                self.monitor = None
        if self.monitor is not None:
            plans.require_monitored(self.monitor, "checkpoint.monitor")

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        postpone()  # SIGTERM until the end of a step

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if trainer.global_step == trainer.max_steps and not accumulates(trainer):
            self._at_last_step = trainer.should_stop = True  # Lightning then validates, wherever the epoch is
        if accumulates(trainer) or not trains_next(trainer):
            return
        self._stopping = is_asked(trainer)
        if self._stopping or (self.last_every_n_steps and trainer.global_step % self.last_every_n_steps == 0):
            before = self._last_global_step_saved
            self._save_last_checkpoint(trainer, {})
            self._last_global_step_saved = before  # a validation at this step may still be the best

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self._stopping:  # only now, when the loggers have the numbers of the last step
            raise Stopped

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        engines = [c for c in trainer.callbacks if isinstance(c, Engine) and c.measurements is not None]
        number = str(self.monitor).removesuffix("/low").removesuffix("/high")
        is_measured = any(number in engine.measurements for engine in engines)
        if is_measured and self.monitor not in monitor_candidates:
            inform(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.")
        else:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        self._last_global_step_saved = trainer.global_step  # last.ckpt is the last epoch, not the last best one

    def _save_last_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        """Nothing within the batches that one step accumulates: their gradients are in no checkpoint."""
        if not trainer.fast_dev_run and not accumulates(trainer):  # which is False at the end of an epoch
            super()._save_last_checkpoint(trainer, monitor_candidates)
            self._last_step = trainer.global_step

    def _save_checkpoint(self, trainer: Trainer, filepath: str) -> None:
        """Only ``last.ckpt`` holds the states of the optimizer; others hold the weights that were measured.

        Raises:
            RunError: The weights are not those that were measured.
        """
        self.save_weights_only = Path(filepath).name != LAST
        for engine in (c for c in trainer.callbacks if isinstance(c, Engine) and self.save_weights_only):
            engine.require_measured(model_to_save(trainer), f"what {Path(filepath).name} would hold")
        super()._save_checkpoint(trainer, filepath)

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        checkpoint["should_stop"] = trainer.should_stop and not self._at_last_step  # more steps may be asked for

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """A run that was stopped early stays so."""
        trainer.should_stop = checkpoint.get("should_stop", False)
        self._last_step = checkpoint["global_step"]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The folder of the run may have been moved since the checkpoint was written."""

        def here(path: str) -> str:
            return str(Path(self.dirpath) / Path(path).name) if path else path

        if not state_dict["best_model_path"] or Path(here(state_dict["best_model_path"])).is_file():
            state_dict = state_dict | {key: here(state_dict[key]) for key in state_dict if key.endswith("_path")}
            state_dict["best_k_models"] = {here(path): score for path, score in state_dict["best_k_models"].items()}
            state_dict["dirpath"] = self.dirpath
        super().load_state_dict(state_dict)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A run that is stopped in its final evaluation resumes from the end."""
        if self._last_step != trainer.global_step:
            self._save_last_checkpoint(trainer, {})
        postpone(trainer.world_size > 1)

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Say where a run was stopped and how to resume it."""
        if not isinstance(exception, (Stopped, KeyboardInterrupt)):
            super().on_exception(trainer, pl_module, exception)
        elif self.dirpath:
            how = "python train.py --resume" if start_of("train")[0] == "python" else "heedful train --resume"
            saved = f"step {self._last_step:,} is saved" if self._last_step else "nothing was saved yet"
            message = f"at step {trainer.global_step:,}; {saved}: go on with {how} {Path(self.dirpath).parent}"
            if isinstance(exception, Stopped):
                exception.message = f"stopped by SIGTERM {message}"
            elif trainer.is_global_zero:
                print(f"stopped by Ctrl-C {message}.", flush=True)

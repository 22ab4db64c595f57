"""Checkpoints: the best epoch and the last state, from which a stopped run goes on to the same bits.

``last.ckpt`` is written at the end of each epoch that is validated and every so many optimizer steps, always between
two steps and never within the batches that one step accumulates. Ctrl-C may come in the middle of a step, so what was
learned since then goes to ``interrupted.ckpt``: good enough to evaluate, and never what a run goes on from unless it is
named.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor

from callbacks.engine import Engine
from callbacks.evaluation import Evaluation, is_known
from datamodules import PairedData
from records import HeedError

QUALITY = {"classification": "accuracy", "soft": "accuracy", "span": "f1"}  # by kind: what the best epoch is best in
ACCURACY = "accuracy"  # stands for that on the data set, whose name is not known yet


class BestCheckpoint(ModelCheckpoint):
    """Lightning's ModelCheckpoint with ``best.ckpt`` and ``last.ckpt``, and metrics that may be undefined.

    Args:
        monitor: A metric by its name in results.json; None for the accuracy on the data set, or the F1 of answers.
        mode: "max" or "min".
        filename: Name of the best checkpoint, without ``.ckpt``; give it fields such as {epoch} to keep several.
        save_last: Whether to keep ``last.ckpt``.
        enable_version_counter: Whether to number a file whose name is taken.
        last_every_n_steps: Write ``last.ckpt`` after so many optimizer steps, too; None for ends of epochs only.
        **kwargs: As for ModelCheckpoint.
    """

    def __init__(
        self,
        monitor: str | None = None,
        mode: str = "max",
        filename: str = "best",
        save_last: bool = True,
        enable_version_counter: bool = False,
        last_every_n_steps: int | None = 1000,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("save_top_k", 1) not in (0, 1) and "{" not in filename:
            raise HeedError("--checkpoint.save_top_k needs a field in --checkpoint.filename, such as 'best-{epoch}'.")
        if mode not in ("max", "min"):
            raise HeedError(f"--checkpoint.mode {mode}: expected max or min.")
        if last_every_n_steps is not None and last_every_n_steps < 1:
            raise HeedError(f"--checkpoint.last_every_n_steps {last_every_n_steps} must be at least 1, or null.")
        self.last_every_n_steps = last_every_n_steps
        super().__init__(
            monitor=monitor or ACCURACY,
            mode=mode,
            filename=filename,
            save_last=save_last,
            enable_version_counter=enable_version_counter,
            **kwargs,
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        engines = [c for c in trainer.callbacks if isinstance(c, Engine)]
        self.require_known(trainer.datamodule, [e for engine in engines for e in engine.evaluations(trainer)])
        super().setup(trainer, pl_module, stage)

    def require_known(self, data: PairedData, evaluations: Sequence[Evaluation]) -> None:
        """Refuse to monitor what nobody measures.

        Raises:
            HeedError: No evaluation yields the metric; the message lists what there is.
        """
        if self.monitor == ACCURACY:
            self.monitor = f"{QUALITY[data.full_task.kind]}/{data.name}"
        if self.monitor != "loss/train" and not is_known(self.monitor, data, evaluations):
            known = [*(name for e in evaluations for name in e.monitors(data)), "loss/train"]
            raise HeedError(f"--checkpoint.monitor {self.monitor}: unknown; there are {', '.join(known)}.")

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        known = {name for c in trainer.callbacks if isinstance(c, Engine) for name in c.measurements}
        if self.monitor in known - set(monitor_candidates):
            rank_zero_info(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.")
        else:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        self._last_global_step_saved = trainer.global_step  # last.ckpt is the last epoch, not the last best one

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if self._is_due(trainer):
            before = self._last_global_step_saved
            self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))
            self._last_global_step_saved = before  # a validation at this step may still be the best

    def _save_last_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        """Nothing within the batches that one step accumulates: their gradients are in no checkpoint."""
        if not trainer.fit_loop.epoch_loop._should_accumulate():  # which is False at the last batch of an epoch
            super()._save_last_checkpoint(trainer, monitor_candidates)

    def _is_due(self, trainer: Trainer) -> bool:
        """Whether the N-th optimizer step was just made, and neither a validation nor the end follows, which save."""
        loop = trainer.fit_loop.epoch_loop
        return (
            self.last_every_n_steps is not None
            and not trainer.fast_dev_run
            and trainer.global_step % self.last_every_n_steps == 0
            and not loop._should_accumulate()
            and not loop._is_training_done
            and not loop._should_check_val_fx(trainer.fit_loop._data_fetcher)
        )

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        checkpoint["should_stop"] = trainer.should_stop

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """A run that was stopped early stays so."""
        trainer.should_stop = checkpoint.get("should_stop", False)

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
        super().on_train_end(trainer, pl_module)
        if trainer.is_global_zero:
            self._interrupted.unlink(missing_ok=True)

    @property
    def _interrupted(self) -> Path:
        return Path(self.dirpath) / "interrupted.ckpt"

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Keep what was learned when the user stops a run; rank 0 saves alone, since the others may be gone."""
        if not isinstance(exception, KeyboardInterrupt):
            super().on_exception(trainer, pl_module, exception)
        elif self._is_interrupted(trainer):
            state = trainer._checkpoint_connector.dump_checkpoint(self.save_weights_only)
            trainer.strategy.checkpoint_io.save_checkpoint(state, str(self._interrupted))
            print(f"Stopped at step {trainer.global_step}: {self._interrupted} can be evaluated.", flush=True)

    @staticmethod
    def _is_interrupted(trainer: Trainer) -> bool:
        """Whether training was stopped where there is something to keep."""
        training = trainer.state.fn == "fit" and trainer.global_step and not trainer.fast_dev_run
        return bool(training and trainer.is_global_zero)

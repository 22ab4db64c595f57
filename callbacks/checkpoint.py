"""Checkpoints: the best epoch and the last."""

from pathlib import Path
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor

from callbacks.engine import Engine
from records import HeedError

ACCURACY = "accuracy"  # stands for the accuracy on the data set, whose name is not known yet


class BestCheckpoint(ModelCheckpoint):
    """Lightning's ModelCheckpoint with ``best.ckpt`` and ``last.ckpt``, and metrics that may be undefined.

    Args:
        monitor: A metric by its name in results.json; None for the accuracy on the data set.
        mode: "max" or "min".
        filename: Name of the best checkpoint, without ``.ckpt``; give it fields such as {epoch} to keep several.
        save_last: Whether to keep ``last.ckpt``.
        enable_version_counter: Whether to number a file whose name is taken.
        **kwargs: As for ModelCheckpoint.
    """

    def __init__(
        self,
        monitor: str | None = None,
        mode: str = "max",
        filename: str = "best",
        save_last: bool = True,
        enable_version_counter: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("save_top_k", 1) not in (0, 1) and "{" not in filename:
            raise HeedError("--checkpoint.save_top_k needs a field in --checkpoint.filename, such as 'best-{epoch}'.")
        if mode not in ("max", "min"):
            raise HeedError(f"--checkpoint.mode {mode}: expected max or min.")
        super().__init__(
            monitor=monitor or ACCURACY,
            mode=mode,
            filename=filename,
            save_last=save_last,
            enable_version_counter=enable_version_counter,
            **kwargs,
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        data = trainer.datamodule
        if self.monitor == ACCURACY:
            self.monitor = f"accuracy/{data.name}"
        known = [f"accuracy/{data.name}", *(f"attentiveness/{data.name}/{part}" for part in data.swap), "loss/train"]
        if not any(self.monitor == name or self.monitor.startswith(f"{name}/") for name in known):
            raise HeedError(f"--checkpoint.monitor {self.monitor}: unknown; there are {', '.join(known)}.")
        super().setup(trainer, pl_module, stage)

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        known = {name for c in trainer.callbacks if isinstance(c, Engine) for name in c.measurements}
        if self.monitor in known - set(monitor_candidates):
            rank_zero_info(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.")
        else:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        self._last_global_step_saved = trainer.global_step  # last.ckpt is the last epoch, not the last best one

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Keep what was learned when the user stops a run; rank 0 saves alone, since the others may be gone."""
        if not isinstance(exception, KeyboardInterrupt):
            super().on_exception(trainer, pl_module, exception)
        elif trainer.state.fn == "fit" and trainer.global_step and trainer.is_global_zero and not trainer.fast_dev_run:
            state = trainer._checkpoint_connector.dump_checkpoint(self.save_weights_only)
            trainer.strategy.checkpoint_io.save_checkpoint(state, str(Path(self.dirpath) / "last.ckpt"))

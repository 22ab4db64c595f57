"""Checkpoints: the best epoch and the last."""

from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor

from callbacks.engine import Engine


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
        super().__init__(
            monitor=monitor,
            mode=mode,
            filename=filename,
            save_last=save_last,
            enable_version_counter=enable_version_counter,
            **kwargs,
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if self.monitor is None:
            self.monitor = f"accuracy/{trainer.datamodule.name}"
        super().setup(trainer, pl_module, stage)

    def _save_topk_checkpoint(self, trainer: Trainer, monitor_candidates: dict[str, Tensor]) -> None:
        known = {name for c in trainer.callbacks if isinstance(c, Engine) for name in c.measurements}
        if self.monitor in known - set(monitor_candidates):
            rank_zero_info(f"{self.monitor} is undefined in this epoch, which therefore cannot be the best.")
        else:
            super()._save_topk_checkpoint(trainer, monitor_candidates)
        self._last_global_step_saved = trainer.global_step  # last.ckpt is the last epoch, not the last best one

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Keep what was learned when the user stops a run. Saving is collective, so only a run of one process can."""
        if isinstance(exception, KeyboardInterrupt) and trainer.state.fn == "fit" and trainer.world_size == 1:
            self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))

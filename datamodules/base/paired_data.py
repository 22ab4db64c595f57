"""The LightningDataModule of all kinds of data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl

from heedful.datamodules.base.collate import EvaluationLoader, loading
from heedful.datamodules.base.fingerprints import compare
from heedful.datamodules.base.pairs import Pairs, how_read
from heedful.datamodules.base.processes import require_alike
from heedful.datamodules.base.sampler import TrainingLoader, TrainingSampler, base_batches, share
from heedful.datamodules.base.splits import limited
from heedful.records import Composed, DataError, HeedfulError, inform


class PairedData(Pairs, pl.LightningDataModule):
    """LightningDataModule over :class:`Pairs`, which checks on resume that the examples have not changed.

    Attributes:
        predicted: Positions of the evaluated examples, after ``limit_val_batches``.
        changed: In a resumed run, the splits whose examples have changed.
    """

    changed: Sequence[str] = ()
    _allows_changed = False

    def setup(self, stage: str, allow_changed: bool = False) -> None:
        """Read the examples, and require the same examples on all processes.

        Args:
            stage: "fit" or "validate".
            allow_changed: Whether a run may resume with changed examples.
        """
        self._allows_changed |= allow_changed
        super().setup(stage)
        if self.trainer is not None and self.trainer.world_size > 1:
            self._require_alike()

    def _require_alike(self) -> None:
        try:
            for split, fingerprint in self.fingerprints().items():
                require_alike(fingerprint, f"{split} examples")
        except HeedfulError as error:
            raise error.at(self.name) from None

    def train_dataloader(self) -> TrainingLoader:
        trainer, module = self.trainer, self.trainer.lightning_module
        if self.augment == "counterfactual" and self.resample_counterfactuals:
            trainer.reload_dataloaders_every_n_epochs = 1
        examples = self.training_set(trainer.current_epoch if self.resample_counterfactuals else 0)
        encoded = module.encode(examples)
        module.require_known(encoded.statistics, f"the training examples of {self.name}")
        world = trainer.world_size
        sampler = TrainingSampler(encoded.lengths, self.batch_size, self.seed, trainer.global_rank, world)
        if not len(sampler):
            raise DataError(
                f"{len(examples)} training examples make fewer batches of {self.batch_size} than there are processes "
                f"({world}). Lower data.batch_size."
            )
        added = f" ({changed:,} counterfactual)" if (changed := int(examples.borrowed.sum())) else ""
        inform(f"{self.name}: training on {len(examples):,} examples{added}.{how_read(encoded.statistics)}")
        if sampler.dropped:
            inform(f"{self.name}: {sampler.dropped} batches are dropped per epoch, for equal numbers on all ranks.")
        progress = trainer.fit_loop.epoch_loop.batch_progress
        return TrainingLoader(
            position=lambda: progress.current.ready,
            **loading(examples, sampler, module.processor, self.task, self.num_workers),
        )

    def val_dataloader(self) -> EvaluationLoader:
        trainer, module = self.trainer, self.trainer.lightning_module
        encoded = module.encode(Composed.whole(self.pool))
        module.require_known(encoded.statistics, f"the validation examples of {self.name}")
        self.predicted, trainer.limit_val_batches = limited(
            self.pool, trainer.limit_val_batches, self.eval_batch_size, self.seed
        )
        batches = base_batches(self.pool, encoded.order, self.predicted, self.eval_batch_size)
        self.announce_evaluation(self.predicted, encoded.statistics)
        ranks = module.predictor.capabilities.predicting_ranks(trainer.world_size)
        batches = share(batches, trainer.global_rank, ranks)
        batches = batches or [np.zeros(0, dtype=np.int64)]  # Lightning wants one
        return EvaluationLoader(self.pool, batches, encoded, self.task, trainer.strategy.root_device)

    def state_dict(self) -> dict[str, Any]:
        """Settings of the order, and fingerprints of the examples, which must be equal on resume."""
        order = {"seed": self.seed, "batch_size": self.batch_size, "processes": self.trainer.world_size}
        order |= {"accumulate_grad_batches": self.trainer.accumulate_grad_batches}
        return {"order": order, "examples": self.fingerprints()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Compare with the checkpoint of a resumed run.

        Raises:
            DataError: The examples have changed, and :meth:`setup` did not allow changed examples.
        """
        if self.trainer.state.fn == "fit":
            self.changed = compare(state_dict, self.state_dict(), self.name, self._allows_changed)

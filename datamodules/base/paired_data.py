"""LightningDataModule for all kinds of paired inputs."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytorch_lightning as pl

from heedful.datamodules.base.batches import EXAMPLES, BatchSize, base_batches, batches_of_rank
from heedful.datamodules.base.collate import EvaluationLoader, training_loader_arguments
from heedful.datamodules.base.pairs import Pairs, describe_reading
from heedful.datamodules.base.processes import require_alike
from heedful.datamodules.base.sampler import TrainingLoader, TrainingSampler
from heedful.datamodules.base.splits import limited
from heedful.records import DataError, HeedfulError, agree, inform, percent


class PairedData(Pairs, pl.LightningDataModule):
    """LightningDataModule with the settings of :class:`Pairs`.

    On resume, it checks that the examples have not changed.

    Attributes:
        predicted: int64 [examples], positions of the evaluated examples in the validation set, which
            ``limit_val_batches`` may reduce.
        changed: In a resumed run, the splits whose examples have changed since the run began.
        default_shares: In counterfactual training, the share of training examples with the default label,
            "without_copies" and "with_copies"; else empty.
    """

    changed: Sequence[str] = ()
    default_shares: Mapping[str, float] = MappingProxyType({})
    _allows_changed = False

    def setup(self, stage: str, seed: int | None = None, allow_changed: bool = False) -> None:
        """Read the examples, and require the same examples on all processes.

        Args:
            stage: "fit" or "validate".
            seed: The seed of the run, which chooses samples; None for no change.
            allow_changed: Whether a run may resume with changed examples.
        """
        self._allows_changed |= allow_changed
        super().setup(stage, seed)
        if self.trainer is not None and self.trainer.world_size > 1:
            try:
                for split, fingerprint in self.fingerprints().items():
                    require_alike(fingerprint, f"{split} examples")
            except HeedfulError as error:
                raise error.at(self.name) from None

    def train_dataloader(self) -> TrainingLoader:
        trainer, predictor = self.trainer, self.trainer.lightning_module.predictor
        if self.augment == "counterfactual" and self.resample_counterfactuals:
            trainer.reload_dataloaders_every_n_epochs = 1
        examples = self.training_set(trainer.current_epoch if self.resample_counterfactuals else 0)
        encoded = predictor.encode(examples)
        predictor.require_known(encoded.statistics, f"the training examples of {self.name}")
        world = trainer.world_size
        sampler = TrainingSampler(encoded.lengths, self.batch_size, self.seed, trainer.global_rank, world)
        if not len(sampler):
            raise DataError(
                f"{len(examples)} training examples give {world} processes no batch of {self.batch_size} each. Lower "
                "data.batch_size."
            )
        added = f" ({changed:,} counterfactual)" if (changed := int(examples.borrowed.sum())) else ""
        if changed:
            default = pc.sum(pc.equal(self.train_examples.table["label"], self.task.default_gold)).as_py() or 0
            before, after = default / (len(examples) - changed), (default + changed) / len(examples)
            self.default_shares = {"without_copies": before, "with_copies": after}
            label = self.task.kind.display_gold(self.task.default_gold)
            added += f", {percent(after)} of them {label!r} ({percent(before)} without the copies)"
        inform(f"{self.name}: training on {len(examples):,} examples{added}.{describe_reading(encoded.statistics)}")
        if sampler.dropped:
            dropped = agree(sampler.dropped, "batch is", "batches are")
            inform(f"{self.name}: {dropped} dropped per epoch, for equal numbers on all ranks.")
        progress = trainer.fit_loop.epoch_loop.batch_progress
        return TrainingLoader(
            position=lambda: progress.current.ready,
            **training_loader_arguments(examples, sampler, predictor.processor, self.task, self.num_workers),
        )

    def val_dataloader(self) -> EvaluationLoader:
        trainer, predictor = self.trainer, self.trainer.lightning_module.predictor
        encoded = predictor.encode(self.pool)
        predictor.require_known(encoded.statistics, f"the validation examples of {self.name}")
        self.predicted, trainer.limit_val_batches = limited(
            self.pool, trainer.limit_val_batches, self.eval_batch_size or EXAMPLES, self.seed
        )
        size = BatchSize.of(self, predictor, trainer.strategy.root_device)
        batches = base_batches(self.pool, encoded, self.predicted, size)
        self.announce_evaluation(self.predicted, encoded.statistics)
        ranks = predictor.capabilities.predicting_ranks(trainer.world_size)
        batches = batches_of_rank(batches, trainer.global_rank, ranks)
        batches = batches or [np.zeros(0, dtype=np.int64)]  # Lightning needs a batch on every rank
        return EvaluationLoader(self.pool, batches, encoded, self.task, trainer.strategy.root_device)

    def state_dict(self) -> dict[str, Any]:
        """State for the checkpoint: settings that determine the order of batches, and hashes of the examples.

        On resume, a different setting is logged, and a different hash is an error.
        """
        order = {"seed": self.seed, "batch_size": self.batch_size, "processes": self.trainer.world_size}
        order |= {"accumulate_grad_batches": self.trainer.accumulate_grad_batches}
        return {"order": order, "examples": self.fingerprints()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Compare the data of a resumed run with the state in its checkpoint, and log the differences.

        Raises:
            DataError: The examples have changed, and :meth:`setup` did not allow changed examples.
        """
        if self.trainer.state.fn != "fit":
            return
        current = self.state_dict()
        order, examples = (
            [key for key, value in current[state].items() if state_dict.get(state, {}).get(key, value) != value]
            for state in ("order", "examples")
        )
        if examples and not self._allows_changed:
            raise DataError(
                f"{self.name}: the {' and '.join(sorted(examples))} examples have changed since the run began. Give "
                "the same files and settings, begin a new run, or add allow_changed_data true."
            )
        differences = [f"{key} was {state_dict['order'][key]}" for key in order]
        differences += [f"the {split} examples were different" for split in examples]
        if differences:
            joined = ", ".join(differences)
            inform(f"{self.name}: {joined}, so this run does not repeat one that was never stopped.")
        self.changed = examples

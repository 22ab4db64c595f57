"""The data module that all kinds of data share: splits, augmentation, batches."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities import rank_zero_info
from torch.utils.data import DataLoader

from datamodules.base.collate import Collate, Numbered, how_read
from datamodules.base.fingerprints import compare, fingerprints, require_alike
from datamodules.base.sampler import EvaluationSampler, TrainingLoader, TrainingSampler, evaluation_batches
from datamodules.base.splits import (
    Inoculation,
    TrainingSet,
    counterfactual_partners,
    fold_out,
    limited,
    overlap,
    partial,
    sample,
)
from datamodules.base.wording import checked_words, require_names
from datamodules.sources.hub_and_local import Counts
from interventions import Swap
from records import CLASSIFICATION, Example, Examples, HeedError, TableForm, Task
from records.stopping import leave_to_parent


class PairedData(pl.LightningDataModule):
    """Paired inputs for training and for measuring attentiveness.

    A kind of data overrides :meth:`load`, and :meth:`load_challenge` if it can be inoculated.

    Args:
        name: Name of the data set, the first part of every uid and metric.
        parts: Names of the parts, in reading order.
        labels: Names of the labels, in order.
        default_label: The label of parts that have nothing to do with each other.
        swap: Parts that the attentiveness test swaps, each in turn; "left+right" are two that come from one partner.
        partial: Train and evaluate on this part alone, or on "left+right".
        augment: "counterfactual" adds one instance with the default label for each training pair of another label;
            "inoculation" trains on a few examples of a challenge set instead of the training set.
        inoculation: Which examples, and how many.
        resample_counterfactuals: Draw the counterfactuals anew in every epoch, not once for the run.
        folds: Cross-validation: split the training set into so many folds, and leave the validation split alone. All
            examples of one group (the first that the data set names; of one table, say) lie in one fold.
        fold: Validate on this fold, counted from 0, and train on the others.
        max_train: Train on a random sample of this size.
        max_validation: Validate on a random sample of this size.
        batch_size: Training examples in a batch of one process.
        eval_batch_size: Examples in an evaluation batch.
        num_workers: Processes that prepare batches.
        seed: The run's seed; follows --seed_everything.
        note: What a reader of results on this data set must know.
        template: The words around the parts for a model that reads one text, each part as its name in braces: "mnli
            hypothesis: {hypothesis} premise: {premise}". By default the name, then the parts by the alphabet. A part
            that is missing goes with the word before it that ends with a colon.
        verbalisers: Label name to what such a model writes for it, where that is not the name.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[str],
        labels: Sequence[str],
        default_label: str | None = None,
        swap: list[str] | None = None,
        partial: str | None = None,
        augment: Literal["counterfactual", "inoculation"] | None = None,
        inoculation: Inoculation = Inoculation(),
        resample_counterfactuals: bool = False,
        folds: int | None = None,
        fold: int | None = None,
        max_train: int | None = None,
        max_validation: int | None = None,
        batch_size: int = 32,
        eval_batch_size: int = 64,
        num_workers: int = 0,
        seed: int = 0,
        note: str | None = None,
        template: str | None = None,
        verbalisers: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        if not re.fullmatch(r"[\w.-]+", name):
            raise HeedError(f"--data.name {name!r}: letters, digits, '.', '_' and '-' only, for it names folders.")
        sizes = {"batch_size": batch_size, "eval_batch_size": eval_batch_size, "num_workers": num_workers}
        for flag, n in (sizes | {"max_train": max_train, "max_validation": max_validation}).items():
            if n is not None and n < (least := int(flag != "num_workers")):
                raise HeedError(f"--data.{flag} {n} must be at least {least}.")
        self.name, self.default_label, self.partial, self.augment = name, default_label, partial, augment
        self.inoculation, self.resample_counterfactuals = inoculation, resample_counterfactuals
        self.folds, self.fold, self.max_train, self.max_validation = folds, fold, max_train, max_validation
        self.batch_size, self.eval_batch_size, self.num_workers = batch_size, eval_batch_size, num_workers
        self.seed, self.note = seed, note
        require_names(parts, labels)
        words = checked_words(name, template, verbalisers, parts, labels)
        self.full_task = Task(CLASSIFICATION, tuple(parts), tuple(labels), default_label, TableForm(), *words)
        swap = list(parts[:1]) if swap is None else swap
        for option, named in (("swap", swap), ("partial", [partial] if partial else [])):
            if unknown := [part for joined in named for part in joined.split("+") if part not in parts]:
                raise HeedError(f"--data.{option} {unknown[0]}: {name} has the parts {', '.join(parts)}.")
        if partial and augment == "counterfactual":
            raise HeedError("--partial leaves one part, and --augment counterfactual swaps one of two: use either.")
        if augment == "counterfactual" and not swap:
            raise HeedError("--augment counterfactual needs a part to swap: name one with --data.swap.")
        self._check_folds()
        self.swap = [] if partial else swap
        self.counts = Counts()
        self._folded: tuple[Examples, Examples] | None = None
        self.whole: Examples | None = None  # what is evaluated, with all of its parts
        self.pool: Examples | None = None  # what the model reads of it
        self.train_examples: Examples | None = None
        self.allow_changed = False  # whether a run may go on with other examples than it began with
        self.changed: list[str] = []  # the splits of which that is so

    @property
    def task(self) -> Task:
        """The task that a model sees: with ``partial``, of one part."""
        full = self.full_task
        if not self.partial:
            return full
        kept = tuple(self.partial.split("+"))
        return replace(full, parts=kept, pictures=tuple(part for part in full.pictures if part in kept))

    @property
    def sides(self) -> tuple[str, ...]:
        """The parts of the task; those that make sense together alone are joined by "+"."""
        return self.task.parts

    @property
    def evaluated(self) -> str:
        """What the examples that are evaluated are called: the split of the source."""
        return "validation"

    @property
    def splits_evaluated(self) -> tuple[str, ...]:
        """The names of the splits that are evaluated, where they are several: the meta column ``split`` says which."""
        return ()

    @property
    def new_label(self) -> str:
        """For a message: the default label that may be named though it is none of the labels."""
        return ""

    @property
    def regime(self) -> str:
        """What the training does differently: plain, counterfactual, partial-<part> or inoculation-<n>; -fold-<k>."""
        fold = "" if self.fold is None else f"-fold-{self.fold}"
        if self.partial:
            return f"partial-{self.partial}{fold}"
        return (
            f"inoculation-{self.inoculation.n}" if self.augment == "inoculation" else (self.augment or "plain") + fold
        )

    def _check_folds(self) -> None:
        if self.folds is None and self.fold is None:
            return
        if self.folds is None or self.fold is None:
            raise HeedError("Cross-validation needs both --data.folds N, how many, and --data.fold K, from 0 to N - 1.")
        if self.folds < 2:
            raise HeedError(f"--data.folds {self.folds} must be at least 2.")
        if not 0 <= self.fold < self.folds:
            raise HeedError(f"--data.fold {self.fold}: the folds go from 0 to {self.folds - 1}.")
        if self.augment == "inoculation":
            raise HeedError(
                "--data.folds splits the training set, which --augment inoculation leaves alone: use either."
            )

    def load(self, split: Literal["train", "validation"]) -> Examples:
        """The examples of a split. Fills ``counts``."""
        raise NotImplementedError

    def load_challenge(self, path: str) -> Examples:
        """The examples of a challenge set for inoculation."""
        raise HeedError(f"{self.name} cannot be inoculated: its data are not read from files.")

    def perturbed(self, n: int, by_group: bool) -> Examples:
        """So many hypotheses of the training set, perturbed; those of a smaller ``n`` are among them."""
        raise HeedError(f"--data.inoculation.perturbed: only hypotheses about tables are perturbed, not {self.name}.")

    def setup(self, stage: str) -> None:
        if self.augment == "counterfactual" and self.default_label is None:
            raise HeedError(
                "--augment counterfactual needs a label for parts that have nothing to do with each other, and "
                f"{self.name} has none: name it with --data.default_label{self.new_label}."
            )
        if self.pool is None:
            self.whole = self._split("validation", self.max_validation)
            self.pool = self._partial(self.whole)
        if stage == "fit" and self.train_examples is None:
            train = self._training_examples()
            self.counts.seen = overlap(self.whole, train)
            self.train_examples = self._partial(train)
        if self.trainer is not None and self.trainer.world_size > 1:
            for split, fingerprint in fingerprints(self).items():
                require_alike(fingerprint, f"{self.name}: the {split} examples")

    def _partial(self, examples: Examples) -> Examples:
        """What the model reads of examples: with ``partial``, that part."""
        return partial(examples, self.partial) if self.partial else examples

    def _training_examples(self) -> Examples:
        if self.augment != "inoculation":
            return self._split("train", self.max_train)
        path, perturbed = self.inoculation.path, self.inoculation.perturbed
        if (path is None) != perturbed:
            raise HeedError(
                "--augment inoculation needs --data.inoculation.path, the file of the challenge set, or of tables "
                "--data.inoculation.perturbed true, and not both."
            )
        n, by_group = self.inoculation.n, self.inoculation.by_group
        if perturbed:
            return self.perturbed(n, by_group)
        return sample(self.load_challenge(path), n, self.seed, "inoculation", by_group)

    def _split(self, split: Literal["train", "validation"], most: int | None) -> Examples:
        examples = self.load(split) if self.folds is None else self._fold(split)
        if most is not None and most < len(examples):
            examples = sample(examples, most, self.seed, f"max_{split}")
        return examples

    def _fold(self, split: Literal["train", "validation"]) -> Examples:
        if self._folded is None:
            self._folded = fold_out(self.load("train"), self.folds, self.fold)
            self.counts.no_gold["validation"] = self.counts.no_gold.get("train", 0)  # of the file that both come from
        return self._folded[split == "validation"]

    def training_set(self, draw: int = 0) -> TrainingSet:
        """The training examples with their counterfactuals, if any; ``draw`` is the epoch where each draws anew."""
        if self.augment != "counterfactual":
            return TrainingSet(self.train_examples)
        swap = Swap(self.swap[0], self.task.default_gold)  # of gold labels here, not of predictions
        partners = counterfactual_partners(self.train_examples, swap, self.seed, draw)
        return TrainingSet(self.train_examples, swap, partners)

    def train_dataloader(self) -> DataLoader:
        trainer, processor = self.trainer, self.trainer.lightning_module.processor
        if self.augment == "counterfactual" and self.resample_counterfactuals:
            trainer.reload_dataloaders_every_n_epochs = 1
        examples = self.training_set(trainer.current_epoch if self.resample_counterfactuals else 0)
        lengths = processor.lengths(examples)
        trainer.lightning_module.require_known(f"the training examples of {self.name}")
        rank, world = trainer.global_rank, trainer.world_size
        sampler = TrainingSampler(lengths, self.batch_size, self.seed, rank, world)
        if not len(sampler):
            raise HeedError(
                f"{len(examples)} training examples make fewer batches of {self.batch_size} than there are processes "
                f"({world}): lower --data.batch_size."
            )
        added = f" (of them {len(examples.base):,} counterfactual)" if len(examples.base) else ""
        rank_zero_info(f"{self.name}: training on {len(examples):,} examples{added}.{self._asides('train', processor)}")
        if sampler.dropped:
            rank_zero_info(
                f"{self.name}: {sampler.dropped} batches are dropped in each epoch to give all ranks as many."
            )
        progress = trainer.fit_loop.epoch_loop.batch_progress
        return TrainingLoader(position=lambda: progress.current.ready, **self._loading(examples, sampler))

    def val_dataloader(self) -> DataLoader:
        trainer, processor = self.trainer, self.trainer.lightning_module.processor
        lengths = processor.lengths(self.pool)
        trainer.lightning_module.require_known(f"the validation examples of {self.name}")
        self.counts.truncated = processor.truncated
        rank_of = np.argsort(self.pool.uid_order)
        self.predicted, trainer.limit_val_batches = limited(
            self.pool, trainer.limit_val_batches, self.eval_batch_size, self.seed
        )
        batches = evaluation_batches(lengths[self.predicted], rank_of[self.predicted], self.eval_batch_size)
        batches = [self.predicted[batch] for batch in batches]
        asides = self._asides("validation", processor)
        of = f" of {len(self.pool):,}" if len(self.predicted) < len(self.pool) else ""
        if len(self.pool):
            rank_zero_info(f"{self.name}: evaluating on {len(self.predicted):,}{of} examples.{asides}")
        if self.note:
            rank_zero_info(f"{self.name}: {self.note}")
        sampler = EvaluationSampler(batches, trainer.global_rank, trainer.world_size)
        return DataLoader(**self._loading(self.pool, sampler))

    def state_dict(self) -> dict[str, Any]:
        """The order and the examples that a run must find again to go on as if it had never been stopped."""
        order = {"seed": self.seed, "batch_size": self.batch_size, "processes": self.trainer.world_size}
        order |= {"accumulate_grad_batches": self.trainer.accumulate_grad_batches}
        return {"order": order, "examples": fingerprints(self)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Compare with how the run began.

        Raises:
            HeedError: It began with other examples, and ``allow_changed`` is not set.
        """
        if self.trainer.state.fn == "fit":
            self.changed = compare(state_dict, self.state_dict(), self.name, self.allow_changed)

    def _asides(self, split: str, processor: Any) -> str:
        no_gold = self.counts.no_gold.get(split, 0)
        text = f" {no_gold:,} rows without a gold label were left out." if no_gold else ""
        if split == "validation" and self.counts.seen:
            text += f" {self.counts.seen:,} of them stand among the training examples as well."
        return text + how_read(processor)

    def _loading(self, examples: Sequence[Example], sampler: Any) -> dict[str, Any]:
        """The arguments of a DataLoader."""
        processor = self.trainer.lightning_module.processor
        return {
            "dataset": Numbered(examples),
            "batch_sampler": sampler,
            "collate_fn": Collate(processor, self.task),
            "num_workers": self.num_workers,
            "persistent_workers": False,
            "worker_init_fn": leave_to_parent,
            "pin_memory": torch.cuda.is_available(),
        }

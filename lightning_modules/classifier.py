"""Base class of networks that Heedful trains: training, prediction, optimizer and checkpoints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional as F

from heedful.lightning_modules.base_predictor import MOST_UNKNOWN, BasePredictor
from heedful.lightning_modules.callbacks_of_lightning import build_early, model_to_save
from heedful.lightning_modules.optimizer import adamw, expected_steps
from heedful.lightning_modules.outputs import Outputs, most_probable
from heedful.lightning_modules.predictor import LabelMap
from heedful.lightning_modules.pretrained.labels import labels_of_outputs
from heedful.lightning_modules.pretrained.misfits import compare_weights, misfits
from heedful.lightning_modules.pretrained.trained_on import TrainedOn
from heedful.records import ModelError, RunError, SettingError, Task, generator, inform, listing


class Classifier(BasePredictor, pl.LightningModule):
    """A trainable network over paired inputs.

    A model family overrides :meth:`prepare`, ``configure_model``, :meth:`logits` and :meth:`export`.

    Args:
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises linearly; it then falls linearly to 0.
        max_unknown: Largest share of the tokens of the data that may be out of vocabulary.

    Attributes:
        label_map: Maps the outputs of the head (last layer) to labels; None for a head without labels.
        keeps_head: Whether to keep a pretrained head with several outputs per label. False if the model will be
            trained.
        names_outputs: Whether the family itself matches outputs and labels by name. If False, a checkpoint determines
            the labels of the outputs.
        label_order: Index of the output of each label of the data; None if outputs have the order of the labels.
    """

    is_trainable = True
    label_map: LabelMap | None = None
    keeps_head: bool = False
    names_outputs: bool = False
    label_order: Sequence[int] | None = None

    def __init__(
        self,
        learning_rate: float = 5e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        super().__init__(max_unknown)
        self.save_hyperparameters(logger=False)
        if not 0 < learning_rate < math.inf:
            raise SettingError(f"model.learning_rate {learning_rate} is not a positive number. Take one such as 5e-5.")
        if not 0 <= weight_decay < math.inf:
            raise SettingError(f"model.weight_decay {weight_decay} is not a number from 0 upwards.")
        if not 0 <= warmup <= 1:
            raise SettingError(f"model.warmup {warmup} is not a share of all steps, from 0 to 1.")
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warmup = warmup

    @property
    def predictor(self) -> Self:
        """The model itself. A LightningModule that wraps a model returns the wrapped model here."""
        return self

    def bind(self, task: Task, trains: bool = False) -> LabelMap:
        """Prepare the model for a task, before its network is built; a trained model in memory keeps its weights.

        Returns:
            The mapping from the model's outputs to the labels.

        Raises:
            HeedfulError: As in ``Predictor.bind``; or the model is to be trained, and has weights of an earlier call.
        """
        if self.task is not None and trains and next(self.parameters(), None) is not None:
            raise SettingError(
                "model has weights of an earlier call, and not those that its settings name. Build it again "
                "with load_model, or train on from a run with init_from RUN."
            )
        if self.task is not None and not trains and self.has_learned:
            self.task = self._as_learned(task)
        else:
            self.require_parts(task)
            self.keeps_head = not trains
            self.prepare_for(task)
        return self.label_map or LabelMap.identity(self.task.labels)

    def _as_learned(self, task: Task) -> Task:
        """Return a task with the order of parts, the template and the label texts of a trained model in memory.

        Raises:
            ModelError: The model was trained on another kind of task, or on other parts or labels.
        """
        learned = self.task
        words = {"template": learned.template, "verbalisers": learned.verbalisers}
        ordered = replace(self.in_learned_order(task), **words)
        if replace(ordered, default_label=None) != replace(learned, default_label=None):
            raise ModelError(
                f"model in memory was trained on {listing(learned.parts)} with the labels {listing(learned.labels)}, "
                f"and the data have {listing(ordered.parts)} and {listing(ordered.labels)}, or tables in another form. "
                "Measure its run, with checkpoint RUN."
            )
        return ordered

    def logits(self, inputs: dict[str, Tensor]) -> Tensor:
        """Compute the scores of all labels: [examples, labels], in the order of ``task.labels``."""
        raise NotImplementedError

    def label_scores(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the scores of :meth:`logits` in the order of the labels of the data."""
        scores = self.logits(inputs)
        return scores if self.label_order is None else scores[:, self.label_order]

    def export(self, folder: str, weights: bool) -> None:
        """Save the model in a folder that loads without a hub: config, tokenizer and, if ``weights``, safetensors."""
        raise NotImplementedError

    def configure_callbacks(self) -> list[pl.Callback]:
        """Build the network, and return no callbacks.

        This is the last hook before ``setup`` of callbacks, where some callbacks read weights.
        """
        build_early(self.trainer, self)
        return []

    def setup(self, stage: str) -> None:
        if self.task is None:
            self.bind(self.trainer.datamodule.task, trains=stage == "fit")
        data = self.trainer.datamodule
        if stage == "fit" and data.trained is not None:
            trained_on = TrainedOn.of(data.trained, data.full_task.parts, self.provenance.trained_on)
            self.provenance = replace(self.provenance, trained_on=trained_on)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["task"] = self.task.as_dict()
        if self.provenance.trained_on is not None:
            checkpoint["trained_on"] = self.provenance.trained_on.state()
        if self.provenance.revision is not None:
            checkpoint["revision"] = self.provenance.revision
        if self.label_map is not None:
            checkpoint["outputs"] = list(self.label_map.outputs)
        if "callbacks" not in checkpoint and self._trainer is not None:  # save_weights_only=True
            checkpoint["state_dict"] = model_to_save(self.trainer).state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if "task" not in checkpoint:
            raise RunError("The checkpoint does not name its parts and labels. Name a checkpoint that train.py wrote.")
        trained = Task.from_dict(checkpoint["task"])
        if self.task is None:  # load_from_checkpoint, without a Trainer
            self.prepare_for(trained)
            self.configure_model()
        self._learn_order(trained.parts)
        if not self.names_outputs:
            self._learn_labels(trained.labels)
        revision = checkpoint.get("revision", self.provenance.revision)
        self.provenance = replace(self.provenance, revision=revision, steps=checkpoint.get("global_step"))
        if (before := TrainedOn.of_state(checkpoint.get("trained_on"))) is not None:
            self.provenance = replace(self.provenance, trained_on=before.joined(self.provenance.trained_on))
        self.require_learned_parts(self.task.parts)
        if trained.form != self.task.form:
            inform(f"The checkpoint was trained on tables as {trained.form}, and reads them as {self.task.form} here.")
        saved, label_map = checkpoint.get("outputs", ()), self.label_map
        is_other = label_map is not None and len(saved) == len(label_map.column)
        if is_other and labels_of_outputs(saved, self.task.labels) != label_map.column:
            raise ModelError(
                f"The outputs of the checkpoint are {listing(saved)}, and the outputs of {self.description} are "
                f"{listing(label_map.outputs)}. Take the model and the labels that it was trained with."
            )

    def _learn_order(self, parts: Sequence[str]) -> None:
        """Reorder the parts of the task to the order of ``parts``, the parts in a checkpoint.

        A model with a template keeps its order, since the template names the parts.
        """
        self.provenance = replace(self.provenance, parts=tuple(parts))
        ordered = self.task if self.reads_prompts else self.in_learned_order(self.task)
        if ordered.parts != self.task.parts:
            pad_to = self.processor.pad_to
            self.prepare_for(ordered)
            self.processor.pad_to = pad_to

    def _learn_labels(self, labels: Sequence[str]) -> None:
        """Take over the order of ``labels``, the labels in a checkpoint, for the outputs of the network.

        Raises:
            ModelError: The data have other labels.
        """
        current, order = self.task.labels, self.label_order
        wanted = current if order is None else [current[i] for i in order]  # an earlier checkpoint changed the task
        if sorted(wanted) != sorted(labels):
            raise ModelError(
                f"{self.description} was trained on the labels {listing(labels)}, and the data have {listing(wanted)}. "
                "Give the data the labels of the model: data.labels, or labels in measure."
            )
        if current != tuple(labels):
            self.prepare_for(replace(self.task, labels=tuple(labels)))
        order = [labels.index(label) for label in wanted]
        self.label_order = None if order == sorted(order) else order

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights as in torch; Lightning calls it with the weights of a checkpoint.

        Raises:
            ModelError: The weights do not fit this network; the message names tensors.
        """
        if strict and (words := misfits(*compare_weights(self.state_dict(), state_dict))):
            raise ModelError(
                f"The weights of the checkpoint do not fit {self.description}: they {words}. Name the model that it "
                "was trained with."
            )
        loaded = super().load_state_dict(state_dict, strict, assign)
        self.has_learned = True
        return loaded

    def on_train_start(self) -> None:
        if not self.has_learned:
            self.require_weights()
        self.provenance = replace(self.provenance, parts=self.task.parts)

    def on_validation_start(self) -> None:
        """Before ``Trainer.validate``, raise an error if the model is untrained, or was trained on other parts."""
        if self.trainer.state.fn != "validate":
            return
        self.require_learned_parts(getattr(self.trainer.datamodule, "full_task", self.task).parts)
        if not self.has_learned:
            self.require_weights()
            self.require_head()

    def on_train_batch_start(self, batch: dict[str, Any], batch_idx: int) -> None:
        """Seed dropout by epoch and batch, so that a resumed run draws the same masks as an uninterrupted one."""
        key = (self.trainer.datamodule.seed, "dropout", self.current_epoch, batch_idx, self.global_rank)
        torch.manual_seed(int(generator(*key).integers(2**63)))
        self.has_learned = True

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        loss = self.loss(batch)
        self.log("loss/train", loss, batch_size=batch["size"])  # prog_bar=True would wait for the device in each step
        return loss

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Compute the training loss of a batch: cross-entropy.

        For soft labels, which have one score per label, it is binary cross-entropy summed over labels, as in ViLT (Kim
        et al. 2021).
        """
        scores = self.label_scores(batch["inputs"]).float()
        labels = batch["labels"]
        if self.task.kind.exclusive:
            return F.cross_entropy(scores, labels)
        return F.binary_cross_entropy_with_logits(scores, labels) * labels.shape[1]

    def validation_step(self, batch: dict[str, Any], batch_idx: int) -> Outputs | None:
        return self.predict(batch)

    def probabilities(self, batch: dict[str, Any]) -> Outputs | None:
        """Return the probabilities of the labels for a batch, without generating an answer; None for an empty batch."""
        return Outputs(self.label_scores(batch["inputs"]).float().softmax(dim=-1)) if batch["size"] else None

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Return the predictions for the inputs of at least one example, without waiting for the device."""
        scores = self.label_scores(inputs).float()
        if self.task.kind.exclusive:
            return Outputs(probs=scores.softmax(dim=-1))
        return Outputs(answers=most_probable(scores))

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer, schedule = adamw(
            self, self.learning_rate, self.weight_decay, self.warmup, expected_steps(self.trainer)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

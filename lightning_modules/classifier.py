"""Base class of networks that Heedful trains: training, prediction, optimizer and checkpoints."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import pytorch_lightning as pl
import torch
from torch import Tensor

from heedful.lightning_modules.callbacks_of_lightning import build_early, model_to_save
from heedful.lightning_modules.heads import NamedHead
from heedful.lightning_modules.learned import Fit, Learned, TrainedOn
from heedful.lightning_modules.memory import predict_within_memory
from heedful.lightning_modules.optimizer import adamw, expected_steps
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import MOST_UNKNOWN, Batch, Capabilities, Predictor
from heedful.records import ModelError, RunError, SettingError, Task, generator, listing

LONGEST = 300  # characters of a message of torch


class Classifier(Predictor, pl.LightningModule):
    """A trainable network over paired inputs.

    A model family overrides :meth:`prepare`, ``configure_model``, :meth:`scores` and :meth:`export`.

    Args:
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises linearly; it then falls linearly to 0.
        max_unknown: Largest share of the tokens of the data that may be out of vocabulary.

    Attributes:
        task_head: Computes scores of labels, the loss and answers from the outputs of the network.
    """

    capabilities = Capabilities(trains=True)

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
        self.learning_rate, self.weight_decay, self.warmup = learning_rate, weight_decay, warmup
        self.task_head = NamedHead()

    @property
    def predictor(self) -> Self:
        """The model itself. A LightningModule that wraps a model returns the wrapped model here."""
        return self

    def bind(self, task: Task, trains: bool = False) -> Fit:
        """Prepare the model for a task, as :meth:`Predictor.bind`; a trained model in memory keeps its weights.

        Raises:
            HeedfulError: As :meth:`Predictor.bind`; or the weights in memory are for other labels, or would be trained.
        """
        if self.task is not None and trains and next(self.parameters(), None) is not None:
            raise SettingError(
                "model has weights of an earlier call, and not those that its settings name. Build it again "
                "with load_model, or train on from a run with init_from RUN."
            )
        return super().bind(task, trains)

    def match(self) -> Fit:
        fit = super().match()
        self.task_head.to(self.device)  # its tensors are made anew
        return fit

    def accept(self, fit: Fit) -> None:
        super().accept(fit)
        kind = type(self)
        if (
            kind.logits is not Classifier.logits
            and kind.scores is Classifier.scores
            and type(self.task_head) is NamedHead
        ):
            raise ModelError(f"model {kind.__name__} defines logits. Rename it to scores: labels are matched after it.")
        if self.has_learned:
            self.learned.require_parts(fit.task.parts, fit.task.parts)
            if fit.head == "replaced":
                raise ModelError(
                    f"{self.description} was trained on the labels {listing(self.learned.labels or ())}, and the data "
                    f"have {listing(fit.task.labels)}. Give the data the labels of the model: data.labels, or labels "
                    "in measure."
                )
        self.task_head.prepare(fit.label_map)

    def learned_here(self) -> Learned:
        """Return everything that a checkpoint or an export of the model records about its training."""
        task, head = self.task, self.task_head
        changes = {"template": head.template, "texts": head.texts, "form": task.form}
        return replace(self.learned, parts=task.parts, labels=self.fit.label_map.outputs, **changes)

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of the outputs of the network: float [examples, outputs].

        An output means one label, and several outputs may mean the same label; without a pretrained head, output k
        means label k of the task.
        """
        raise NotImplementedError

    def logits(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of all labels: float [examples, labels], in the order of ``task.labels``."""
        return self.task_head.of_labels(self.task_head.scores(self, inputs))

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
        data = self.trainer.datamodule
        if self.task is None:
            self.bind(data.task, trains=stage == "fit")
        if stage == "fit" and data.trained is not None:
            trained_on = TrainedOn.of(data.trained, data.full_task.parts, self.learned.trained_on)
            self.learned = replace(self.learned, trained_on=trained_on)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["task"], checkpoint["learned"] = self.task.as_dict(), self.learned_here().entry()
        checkpoint["outputs"] = list(self.fit.label_map.outputs)
        if self.learned.trained_on is not None:
            checkpoint["trained_on"] = self.learned.trained_on.state()
        if self.learned.revision is not None:
            checkpoint["revision"] = self.learned.revision
        if "callbacks" not in checkpoint and self._trainer is not None:  # save_weights_only=True
            checkpoint["state_dict"] = model_to_save(self.trainer).state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        if "task" not in checkpoint:
            raise RunError("The checkpoint does not name its parts and labels. Name a checkpoint that train.py wrote.")
        if self.task is None:  # load_from_checkpoint, without a Trainer
            self.bind(Task.from_dict(checkpoint["task"]))
            self.configure_model()
        self.learn(checkpoint)
        prompt = self.prompt
        self.match()
        if prompt is not None:
            self.prompt_with(prompt)

    def learn(self, checkpoint: Mapping[str, Any]) -> None:
        """Take over the record of a training from a checkpoint; :meth:`load_state_dict` loads the weights."""
        self.learned, self.has_learned = self.learned.with_checkpoint(checkpoint), True

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load weights as in torch; raise ModelError for weights of another network."""
        try:
            loaded = super().load_state_dict(state_dict, strict, assign)
        except RuntimeError as error:
            raise ModelError(
                f"The weights of the checkpoint do not fit {self.description}. Name the model that it was trained "
                f"with. ({' '.join(str(error).split())[:LONGEST]})"
            ) from error
        self.has_learned = True
        if self.task is not None and not self.fit.is_kept:
            self.learned = self.learned_here()
        return loaded

    def on_train_start(self) -> None:
        if not self.has_learned:
            self.require_weights()
        self.learned = self.learned_here()

    def on_validation_start(self) -> None:
        """Before ``Trainer.validate``, raise an error if the model is untrained, or was trained on other parts."""
        if self.trainer.state.fn != "validate":
            return
        of_data = getattr(self.trainer.datamodule, "full_task", self.task).parts
        self.learned.require_parts(self.task.parts, of_data)
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
        """Compute the training loss of a batch."""
        return self.task_head.loss(self, batch)

    def validation_step(self, batch: dict[str, Any], batch_idx: int) -> Outputs | None:
        return self.predict(batch)

    def predict(self, batch: Batch) -> Outputs | None:
        """Return the predictions for a batch, as :meth:`Predictor.predict`; one that memory cannot hold is halved."""
        return predict_within_memory(self, super().predict, batch)

    def probabilities(self, batch: dict[str, Any]) -> Outputs | None:
        """Return the probabilities of the labels for a batch, without generating an answer; None for an empty batch."""
        return Outputs(self.logits(batch["inputs"]).float().softmax(dim=-1)) if batch["size"] else None

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Return the predictions for the inputs of at least one example, without waiting for the device."""
        return self.task_head.answer(self, inputs)

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer, schedule = adamw(
            self, self.learning_rate, self.weight_decay, self.warmup, expected_steps(self.trainer)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

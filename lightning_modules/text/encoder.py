"""Encoders with a classification head: BERT, RoBERTa, DeBERTa, ELECTRA and whatever AutoModel knows."""

from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.utilities import rank_zero_info
from torch import Tensor
from transformers import (
    AutoModelForSequenceClassification,
    PreTrainedTokenizerBase,
)

from lightning_modules.classifier import MOST_UNKNOWN, Classifier
from lightning_modules.pretrained.backbone_config import open_config, require_positions
from lightning_modules.pretrained.backbones import Head, has_weights, load_weights, quiet, resolve
from lightning_modules.pretrained.labels import head_order, is_named, match_labels
from lightning_modules.pretrained.linear import faster_on_cpu
from lightning_modules.pretrained.vocabulary import open_tokenizer
from lightning_modules.processors.texts import TextProcessor
from records import CLASSIFICATION, SOFT, HeedError, Task, TaskKind, listing


class Encoder(Classifier):
    """Any ``AutoModelForSequenceClassification`` over one or two text parts.

    Args:
        backbone: Hub id, folder, or ``package:MODULE/FOLDER``.
        max_length: Most tokens of an input; the longest part is cut first.
        labels: Names of the head's outputs in their order, for published classifiers that only call them LABEL_0, ...
        sha256: What the weights of a backbone from a package must hash to.
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises.
        max_unknown: Largest share of the tokens of the data that the tokenizer may not know.

    Attributes:
        kinds: The kinds of task that it is for.
        auto: Makes the network.
    """

    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT)
    auto: Any = AutoModelForSequenceClassification

    def __init__(
        self,
        backbone: str,
        max_length: int = 256,
        labels: list[str] | None = None,
        sha256: str | None = None,
        learning_rate: float = 5e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        super().__init__(learning_rate, weight_decay, warmup, max_unknown)
        self.save_hyperparameters(logger=False)
        self.backbone, self.max_length, self.labels, self.sha256 = backbone, max_length, labels, sha256
        self.network: torch.nn.Module | None = None

    @property
    def description(self) -> str:
        return self.backbone

    def _open(self, task: Task) -> PreTrainedTokenizerBase:
        """Read the config, kept as ``config``, and return the tokenizer.

        Raises:
            HeedError: The model is for tasks of another kind, or reads less than ``max_length``.
        """
        if task.kind not in self.kinds:
            raise HeedError(
                f"--model {type(self).__name__} is for data of the kind {self.kinds[0]}, and these are of {task.kind}."
            )
        self.task = task
        self.folder = resolve(self.backbone, self.sha256)
        config = open_config(self.folder)
        require_positions(config, self.max_length)
        self.trained = any(self.auto.__name__.removeprefix("AutoModel") in n for n in config.architectures or [])
        self.config = config
        return open_tokenizer(self.folder, config)

    def prepare(self, task: Task) -> None:
        self.processor = TextProcessor(self._open(task), task.parts, self.max_length, task.form)
        self._match_labels(task)

    def _match_labels(self, task: Task) -> None:
        """Find out whether the backbone has a head for the labels of the task, and in which order its outputs are."""
        config = self.config
        if self.labels and self.trained and len(self.labels) != len(config.id2label):
            raise HeedError(
                f"--model.labels names {len(self.labels)} outputs, and {self.backbone} has {len(config.id2label)}."
            )
        outputs = self.labels or [config.id2label[i] for i in range(len(config.id2label))]
        self.answers = outputs if self.trained and is_named(outputs) else None
        self.has_head = self.answers is not None and match_labels(outputs, task.labels) is not None
        if self.has_head:
            self.order = head_order(outputs, task.labels, self.backbone)
        else:
            self.order = list(range(len(task.labels)))
        config.id2label = dict(enumerate(outputs if self.has_head else task.labels))
        config.label2id = {label: i for i, label in config.id2label.items()}
        self.outputs = outputs

    def require_head(self) -> None:
        """For a model that is not trained here.

        Raises:
            HeedError: The backbone has no head for the labels of the task.
        """
        if self.config.is_encoder_decoder and not self.trained:
            raise HeedError(
                f"The model {self.backbone} has no trained classification head; if it is to write the label, as a T5 "
                "does, add --model lightning_modules.Seq2Seq."
            )
        if not self.trained:
            raise HeedError(f"The model {self.backbone} has no trained classification head: name a --checkpoint.")
        head_order(self.outputs, self.task.labels, self.backbone)

    @property
    def head(self) -> Head:
        """Whether the head of the backbone is kept, replaced, or was never there."""
        if self.has_head:
            return "kept"
        return "replaced" if self.trained else "new"

    def require_weights(self) -> None:
        """For a model that no checkpoint will fill.

        Raises:
            HeedError: The backbone is a folder without weights.
        """
        if not has_weights(self.folder):
            raise HeedError(f"--model.backbone {self.backbone} has no weights beside its config.json.")

    def configure_model(self) -> None:
        if self.network is not None or self.task is None:  # load_from_checkpoint calls this before it knows the task
            return
        if has_weights(self.folder):
            self.network = load_weights(self.auto.from_pretrained, self.folder, self.head, config=self.config)
            if not self.has_head:
                self._new_head()
                if self.trained:
                    outputs, labels = listing(self.outputs), listing(self.task.labels)
                    rank_zero_info(f"{self.backbone}: its head ({outputs}) gives way to a new one ({labels}).")
        else:  # the folder beside a checkpoint: the weights follow from there
            self.network = self._unfilled()
        faster_on_cpu(self.network).train()  # transformers loads models in eval mode

    def _unfilled(self) -> torch.nn.Module:
        """The network with weights that mean nothing."""
        return self.auto.from_config(self.config, dtype=torch.float32, trust_remote_code=False)

    def _new_head(self) -> None:
        """Outputs that mean something else are no start for labels that happen to stand at their positions."""
        body = set(self.network.base_model.modules())
        for module in self.network.modules():
            if module not in body and isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight, std=getattr(self.config, "initializer_range", 0.02))
                if module.bias is not None:
                    torch.nn.init.zeros_(module.bias)

    def logits(self, inputs: dict[str, Tensor]) -> Tensor:
        scores = self.network(**inputs).logits
        return scores if self.order == sorted(self.order) else scores[:, self.order]

    def export(self, folder: str, weights: bool) -> None:
        self.config.architectures = [type(self.network).__name__]
        self.processor.tokenizer.save_pretrained(folder)
        if weights:
            with quiet():
                self.network.save_pretrained(folder)
        else:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.config.save_pretrained(folder)

"""Encoders with a classification head: BERT, RoBERTa, DeBERTa, ELECTRA and whatever AutoModel knows."""

from torch import Tensor
from transformers import AutoModelForSequenceClassification

from lightning_modules.pretrained_classifier import PretrainedClassifier
from lightning_modules.processors.texts import TextProcessor
from records import Task


class Encoder(PretrainedClassifier):
    """Any ``AutoModelForSequenceClassification`` over one or two text parts."""

    auto = AutoModelForSequenceClassification

    def prepare(self, task: Task) -> None:
        self.processor = TextProcessor(self.open_backbone(task), task.parts, self.max_length, task.form)
        self.match_head(task)

    def scores(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.network(**inputs).logits

"""Encoders with a classification head: BERT, RoBERTa, DeBERTa, ELECTRA and all others that AutoModel loads."""

from torch import Tensor
from transformers import AutoModelForSequenceClassification

from heedful.lightning_modules.pretrained.vocabulary import padding_of
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import ModelError, Task


class Encoder(PretrainedClassifier):
    """A classifier of one or two text parts, from any ``AutoModelForSequenceClassification``."""

    auto = AutoModelForSequenceClassification

    def prepare(self, task: Task) -> None:
        tokenizer = self.open_backbone(task)
        pad_id = padding_of(self.config, tokenizer)
        if pad_id is None:
            raise ModelError(
                f"Neither the config.json of {self.backbone} nor its tokenizer names a token for padding. Add its "
                "pad_token_id to config.json."
            )
        self.config.get_text_config().pad_token_id = pad_id  # some heads find the last token by it
        pads_left = getattr(self.config, "summary_type", None) == "last"  # XLNet's head reads the last place
        self.processor = TextProcessor(tokenizer, self.task.parts, self.max_length, task.form, pad_id, pads_left)
        self.match_head(task)

    def scores(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.network(**inputs).logits

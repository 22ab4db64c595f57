"""Encoders with a classification head: BERT, RoBERTa, DeBERTa, ELECTRA and all others that AutoModel loads."""

from transformers import AutoModelForSequenceClassification

from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import ModelError, Task


class Encoder(PretrainedClassifier):
    """A classifier of one or two text parts, from any ``AutoModelForSequenceClassification``."""

    auto = AutoModelForSequenceClassification

    def make_processor(self, task: Task) -> TextProcessor:
        text = self.config.get_text_config()
        if getattr(text, "pad_token_id", None) not in range(getattr(text, "vocab_size", len(self.tokenizer))):
            text.pad_token_id = self.tokenizer.pad_token_id  # some heads find the last token by it
        if text.pad_token_id is None:
            raise ModelError(
                f"Neither the config.json of {self.backbone} nor its tokenizer names a token for padding. Add its "
                "pad_token_id to config.json."
            )
        pads_left = getattr(self.config, "summary_type", None) == "last"  # XLNet's head reads the last place
        return TextProcessor(self.tokenizer, task.parts, self.max_length, task.form, text.pad_token_id, pads_left)

"""Encoders with a classification head: BERT, RoBERTa, DeBERTa, ELECTRA and all others that AutoModel loads."""

from typing import Any

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.lightning_modules.text.attention import avoid_checks
from heedful.records import ModelError, Task

ACTIVATIONS = 2**24  # hidden units of all tokens of a batch: products of matrices of this size occupy a whole GPU


class Encoder(PretrainedClassifier):
    """A classifier of one or two text parts, from any ``AutoModelForSequenceClassification``."""

    auto = AutoModelForSequenceClassification

    def tokens_that_fill(self, device: torch.device) -> int:
        """Return how many tokens of a batch fill a GPU, but at most those whose activations fill an eighth of it."""
        config = self.config.get_text_config()
        hidden = getattr(config, "hidden_size", 1024)
        units = 8 * hidden + 2 * getattr(config, "intermediate_size", 4 * hidden)  # activations of a layer, per token
        units += 2 * getattr(config, "num_attention_heads", 16) * self.max_length  # weights of eager attention
        memory = torch.cuda.get_device_properties(device).total_memory
        return max(1, min(ACTIVATIONS // hidden, memory // 8 // (4 * units)))

    def build(self, **settings: Any) -> nn.Module:
        network = super().build(**settings)
        avoid_checks(network)
        return network

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

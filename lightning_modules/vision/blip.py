"""BLIP: the image-grounded text encoder over one or two pictures, with a classification head."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    BlipConfig,
    BlipImageProcessorPil,
    BlipPreTrainedModel,
    BlipTextModel,
    BlipVisionModel,
    PreTrainedTokenizerBase,
)
from transformers.models.blip.modeling_blip_text import BlipTextAttention

from heedful.lightning_modules.pretrained import has_weights, require_positions
from heedful.lightning_modules.processors.pictures import PictureProcessor, copy_to_device
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import Task, inform
from heedful.records.storage.schema import ENTRY

ENCODE = "[ENC]"  # first token of a text that is encoded together with a picture
TEXT = {  # for models without text encoder: the module whose weights initialise it
    "BlipForConditionalGeneration": r"^text_decoder\.bert\.",
    "BlipModel": r"^text_model\.",
}


class TwinCrossAttention(nn.Module):
    """Cross-attention to two pictures, initialised with two copies of a layer (BLIP, section 5.4).

    The outputs for both pictures are averaged, or joined by a linear layer, before the residual connection.

    Args:
        attention: Cross-attention to one picture, whose layers are used and copied.
        joined: Whether to join the outputs by a linear layer rather than by averaging.
        std: Standard deviation of the initial weights of the linear layer.
    """

    def __init__(self, attention: BlipTextAttention, joined: bool, std: float) -> None:
        super().__init__()
        self.attend = nn.ModuleList([attention.self, copy.deepcopy(attention.self)])
        self.dense = nn.ModuleList([attention.output.dense, copy.deepcopy(attention.output.dense)])
        self.dropout = attention.output.dropout
        self.norm = attention.output.LayerNorm
        width = attention.output.dense.out_features
        self.join = nn.Linear(2 * width, width) if joined else None
        if self.join is not None:
            nn.init.normal_(self.join.weight, std=std)
            nn.init.zeros_(self.join.bias)

    def forward(self, hidden_states: Tensor, encoder_hidden_states: Tensor, **kwargs: Any) -> tuple[Tensor, None]:
        """Return the states of the tokens after cross-attention, [examples, tokens, width], and None.

        Args:
            hidden_states: States of the tokens: [examples, tokens, width].
            encoder_hidden_states: States of both pictures, one after the other: [examples, 2 x patches, width].
        """
        pictures = encoder_hidden_states.chunk(2, dim=1)
        first, second = (
            dense(attend(hidden_states, encoder_hidden_states=states)[0])
            for attend, dense, states in zip(self.attend, self.dense, pictures, strict=True)
        )
        seen = (first + second) / 2 if self.join is None else self.join(torch.cat([first, second], dim=-1))
        return self.norm(self.dropout(seen) + hidden_states), None


class BlipClassifier(BlipPreTrainedModel):
    """BLIP's vision encoder, its image-grounded text encoder, and a head (last layers) over the first token.

    Modules have the same names as in transformers, so that released weights fit. The entry ``heedful`` of the config
    selects one or two pictures.
    """

    def __init__(self, config: BlipConfig) -> None:
        super().__init__(config)
        width = config.text_config.hidden_size
        self.vision_model = BlipVisionModel(config.vision_config)
        self.text_encoder = BlipTextModel(config.text_config, add_pooling_layer=False)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, config.num_labels))
        if getattr(config, ENTRY)["pictures"] == 2:
            self.look_at_two()
        self.post_init()

    def new_head(self) -> None:
        """Initialise the weights of the head anew."""
        for layer in (self.head[0], self.head[2]):
            nn.init.normal_(layer.weight, std=self.config.initializer_range)
            nn.init.zeros_(layer.bias)

    def look_at_two(self) -> None:
        """Extend each block of the text encoder to two pictures: add a second cross-attention, a copy of the first
        (BLIP, section 5.4).
        """
        layers = self.text_encoder.encoder.layer
        for i, layer in enumerate(layers):
            joined = i >= len(layers) // 2
            std = self.config.initializer_range
            layer.crossattention = TwinCrossAttention(layer.crossattention, joined, std)
        setattr(self.config, ENTRY, {"pictures": 2})


class Blip(PictureClassifier):
    """BLIP's image-grounded text encoder with a head, over a text and one picture or two.

    All released BLIP models are supported; for a captioning model, its decoder initialises the text encoder. The text
    begins with [ENC], as in the paper and in the original code (transformers uses [CLS]).

    Args:
        backbone: Hub id or folder of a BLIP.
        **kwargs: As for :class:`PictureClassifier`.
    """

    auto = BlipClassifier
    backbone_type = "blip"
    image_processor = BlipImageProcessorPil
    head_prefix = "head."
    most_pictures = 2

    def __init__(self, backbone: str, learning_rate: float = 3e-5, weight_decay: float = 0.05, **kwargs: Any) -> None:
        super().__init__(backbone, learning_rate=learning_rate, weight_decay=weight_decay, **kwargs)

    def require_architecture(self) -> None:
        super().require_architecture()
        text = self.config.text_config
        require_positions(text, self.max_length)
        text.is_decoder = True  # needed for cross-attention; self-attention stays bidirectional

    def make_processor(self, task: Task) -> PictureProcessor:
        entry = getattr(self.config, ENTRY, {})
        if self.fit.is_kept or self.fit.head == "replaced":
            self.require_as_many(entry.get("pictures", 1), task)
        setattr(self.config, ENTRY, entry | {"pictures": self.pictures})
        self.encode_token = encode_token(self.tokenizer, self.config)
        return super().make_processor(task)

    def reset_head(self, network: nn.Module) -> None:
        if self.fit.head == "replaced":
            network.new_head()

    def build(self, **settings: Any) -> nn.Module:
        architecture = (self.config.architectures or [""])[0]
        if architecture in TEXT and has_weights(self.folder):
            inform(f"{self.backbone} is a {architecture}: its text model becomes the text encoder.")
            settings["key_mapping"] = {TEXT[architecture]: "text_encoder."}
        if self.fit.head != "new" or not has_weights(self.folder):
            return super().build(**settings)
        config = copy.deepcopy(self.config)
        setattr(config, ENTRY, {"pictures": 1})
        network = super().build(config=config, **settings)
        if self.pictures == 2:
            network.look_at_two()
        return network

    def modules_to_compile(self) -> Sequence[nn.Module]:
        return self.network.vision_model, self.network.text_encoder

    def _encoded_pictures(self, numbers: np.ndarray) -> Tensor:
        """Encode pictures, given by their indices in the picture store: [examples, pictures x patches, width].

        In evaluation, a picture that occurs several times in a batch is encoded once.
        """
        flat = numbers.ravel()
        place = None
        if not self.training:
            flat, place = np.unique(flat, return_inverse=True)
        vision = self.network.vision_model
        states = vision(self.pixel_values(flat, vision)).last_hidden_state
        states = states if place is None else states[copy_to_device(torch.from_numpy(place), self.device)]
        return states.view(len(numbers), -1, states.shape[-1])

    def encoded(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the states of text tokens after cross-attention to the pictures: [examples, tokens, width]."""
        ids = inputs["input_ids"].clone()
        ids[:, 0] = self.encode_token
        return self.network.text_encoder(
            input_ids=ids,
            attention_mask=inputs["attention_mask"],
            encoder_hidden_states=self._encoded_pictures(inputs["pictures"]),
            is_decoder=False,
        ).last_hidden_state

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        return self.network.head(self.encoded(inputs)[:, 0])


def encode_token(tokenizer: PreTrainedTokenizerBase, config: BlipConfig) -> int:
    """Return the id of [ENC], the first token of a text, or of [CLS] for models without an embedding of [ENC].

    The tokenizers of released models lack [ENC], but the models have an embedding for it. Its id follows the id of
    [DEC], the bos_token_id of the config.
    """
    own_token = tokenizer.get_vocab().get(ENCODE)
    behind = (config.text_config.bos_token_id or 0) + 1
    if own_token is not None:
        return own_token
    return behind if len(tokenizer) <= behind < config.text_config.vocab_size else tokenizer.cls_token_id

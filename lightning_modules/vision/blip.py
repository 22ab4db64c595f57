"""BLIP: the image-grounded text encoder over one or two pictures, with a head of labels or a decoder of answers."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    BlipConfig,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
    BlipPreTrainedModel,
    BlipTextModel,
    BlipVisionModel,
    PreTrainedTokenizerBase,
)
from transformers.models.blip.modeling_blip_text import BlipTextAttention

from heedful.lightning_modules.heads import LabelTexts
from heedful.lightning_modules.pretrained import has_weights, require_positions
from heedful.lightning_modules.processors.pictures import PictureProcessor, copy_to_device
from heedful.lightning_modules.vision.picture_classifier import PictureClassifier
from heedful.records import ModelError, SettingError, Task, inform
from heedful.records.storage.schema import ENTRY

ENCODE = "[ENC]"  # first token of a text that is encoded together with a picture
TEXT = {  # for models without text encoder: the module whose weights initialise it
    "BlipForConditionalGeneration": r"^text_decoder\.bert\.",
    "BlipModel": r"^text_model\.",
}


class TwinCrossAttention(nn.Module):
    """Cross-attention to two pictures, initialised with two copies of a layer (BLIP, section 5.4).

    The outputs for both pictures are averaged, or ``joined`` by a linear layer with initial standard deviation ``std``.
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

        The states of both pictures follow one another: [examples, 2 x patches, width].
        """
        layers = zip(self.attend, self.dense, encoder_hidden_states.chunk(2, dim=1), strict=True)
        first, second = (dense(attend(hidden_states, encoder_hidden_states=x)[0]) for attend, dense, x in layers)
        seen = (first + second) / 2 if self.join is None else self.join(torch.cat([first, second], dim=-1))
        return self.norm(self.dropout(seen) + hidden_states), None


class BlipClassifier(BlipPreTrainedModel):
    """BLIP's encoders, named as in transformers so that released weights fit, and a head over the first token.

    The entry ``heedful`` of the config selects one or two pictures.
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

    def look_at_two(self) -> None:
        """Extend the cross-attention of each block of the text encoder to two pictures (BLIP, section 5.4)."""
        layers, std = self.text_encoder.encoder.layer, self.config.initializer_range
        for i, layer in enumerate(layers):
            layer.crossattention = TwinCrossAttention(layer.crossattention, i >= len(layers) // 2, std)
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
        if self.fit.head != "new":
            self.require_as_many(entry.get("pictures", 1), task)
        setattr(self.config, ENTRY, entry | {"pictures": self.pictures})
        self.encode_token = encode_token(self.tokenizer, self.config)
        return super().make_processor(task)

    def reset_head(self, network: nn.Module) -> None:
        if self.fit.head == "replaced":
            for layer in network.head[::2]:
                nn.init.normal_(layer.weight, std=self.config.initializer_range)
                nn.init.zeros_(layer.bias)

    def build(self, **settings: Any) -> nn.Module:
        if not has_weights(self.folder):
            return super().build(**settings)
        if (architecture := (self.config.architectures or [""])[0]) in TEXT:
            inform(f"{self.backbone} is a {architecture}: its text model becomes the text encoder.")
            settings["key_mapping"] = {TEXT[architecture]: "text_encoder."}
        if self.fit.head == "new":  # the backbone reads one picture
            settings["config"] = copy.deepcopy(self.config)
            setattr(settings["config"], ENTRY, {"pictures": 1})
        network = super().build(**settings)
        if self.fit.head == "new" and self.pictures == 2:
            network.look_at_two()
        return network

    def modules_to_compile(self) -> Sequence[nn.Module]:
        return self.network.vision_model, self.network.text_encoder

    def encoded(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the states of text tokens after cross-attention to the pictures: [examples, tokens, width].

        In evaluation, a picture that occurs several times in a batch is encoded once.
        """
        ids = inputs["input_ids"].clone()
        ids[:, 0] = self.encode_token
        numbers, vision = inputs["pictures"].ravel(), self.network.vision_model
        if not self.training:
            numbers, place = np.unique(numbers, return_inverse=True)
        patches = vision(self.pixel_values(numbers, vision)).last_hidden_state
        if not self.training:
            patches = patches[copy_to_device(torch.from_numpy(place), self.device)]
        return self.network.text_encoder(
            input_ids=ids,
            attention_mask=inputs["attention_mask"],
            encoder_hidden_states=patches.view(len(ids), -1, patches.shape[-1]),
            is_decoder=False,
        ).last_hidden_state

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        return self.network.head(self.encoded(inputs)[:, 0])


def encode_token(tokenizer: PreTrainedTokenizerBase, config: BlipConfig) -> int:
    """Return the id of [ENC], the first token of a text, or of [CLS] for models without an embedding of [ENC].

    The tokenizers of released models lack [ENC]; its id follows the id of [DEC], the bos_token_id of the config.
    """
    following = (config.text_config.bos_token_id or 0) + 1
    has_embedding = len(tokenizer) <= following < config.text_config.vocab_size
    return tokenizer.get_vocab().get(ENCODE, following if has_embedding else tokenizer.cls_token_id)


# answers


def heed_mask(attention: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Forward pre-hook that masks the padding of the question in cross-attention, which ignores ``attention_mask``."""
    return args, kwargs | {"encoder_attention_mask": kwargs["attention_mask"]}


class BlipAnswers(Blip):
    """``BlipForQuestionAnswering`` over a question and a picture: its answer is the label with the most probable text.

    The picture and the question are encoded once. If there are more than ``rank`` labels, only the labels with the most
    probable first tokens are scored, and the others have the probability 0, as in the paper (section 5.3). Ties go to
    the first label.

    Args:
        backbone: Hub id or folder of a BLIP for question answering.
        rank: Number of labels to score.
        **kwargs: As for :class:`Blip`.
    """

    auto = BlipForQuestionAnswering
    head_prefix = None
    most_pictures = 1

    def __init__(self, backbone: str, rank: int = 128, learning_rate: float = 2e-5, **kwargs: Any) -> None:
        super().__init__(backbone, learning_rate, **kwargs)
        if rank < 1:
            raise SettingError(f"model.rank {rank} leaves no label to score. Score one at least.")
        self.rank = rank
        self.task_head = LabelTexts(rank)

    def is_trained(self, task: Task) -> bool:
        return len(getattr(self.config, ENTRY, {}).get("targets", ())) == len(self.config.id2label)

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        texts = self.task_head.texts = self.fit.texts
        tokenizer, config = self.tokenizer, self.config.text_config
        ids = [[*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.sep_token_id] for text in texts]
        if (longest := max(map(len, ids))) > (most := config.max_position_embeddings):
            written = f"The longest label has {longest} tokens, and {self.backbone} writes {most}."
            raise ModelError(f"{written} Give it a shorter text with data.verbalisers.")
        self.task_head.prepare_texts(self.fit.label_map, texts, ids, tokenizer, config.bos_token_id)

    def build(self, **settings: Any) -> nn.Module:
        network = super().build(**settings)
        for layer in network.text_decoder.bert.encoder.layer:
            layer.crossattention.self.register_forward_pre_hook(heed_mask, with_kwargs=True)
        return network

    def decoded(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        """Compute the decoder's scores of the token after each token in ``read``: [texts, tokens, vocabulary]."""
        return self.network.text_decoder(
            input_ids=read, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False
        ).logits

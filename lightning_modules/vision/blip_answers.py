"""BLIP for visual question answering: the labels are answers, ranked by the probability of their texts."""

from typing import Any

from torch import Tensor, nn
from transformers import BlipForQuestionAnswering

from heedful.lightning_modules.label_scorer import ScoresLabels
from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained_classifier import drop_settings
from heedful.lightning_modules.vision.blip import Blip
from heedful.records import ModelError, SettingError, Task


def heed_mask(attention: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Forward pre-hook that masks the padding of the question in cross-attention.

    transformers passes the mask as ``attention_mask``, which cross-attention ignores; it reads
    ``encoder_attention_mask``.
    """
    return args, kwargs | {"encoder_attention_mask": kwargs["attention_mask"]}


class BlipAnswers(ScoresLabels, Blip):
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
    head_name = None
    most_pictures = 1

    def __init__(self, backbone: str, rank: int = 128, learning_rate: float = 2e-5, **kwargs: Any) -> None:
        drop_settings(kwargs, "labels", "collapse")
        super().__init__(backbone, learning_rate, labels=None, collapse=None, **kwargs)
        if rank < 1:
            raise SettingError(f"model.rank {rank} leaves no label to score. Score one at least.")
        self.rank = rank

    def match_head(self, task: Task) -> None:
        _, targets = self.learned_words(task)
        tokenizer, config = self.processor.tokenizer, self.config.text_config
        ids = [[*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.sep_token_id] for text in targets]
        if (longest := max(map(len, ids))) > (most := config.max_position_embeddings):
            raise ModelError(
                f"The longest label has {longest} tokens, and {self.backbone} writes {most}. Give it a shorter text "
                "with data.verbalisers."
            )
        self.score_texts(targets, ids, config.bos_token_id, rank=self.rank)
        setattr(self.config, LEARNED, {"targets": list(targets)})

    def load_network(self) -> nn.Module:
        return self._fitted(self.config)

    def build(self) -> nn.Module:
        network = super().build()
        for layer in network.text_decoder.bert.encoder.layer:
            layer.crossattention.self.register_forward_pre_hook(heed_mask, with_kwargs=True)
        return network

    def _decoded(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        return self.network.text_decoder(
            input_ids=read, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False
        ).logits

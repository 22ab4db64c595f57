"""BLIP for visual question answering: the labels are answers, ranked by the probability of their texts."""

from typing import Any

from torch import Tensor, nn
from transformers import BlipForQuestionAnswering

from heedful.lightning_modules.heads import LabelTexts
from heedful.lightning_modules.learned import LabelMap
from heedful.lightning_modules.vision.blip import Blip
from heedful.records import ModelError, SettingError, Task
from heedful.records.storage.schema import ENTRY


def heed_mask(attention: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Forward pre-hook that masks the padding of the question in cross-attention.

    transformers passes the mask as ``attention_mask``, which cross-attention ignores; it reads
    ``encoder_attention_mask``.
    """
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
        self.head = LabelTexts(rank)

    def is_trained(self, task: Task) -> bool:
        return "targets" in getattr(self.config, ENTRY, {})

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        texts = self.learned.texts if self.fit.head == "merged" else task.targets
        label_map = self.fit.label_map if self.fit.head == "merged" else LabelMap.identity(task.labels)
        tokenizer, config = self.tokenizer, self.config.text_config
        ids = [[*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.sep_token_id] for text in texts]
        if (longest := max(map(len, ids))) > (most := config.max_position_embeddings):
            raise ModelError(
                f"The longest label has {longest} tokens, and {self.backbone} writes {most}. Give it a shorter text "
                "with data.verbalisers."
            )
        self.head.prepare_texts(label_map, texts, ids, tokenizer, config.bos_token_id)

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

"""BLIP for questions about pictures: the labels are answers, ranked by how probable their texts are."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import BlipForQuestionAnswering
from transformers.models.blip.modeling_blip_text import BlipTextSelfAttention

from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained.labels import is_named, match_labels, require_head_for
from heedful.lightning_modules.pretrained_classifier import drop
from heedful.lightning_modules.processors.targets import IGNORED, log_likelihoods, teach, writing_loss
from heedful.lightning_modules.vision.blip import Blip
from heedful.records import ModelError, SettingError, Task, inform, listing

SEQUENCES = 256  # answers that the decoder reads together; each takes the scores of a whole vocabulary


class MaskedCrossAttention(BlipTextSelfAttention):
    """Cross-attention that heeds its mask.

    transformers hands the mask of what is attended to on under the name of the other one, where it is not read, so that
    answers would depend on the padding of the question.
    """

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor]:
        """As in the class above."""
        mask = attention_mask if encoder_attention_mask is None else encoder_attention_mask
        return super().forward(hidden_states, None, encoder_hidden_states, mask, **kwargs)


class BlipAnswers(Blip):
    """``BlipForQuestionAnswering`` over a question and a picture: its answer is the label with the most probable text.

    The picture and the question are encoded once. Where there are many labels, those with the most probable first
    tokens are scored and the others have the probability 0, as in the paper (section 5.3); labels that begin with the
    same token go by their order.

    Args:
        backbone: Hub id or folder of a BLIP for question answering.
        rank: How many labels are scored.
        **kwargs: As for :class:`Blip`.
    """

    auto = BlipForQuestionAnswering
    head = "kept"  # its decoder is asked for texts, whatever they mean
    head_name = None
    most_pictures = 1

    def __init__(self, backbone: str, rank: int = 128, learning_rate: float = 2e-5, **kwargs: Any) -> None:
        drop(kwargs, "labels", "collapse")
        super().__init__(backbone, learning_rate, labels=None, collapse=None, **kwargs)
        if rank < 1:
            raise SettingError(f"model.rank {rank} leaves no label to score. Score one at least.")
        self.rank = rank

    def match_head(self, task: Task) -> None:
        """Find the text of each label: the one that the model was trained with here, else that of the data."""
        config, targets = self.config, task.targets
        learned = getattr(config, LEARNED, {}).get("targets")
        self.known_labels = self.outputs if learned and is_named(self.outputs) else None
        order = match_labels(self.outputs, task.labels) if self.known_labels else None
        if order is not None:
            targets = tuple(learned[i] for i in order)
        if targets != task.targets:
            inform(f"{self.backbone} was trained with the answers {listing(targets)}: kept.")
        self._encode_targets(targets)
        self.name_outputs(task.labels)
        setattr(config, LEARNED, {"targets": list(targets)})

    def _encode_targets(self, targets: tuple[str, ...]) -> None:
        """Keep what the decoder reads and writes for each label: int64 [labels, tokens]."""
        tokenizer, config = self.processor.tokenizer, self.config.text_config
        ids = [[*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.sep_token_id] for text in targets]
        if twins := [text for row, text in zip(ids, targets, strict=True) if ids.count(row) > 1]:
            raise ModelError(
                f"The tokenizer of {self.backbone} cannot tell the answers {listing(twins)} apart. Give the labels "
                "other answers with data.prompts or data.verbalisers."
            )
        if (longest := max(map(len, ids))) > config.max_position_embeddings:
            most = config.max_position_embeddings
            raise ModelError(
                f"The longest label has {longest} tokens, and {self.backbone} writes {most}. Give it a shorter text "
                "with data.verbalisers."
            )
        written, read = teach(ids, tokenizer.pad_token_id, config.bos_token_id)
        self.register_buffer("written", written, persistent=False)
        self.register_buffer("read", read, persistent=False)

    def require_head(self) -> None:
        if self.known_labels:  # else it was not trained to give certain ones
            require_head_for(self.outputs, self.task.labels, self.backbone, renaming=False)

    def load_network(self) -> nn.Module:
        return self._fitted(self.config)

    def build(self) -> nn.Module:
        network = super().build()
        for layer in network.text_decoder.bert.encoder.layer:
            layer.crossattention.self.__class__ = MaskedCrossAttention
        return network

    def _written(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        """Scores of what comes after each token that the decoder reads: [texts, tokens, vocabulary]."""
        return self.network.text_decoder(
            input_ids=read, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False
        ).logits

    def _ranked(self, states: Tensor, mask: Tensor) -> Tensor:
        """The labels that are scored: int64 [examples, at most ``rank``]."""
        labels = torch.arange(len(self.written), device=states.device).expand(len(states), -1)
        if len(self.written) <= self.rank:
            return labels
        first = self._written(states, mask, self.read[:1, :1].expand(len(states), 1))[:, 0, self.written[:, 0]]
        return first.sort(dim=1, descending=True, stable=True).indices[:, : self.rank]

    def logits(self, inputs: dict[str, Any]) -> Tensor:
        """Log-likelihood of each label's text with its end: float32 [examples, labels]; -inf where it is not scored."""
        states = self._encoded(inputs)
        mask = inputs["attention_mask"]
        labels = self._ranked(states, mask)
        example = torch.arange(len(states), device=labels.device).repeat_interleave(labels.shape[1])
        chunks = labels.flatten().split(SEQUENCES)
        tokens = (self.written != IGNORED).sum(dim=1)
        longest = torch.stack([tokens[answers].max() for answers in chunks]).tolist()  # waits for the device, once
        likelihoods = []
        for examples, answers, width in zip(example.split(SEQUENCES), chunks, longest, strict=True):
            scores = self._written(states[examples], mask[examples], self.read[answers, :width])
            likelihoods.append(log_likelihoods(scores, self.written[answers, :width]))
        scored = torch.cat(likelihoods).view(labels.shape)
        return scored.new_full((len(states), len(self.written)), -torch.inf).scatter(1, labels, scored)

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Cross-entropy of the tokens of the gold answer, given those before; of soft labels, that of every answer
        times its worth, as BLIP was trained."""
        labels = batch["labels"]
        inputs = batch["inputs"]
        states = self._encoded(inputs)
        mask = inputs["attention_mask"]
        if labels.ndim == 1:
            return writing_loss(self._written(states, mask, self.read[labels]), self.written[labels])
        example, answer = labels.nonzero(as_tuple=True)
        scores = self._written(states[example], mask[example], self.read[answer])
        worth = log_likelihoods(scores, self.written[answer]) * labels[example, answer]
        return -worth.sum() / max(1, len(labels))

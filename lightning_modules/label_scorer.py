"""Score labels by the log-likelihoods of their texts under a decoder."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from heedful.lightning_modules.predictor import LabelMap
from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained.labels import is_named, labels_of_outputs, require_head_for
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.records import ModelError, Task, inform, listing
from heedful.records.text import rename_parts

IGNORED = -100  # target of a padding token
SEQUENCES = 256  # largest number of texts per decoder batch, since the scores of a text have the size of the vocabulary

Decode = Callable[[Tensor, Tensor, Tensor], Tensor]


def teacher_forcing(ids: Sequence[Sequence[int]], pad: int, start: int | None) -> tuple[Tensor, Tensor]:
    """Make targets and inputs of a decoder for teacher forcing: each input token is the previous target token.

    Args:
        ids: Tokens per text, with the end of the text.
        pad: Id of the padding token.
        start: Id of the first input token of each text; None for the padding id.

    Returns:
        Targets, with -100 for padding, and inputs: int64 [texts, tokens] each.
    """
    rows = [torch.tensor(row) for row in ids]
    written = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
    read = torch.full_like(written, pad if start is None else start)
    read[:, 1:] = written[:, :-1].masked_fill(written[:, :-1] == IGNORED, pad)
    return written, read


def writing_loss(logits: Tensor, written: Tensor, reduction: str = "mean") -> Tensor:
    """Compute the cross-entropy of tokens given the tokens before them, averaged over all tokens.

    Args:
        logits: Scores of the next token: [texts, tokens, vocabulary].
        written: Target tokens from :func:`teacher_forcing`: int64 [texts, tokens].
        reduction: As for :func:`torch.nn.functional.cross_entropy`; "none" returns [texts x tokens].
    """
    return F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED, reduction=reduction)


class LabelScorer(nn.Module):
    """Scores labels by the log-likelihoods of their texts under a decoder, including the end token.

    The methods take a decoder ``decode(states, mask, read)``. The decoder maps encoder states [texts, places, width],
    their mask and the input tokens ``read`` to scores of the next token [texts, tokens, vocabulary].

    Args:
        ids: Tokens per label text, with the end of the text.
        pad: Id of the padding token.
        start: Id of the first input token of the decoder; None for the padding id.
        rank: Number of labels to score: those with the most probable first tokens; ties go to the first label. None for
            all.
        mean: Whether to divide the score of a text by the number of its tokens.
    """

    def __init__(
        self, ids: Sequence[Sequence[int]], pad: int, start: int | None, rank: int | None = None, mean: bool = False
    ) -> None:
        super().__init__()
        self.lengths = [len(row) for row in ids]
        self.rank = len(ids) if rank is None else rank
        self.mean = mean
        written, read = teacher_forcing(ids, pad, start)
        for name, values in (("written", written), ("read", read), ("tokens", torch.tensor(self.lengths))):
            self.register_buffer(name, values, persistent=False)  # moved to the device, but not saved in checkpoints

    def forward(self, decode: Decode, states: Tensor, mask: Tensor) -> Tensor:
        """Compute the score of each label's text: float32 [examples, labels]; -inf for labels that are not scored.

        Args:
            decode: The decoder.
            states: Encoder states: [examples, places, width].
            mask: Mask of the encoder states, 0 for padding: int64 [examples, places].
        """
        n, count = len(states), len(self.lengths)
        if count <= self.rank:
            labels = torch.arange(count, device=states.device).expand(n, -1)
            lengths = torch.tensor(self.lengths * n)  # on the host, so that nothing waits for the device
        else:
            first = decode(states, mask, self.read[:1, :1].expand(n, 1))[:, 0, self.written[:, 0]]
            labels = first.sort(dim=1, descending=True, stable=True).indices[:, : self.rank]
            lengths = self.tokens[labels].flatten()
        example = torch.arange(n, device=states.device).repeat_interleave(labels.shape[1])
        # with ranks, the lengths are on the device, and the host waits for it here
        widths = torch.stack([piece.max() for piece in lengths.split(SEQUENCES)]).tolist()
        likelihoods = [
            self._likelihoods(decode, states[examples], mask[examples], answers, width)
            for examples, answers, width in zip(
                example.split(SEQUENCES), labels.flatten().split(SEQUENCES), widths, strict=True
            )
        ]
        scored = torch.cat(likelihoods).view(labels.shape)
        scores = scored.new_full((n, count), -torch.inf).scatter(1, labels, scored)
        return scores / self.tokens if self.mean else scores

    def _likelihoods(
        self, decode: Decode, states: Tensor, mask: Tensor, labels: Tensor, width: int | None = None
    ) -> Tensor:
        """Compute the log-likelihood of one label text for each row of encoder states: float32 [texts].

        ``labels`` are the indices of the labels, one per row; ``width`` is the number of tokens of the longest text
        among them.
        """
        written = self.written[labels, :width]
        losses = writing_loss(decode(states, mask, self.read[labels, :width]), written, "none")
        return -losses.view(written.shape).sum(dim=1)

    def loss(self, decode: Decode, states: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """Compute the training loss: the cross-entropy of the tokens of the gold label's text.

        ``labels`` are indices [examples], or soft labels [examples, labels], by which the losses of all label texts
        are weighted, as in the training of BLIP. The other arguments are as for :meth:`forward`.
        """
        if labels.ndim == 1:
            return writing_loss(decode(states, mask, self.read[labels]), self.written[labels])
        example, answer = labels.nonzero(as_tuple=True)
        likelihoods = self._likelihoods(decode, states[example], mask[example], answer)
        return -(likelihoods * labels[example, answer]).sum() / max(1, len(labels))


class ScoresLabels(PretrainedClassifier):
    """An encoder-decoder that scores labels by the likelihoods of their texts.

    A model family defines ``_encoded``, which computes the encoder's states [examples, places, width] from ``inputs``,
    and overrides :meth:`_decoded`; its :meth:`prepare` calls :meth:`learned_words` and :meth:`score_texts`.
    """

    head = "kept"  # a decoder can write the text of any label
    scorer: LabelScorer
    _encoded: Callable[[dict[str, Any]], Tensor]

    def _decoded(self, states: Tensor, mask: Tensor, read: Tensor) -> Tensor:
        """Compute the decoder's scores of the token after each token in ``read``: [texts, tokens, vocabulary]."""
        raise NotImplementedError

    @property
    def merging(self) -> bool:
        """Whether several label texts may mean one label; in training, each label has exactly one text."""
        return self.keeps_head

    def learned_words(self, task: Task) -> tuple[str, tuple[str, ...]]:
        """Return the template and the label texts with which the model was trained, or else those of the task.

        Those of the task are returned if those of the training are unknown, if the number of parts differs, or if the
        labels do not match by name. In the template, the first part of the training is renamed as the first part of the
        task, and so on. There is one text per label, in the order of the labels. If several outputs of the model mean
        one label, there is one text per output; :attr:`label_map` has the label of each output.
        """
        template, texts = default = task.wording, task.targets
        learned = {"template": "", "parts": task.parts, "targets": ()} | getattr(self.config, LEARNED, {})
        self.known_labels = self.outputs if learned["targets"] and is_named(self.outputs) else None
        meant = labels_of_outputs(self.outputs, task.labels, self.merging) if self.known_labels else None
        if meant is not None and len(learned["parts"]) == len(task.parts):
            parts = dict(zip(learned["parts"], task.parts, strict=True))
            template = rename_parts(learned["template"], parts) or template
            texts = tuple(learned["targets"])
            if len(meant) > len(task.labels):
                self.keep_label_map(LabelMap(tuple(self.outputs), task.labels, meant, self.collapse or "sum"))
            else:
                texts = tuple(texts[meant.index(number)] for number in range(len(task.labels)))
        if (template, texts) != default:
            at = f"on {template!r} " if learned["template"] else ""
            inform(f"{self.backbone} was trained {at}with the answers {listing(texts)}: kept.")
        self.name_outputs(self.label_map.outputs if self.merges else task.labels)
        return template, texts

    def score_texts(
        self, texts: Sequence[str], ids: Sequence[Sequence[int]], start: int | None, **settings: Any
    ) -> None:
        """Set ``scorer``, which scores the label texts.

        Args:
            texts: The label texts.
            ids: Tokens per label text, with the end of the text.
            start: Id of the first input token of the decoder; None for the padding id.
            **settings: Further arguments of :class:`LabelScorer`.

        Raises:
            HeedfulError: The tokenizer cannot tell two texts apart.
        """
        times = Counter(map(tuple, ids))
        if twins := [text for text, row in zip(texts, ids, strict=True) if times[tuple(row)] > 1]:
            raise ModelError(
                f"The tokenizer of {self.backbone} cannot tell the answers {listing(twins)} apart. Give the labels "
                "other answers with data.prompts or data.verbalisers."
            )
        self.scorer = LabelScorer(ids, self.processor.tokenizer.pad_token_id, start, **settings)

    def require_head(self) -> None:
        if self.known_labels:  # otherwise the decoder was not trained on certain labels
            require_head_for(self.outputs, self.task.labels, self.backbone, self.merging, renaming=False)

    def scores(self, inputs: dict[str, Any]) -> Tensor:
        return self.scorer(self._decoded, self._encoded(inputs), inputs["attention_mask"])

    def loss(self, batch: dict[str, Any]) -> Tensor:
        inputs = batch["inputs"]
        return self.scorer.loss(self._decoded, self._encoded(inputs), inputs["attention_mask"], batch["labels"])

"""Heads turn outputs of a network into scores of labels, loss and answers: named outputs, and texts of labels."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase
from transformers.modeling_outputs import MoEModelOutput

from heedful.lightning_modules.learned import Fit, LabelMap, Learned, mismatch
from heedful.lightning_modules.outputs import NOT_FINITE, Outputs, label_numbers, most_probable
from heedful.records import NO_LABEL, ModelError, listing
from heedful.records.answers import NO_ANSWER, normalised

IGNORED = -100  # target of a padding token
SEQUENCES = 256  # largest number of texts per decoder batch, since the scores of a text have the size of the vocabulary
LABEL_TOKENS = 8  # generated tokens of an answer to a prompt, if no label is longer (CAT, section 4.2)
Decode = Callable[[Tensor, Tensor, Tensor], Tensor]


class NamedHead(nn.Module):
    """A head with one output per label, or several, which are matched with the labels by name.

    A head is a part of a model (:class:`~heedful.lightning_modules.Classifier`), which is passed to its methods. Its
    tensors are buffers, which move to the device with the model, and are not saved in checkpoints.

    Attributes:
        label_map: Maps the outputs to the labels; set by :meth:`prepare`.
        has_weights: Whether the head has weights, which are new unless a trained head is kept.
        texts: For a model that writes, one text per output, as it learns them without a prompt.
        template: For a model that reads a template, the template without a prompt.
    """

    label_map: LabelMap
    has_weights = True
    texts: tuple[str, ...] = ()
    template: str | None = None

    def prepare(self, label_map: LabelMap) -> None:
        """Set the meaning of the outputs.

        The buffer ``apart``, [outputs, labels], is -inf where an output does not mean the label.
        """
        self.label_map = label_map
        column = torch.tensor(label_map.column, dtype=torch.int64)
        means = column[:, None] == torch.arange(len(label_map.labels) if label_map.merges else 0)
        self.register_buffer("label_of_output", column, persistent=False)
        self.register_buffer("output_of_label", column.argsort(), persistent=False)
        self.register_buffer("apart", torch.zeros(means.shape).masked_fill(~means, -torch.inf), persistent=False)

    def of_labels(self, outputs: Tensor) -> Tensor:
        """Convert the scores of the outputs to scores of the labels: float [examples, labels].

        The score of a label with several outputs is the logsumexp of their scores, so that probabilities add up.
        """
        if self.label_map.merges:
            return (outputs.float()[:, :, None] + self.apart).logsumexp(dim=1)
        is_in_order = self.label_map.column == tuple(range(len(self.label_map.column)))
        return outputs if is_in_order else outputs[:, self.output_of_label]

    def scores(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of the outputs: float [examples, outputs]."""
        return model.scores(inputs)

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the training loss of a batch: cross-entropy.

        For soft labels, which have one score per label, it is binary cross-entropy summed over labels, as in ViLT (Kim
        et al. 2021).
        """
        scores = model.logits(batch["inputs"]).float()
        labels = batch["labels"]
        if model.task.kind.exclusive:
            return F.cross_entropy(scores, labels)
        return F.binary_cross_entropy_with_logits(scores, labels) * labels.shape[1]

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        """Return the predictions for the inputs of at least one example, without waiting for the device."""
        if not (self.label_map.merges and self.label_map.collapse == "argmax"):
            scores = model.logits(inputs).float()
            is_exclusive = model.task.kind.exclusive
            return Outputs(scores.softmax(dim=-1)) if is_exclusive else Outputs(answers=most_probable(scores))
        outputs = self.scores(model, inputs).float()
        probs = self.of_labels(outputs).softmax(dim=-1) if model.task.kind.exclusive else None
        best = most_probable(outputs)
        return Outputs(probs, self.label_of_output[best].where(best >= 0, best))

    def require(self, learned: Learned, fit: Fit) -> None:
        """Raise ModelError if the head was not trained on the labels of the task."""
        if fit.head == "new":
            raise ModelError(
                f"The model {learned.base} has no trained classification head. Name a run with checkpoint RUN, or a "
                "trained model with model FOLDER. If it is to write the label, as a T5 does, add model Seq2Seq."
            )
        if fit.head == "replaced":
            raise ModelError(mismatch(learned, fit.task.labels))


# texts


def target_ids(ids: Sequence[Sequence[int]]) -> Tensor:
    """Pad the tokens of texts with -100, for :func:`writing_loss`: int64 [texts, tokens]."""
    return pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=IGNORED)


def writing_loss(logits: Tensor, written: Tensor, reduction: str = "mean") -> Tensor:
    """Compute the cross-entropy of tokens given the tokens before them, averaged over all tokens.

    Args:
        logits: Scores of the next token: [texts, tokens, vocabulary].
        written: Target tokens, -100 for padding: int64 [texts, tokens].
        reduction: As for :func:`torch.nn.functional.cross_entropy`; "none" returns [texts x tokens].
    """
    return F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED, reduction=reduction)


class TextHead(NamedHead):
    """A head whose outputs are texts: scores labels by the log-likelihoods of their texts, and answers with texts.

    The model has two methods. ``text_scores(inputs)`` returns the log-likelihood per text, float32 [examples,
    texts], -inf for a text that is not scored; and a value that the other method reuses, such as a cache.
    ``generated(inputs, reused)`` returns a text of at most ``longest`` tokens per example, or None if the scores of a
    token are not finite.

    Args:
        mean: Whether to divide the score of a text by the number of its tokens.
        writes: Whether the answer is the generated text rather than the most probable label.

    Attributes:
        ids: Tokens of the text per output.
        longest: Largest number of generated tokens.
        prior: Log-probabilities without an example, float32 [outputs], which are subtracted from the scores, or None.
    """

    has_weights = False
    prior: Tensor | None = None

    def __init__(self, mean: bool = False, writes: bool = False) -> None:
        super().__init__()
        self.mean, self.writes = mean, writes
        self.longest = 0

    def prepare_texts(
        self,
        label_map: LabelMap,
        texts: Sequence[str],
        ids: Sequence[list[int]],
        tokenizer: PreTrainedTokenizerBase,
        start: int | None = None,
        longest: int = 0,
    ) -> None:
        """Set the texts of the outputs.

        Args:
            label_map: Maps the outputs to the labels. Without labels, the only text means "no answer".
            texts: One text per output.
            ids: Tokens of the text per output, with the end of the text if it is scored.
            tokenizer: Tokenizer of the model.
            start: Id of the first input token of a decoder after an encoder.
            longest: Largest number of generated tokens, unless a text is longer.

        Raises:
            ModelError: The tokens of a text begin with all tokens of another text.
        """
        self.prepare(label_map)
        self.ids, self.tokenizer, self.start = list(ids), tokenizer, start
        ordered = sorted(zip(ids, texts, strict=True))  # a text stands directly before those that begin with it
        if twins := [[a, b] for (first, a), (second, b) in pairwise(ordered) if second[: len(first)] == first]:
            raise ModelError(
                f"The tokenizer of the model cannot tell the answers {listing(twins[0])} apart: the second "
                "begins with all tokens of the first. Give the labels other answers with data.prompts or "
                "data.verbalisers."
            )
        self.longest, self.prior = max(longest, *map(len, ids)), None
        labels = [label_map.labels[k] for k in label_map.column] or [NO_ANSWER]
        self.label_of_text = dict(zip(map(self.text, ids), labels, strict=True))
        self.register_buffer("written", target_ids(ids), persistent=False)
        self.register_buffer("tokens", torch.tensor([*map(len, ids)]), persistent=False)

    def text_scores(self, model: Any, inputs: dict[str, Any]) -> tuple[Tensor, Any]:
        """Compute the log-likelihood of the text per output; the second result is for :meth:`generated`."""
        return model.text_scores(inputs)

    def generated(self, model: Any, inputs: dict[str, Any], reused: Any) -> list[str | None]:
        """Return a generated text per example; ``reused`` is the second result of :meth:`text_scores`."""
        return model.generated(inputs, reused)

    def output_scores(self, scores: Tensor) -> Tensor:
        """Convert log-likelihoods of texts to scores of outputs, by ``mean`` and ``prior``: [examples, outputs]."""
        scores = scores / self.tokens if self.mean else scores
        return scores if self.prior is None else scores - self.prior

    def scores(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        return self.output_scores(self.text_scores(model, inputs)[0])

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        """Return probabilities and answers for the inputs of at least one example; without labels, only texts.

        An answer is None, or :data:`.outputs.NOT_FINITE`, if the log-likelihoods of all texts are not finite.
        """
        if not self.writes:
            return super().answer(model, inputs)
        scores, reused = self.text_scores(model, inputs)
        answers = self.answers(model, self.generated(model, inputs, reused))
        is_finite = scores.amax(dim=-1).isfinite()
        if not self.label_map.labels:
            rows = zip(answers, is_finite.tolist(), strict=True)
            return Outputs(answers=[answer if finite else None for answer, finite in rows])
        probs = self.of_labels(self.output_scores(scores)).softmax(dim=-1)
        numbers = torch.from_numpy(label_numbers(answers, self.label_map.labels)).to(probs.device)
        return Outputs(probs, numbers.where(is_finite, NOT_FINITE))

    def require(self, learned: Learned, fit: Fit) -> None:
        """Raise ModelError if the texts were trained for other labels; an untrained decoder can write any label."""
        if fit.head == "replaced":
            raise ModelError(mismatch(learned, fit.task.labels, None))

    def answers(self, model: Any, texts: Sequence[str | None]) -> list[str | None]:
        """Convert generated texts to answers, and count the texts that are no answer, NO_LABEL; None stays None.

        The rules of the prompt find the answer in a text; without a prompt, the whole text must be the text of a label.
        """
        if model.prompt is not None:
            return model.understood(texts)
        answers = [text if text is None else self.meaning(text) for text in texts]
        model.count("no_answers", (text for text, answer in zip(texts, answers, strict=True) if answer == NO_LABEL))
        return answers

    def meaning(self, text: str) -> str:
        """Return the label whose text is exactly ``text``, or NO_LABEL."""
        return self.label_of_text.get(text, NO_LABEL)

    def text(self, ids: Sequence[int]) -> str:
        """Decode tokens up to the end token, without the token that begins a text, such as the <s> of BART."""
        start, end = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        ids = ids[1:] if len(ids) and ids[0] == start != end else ids
        return self.tokenizer.decode(ids[: ids.index(end)] if end in ids else ids).strip()


class LabelTexts(TextHead):
    """A head of a model with an encoder and a decoder; the text of a label includes the end token.

    ``model.encoded(inputs)`` computes encoder states, [examples, places, width], and ``model.decoded(states, mask,
    read)`` maps encoder states, their mask and the input tokens ``read`` to scores of the next token [texts, tokens,
    vocabulary].

    Args:
        rank: Number of labels to score: those with the most probable first tokens; ties go to the first label. None for
            all.
        **kwargs: As for :class:`TextHead`.
    """

    def __init__(self, rank: int | None = None, **kwargs: bool) -> None:
        super().__init__(**kwargs)
        self.rank = rank

    def text_scores(self, model: Any, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        states = model.encoded(inputs)
        return self.likelihoods(model.decoded, states, inputs["attention_mask"]), states

    def likelihoods(self, decode: Decode, states: Tensor, mask: Tensor) -> Tensor:
        """Compute the log-likelihood of the text per output, as :meth:`text_scores`; ``mask`` is 0 for padding."""
        n, count = len(states), len(self.ids)
        rank = count if self.rank is None else self.rank
        if count <= rank:
            labels = torch.arange(count, device=states.device).expand(n, -1)
            lengths = torch.tensor([*map(len, self.ids)] * n)  # on the host, so that nothing waits for the device
        else:
            first = decode(states, mask, self.read(self.written[:1, :1].expand(n, 1)))[:, 0, self.written[:, 0]]
            labels = first.sort(dim=1, descending=True, stable=True).indices[:, :rank]
            lengths = self.tokens[labels].flatten()
        example = torch.arange(n, device=states.device).repeat_interleave(labels.shape[1])
        # with ranks, the lengths are on the device, and the host waits for it here
        widths = torch.stack([piece.max() for piece in lengths.split(SEQUENCES)]).tolist()
        pieces = zip(example.split(SEQUENCES), labels.flatten().split(SEQUENCES), widths, strict=True)
        likelihoods = [self._likelihoods(decode, states[i], mask[i], answers, width) for i, answers, width in pieces]
        scored = torch.cat(likelihoods).view(labels.shape)
        return scored.new_full((n, count), -torch.inf).scatter(1, labels, scored)

    def read(self, written: Tensor) -> Tensor:
        """Return the inputs of the decoder for teacher forcing: int64 [texts, tokens], each the previous target."""
        start = torch.full_like(written[:, :1], self.tokenizer.pad_token_id if self.start is None else self.start)
        before = written[:, :-1]
        return torch.cat([start, before.masked_fill(before == IGNORED, self.tokenizer.pad_token_id)], dim=1)

    def _likelihoods(
        self, decode: Decode, states: Tensor, mask: Tensor, labels: Tensor, width: int | None = None
    ) -> Tensor:
        """Return the log-likelihood of one text, given by index, per row of encoder states: float32 [texts]."""
        written = self.written[labels, :width]
        losses = writing_loss(decode(states, mask, self.read(written)), written, "none")
        return -losses.view(written.shape).sum(dim=1)

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the training loss: the cross-entropy of the tokens of the gold label's text.

        Labels are indices [examples], or soft labels [examples, labels], which weight the losses of all label texts,
        as in the training of BLIP.
        """
        states, mask, labels = model.encoded(batch["inputs"]), batch["inputs"]["attention_mask"], batch["labels"]
        if labels.ndim == 1:
            written = self.written[labels]
            return writing_loss(model.decoded(states, mask, self.read(written)), written)
        example, answer = labels.nonzero(as_tuple=True)
        likelihoods = self._likelihoods(model.decoded, states[example], mask[example], answer)
        return -(likelihoods * labels[example, answer]).sum() / max(1, len(labels))

    def generated(self, model: Any, inputs: dict[str, Any], reused: Tensor) -> list[str | None]:
        """Generate a text per example after the encoder states ``reused``; None if scores of a token are not finite."""
        is_broken = [torch.tensor(False)]  # grows to bool [texts] on the device

        def watch(ids: Tensor, scores: Tensor) -> Tensor:
            is_broken[0] = is_broken[0] | ~scores.amax(dim=-1).isfinite()
            return scores

        ids = model.network.generate(
            encoder_outputs=MoEModelOutput(last_hidden_state=reused),
            attention_mask=inputs["attention_mask"],
            decoder_start_token_id=self.start,
            max_new_tokens=self.longest,
            logits_processor=[watch],
        )
        # ids[:, 0] is the start token of the decoder
        written = zip(ids[:, 1:].tolist(), is_broken[0].expand(len(ids)).tolist(), strict=True)
        return [None if broken else self.text(row) for row, broken in written]


class FreeTexts(LabelTexts):
    """Generates free answers; the only text of the head means "no answer"."""

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the cross-entropy of the tokens of the target answer, given the tokens before them."""
        inputs = batch["inputs"]
        logits = model.decoded(model.encoded(inputs), inputs["attention_mask"], self.read(inputs["written"]))
        return writing_loss(logits, inputs["written"])

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        """Return the texts of the answers; an answer is None if the scores of a token are not finite."""
        return Outputs(answers=self.answers(model, self.generated(model, inputs, model.encoded(inputs))))

    def meaning(self, text: str) -> str:
        # an empty text is a failure, not "no answer"; other texts are answers
        return self.label_of_text.get(text, text) if normalised(text) else NO_LABEL

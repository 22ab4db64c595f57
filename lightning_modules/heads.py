"""Heads: what the outputs of a network mean, and how it is trained and asked: named outputs, label texts, spans."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerBase
from transformers.modeling_outputs import MoEModelOutput

from heedful.lightning_modules.learned import Fit, LabelMap, Learned, mismatch
from heedful.lightning_modules.outputs import Outputs, label_numbers, most_probable
from heedful.records import NO_LABEL, ModelError, listing
from heedful.records.answers import NO_ANSWER, normalised

IGNORED = -100  # target of a padding token
SEQUENCES = 256  # largest number of texts per decoder batch, since the scores of a text have the size of the vocabulary
Decode = Callable[[Tensor, Tensor, Tensor], Tensor]


class NamedHead(nn.Module):
    """A head with one output per label, or several, which are matched with the labels by name.

    A head is a part of a model (:class:`~heedful.lightning_modules.Classifier`), which is passed to its methods. Its
    tensors are buffers, which move to the device with the model, and are not saved in checkpoints.

    Attributes:
        label_map: Maps the outputs to the labels; set by :meth:`prepare`.
        has_weights: Whether the head has weights, which are new unless a trained head is kept.
        texts: For a model that writes, the text of each output.
        template: For a model that reads a template, the template.
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
        label_of_output = torch.tensor(label_map.column, dtype=torch.int64)
        means = label_of_output[:, None] == torch.arange(len(label_map.labels) if label_map.merges else 0)
        for name, values in (
            ("label_of_output", label_of_output),
            ("output_of_label", label_of_output.argsort()),
            ("apart", torch.zeros(means.shape).masked_fill(~means, -torch.inf)),
        ):
            self.register_buffer(name, values, persistent=False)

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


class LabelTexts(NamedHead):
    """Scores labels by the log-likelihoods of their texts under a decoder, including the end token; generates texts.

    The model has an encoder, ``model.encoded(inputs)`` [examples, places, width], and a decoder,
    ``model.decoded(states, mask, read)``, which maps encoder states, their mask and the input tokens ``read`` to scores
    of the next token [texts, tokens, vocabulary].

    Args:
        rank: Number of labels to score: those with the most probable first tokens; ties go to the first label. None for
            all.
        mean: Whether to divide the score of a text by the number of its tokens.
        writes: Whether the answer is the generated text rather than the most probable label.

    Attributes:
        longest: Largest number of generated tokens.
    """

    has_weights = False

    def __init__(self, rank: int | None = None, mean: bool = False, writes: bool = False) -> None:
        super().__init__()
        self.rank, self.mean, self.writes = rank, mean, writes
        self.longest = 0
        self._meanings: dict[str, str] = {}

    def prepare_texts(
        self,
        label_map: LabelMap,
        texts: Sequence[str],
        ids: Sequence[list[int]],
        tokenizer: PreTrainedTokenizerBase,
        start: int | None,
    ) -> None:
        """Set the texts of the outputs.

        Args:
            label_map: Maps the outputs to the labels.
            texts: Text of each output.
            ids: Tokens of the text of each output, with the end of the text.
            tokenizer: Tokenizer of the model.
            start: Id of the first input token of the decoder; None for the padding id.

        Raises:
            ModelError: The tokenizer cannot tell two texts apart.
        """
        self.prepare(label_map)
        self.texts, self.tokenizer, self.start = tuple(texts), tokenizer, start
        times = Counter(map(tuple, ids))
        if twins := [text for text, row in zip(texts, ids, strict=True) if times[tuple(row)] > 1]:
            raise ModelError(
                f"The tokenizer of the model cannot tell the answers {listing(twins)} apart. Give the labels other "
                "answers with data.prompts or data.verbalisers."
            )
        self.lengths = [len(row) for row in ids]
        self.longest = max(self.lengths)
        labels = [label_map.labels[k] for k in label_map.column]
        self._meanings = {self.text(row): label for row, label in zip(ids, labels, strict=True)} if self.writes else {}
        written, read = teacher_forcing(ids, tokenizer.pad_token_id, start)
        for name, values in (("written", written), ("read", read), ("tokens", torch.tensor(self.lengths))):
            self.register_buffer(name, values, persistent=False)

    def scores(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        return self.likelihoods(model.decoded, model.encoded(inputs), inputs["attention_mask"])

    def likelihoods(self, decode: Decode, states: Tensor, mask: Tensor) -> Tensor:
        """Compute the score of each output's text: float32 [examples, outputs]; -inf for texts that are not scored.

        Args:
            decode: The decoder.
            states: Encoder states: [examples, places, width].
            mask: Mask of the encoder states, 0 for padding: int64 [examples, places].
        """
        n, count = len(states), len(self.lengths)
        rank = count if self.rank is None else self.rank
        if count <= rank:
            labels = torch.arange(count, device=states.device).expand(n, -1)
            lengths = torch.tensor(self.lengths * n)  # on the host, so that nothing waits for the device
        else:
            first = decode(states, mask, self.read[:1, :1].expand(n, 1))[:, 0, self.written[:, 0]]
            labels = first.sort(dim=1, descending=True, stable=True).indices[:, :rank]
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
        """Return the log-likelihood of one text, given by index, per row of encoder states: float32 [texts]."""
        written = self.written[labels, :width]
        losses = writing_loss(decode(states, mask, self.read[labels, :width]), written, "none")
        return -losses.view(written.shape).sum(dim=1)

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the training loss: the cross-entropy of the tokens of the gold label's text.

        Labels are indices [examples], or soft labels [examples, labels], by which the losses of all label texts are
        weighted, as in the training of BLIP.
        """
        states, mask, labels = model.encoded(batch["inputs"]), batch["inputs"]["attention_mask"], batch["labels"]
        if labels.ndim == 1:
            return writing_loss(model.decoded(states, mask, self.read[labels]), self.written[labels])
        example, answer = labels.nonzero(as_tuple=True)
        likelihoods = self._likelihoods(model.decoded, states[example], mask[example], answer)
        return -(likelihoods * labels[example, answer]).sum() / max(1, len(labels))

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        if not self.writes:
            return super().answer(model, inputs)
        states, mask = model.encoded(inputs), inputs["attention_mask"]
        probs = self.of_labels(self.likelihoods(model.decoded, states, mask)).softmax(dim=-1)
        answers = self.answers(model, self.generated(model, states, mask))
        return Outputs(probs, torch.from_numpy(label_numbers(answers, model.task.labels)).to(probs.device))

    def require(self, learned: Learned, fit: Fit) -> None:
        """Raise ModelError if the texts were trained for other labels; an untrained decoder can write any label."""
        if fit.head == "replaced":
            raise ModelError(mismatch(learned, fit.task.labels, None))

    def answers(self, model: Any, texts: Sequence[str | None]) -> list[str | None]:
        """Convert generated texts to answers, and count the texts that are no answer.

        With a prompt, the rules of the prompt find the answer in the text. Without a prompt, the whole text must be the
        text of a label, and the answer is this label. A text that is no answer gives NO_LABEL; None stays None.
        """
        if model.prompt is not None:
            return model.understood(texts)
        answers = [text if text is None else self.meaning(text) for text in texts]
        model.count("no_answers", (text for text, answer in zip(texts, answers, strict=True) if answer == NO_LABEL))
        return answers

    def meaning(self, text: str) -> str:
        """Return the label whose text is exactly ``text``, or NO_LABEL."""
        return self._meanings.get(text, NO_LABEL)

    def generated(self, model: Any, states: Tensor, mask: Tensor) -> list[str | None]:
        """Generate a text of at most ``longest`` tokens per example; None if the scores of a token are not finite.

        Args:
            model: The model.
            states: Encoder states: [examples, tokens, width].
            mask: Mask of the encoder states.
        """
        is_broken = [torch.tensor(False)]  # grows to bool [texts] on the device

        def watch(ids: Tensor, scores: Tensor) -> Tensor:
            is_broken[0] = is_broken[0] | ~scores.amax(dim=-1).isfinite()
            return scores

        ids = model.network.generate(
            encoder_outputs=MoEModelOutput(last_hidden_state=states),
            attention_mask=mask,
            decoder_start_token_id=self.start,
            max_new_tokens=self.longest,
            logits_processor=[watch],
        )
        # ids[:, 0] is the start token of the decoder
        written = zip(ids[:, 1:].tolist(), is_broken[0].expand(len(ids)).tolist(), strict=True)
        return [None if broken else self.text(row) for row, broken in written]

    def text(self, ids: Sequence[int]) -> str:
        """Decode tokens up to the end token."""
        end = self.tokenizer.eos_token_id
        return self.tokenizer.decode(ids[: ids.index(end)] if end in ids else ids).strip()


class FreeTexts(LabelTexts):
    """Generates free answers; one text stands for "no answer"."""

    def prepare_nothing(self, text: str, tokenizer: PreTrainedTokenizerBase, start: int, longest: int) -> None:
        """Set the text of "no answer", and ``longest`` unless that text is longer."""
        self.texts, self.tokenizer, self.start = (text,), tokenizer, start
        ids = tokenizer(text_target=text)["input_ids"]
        self.longest = max(longest, len(ids))
        self._nothing = self.text(ids)  # some tokenizers normalise texts

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the cross-entropy of the tokens of the target answer, given the tokens before them."""
        inputs = batch["inputs"]
        logits = model.decoded(model.encoded(inputs), inputs["attention_mask"], inputs["read"])
        return writing_loss(logits, inputs["written"])

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        """Return the texts of the answers; an answer is None if the scores of a token are not finite."""
        written = self.generated(model, model.encoded(inputs), inputs["attention_mask"])
        return Outputs(answers=self.answers(model, written))

    def meaning(self, text: str) -> str:
        if not normalised(text):  # an empty text is a failure, not "no answer"
            return NO_LABEL
        return NO_ANSWER if text == self._nothing else text

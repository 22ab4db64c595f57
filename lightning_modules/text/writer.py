"""Encoder-decoders that generate answers to questions: T5 and all others that AutoModelForSeq2SeqLM loads."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from heedful.lightning_modules.label_scorer import teacher_forcing, writing_loss
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.pretrained.backbone_config import LEARNED
from heedful.lightning_modules.pretrained_classifier import drop_settings
from heedful.lightning_modules.processors.templates import TemplateProcessor
from heedful.lightning_modules.text.seq2seq import Seq2Seq
from heedful.records import NO_LABEL, SPAN, Example, Task, column, inform
from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.prompts import Prompt, Wording


class AnswerProcessor(TemplateProcessor):
    """A :class:`TemplateProcessor` whose output also has the tokens of target answers, for training.

    The target is the first gold answer, or the text of no answer. The entries ``written`` (targets) and ``read``
    (inputs of the decoder), int64 [examples, tokens], are results of :func:`.label_scorer.teacher_forcing`.
    """

    no_answer: str
    start: int | None

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        inputs = zip(super().batches(examples, batches), batches, strict=True)
        return (texts | self._written([examples[i] for i in batch.tolist()]) for texts, batch in inputs)

    def _written(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        golds = [SPAN.parse_gold(label or "[]") for label in column(examples, "label")]
        texts = [gold[0] if gold else self.no_answer for gold in golds] or [self.no_answer]  # one at least
        ids = self.tokenizer(text_target=texts)["input_ids"]
        written, read = teacher_forcing(ids, self.tokenizer.pad_token_id, self.start)
        return {"written": written, "read": read}


class Writer(Seq2Seq):
    """Any ``AutoModelForSeq2SeqLM`` over a text and a question: it generates the answer, or the text of no answer.

    The data's ``template`` defines the text around the parts. Long texts are truncated on the right.

    Args:
        max_length: Most tokens of an input.
        no_answer: Text that stands for no answer. The released T5 was not trained on such a text.
        longest_answer: Most tokens of an answer, unless ``no_answer`` is longer.
        **kwargs: As for :class:`PretrainedClassifier`.
    """

    kinds = (SPAN,)

    def __init__(
        self,
        backbone: str,
        max_length: int = 512,
        no_answer: str = "unanswerable",
        longest_answer: int = 32,
        **kwargs: Any,
    ) -> None:
        drop_settings(kwargs, "score", "decoding", "collapse")
        super().__init__(backbone, max_length, score="sum", decoding="likelihood", collapse=None, **kwargs)
        self.no_answer = no_answer
        self.longest_answer = longest_answer

    def prepare(self, task: Task) -> None:
        tokenizer = self.open_backbone(task)
        learned = getattr(self.config, LEARNED, {}).get("no_answer", self.no_answer)
        if learned != self.no_answer:
            inform(f"{self.backbone} was trained to write {learned!r} where there is no answer: kept.")
            self.no_answer = learned
        self.processor = AnswerProcessor(tokenizer, task.wording, self.max_length, task.form)
        self._set_no_answer(learned)
        self.own_wording = Wording(task.wording, answers={NO_ANSWER: learned})
        setattr(self.config, LEARNED, {"template": task.wording, "parts": list(task.parts), "no_answer": learned})

    def _set_no_answer(self, text: str) -> None:
        self.processor.no_answer = text
        self.processor.start = self.config.decoder_start_token_id
        ids = self.processor.tokenizer(text_target=text)["input_ids"]
        self.longest = max(self.longest_answer, len(ids))
        self._nothing = self._text(ids)  # some tokenizers normalise texts

    def prompt_with(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._make_prompt_processor(prompt)
        self._set_no_answer(*prompt.answers)

    def _encoded(self, inputs: dict[str, Any]) -> Tensor:
        return super()._encoded({name: rows for name, rows in inputs.items() if name not in ("written", "read")})

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Compute the cross-entropy of the tokens of the target answer, given the tokens before them."""
        inputs = batch["inputs"]
        logits = self._decoded(self._encoded(inputs), inputs["attention_mask"], inputs["read"])
        return writing_loss(logits, inputs["written"])

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Return the texts of the answers; an answer is None if the scores of a token are not finite."""
        return Outputs(answers=self._answers(self._written(self._encoded(inputs), inputs["attention_mask"])))

    def _meant(self, text: str) -> str:
        if not normalised(text):  # an empty text is a failure, not "no answer"
            return NO_LABEL
        return NO_ANSWER if text == self._nothing else text

"""Encoder-decoders that generate answers to questions: T5 and all others that AutoModelForSeq2SeqLM loads."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from heedful.lightning_modules.heads import FreeTexts, teacher_forcing
from heedful.lightning_modules.processors.templates import TemplateProcessor
from heedful.lightning_modules.text.seq2seq import EncoderDecoder
from heedful.records import SPAN, Example, Task, column, inform
from heedful.records.answers import NO_ANSWER
from heedful.records.prompts import Prompt, Wording


class AnswerProcessor(TemplateProcessor):
    """A :class:`TemplateProcessor` whose output also has the tokens of target answers, for training.

    The target is the first gold answer, or the text of no answer. The entries ``written`` (targets) and ``read``
    (inputs of the decoder), int64 [examples, tokens], are results of :func:`.heads.teacher_forcing`.
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


class Writer(EncoderDecoder):
    """Any ``AutoModelForSeq2SeqLM`` over a text and a question: it generates the answer, or the text of no answer.

    The data's ``template`` defines the text around the parts; a trained model keeps the template of its training. Long
    texts are truncated on the right.

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
        learning_rate: float = 1e-4,
        **kwargs: Any,
    ) -> None:
        super().__init__(backbone, max_length, learning_rate=learning_rate, **kwargs)
        self.no_answer = no_answer
        self.longest_answer = longest_answer
        self.head = FreeTexts()

    def outputs(self, task: Task) -> tuple[str, ...]:
        return ()

    def make_processor(self, task: Task) -> AnswerProcessor:
        self.head.template = task.wording
        return AnswerProcessor(self.tokenizer, task.wording, self.max_length, task.form)

    def set_texts(self, task: Task, prompt: Prompt | None = None) -> Wording:
        (text,) = self.learned.texts or (self.no_answer,) if prompt is None else prompt.answers
        if prompt is None and text != self.no_answer:
            inform(f"{self.backbone} was trained to write {text!r} where there is no answer: kept.")
        self.processor.no_answer, self.processor.start = text, self.config.decoder_start_token_id
        self.head.prepare_nothing(text, self.tokenizer, self.processor.start, self.longest_answer)
        return Wording(task.wording, answers={NO_ANSWER: text})

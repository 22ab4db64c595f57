"""Encoder-decoders that generate answers to questions: T5 and all others that AutoModelForSeq2SeqLM loads."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from heedful.lightning_modules.heads import FreeTexts, target_ids
from heedful.lightning_modules.learned import LabelMap
from heedful.lightning_modules.processors.templates import TemplateProcessor
from heedful.lightning_modules.text.seq2seq import EncoderDecoder
from heedful.records import CONTAINED, SPAN, Example, Task, inform
from heedful.records.answers import NO_ANSWER
from heedful.records.prompts import Wording
from heedful.records.storage.schema import ENTRY


class AnswerProcessor(TemplateProcessor):
    """A :class:`TemplateProcessor` that adds ``written``, the tokens of target answers: int64 [examples, tokens].

    The target is the first gold answer, or the text of no answer; padding is -100.
    """

    no_answer: str

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        for texts, batch in zip(super().batches(examples, batches), batches, strict=True):
            golds = [SPAN.parse_gold(examples[i].label or "[]") for i in batch.tolist()]
            targets = [gold[0] if gold else self.no_answer for gold in golds] or [self.no_answer]  # one at least
            yield texts | {"written": target_ids(self.tokenizer(text_target=targets)["input_ids"])}


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

    kinds = (SPAN, CONTAINED)

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
        self.task_head = FreeTexts()

    def is_trained(self, task: Task) -> bool:
        entry = getattr(self.config, ENTRY, {})
        return "no_answer" in entry or len(entry.get("targets", ())) == 1

    def outputs(self, task: Task) -> tuple[str, ...]:
        return ()

    def make_processor(self, task: Task) -> AnswerProcessor:
        self.task_head.template = task.wording
        return AnswerProcessor(self.tokenizer, task.wording, self.max_length, task.form)

    def prepare(self, task: Task) -> None:
        super().prepare(task)
        (text,) = self.learned.texts or (self.no_answer,)
        if text != self.no_answer:
            inform(f"{self.backbone} was trained to write {text!r} where there is no answer: kept.")
        self.task_head.texts = (text,)
        self.set_texts((text,), self.fit.label_map, self.longest_answer)
        self.own_wording = Wording(task.wording, answers={NO_ANSWER: text})

    def set_texts(self, texts: Sequence[str], label_map: LabelMap, longest: int = 0) -> None:
        super().set_texts(texts, label_map, longest)
        (self.processor.no_answer,) = texts

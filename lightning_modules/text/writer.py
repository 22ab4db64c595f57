"""Encoder-decoders that answer questions in words of their own: T5 and whatever AutoModelForSeq2SeqLM knows."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lightning_modules.classifier import MOST_UNKNOWN
from lightning_modules.pretrained.backbone_config import LEARNED
from lightning_modules.processors.templates import TemplateProcessor
from lightning_modules.text.seq2seq import IGNORED, Seq2Seq, teach
from records import SPAN, Example, HeedError, Prediction, Task


class AnswerProcessor(TemplateProcessor):
    """What :class:`TemplateProcessor` makes of the parts, and the tokens of the answers that are to be written.

    The first gold answer is taught, or the text that stands for no answer. ``written`` and ``read`` are int64
    [examples, tokens], as :func:`~lightning_modules.text.seq2seq.teach` makes them.
    """

    no_answer: str
    start: int | None

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        golds = [SPAN.parse_gold(example.label or "[]") for example in examples]
        texts = [gold[0] if gold else self.no_answer for gold in golds] or [self.no_answer]  # of no example, any shape
        ids = [self.tokenizer(text_target=text)["input_ids"] for text in texts]
        written, read = teach(ids, self.tokenizer.pad_token_id, self.start)
        return {**super().__call__(examples), "written": written, "read": read}


class Writer(Seq2Seq):
    """Any ``AutoModelForSeq2SeqLM`` over a text and a question: it writes the answer, or that there is none.

    What stands around the parts is the data's ``template``. A text that is too long loses its end.

    Args:
        backbone: Hub id, folder, or ``package:MODULE/FOLDER``.
        max_length: Most tokens of an input.
        no_answer: What it writes where there is no answer. The released T5 never learned such a text.
        longest_answer: Most tokens of an answer; the text of no answer may be longer.
        learning_rate: Peak learning rate of AdamW.
        weight_decay: Decoupled weight decay; biases and normalisation weights have none.
        warmup: Share of all steps over which the learning rate rises.
        max_unknown: Largest share of the tokens of the data that the tokenizer may not know.
    """

    def __init__(
        self,
        backbone: str,
        max_length: int = 512,
        no_answer: str = "unanswerable",
        longest_answer: int = 32,
        learning_rate: float = 1e-4,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        max_unknown: float = MOST_UNKNOWN,
    ) -> None:
        settings = {"learning_rate": learning_rate, "weight_decay": weight_decay, "warmup": warmup}
        super().__init__(backbone, max_length, max_unknown=max_unknown, **settings)
        self.no_answer, self.longest_answer = no_answer, longest_answer

    def prepare(self, task: Task) -> None:
        if task.kind is not SPAN:
            raise HeedError(
                "A Writer answers questions about a text: for labels, take --model lightning_modules.Seq2Seq."
            )
        self.task = task
        config, tokenizer = self._open()
        learned = getattr(config, LEARNED, {})
        self.no_answer = learned.get("no_answer", self.no_answer)  # what it was trained to write
        self.processor = AnswerProcessor(tokenizer, task.wording, self.max_length, task.form)
        self.longest = max(self.longest_answer, len(tokenizer(text_target=self.no_answer)["input_ids"]))
        self.processor.no_answer, self.processor.start = self.no_answer, config.decoder_start_token_id
        setattr(config, LEARNED, {"template": task.wording, "parts": list(task.parts), "no_answer": self.no_answer})
        self.config = config

    def training_step(self, batch: dict[str, Any], batch_idx: int) -> Tensor:
        """The usual loss: cross-entropy of the tokens of the answer, given those before."""
        inputs = dict(batch["inputs"])
        written, read = inputs.pop("written"), inputs.pop("read")
        logits = self.network(**inputs, decoder_input_ids=read, use_cache=False).logits
        loss = F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED)
        self.log("loss/train", loss, prog_bar=True, batch_size=batch["size"])
        return loss

    def predict(self, batch: dict[str, Any]) -> list[Prediction]:
        if not batch["size"]:
            return []
        inputs = {name: rows for name, rows in batch["inputs"].items() if name not in ("written", "read")}
        with torch.no_grad():
            texts = self._generated(self._encoded(inputs), inputs["attention_mask"], self.longest)
        return [Prediction("" if text == self.no_answer else text) for text in texts]

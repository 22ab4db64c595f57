"""Extractive readers: BERT, RoBERTa, DeBERTa, ELECTRA and all others that AutoModel loads, with a span head."""

from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModelForQuestionAnswering

from heedful.lightning_modules.heads import NamedHead
from heedful.lightning_modules.learned import Fit, Learned
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.pretrained_classifier import PretrainedClassifier
from heedful.lightning_modules.processors.windows import WindowProcessor
from heedful.records import CONTAINED, SPAN, ModelError, SettingError, Task

WINDOWS = 64  # windows per forward pass


class Span(NamedHead):
    """A head with scores of starts and ends of an answer; the answer is a span of the text, or "".

    The best span has the highest sum of start score and end score in any window. The score of no answer is this sum at
    the first token, the lowest over the windows. The prediction is "" if the score of no answer exceeds the score of
    the best span by more than ``threshold``, as in Devlin et al. (2019) for SQuAD 2.0; otherwise the best span.

    Args:
        longest: Most tokens of a predicted answer.
        threshold: By how much the score of no answer must exceed the score of the best span.
    """

    def __init__(self, longest: int, threshold: float) -> None:
        super().__init__()
        self.longest, self.threshold = longest, threshold

    def loss(self, model: Any, batch: dict[str, Any]) -> Tensor:
        """Compute the training loss: the mean cross-entropy of starts and ends over windows.

        If a window does not contain the whole answer, its target is token 0, which stands for no answer.
        """
        start, end = model.logits(batch["inputs"]).float()
        targets = batch["inputs"]["targets"]
        return (F.cross_entropy(start, targets[:, 0]) + F.cross_entropy(end, targets[:, 1])) / 2

    def answer(self, model: Any, inputs: dict[str, Any]) -> Outputs:
        """Return the texts of the answers; an answer is None if scores of a window are not finite."""
        scores = model.logits(inputs).float().cpu().numpy()
        is_finite = np.isfinite(scores)
        answers = self.answers_of(np.where(is_finite, scores, 0), inputs)
        for i in inputs["windows"][~is_finite.all(axis=(0, 2)), 0].tolist():
            answers[i] = None  # the engine refuses such answers in all processes together
        return Outputs(answers=answers)

    def answers_of(self, scores: np.ndarray, inputs: dict[str, Any]) -> list[str | None]:
        """Return the answers to the examples of a batch, from scores [2, windows, tokens]; "" for no answer."""
        windows = inputs["windows"]
        nothing = scores[:, :, 0].sum(axis=0)
        best, first, last = best_spans(*scores, windows, self.longest)
        answers = []
        for i, (text, characters) in enumerate(zip(inputs["texts"], inputs["characters"], strict=True)):
            rows = np.flatnonzero(windows[:, 0] == i)
            w = rows[best[rows].argmax()]
            if best[w] == -np.inf or nothing[rows].min() - best[w] > self.threshold:
                answers.append("")
            else:
                shift = windows[w, 1] - windows[w, 2]
                answers.append(text[characters[first[w] + shift, 0] : characters[last[w] + shift, 1]].strip())
        return answers

    def require(self, learned: Learned, fit: Fit) -> None:
        if not fit.is_kept:
            raise ModelError(
                f"The model {learned.base} was never trained to answer questions. Name a run with checkpoint RUN."
            )


class Reader(PretrainedClassifier):
    """Any ``AutoModelForQuestionAnswering`` over a text and a question, with the head :class:`Span`.

    Args:
        max_length: Most tokens of a window, with the question.
        overlap: Tokens that two windows of a text share.
        longest_answer: Most tokens of a predicted answer; at most ``overlap``, so that a window contains each answer.
        threshold: By how much the score of no answer must exceed the score of the best span. Lower values mean fewer
            answers.
        **kwargs: As for :class:`PretrainedClassifier`.
    """

    kinds = (SPAN, CONTAINED)
    auto = AutoModelForQuestionAnswering

    def __init__(
        self,
        backbone: str,
        max_length: int = 384,
        overlap: int = 128,
        longest_answer: int = 30,
        threshold: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(backbone, max_length, **kwargs)
        if not 1 <= longest_answer <= overlap:
            raise SettingError(f"model.longest_answer {longest_answer} is not from 1 to model.overlap {overlap}.")
        self.overlap, self.longest_answer, self.threshold = overlap, longest_answer, threshold
        self.task_head = Span(longest_answer, threshold)

    def outputs(self, task: Task) -> tuple[str, ...]:
        return ()

    def make_processor(self, task: Task) -> WindowProcessor:
        if len(task.parts) > 2:
            raise ModelError(
                f"model {type(self).__name__} reads a text and a question, and these data have also "
                f"{', '.join(task.parts[2:])}. Take a model that writes the answer, such as model t5, or name two "
                "data.parts."
            )
        if self.fit.head == "new":
            self.config.num_labels = 2  # start and end
        return WindowProcessor(self.tokenizer, task.parts, self.max_length, self.overlap)

    def logits(self, inputs: dict[str, Any]) -> Tensor:
        """Compute the scores of starts and of ends: [2, windows, tokens]; the network reads a few windows at a time."""
        rows = inputs["encoder"]
        outputs = [
            self.network(**{name: values[k : k + WINDOWS] for name, values in rows.items()})
            for k in range(0, len(rows["input_ids"]), WINDOWS)
        ]
        return torch.stack([torch.cat([f.start_logits for f in outputs]), torch.cat([f.end_logits for f in outputs])])


def best_spans(
    start: np.ndarray, end: np.ndarray, windows: np.ndarray, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the best span of the text per window; ties go to the shortest span, then to the first.

    Args:
        start: float32 [windows, tokens], start scores.
        end: float32 [windows, tokens], end scores.
        windows: int64 [windows, 4], from :class:`WindowProcessor`.
        longest: Largest number of tokens of a span.

    Returns:
        Score, first token and last token of the span: [windows] each; the score is -inf for windows without text.
    """
    tokens = start.shape[1]
    longest = min(longest, tokens)
    place = np.arange(tokens)
    begin, count = windows[:, 2:3], windows[:, 3:]
    inside = (begin <= place) & (place < begin + count)
    start, end = (np.where(inside, scores, -np.inf) for scores in (start, end))
    ends = np.pad(end, ((0, 0), (0, longest - 1)), constant_values=-np.inf)
    totals = start[:, None] + sliding_window_view(ends, tokens, axis=1)  # [windows, length of span - 1, start]
    totals = totals.reshape(len(start), longest * tokens)
    best = totals.argmax(axis=1)
    more, first = np.divmod(best, tokens)
    return np.take_along_axis(totals, best[:, None], axis=1)[:, 0].astype(float), first, first + more

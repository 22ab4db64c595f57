"""Prompts: text around an example, and interpretation of written answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile

from heedful.records.answers import NO_ANSWER, abstains, declines, normalised
from heedful.records.example import Example, Part, as_table
from heedful.records.parts.template import filled
from heedful.records.prompts.wording import NO_ANSWER_TEXT, STRAIGHT, Wording, bare, without_thoughts
from heedful.records.task import NO_LABEL, SPAN, Task

BETWEEN = "\n\n"  # instruction, demonstrations and the question


@dataclass(frozen=True)
class Prompt:
    """An instruction, demonstrations with answers, and the question about an example.

    Attributes:
        wording: Texts of the prompt.
        task: The task.
        demonstrations: Examples with gold labels, in order.
        name: Name of the wording, for folders and tables.
        seed: Seed of the demonstrations.
        tuples: Number of tuples of demonstrations; a tuple has an example per label.
        kind: Kind of demonstrations: "plain", "counterfactual" or a control.
        version: Version of the algorithm for this kind.
    """

    wording: Wording
    task: Task
    demonstrations: tuple[Example, ...] = ()
    name: str = ""
    seed: int = 0
    tuples: int = 0
    kind: str = "plain"
    version: int = 1

    @property
    def answers(self) -> tuple[str, ...]:
        """The text of each label; if answers are texts, only the text for "no answer"."""
        if self.task.kind is SPAN:
            return (self.wording.answers.get(NO_ANSWER, NO_ANSWER_TEXT),)
        return tuple(self.wording.answers.get(label, label) for label in self.task.labels)

    def question(self, parts: Sequence[Part]) -> str:
        """The question about an example, given its parts in the order of the task."""
        texts = [part for part in parts if isinstance(part, str)]
        text_of_part = {
            name: part if isinstance(part, str) else self.task.form.text(as_table(part), texts)
            for name, part in zip(self.task.parts, parts, strict=True)
        }
        return filled(self.wording.question, text_of_part)

    def answer(self, example: Example) -> str:
        """The text of the gold answer of an example."""
        if self.task.kind is SPAN:
            golds = SPAN.parse_gold(example.gold)
            return golds[0] if golds else self.answers[0]
        return self.wording.answers.get(example.gold, example.gold)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Questions and answers of the demonstrations."""
        return [
            (self.question([example.parts[part] for part in self.task.parts]), self.answer(example))
            for example in self.demonstrations
        ]

    def text(self, question: str) -> str:
        """The prompt as one text; the answer follows after a space."""
        blocks = [self.wording.instruction] if self.wording.instruction else []
        blocks += [" ".join(demonstration) for demonstration in self.shown]
        return BETWEEN.join([*blocks, question])

    def messages(self, question: str) -> list[dict[str, str]]:
        """The prompt as messages of a chat; the instruction precedes the first question."""
        turns = [text for demonstration in self.shown for text in demonstration] + [question]
        turns[0] = BETWEEN.join(filter(None, [self.wording.instruction, turns[0]]))
        return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]

    def read(self, written: str) -> str:
        """Interpret a written text.

        The answer starts in the first line with words, after any <think> block. A label must be the start of this line,
        up to case and quotes; the longest matching text wins. If the answer names further labels, ``wording.read``
        selects one, and by default there is no label. If answers are texts, the answer is this line, or "" if it means
        "no answer"; a refusal is NO_LABEL.

        Returns:
            A label, :data:`~heedful.records.NO_LABEL`, or a text.
        """
        if self.task.kind is SPAN:
            return self._text(written)
        labels = self.labels_named(written)
        if len(set(labels)) > 1 and not self.wording.read:
            return NO_LABEL
        return labels[-1 if self.wording.read == "last" else 0] if labels else NO_LABEL

    def _text(self, written: str) -> str:
        line = next((line for line in without_thoughts(written).splitlines() if normalised(line)), "")
        answer = normalised(line.translate(STRAIGHT))
        none = normalised(self.answers[0].translate(STRAIGHT))
        if f"{answer} ".startswith(f"{none} "):
            return NO_ANSWER
        if not answer or declines(answer):
            return NO_LABEL
        return NO_ANSWER if abstains(answer) else line.strip()

    def labels_named(self, written: str) -> list[str]:
        """The labels in an answer, in order; empty if it does not start with a label.

        The answer ends at an empty line, or where the model repeats the question.
        """
        lines = list(dropwhile(lambda line: not bare(line), without_thoughts(written).splitlines()))
        question = bare(self.wording.question.partition("{")[0])
        is_end = [not line.strip() or bool(question and bare(line).startswith(question)) for line in lines]
        answer = bare("\n".join(lines[: is_end.index(True, 1) if True in is_end[1:] else None]))
        label_of = dict(zip(map(bare, self.answers), self.task.labels, strict=True))
        labels_at = [(match.start(), label_of[match[0]]) for match in _words(tuple(label_of)).finditer(answer)]
        return [label for _, label in labels_at] if labels_at and labels_at[0][0] == 0 else []

    def as_dict(self) -> dict[str, object]:
        """The settings and the uids of the demonstrations, for run.json."""
        settings = {name: getattr(self, name) for name in ("seed", "tuples", "kind", "version")}
        return {"wording": self.name, **settings, "demonstrations": [example.uid for example in self.demonstrations]}


@cache
def _words(texts: tuple[str, ...]) -> re.Pattern[str]:
    """A regular expression that matches any of these texts as complete words, the longest first; underscores count as
    markup."""
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{any_of})(?!_*[^\W_])")

"""Prompts: the input text of a generative model, and the mapping of its answers to labels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile

from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.example import Example, Part, as_table
from heedful.records.parts.template import filled
from heedful.records.prompts.wording import NO_ANSWER_TEXT, Wording
from heedful.records.task import NO_LABEL, SPAN, Task
from heedful.records.text import bare, normal_form

THOUGHT = re.compile(r"</?think(?:ing)?>|\[THINK\]|<\|channel\|>", re.IGNORECASE)  # marks of reasoning in a text
BETWEEN = "\n\n"  # separates instruction, demonstrations and question


@dataclass(frozen=True)
class Prompt:
    """An instruction, solved examples (demonstrations), and a question about the example to classify.

    Attributes:
        wording: The instruction, the template of the question, and the texts of the labels.
        task: The task, with its parts and labels.
        demonstrations: Solved examples in the order in which the prompt shows them.
        name: Name of the wording, used in folder names and tables.
        seed: Seed of the selection of demonstrations.
        tuples: Number of tuples of demonstrations; a tuple has one example per label.
        kind: Kind of demonstrations, see :func:`~heedful.interventions.demonstrations.demonstrations`.
        version: Version of the algorithm that selects this kind of demonstrations.
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
        """The texts with which a model answers, in the order of the labels; for tasks with free answers, only the text
        that means "no answer".
        """
        if self.task.kind is SPAN:
            return (self.wording.answers.get(NO_ANSWER, NO_ANSWER_TEXT),)
        return tuple(self.wording.answers.get(label, label) for label in self.task.labels)

    def question(self, parts: Sequence[Part]) -> str:
        """Return the question about an example: the template, filled with the parts in the order of the task."""
        texts = [part for part in parts if isinstance(part, str)]
        text_of_part = {
            name: part if isinstance(part, str) else self.task.form.text(as_table(part), texts)
            for name, part in zip(self.task.parts, parts, strict=True)
        }
        return filled(self.wording.question, text_of_part)

    def answer(self, example: Example) -> str:
        """Return the text of an example's gold label; for tasks with free answers, the first gold answer, or "no
        answer" in the words of the prompt.
        """
        if self.task.kind is SPAN:
            golds = SPAN.parse_gold(example.gold)
            return golds[0] if golds else self.answers[0]
        return self.wording.answers.get(example.gold, example.gold)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The demonstrations as (question, answer) pairs."""
        return [
            (self.question([example.parts[part] for part in self.task.parts]), self.answer(example))
            for example in self.demonstrations
        ]

    def text(self, question: str) -> str:
        """Return the prompt as one text, with the question last, for models that continue a text; the answer follows
        after a space.
        """
        blocks = [self.wording.instruction] if self.wording.instruction else []
        blocks += [" ".join(demonstration) for demonstration in self.shown]
        return BETWEEN.join([*blocks, question])

    def messages(self, question: str) -> list[dict[str, str]]:
        """Return the prompt as chat messages, with the question last; the first message begins with the instruction."""
        turns = [text for demonstration in self.shown for text in demonstration] + [question]
        turns[0] = BETWEEN.join(filter(None, [self.wording.instruction, turns[0]]))
        return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]

    def read(self, written: str) -> str:
        """Return the answer in a text that a model has written: a label, or a text for tasks with free answers.

        For a label, the first line with words must begin with the text of the label, regardless of case and quotes. If
        several texts match, the longest counts. An answer that also names a different label has no label.

        Args:
            written: The generated text, without the prompt.

        Returns:
            A label, or :data:`~heedful.records.NO_LABEL`. For tasks with free answers: the first line with words, ""
            if the line begins with the text for "no answer", or NO_LABEL if there is no such line, or if the text
            contains reasoning, such as <think>.
        """
        if self.task.kind is SPAN:
            return self._free_answer(written)
        labels = self._labels_named(written)
        return labels[0] if len(set(labels)) == 1 else NO_LABEL

    def _free_answer(self, written: str) -> str:
        if THOUGHT.search(written):
            return NO_LABEL
        line = next((line for line in written.splitlines() if normalised(line)), "")
        if not line:
            return NO_LABEL
        answer, no_answer = (normal_form(text).replace("'", "") for text in (line, self.answers[0]))
        return NO_ANSWER if f"{answer} ".startswith(f"{no_answer} ") else line.strip()

    def _labels_named(self, written: str) -> list[str]:
        """Return the labels that a text names, in order of appearance; empty if the text does not begin with a label.

        Only the text before an empty line, or before a repetition of the question, counts.
        """
        lines = list(dropwhile(lambda line: not bare(line), written.splitlines()))
        question = bare(self.wording.question.partition("{")[0])
        is_end = [not line.strip() or bool(question and bare(line).startswith(question)) for line in lines]
        answer = bare("\n".join(lines[: is_end.index(True, 1) if True in is_end[1:] else None]))
        label_of = dict(zip(map(bare, self.answers), self.task.labels, strict=True))
        labels_at = [(match.start(), label_of[match[0]]) for match in _words(tuple(label_of)).finditer(answer)]
        return [label for _, label in labels_at] if labels_at and labels_at[0][0] == 0 else []

    def as_dict(self) -> dict[str, object]:
        """Return the name of the wording, the settings and the uids of the demonstrations, as written to run.json."""
        settings = {name: getattr(self, name) for name in ("seed", "tuples", "kind", "version")}
        return {"wording": self.name, **settings, "demonstrations": [example.uid for example in self.demonstrations]}


@cache
def _words(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a pattern that matches each text as whole words, the longest text first.

    Underscores around a text are read as Markdown emphasis, not as letters.
    """
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{any_of})(?!_*[^\W_])")

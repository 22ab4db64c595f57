"""A prompt: what a model in context reads before and around an example, and how what it writes is understood."""

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
    """An instruction, demonstrations with their answers, and a place for the example that is asked about.

    Attributes:
        wording: The words, with the parts of the task.
        task: The task: labels, parts, and how tables are put into words.
        demonstrations: Examples with gold labels, in the order in which they are shown.
        name: Names the wording in folders and tables.
        seed: Which demonstrations were drawn: 0, 1, ... of several seeds.
        tuples: How many tuples of one example of each label they come from.
        kind: How the demonstrations were made: "plain", "counterfactual" or one of the controls.
        version: Of the way in which that kind is made.
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
        """The text of each label, in the order of the labels; where answers are texts, that of no answer alone."""
        if self.task.kind is SPAN:
            return (self.wording.answers.get(NO_ANSWER, NO_ANSWER_TEXT),)
        return tuple(self.wording.answers.get(label, label) for label in self.task.labels)

    def question(self, parts: Sequence[Part]) -> str:
        """The question about an example, up to where its answer begins.

        Args:
            parts: The parts, in the order of the task.
        """
        texts = [part for part in parts if isinstance(part, str)]
        text_of_part = {
            name: part if isinstance(part, str) else self.task.form.text(as_table(part), texts)
            for name, part in zip(self.task.parts, parts, strict=True)
        }
        return filled(self.wording.question, text_of_part)

    def answer(self, example: Example) -> str:
        """The text of an example's gold answer."""
        if self.task.kind is SPAN:
            golds = SPAN.parse_gold(example.gold)
            return golds[0] if golds else self.answers[0]
        return self.wording.answers.get(example.gold, example.gold)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The question and the answer of each demonstration."""
        return [
            (self.question([example.parts[part] for part in self.task.parts]), self.answer(example))
            for example in self.demonstrations
        ]

    def text(self, question: str) -> str:
        """The whole prompt as one text, up to where the answer begins; the answer follows after a space."""
        blocks = [self.wording.instruction] if self.wording.instruction else []
        blocks += [f"{asked} {answered}" for asked, answered in self.shown]
        return BETWEEN.join([*blocks, question])

    def messages(self, question: str) -> list[dict[str, str]]:
        """The whole prompt as the turns of a chat: the instruction stands before the first question."""
        turns = []
        first = f"{self.wording.instruction}{BETWEEN}" if self.wording.instruction else ""
        for asked, answered in self.shown:
            turns += [{"role": "user", "content": f"{first}{asked}"}, {"role": "assistant", "content": answered}]
            first = ""
        return [*turns, {"role": "user", "content": f"{first}{question}"}]

    def read(self, written: str) -> str:
        """The answer that a written text means.

        It begins in the first line that is more than quotes and marks, behind what a model thinks aloud. Of labels, it
        is the one whose text begins that line, in upper or lower case, whatever quotes or marks stand around it; of
        texts that begin alike, the longest. Where other labels are named behind it, ``read`` of the wording says which
        of them is the answer, and without that none is. Where answers are texts, it is that line, or no answer where it
        says in whatever words that there is none; what declines to answer, or has no word, says neither.

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
        said = normalised(line.translate(STRAIGHT))
        none = normalised(self.answers[0].translate(STRAIGHT))
        if f"{said} ".startswith(f"{none} "):
            return NO_ANSWER
        if not said or declines(said):
            return NO_LABEL
        return NO_ANSWER if abstains(said) else line.strip()

    def labels_named(self, written: str) -> list[str]:
        """The labels that an answer names, in their order, if it begins with one; those of a next question are not its.

        An answer ends with an empty line, or where the model asks a question of its own.
        """
        lines = list(dropwhile(lambda line: not bare(line), without_thoughts(written).splitlines()))
        asked = bare(self.wording.question.partition("{")[0])
        is_end = [not line.strip() or bool(asked and bare(line).startswith(asked)) for line in lines]
        said = bare("\n".join(lines[: is_end.index(True, 1) if True in is_end[1:] else None]))
        label_of = dict(zip(map(bare, self.answers), self.task.labels, strict=True))
        labels_at = [(match.start(), label_of[match[0]]) for match in _words(tuple(label_of)).finditer(said)]
        return [label for _, label in labels_at] if labels_at and labels_at[0][0] == 0 else []

    def as_dict(self) -> dict[str, object]:
        """Which prompt it is, for a file: its settings, and the uids of the demonstrations."""
        settings = {name: getattr(self, name) for name in ("seed", "tuples", "kind", "version")}
        return {"wording": self.name, **settings, "demonstrations": [example.uid for example in self.demonstrations]}


@cache
def _words(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Finds each of some texts as whole words, the longest first; an underscore may be a mark."""
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{any_of})(?!_*[^\W_])")

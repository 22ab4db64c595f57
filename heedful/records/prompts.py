"""Prompts: the input text of a generative model that is not fine-tuned, and the mapping of its answers to labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import dropwhile

from heedful.records.answers import NO_ANSWER, NO_LABEL, normalised
from heedful.records.errors import ModelError, SettingError
from heedful.records.example import Example, Part, as_table
from heedful.records.storage.results import FIT, is_folder_name
from heedful.records.task import SPAN, Task
from heedful.records.text import PART, bare, filled, keep_parts, normal_form, parts_of

NO_ANSWER_TEXT = "I don't know"
THOUGHT = re.compile(r"</?think(?:ing)?>|\[THINK\]|<\|channel\|>", re.IGNORECASE)  # marks of reasoning in a text
BETWEEN = "\n\n"  # separates instruction, demonstrations and question


@dataclass(frozen=True)
class Wording:
    """The texts of a prompt, which the configuration of a data set defines.

    Attributes:
        question: Template of the question about an example, with the names of the parts in braces; literal braces are
            doubled.
        instruction: Text before the demonstrations; "" for none.
        answers: Maps a label to its text in the prompt and in the model's answer; by default, the text is the label
            itself. For tasks with free answers, the key "" has the text for "no answer".
    """

    question: str
    instruction: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def plain(cls, parts: Sequence[str], labels: Sequence[str]) -> "Wording":
        """Create the default wording: a question with one line per part, and an instruction that lists the labels."""
        choices = f"one of: {', '.join(labels)}" if labels else f"words of the text, or with: {NO_ANSWER_TEXT}"
        lines = [*(f"{part}: {{{part}}}" for part in parts), "answer:"]
        return cls("\n".join(lines), f"Answer with {choices}.")

    @classmethod
    def asking(cls, question: str, labels: Sequence[str]) -> "Wording":
        """Create a wording with a question; an instruction lists the labels unless the question names all of them.

        Example:
            >>> Wording.asking("{review} Is it good?", ["yes", "no"]).instruction
            'Answer with one of: yes, no.'
            >>> Wording.asking("{review} Is it good, yes or no?", ["yes", "no"]).instruction
            ''
        """
        words = PART.sub("", question)
        says = all(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words, re.I) for text in labels or [NO_ANSWER_TEXT])
        return cls(question) if says else replace(cls.plain((), labels), question=question)

    def keep_parts(self, parts: Sequence[str]) -> "Wording":
        """Restrict the question to some parts, and drop the lines that contain only other parts."""
        lines = []
        for line in self.question.split("\n"):
            parts_of_line = parts_of(line)
            if not parts_of_line or set(parts_of_line) & set(parts):
                lines.append(keep_parts(line, parts) if set(parts_of_line) - set(parts) else line)
        return replace(self, question="\n".join(lines))

    def require(self, name: str, parts: Sequence[str], labels: Sequence[str], setting: str = "") -> None:
        """Check the name, and that the wording fits a data set's parts and labels (none if its answers are free).

        Error messages begin with ``setting``, by default "data.prompts" and the name.
        """
        at = setting or f"data.prompts {name}"
        if not is_folder_name(name):
            raise SettingError(f"data.prompts: {name!r} is not valid for a folder. Use {FIT}; quote numbers.")
        if sorted(parts_of(self.question)) != sorted(parts):
            raise SettingError(
                f"{at}: the question must name each part once: {', '.join(f'{{{part}}}' for part in parts)}. Double "
                "literal braces."
            )
        if self.question != self.question.rstrip():
            raise SettingError(f"{at}: the question ends with white space. Remove it: a space precedes the answer.")
        if unknown := [label for label in self.answers if label not in (labels or (NO_ANSWER,))]:
            remedy = f"The labels are {', '.join(labels)}." if labels else "The only label is '' (no answer)."
            raise SettingError(f"{at}: answers has {unknown[0]!r}, which is not a label. {remedy}")
        if not labels and not normalised(none := self.answers.get(NO_ANSWER, NO_ANSWER_TEXT)):
            raise SettingError(f"{at}: answers[''] is {none!r}, which has no words. Change answers[''].")
        texts = [self.answers.get(label, label) for label in labels]
        bare_texts = [bare(text) for text in texts]
        ambiguous = [repr(text) for text, b in zip(texts, bare_texts, strict=True) if not b or bare_texts.count(b) > 1]
        if ambiguous:
            raise ModelError(f"{at}: the answers {', '.join(ambiguous)} are equal or empty. Change them in answers.")


@dataclass(frozen=True)
class Prompt:
    """An instruction, solved examples (demonstrations), and a question about the example to classify."""

    wording: Wording
    task: Task
    demonstrations: tuple[Example, ...] = ()
    name: str = ""  # of the wording, for folders and tables
    seed: int = 0  # of the selection of demonstrations
    tuples: int = 0  # of demonstrations; a tuple has one example per label
    kind: str = "plain"  # see heedful.datamodules.demonstrations.demonstrations
    version: int = 1  # of the algorithm that selects this kind of demonstrations

    @property
    def answers(self) -> tuple[str, ...]:
        """The texts of the answers in the order of the labels; of free answers, only the text for "no answer"."""
        if self.task.kind.has_spans:
            return (self.wording.answers.get(NO_ANSWER, NO_ANSWER_TEXT),)
        return tuple(self.wording.answers.get(label, label) for label in self.task.labels)

    def question(self, parts: Sequence[Part]) -> str:
        """Return the question about an example, given its parts in the order of the task."""
        texts = [part for part in parts if isinstance(part, str)]
        text_of_part = {
            name: part if isinstance(part, str) else self.task.form.text(as_table(part), texts)
            for name, part in zip(self.task.parts, parts, strict=True)
        }
        return filled(self.wording.question, text_of_part)

    def answer(self, example: Example) -> str:
        """Return the text of the gold label; of free answers, the first, or "no answer" in the prompt's words."""
        if self.task.kind.has_spans:
            golds = SPAN.parse_gold(example.gold)
            return golds[0] if golds else self.answers[0]
        return self.wording.answers.get(example.gold, example.gold)

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The demonstrations as (question, answer) pairs."""
        return [(self.question([e.parts[p] for p in self.task.parts]), self.answer(e)) for e in self.demonstrations]

    def text(self, question: str) -> str:
        """Return the prompt as one text to be continued; the answer follows after a space."""
        blocks = [self.wording.instruction] if self.wording.instruction else []
        blocks += [" ".join(demonstration) for demonstration in self.shown]
        return BETWEEN.join([*blocks, question])

    def messages(self, question: str) -> list[dict[str, str]]:
        """Return the prompt as chat messages, with the question last; the first message begins with the instruction."""
        turns = [text for demonstration in self.shown for text in demonstration] + [question]
        turns[0] = BETWEEN.join(filter(None, [self.wording.instruction, turns[0]]))
        return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]

    def read(self, written: str) -> str:
        """Return the answer in a text that a model has written after the prompt: a label, a free answer, or NO_LABEL.

        For a label, the first line with words must begin with the text of the label, regardless of case and quotes. If
        several texts match, the longest counts. An answer that also names a different label has no label.

        A free answer is the first line with words, and "" if the line begins with the text for "no answer". Without
        such a line, or with reasoning such as <think>, there is no answer.
        """
        if self.task.kind.has_spans:
            return self._free_answer(written)
        labels = self._labels_named(written)
        return labels[0] if len(set(labels)) == 1 else NO_LABEL

    def _free_answer(self, written: str) -> str:
        line = next((line for line in written.splitlines() if normalised(line)), "")
        if THOUGHT.search(written) or not line:
            return NO_LABEL
        answer, no_answer = (normal_form(text).replace("'", "") for text in (line, self.answers[0]))
        return NO_ANSWER if f"{answer} ".startswith(f"{no_answer} ") else line.strip()

    def _labels_named(self, written: str) -> list[str]:
        """Return the labels in a text, in order of appearance; empty if it does not begin with a label."""
        lines = list(dropwhile(lambda line: not bare(line), written.splitlines()))
        question = bare(self.wording.question.partition("{")[0])
        # the answer ends at an empty line, or where the model repeats the question
        is_end = [not line.strip() or bool(question and bare(line).startswith(question)) for line in lines]
        answer = bare("\n".join(lines[: is_end.index(True, 1) if True in is_end[1:] else None]))
        label_of = dict(zip(map(bare, self.answers), self.task.labels, strict=True))
        labels_at = [(match.start(), label_of[match[0]]) for match in _words(tuple(label_of)).finditer(answer)]
        return [label for _, label in labels_at] if labels_at and labels_at[0][0] == 0 else []

    def as_dict(self) -> dict[str, object]:
        """Convert to an entry of run.json."""
        settings = {name: getattr(self, name) for name in ("seed", "tuples", "kind", "version")}
        return {"wording": self.name, **settings, "demonstrations": [example.uid for example in self.demonstrations]}


@cache
def _words(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a pattern of whole words, the longest first; underscores around them are Markdown, not letters."""
    any_of = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{any_of})(?!_*[^\W_])")

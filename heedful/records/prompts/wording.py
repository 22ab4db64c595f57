"""The words of a prompt, which belong to the data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.errors import ModelError, SettingError
from heedful.records.parts.template import PART, keep_parts, parts_of
from heedful.records.storage.folder_names import FIT, is_folder_name

NO_ANSWER_TEXT = "I don't know"
STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")  # curly quotes, which models write for straight ones
AROUND = " \t\r\n\"'`*_.:,;!?()[]-\u2013\u2014\u2026\u00ab\u00bb"  # around an answer, and not part of it
READ = "first", "last"
THOUGHTS = "<think>", "</think>"  # the first is often written by the server's template, and not by the model


def bare(answer: str) -> str:
    """An answer as it is compared with others: in lower case, without the quotes and marks that stand around it.

    Example:
        >>> bare("**Can\u2019t say!**")
        "can't say"
    """
    return answer.translate(STRAIGHT).strip(AROUND).casefold()


def without_thoughts(written: str) -> str:
    """What a model wrote behind its thoughts, which end with a mark of their own; nothing where they do not end.

    Example:
        >>> [without_thoughts(text) for text in ("<think>Both are wet.</think> Yes", "<think>Both", "No")]
        [' Yes', '', 'No']
    """
    _, end, behind = written.rpartition(THOUGHTS[1])
    return behind if end or not written.lstrip().startswith(THOUGHTS[0]) else ""


@dataclass(frozen=True)
class Wording:
    """The words around an example, for a model that is asked in context.

    Attributes:
        question: The template of an example up to where its answer begins, with each part as its name in braces; a
            brace that is meant is written twice.
        instruction: The words before everything else; "" for none.
        answers: Label name to the text that a model writes for it, where that is not the name; "" is the label of a
            question without an answer.
        read: Which label an answer means that names several, such as "Contradiction? No. Neutral.": the "first" or the
            "last" of them; by default it is no answer.
    """

    question: str
    instruction: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    read: str = ""

    @classmethod
    def plain(cls, parts: Sequence[str], labels: Sequence[str]) -> "Wording":
        """The words of data that bring none of their own.

        Example:
            >>> print(Wording.plain(["premise", "hypothesis"], ["yes", "no"]).question)
            premise: {premise}
            hypothesis: {hypothesis}
            answer:
        """
        asked = f"one of: {', '.join(labels)}" if labels else f"words of the text, or with: {NO_ANSWER_TEXT}"
        lines = [*(f"{part}: {{{part}}}" for part in parts), "answer:"]
        return cls("\n".join(lines), f"Answer with {asked}.")

    @classmethod
    def asking(cls, question: str, labels: Sequence[str]) -> "Wording":
        """The words of somebody's own question, which need not say what may be answered: that stands before it then.

        Args:
            question: The question, as that of a wording.
            labels: Names of the labels; none where answers are texts.

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
        """The words of inputs that lack some parts: lines that name none of those that are left go.

        Example:
            >>> Wording("A: {a}\\nB: {b}\\nAnswer:").keep_parts(["b"]).question
            'B: {b}\\nAnswer:'
        """
        lines = []
        for line in self.question.split("\n"):
            parts_of_line = parts_of(line)
            if not parts_of_line or set(parts_of_line) & set(parts):
                lines.append(keep_parts(line, parts) if set(parts_of_line) - set(parts) else line)
        return replace(self, question="\n".join(lines))

    def require(self, name: str, parts: Sequence[str], labels: Sequence[str], setting: str = "") -> None:
        """Check the words against the data.

        Args:
            name: The name of the wording, for messages.
            parts: Names of the parts.
            labels: Names of the labels; none where answers are texts.
            setting: What messages call the words; by default, prompts of the data and the name.

        Raises:
            HeedfulError: The name is not fit for a folder; the question does not name each part once, or ends with a
                space; an answer belongs to no label, has no letters, or is like another but for case and marks.
        """
        if not is_folder_name(name):
            raise SettingError(
                f"data.prompts: a wording names folders, and {name!r} cannot. Use {FIT}; put numbers, yes and no in "
                "quotes."
            )
        at = setting or f"data.prompts {name}"
        named = parts_of(self.question)
        if sorted(named) != sorted(parts):
            found, wanted = (", ".join(f"{{{part}}}" for part in several) for several in (named, parts))
            raise SettingError(
                f"{at}: the question names {found or 'no part'}, and should name each of {wanted} once. Write other "
                "braces twice."
            )
        if self.question != self.question.rstrip():
            raise SettingError(f"{at}: the question ends with white space. Leave it out: a space precedes the answer.")
        if self.read not in ("", *READ):
            raise SettingError(f"{at}: read {self.read!r} does not exist. Take {' or '.join(READ)}.")
        self._require_answers(at, labels)

    def _require_answers(self, at: str, labels: Sequence[str]) -> None:
        if unknown := [label for label in self.answers if label not in (labels or (NO_ANSWER,))]:
            there = f"The labels are {', '.join(labels)}." if labels else "The one label is '', for no answer."
            raise SettingError(f"{at} has an answer for {unknown[0]!r}, which is not a label. {there}")
        if not labels and not normalised(none := self.answers.get(NO_ANSWER, NO_ANSWER_TEXT)):
            raise SettingError(
                f"{at}: the text for no answer, {none!r}, has no word beside articles. Give '' another text under "
                "answers."
            )
        texts = [self.answers.get(label, label) for label in labels]
        read = [bare(text) for text in texts]
        if alike := [repr(text) for text, bared in zip(texts, read, strict=True) if not bared or read.count(bared) > 1]:
            raise ModelError(
                f"{at}: without case and marks, {', '.join(alike)} are one answer, or none. Give each label another "
                "under answers."
            )

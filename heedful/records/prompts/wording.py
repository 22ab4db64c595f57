"""Texts of prompts, which are settings of data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.errors import ModelError, SettingError
from heedful.records.parts.template import PART, keep_parts, parts_of
from heedful.records.storage.folder_names import FIT, is_folder_name

NO_ANSWER_TEXT = "I don't know"
STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")  # curly to straight quotes
AROUND = " \t\r\n\"'`*_.:,;!?()[]-\u2013\u2014\u2026\u00ab\u00bb"  # stripped from answers
READ = "first", "last"
THOUGHTS = "<think>", "</think>"  # the server's template may write the first


def bare(answer: str) -> str:
    """Lower-case an answer, and strip quotes and punctuation.

    Example:
        >>> bare("**Can\u2019t say!**")
        "can't say"
    """
    return answer.translate(STRAIGHT).strip(AROUND).casefold()


def without_thoughts(written: str) -> str:
    """Remove the <think> block of an answer; an unclosed block has no answer.

    Example:
        >>> [without_thoughts(text) for text in ("<think>Both are wet.</think> Yes", "<think>Both", "No")]
        [' Yes', '', 'No']
    """
    _, end, answer = written.rpartition(THOUGHTS[1])
    return answer if end or not written.lstrip().startswith(THOUGHTS[0]) else ""


@dataclass(frozen=True)
class Wording:
    """Texts of a prompt.

    Attributes:
        question: Template of an example, with the name of each part in braces; literal braces are doubled.
        instruction: Text before the demonstrations; "" for none.
        answers: Maps labels to the text that a model writes, if it is not the label; the label "" means "no answer".
        read: Label of an answer with several labels, such as "Contradiction? No. Neutral.": "first" or "last"; by
            default it has no label.
    """

    question: str
    instruction: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    read: str = ""

    @classmethod
    def plain(cls, parts: Sequence[str], labels: Sequence[str]) -> "Wording":
        """The default wording.

        Example:
            >>> print(Wording.plain(["premise", "hypothesis"], ["yes", "no"]).question)
            premise: {premise}
            hypothesis: {hypothesis}
            answer:
        """
        choices = f"one of: {', '.join(labels)}" if labels else f"words of the text, or with: {NO_ANSWER_TEXT}"
        lines = [*(f"{part}: {{{part}}}" for part in parts), "answer:"]
        return cls("\n".join(lines), f"Answer with {choices}.")

    @classmethod
    def asking(cls, question: str, labels: Sequence[str]) -> "Wording":
        """A wording for a question; an instruction names the labels if the question does not.

        Args:
            question: Template of an example.
            labels: Names of the labels; empty if answers are texts.

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
        """Remove all other parts from the question, and lines that had only these.

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
        """Check the wording against the data.

        Args:
            name: Name of the wording.
            parts: Names of the parts.
            labels: Names of the labels; empty if answers are texts.
            setting: Prefix of messages; by default, data.prompts and the name.

        Raises:
            HeedfulError: The name is not valid for a folder; the question does not name each part once, or ends with a
                space; an answer has no label, or is ambiguous.
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
        if self.read not in ("", *READ):
            raise SettingError(f"{at}: read {self.read!r} is unknown. Take {' or '.join(READ)}.")
        if unknown := [label for label in self.answers if label not in (labels or (NO_ANSWER,))]:
            there = f"The labels are {', '.join(labels)}." if labels else "The one label is '', for no answer."
            raise SettingError(f"{at} has an answer for {unknown[0]!r}, which is not a label. {there}")
        if not labels and not normalised(none := self.answers.get(NO_ANSWER, NO_ANSWER_TEXT)):
            raise SettingError(f"{at}: the text for no answer, {none!r}, has no words. Change answers[''].")
        texts = [self.answers.get(label, label) for label in labels]
        stripped = [bare(text) for text in texts]
        if ambiguous := [repr(text) for text, s in zip(texts, stripped, strict=True) if not s or stripped.count(s) > 1]:
            raise ModelError(f"{at}: the answers {', '.join(ambiguous)} are equal or empty. Change them in answers.")

"""The texts of a prompt, which the configuration of a data set defines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from heedful.records.answers import NO_ANSWER, normalised
from heedful.records.errors import ModelError, SettingError
from heedful.records.parts.template import PART, keep_parts, parts_of
from heedful.records.storage.folder_names import FIT, is_folder_name
from heedful.records.text import bare

NO_ANSWER_TEXT = "I don't know"


@dataclass(frozen=True)
class Wording:
    """The texts of a prompt: how it asks for an answer, and how it names the labels.

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
        """Create the default wording: a question with one line per part, and an instruction that lists the labels.

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
        """Create a wording with a question template; an instruction lists the labels unless the template names all of
        them.

        Args:
            question: Template of the question about an example.
            labels: Names of the labels; empty for tasks with free answers.

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
        """Restrict the question to some parts, and drop the lines that contain only other parts.

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
        """Check that the wording fits the parts and the labels of a data set.

        Args:
            name: Name of the wording, which becomes part of a folder name.
            parts: Names of the parts.
            labels: Names of the labels; empty for tasks with free answers.
            setting: Start of error messages; by default "data.prompts" and the name.

        Raises:
            HeedfulError: If the name is no valid folder name, the question does not contain each part exactly once or
                ends with white space, or the answers contain an unknown label, an empty text or two equal texts.
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

"""The words of a prompt, which belong to the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from records.errors import HeedError
from records.parts.template import keep_parts, parts_of

NO_ANSWER_TEXT = "I don't know"


@dataclass(frozen=True)
class Wording:
    """The words around an example, for a model that is asked in context.

    Attributes:
        question: The template of an example up to where its answer begins, with each part as its name in braces.
        instruction: The words before everything else; "" for none.
        answers: Label name to the text that a model writes for it, where that is not the name; "" is the label of a
            question without an answer.
    """

    question: str
    instruction: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

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

    def keep_parts(self, parts: Sequence[str]) -> "Wording":
        """The words of inputs that lack some parts: lines that name none of those that are left go.

        Example:
            >>> Wording("A: {a}\\nB: {b}\\nAnswer:").keep_parts(["b"]).question
            'B: {b}\\nAnswer:'
        """
        lines = []
        for line in self.question.split("\n"):
            named = parts_of(line)
            if not named or set(named) & set(parts):
                lines.append(keep_parts(line, parts) if set(named) - set(parts) else line)
        return replace(self, question="\n".join(lines))

    def require(self, name: str, parts: Sequence[str], labels: Sequence[str]) -> None:
        """Check the words against the data.

        Args:
            name: The name of the wording, for messages.
            parts: Names of the parts.
            labels: Names of the labels; none where answers are texts.

        Raises:
            HeedError: The question does not name each part once, or ends with a space; an answer belongs to no label,
                or to two.
        """
        if sorted(parts_of(self.question)) != sorted(parts):
            raise HeedError(
                f"§data.prompts {name}: the question {self.question!r} must name each of the parts {', '.join(parts)} "
                "once, in braces."
            )
        if self.question != self.question.rstrip():
            raise HeedError(f"§data.prompts {name}: the question ends with a space, and the answer brings its own.")
        known = labels or ("",)
        if unknown := [label for label in self.answers if label not in known]:
            raise HeedError(f"§data.prompts {name}: an answer for {unknown[0]!r}; the labels are {', '.join(known)}.")
        texts = [self.answers.get(label, label).strip().casefold() for label in labels]
        if "" in texts or len(set(texts)) < len(texts):
            raise HeedError(f"§data.prompts {name} must give each label an answer of its own, and gives {texts}.")

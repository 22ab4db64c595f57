"""Processor for models that read one text, which is a template filled with the parts."""

import re
from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import Frame
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import Part, SettingError, TableForm, parts_of
from heedful.records.prompts import Prompt
from heedful.records.text import PART


class TemplateProcessor(TextProcessor):
    """Fills a template with the parts, for models that read one text.

    The ids of template words and parts, joined, are the ids of the filled template, since tokens do not cross spaces.
    Truncation shortens the longest part, never the words of the template.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        template: A text with the names of the parts in braces, between spaces.
        max_length: Most tokens of an input, including the template and special tokens.
        form: Format of tables as text.
        prefix: Text before the template in every input, separated by a space: an instruction or demonstrations.

    Raises:
        HeedfulError: No space separates a part from a word of the template, ``max_length`` leaves no room for one token
            per part, or the tokenizer encodes a text differently from its parts.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        template: str,
        max_length: int,
        form: TableForm | None = None,
        prefix: str = "",
    ) -> None:
        if re.search(r"\S\{|\}\S", template):
            raise SettingError(f"The template {template!r} has braces without spaces. Put spaces around the braces.")
        self.template = template
        self._words = PART.split(template)[::2]
        if prefix:
            self._words[0] = f"{prefix} {self._words[0]}"
            self.room = "Raise it, or ask for fewer prompt.tuples or other prompt.wordings."
        super().__init__(tokenizer, parts_of(template), max_length, form)

    def _read_frame(self) -> Frame:
        """Return the layout of an input: template words and special tokens before, between and after the parts."""
        encoded = self.tokenizer("a")
        sequence = encoded.sequence_ids(0)
        first = sequence.index(0)
        last = len(sequence) - sequence[::-1].index(0)
        words = [self.tokenizer(words.rstrip(), add_special_tokens=False)["input_ids"] for words in self._words]
        words[0] = encoded["input_ids"][:first] + words[0]
        words[-1] = words[-1] + encoded["input_ids"][last:]
        slots = [(token, 0, None) for token in words[0]]
        for part, tokens in enumerate(words[1:]):
            slots += [(0, 0, part), *((token, 0, None) for token in tokens)]
        return Frame(slots)

    def texts(self, parts: Sequence[Part]) -> Sequence[str]:
        """Return the text of each part of an example, with the space before it, which some tokenizers encode."""
        pairs = zip(self._words, super().texts(parts), strict=False)
        return [f" {text}" if words[-1:].isspace() else text for words, text in pairs]

    def _whole(self, texts: Sequence[str]) -> Sequence[str]:
        return ["".join(piece for pair in zip(self._words, [*texts, ""], strict=True) for piece in pair)]


def in_one_text(prompt: Prompt) -> tuple[str, str]:
    """Split a prompt into the text before the example and the template of the example.

    Line breaks become single spaces: the vocabulary of T5 has no line breaks, and a template has spaces around parts.

    Example:
        >>> from heedful.records import CLASSIFICATION, Task
        >>> from heedful.records.prompts import Wording
        >>> wording = Wording("Text: {text}\\nAnswer:", "Yes or no?")
        >>> in_one_text(Prompt(wording, Task(CLASSIFICATION, ("text",), ("yes", "no"))))
        ('Yes or no?', 'Text: {text} Answer:')
    """
    return " ".join(prompt.text("").split()), " ".join(prompt.wording.question.split())

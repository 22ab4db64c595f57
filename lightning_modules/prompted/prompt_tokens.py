"""A prompt in the tokens of a model: the part that all examples share, the rest of each, and the answers."""

from collections.abc import Sequence
from itertools import chain, permutations
from os.path import commonprefix

import numpy as np
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.token_store import TokenStore, mark_error
from heedful.records import ModelError, SettingError
from heedful.records.prompts.prompt import Prompt

MARK = "\ue000"  # of the private use area, stands for the question while the words around it are found
BEGINNINGS = ("a", "The", "0", "?", '"', "È", "人", "(")  # of questions, to see which tokens do not depend on them


class PromptTokens:
    """The token ids of a prompt.

    Texts are tokenised whole, so that ids are those which the tokenizer gives the whole text, with the special tokens
    that it puts before a text; what all of them begin with is then cut off. The ids of an answer are those that it adds
    to the whole text.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        prompt: The prompt.
        chat: Whether the prompt is a chat, in the tokenizer's own template.

    Attributes:
        chat: Whether the prompt is a chat.
        prefix: The ids that every text begins with.
        answers: The ids of each of ``prompt.answers``, behind the text.

    Raises:
        HeedfulError: The tokenizer joins an answer to the words before it, or gives two answers ids of which one begins
            with the other; or a demonstration holds a mark of its own.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, prompt: Prompt, chat: bool) -> None:
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.chat = chat
        self._adds = not chat
        self._behind = 0 if chat else _special_behind(tokenizer)
        before, _, after = self._whole(prompt, chat).partition(MARK)
        self.before = before
        self.after = after
        self._space = "" if chat else " "
        names = prompt.task.parts
        probes = [prompt.question([beginning] * len(names)) for beginning in BEGINNINGS]
        texts = [self.text(probe) for probe in probes]
        ids = self.ids(texts)
        offsets = tokenizer(texts[0], add_special_tokens=self._adds, return_offsets_mapping=True)["offset_mapping"]
        before_question = sum(end <= len(before) for _, end in offsets[: len(ids[0])])
        self.prefix = commonprefix(ids)[:before_question]
        self.answers = [self._answer(texts, ids, answer) for answer in prompt.answers]
        self._require_apart()
        special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
        self._special = [token for token in special if token.strip()]
        for example, shown in zip(prompt.demonstrations, prompt.shown, strict=True):
            self.require_no_special(" ".join(shown), example.uid)

    def _whole(self, prompt: Prompt, chat: bool) -> str:
        """The whole text with a mark in place of the question."""
        if chat:  # a template that knows no thinking ignores enable_thinking
            return self.tokenizer.apply_chat_template(
                prompt.messages(MARK), tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        return prompt.text(MARK)

    def text(self, question: str) -> str:
        """The whole text of a prompt with a question, up to where the answer begins."""
        return f"{self.before}{question}{self.after}"

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of whole texts, without the special tokens that the tokenizer puts behind a text."""
        encoded = self.tokenizer(list(texts), add_special_tokens=self._adds, verbose=False)["input_ids"]
        return [row[: len(row) - self._behind] for row in encoded]

    def _answer(self, texts: Sequence[str], ids: Sequence[list[int]], answer: str) -> list[int]:
        whole = self.ids([f"{text}{self._space}{answer}" for text in texts])
        added = {tuple(after[len(before) :]) for before, after in zip(ids, whole, strict=True)}
        joined = any(after[: len(before)] != before for before, after in zip(ids, whole, strict=True))
        if joined or len(added) > 1 or not (tokens := added.pop()):
            raise SettingError(
                f"The tokenizer joins the answer {answer!r} to the words before it. End the question of the wording "
                f"{self.prompt.name} (data.prompts) with a colon, and begin the answer with a letter."
            )
        return list(tokens)

    def _require_apart(self) -> None:
        for (first, one), (second, other) in permutations(zip(self.prompt.answers, self.answers, strict=True), 2):
            if one == other[: len(one)]:
                raise ModelError(
                    f"The answer {second!r} begins with the tokens of {first!r}, which then is never less likely. "
                    f"Give the labels other answers in the wording {self.prompt.name} (data.prompts)."
                )

    def require_no_special(self, question: str, uid: str) -> None:
        """Refuse a text that holds one of the tokenizer's own marks, such as the end of a turn."""
        if special := next((token for token in self._special if token in question), None):
            raise mark_error(uid, special)

    def without_prefix(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids of a whole text behind those that all share.

        Raises:
            HeedfulError: It does not begin with them.
        """
        if ids[: len(self.prefix)] != self.prefix:
            raise SettingError(
                "The tokenizer joins a question to the words before it. Begin the question of the wording "
                f"{self.prompt.name} (data.prompts) with a word of its own."
            )
        return ids[len(self.prefix) :]


class PromptStore(TokenStore):
    """Token ids of whole prompts, each text tokenised once, without the ids that all share.

    Args:
        tokens: The prompt.
    """

    def __init__(self, tokens: PromptTokens) -> None:
        super().__init__(tokens.tokenizer)
        self.prompt_tokens = tokens

    def _encoded(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = [self.prompt_tokens.without_prefix(ids) for ids in self.prompt_tokens.ids(texts)]
        lengths = np.fromiter(map(len, own), np.int64, len(texts))
        ids = np.fromiter(chain.from_iterable(own), np.int32, lengths.sum())[:, None]
        return lengths, ids, np.zeros(len(texts), np.uint8)  # what holds a mark was refused


def _special_behind(tokenizer: PreTrainedTokenizerBase) -> int:
    """How many special tokens the tokenizer puts behind a text."""
    text = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a", add_special_tokens=True)["input_ids"]
    return next((k for k in range(len(whole)) if whole[: len(whole) - k][-len(text) :] == text), 0)

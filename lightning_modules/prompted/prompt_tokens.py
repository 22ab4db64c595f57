"""Token ids of prompts: a prefix that all prompts share, a suffix for each example, and the answers."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from os.path import commonprefix

from transformers import PreTrainedTokenizerBase

from heedful.records import ModelError, SettingError
from heedful.records.prompts import Prompt

MARK = "\ue000"  # placeholder of the question, by which the text around it is found
BEGINNINGS = ("a", "The", "0", "?", '"', "È", "人", "(")  # tokens that stay with all of these belong to the prefix


class PromptTokens:
    """The token ids of prompts and of their answers.

    A complete prompt, with the question of one example, is tokenised as a whole, including initial special tokens. The
    ids of an answer are those that follow if the answer is appended.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        prompt: The prompt.
        chat: Whether to apply the chat template of the tokenizer.

    Attributes:
        chat: Whether the prompt is a chat.
        prefix: The ids with which all complete prompts begin.
        answers: The ids of each answer of ``prompt.answers``, without the complete prompt before the answer.

    Raises:
        HeedfulError: The tokenizer merges an answer with the prompt before it, the ids of one answer are a prefix of
            another answer's ids, or a demonstration contains a special token.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, prompt: Prompt, chat: bool) -> None:
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.chat = chat
        self._behind = 0 if chat else tokenizer("a").sequence_ids(0)[::-1].index(0)  # special tokens after a text
        text = prompt.text(MARK)
        if chat:  # templates without thinking ignore enable_thinking
            settings = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
            text = tokenizer.apply_chat_template(prompt.messages(MARK), **settings)
        self.before, _, self.after = text.partition(MARK)
        self._special = [t for t in {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()} if t.strip()]
        for example, (question, _) in zip(prompt.demonstrations, prompt.shown, strict=True):
            self.require_no_special(question, example.uid)
        texts = [self.text(prompt.question([beginning] * len(prompt.task.parts))) for beginning in BEGINNINGS]
        ids = self.ids(texts)
        offsets = tokenizer(texts[0], add_special_tokens=not chat, return_offsets_mapping=True)["offset_mapping"]
        before_question = sum(end <= len(self.before) for _, end in offsets[: len(ids[0])])
        self.prefix = commonprefix(ids)[:before_question]
        self.answers = [self._answer(texts, ids, answer) for answer in prompt.answers]
        for (first, ids), (second, longer) in permutations(zip(prompt.answers, self.answers, strict=True), 2):
            if ids == longer[: len(ids)]:
                raise ModelError(
                    f"The answer {second!r} begins with the tokens of {first!r}, which then is never less likely. "
                    f"Give the labels other answers in the wording {prompt.name} (data.prompts)."
                )

    def text(self, question: str) -> str:
        """Return the complete prompt with a question, as a text that ends before the answer."""
        return f"{self.before}{question}{self.after}"

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenise texts, without the special tokens that the tokenizer appends."""
        encoded = self.tokenizer(list(texts), add_special_tokens=not self.chat, verbose=False)["input_ids"]
        return [row[: len(row) - self._behind] for row in encoded]

    def _answer(self, texts: Sequence[str], ids: Sequence[list[int]], answer: str) -> list[int]:
        longer = self.ids([f"{text}{'' if self.chat else ' '}{answer}" for text in texts])
        added = {tuple(after[len(before) :]) for before, after in zip(ids, longer, strict=True)}
        joined = any(after[: len(before)] != before for before, after in zip(ids, longer, strict=True))
        if joined or len(added) > 1 or not (tokens := added.pop()):
            raise SettingError(
                f"The tokenizer joins the answer {answer!r} to the words before it. End the question of the wording "
                f"{self.prompt.name} (data.prompts) with a colon, and begin the answer with a letter."
            )
        return list(tokens)

    def require_no_special(self, question: str, uid: str) -> None:
        """Raise ModelError if the question of example ``uid`` has a special token, which would change the prompt."""
        if special := next((token for token in self._special if token in question), None):
            raise ModelError(f"{uid} holds {special!r}, which the model reads as a mark of its own. Change the text.")

    def ids_after_prefix(self, texts: Sequence[str]) -> Mapping[str, list[list[int]]]:
        """Tokenise complete prompts, and remove the prefix, with which they must begin: ``input_ids`` per prompt."""
        ids = self.ids(texts)
        if any(row[: len(self.prefix)] != self.prefix for row in ids):
            raise SettingError(
                "The tokenizer joins a question to the words before it. Begin the question of the wording "
                f"{self.prompt.name} (data.prompts) with a word of its own."
            )
        return {"input_ids": [row[len(self.prefix) :] for row in ids]}

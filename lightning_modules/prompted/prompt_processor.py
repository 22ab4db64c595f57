"""Processor for causal language models: it turns examples into the token ids of prompts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from os.path import commonprefix
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.numbers import NumberProcessor, texts_of, tokens_kept
from heedful.lightning_modules.processors.processor import Statistics
from heedful.lightning_modules.processors.token_store import TokenStore
from heedful.lightning_modules.prompted.shared_prefix import beginning_sort_keys
from heedful.records import BATCH, Composed, Example, ModelError, SettingError
from heedful.records.prompts import Prompt

ROOM = 4  # fewest tokens that truncation leaves of a part
MARK = "\ue000"  # placeholder of the question, by which the text around it is found
BEGINNINGS = ("a", "The", "0", "?", '"', "È", "人", "(")  # tokens that stay with all of these belong to the prefix


class PromptProcessor(NumberProcessor):
    """Makes the token ids of prompts, without the prefix that the prompts of all examples share.

    A complete prompt, with the question of one example, is tokenised as a whole, including initial special tokens. The
    ids of an answer are those that follow if the answer is appended.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        prompt: The prompt.
        chat: Whether to apply the chat template of the tokenizer.
        max_length: Most tokens of a prompt with its answer; a longer prompt loses the end of its longest part.
        longest_answer: Largest number of tokens of a generated answer, unless an answer of the prompt is longer.

    Attributes:
        prefix: The ids with which all complete prompts begin.
        answers: The ids of each answer of ``prompt.answers``, without the complete prompt before the answer.
        longest: Number of tokens reserved for an answer.

    Raises:
        HeedfulError: Instruction and demonstrations leave no room for an example, the tokenizer merges an answer with
            the prompt before it, or a demonstration contains a special token.
    """

    parts = ("prompt", "whole")  # the rows of the numbers: prompts, and the same prompts without truncation

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, prompt: Prompt, chat: bool, max_length: int, longest_answer: int
    ) -> None:
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.chat = chat
        self._behind = 0 if chat else tokenizer("a").sequence_ids(0)[::-1].index(0)  # special tokens after a text
        text = prompt.text(MARK)
        if chat:  # templates without thinking ignore enable_thinking
            settings = {"tokenize": False, "add_generation_prompt": True, "enable_thinking": False}
            text = tokenizer.apply_chat_template(prompt.messages(MARK), **settings)
        self._before, _, self._after = text.partition(MARK)
        self._special = [t for t in {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()} if t.strip()]
        for example, (question, _) in zip(prompt.demonstrations, prompt.shown, strict=True):
            self._require_no_special(question, example.uid)
        texts = [self.text([beginning] * len(prompt.task.parts)) for beginning in BEGINNINGS]
        ids = self.ids(texts)
        offsets = tokenizer(texts[0], add_special_tokens=not chat, return_offsets_mapping=True)["offset_mapping"]
        before_question = sum(end <= len(self._before) for _, end in offsets[: len(ids[0])])
        self.prefix = commonprefix(ids)[:before_question]
        self.answers = [self._answer(texts, ids, answer) for answer in prompt.answers]
        self.longest = max(longest_answer, *(len(tokenizer(answer)["input_ids"]) for answer in prompt.answers))
        self.store = TokenStore(self._ids_after_prefix, tokenizer.unk_token_id)
        self.budget = max_length - len(self.prefix) - self.longest
        nothing = [""] * len(prompt.task.parts)
        if self.budget < self.store.lengths(self._numbered([nothing]))[0] + ROOM * len(nothing):
            raise ModelError(
                f"Instruction and demonstrations have {len(self.prefix):,} tokens, and the model reads "
                f"{max_length:,}. Lower prompt.tuples, or raise model.max_length."
            )

    def text(self, words: Sequence[str]) -> str:
        """Return the complete prompt about the texts of the parts of an example; it ends before the answer."""
        return f"{self._before}{self.prompt.question(words)}{self._after}"

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenise texts, without the special tokens that the tokenizer appends."""
        encoded = self.tokenizer(list(texts), add_special_tokens=not self.chat, verbose=False)["input_ids"]
        return [row[: len(row) - self._behind] for row in encoded]

    def _answer(self, texts: Sequence[str], ids: Sequence[list[int]], answer: str) -> list[int]:
        longer = self.ids([f"{text}{'' if self.chat else ' '}{answer}" for text in texts])
        added = {tuple(after[len(before) :]) for before, after in zip(ids, longer, strict=True)}
        is_joined = any(after[: len(before)] != before for before, after in zip(ids, longer, strict=True))
        if is_joined or len(added) > 1 or not (tokens := added.pop()):
            raise SettingError(
                f"The tokenizer joins the answer {answer!r} to the words before it. End the question of the wording "
                f"{self.prompt.name} (data.prompts) with a colon, and begin the answer with a letter."
            )
        return list(tokens)

    def _require_no_special(self, question: str, uid: str) -> None:
        """Raise ModelError if a question has a special token, which would change the prompt."""
        if special := next((token for token in self._special if token in question), None):
            raise ModelError(f"{uid} holds {special!r}, which the model reads as a mark of its own. Change the text.")

    def _ids_after_prefix(self, texts: Sequence[str]) -> Mapping[str, list[list[int]]]:
        """Tokenise complete prompts, and remove the prefix, with which they must begin."""
        ids = self.ids(texts)
        if any(row[: len(self.prefix)] != self.prefix for row in ids):
            raise SettingError(
                "The tokenizer joins a question to the words before it. Begin the question of the wording "
                f"{self.prompt.name} (data.prompts) with a word of its own."
            )
        return {"input_ids": [row[len(self.prefix) :] for row in ids]}

    def _numbered(self, several: Sequence[Sequence[str]]) -> np.ndarray:
        """Return a number for each prompt, given the texts of its parts; equal prompts have equal numbers."""
        return self.store.numbers([self.text(words) for words in several])

    def _gathered(self, examples: Composed) -> np.ndarray:
        return self._numbers(examples)  # each prompt is tokenised as a whole

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        blocks = [np.zeros((2, 0), dtype=np.int32)]
        remaining = iter(examples)
        while block := list(islice(remaining, BATCH)):
            several = [self._words(example) for example in block]
            for example, words in zip(block, several, strict=True):
                self._require_no_special(self.prompt.question(words), example.uid)
            numbers = np.tile(self._numbered(several), (2, 1))
            for i in np.flatnonzero(self.store.lengths(numbers[1]) > self.budget):
                (numbers[0, i],) = self._numbered([self._shortened(several[i])])
            blocks.append(numbers)
        return np.concatenate(blocks, axis=1)

    def _words(self, example: Example) -> Sequence[str]:
        """Return the texts of the parts of an example; a table is converted to text."""
        return texts_of([example.parts[name] for name in self.prompt.task.parts], self.prompt.task.form)

    def _shortened(self, words: Sequence[str]) -> list[str]:
        """Return the texts of the parts; the longest text loses its last tokens until the prompt fits."""
        words = list(words)
        while (over := int(self.store.lengths(self._numbered([words]))[0]) - self.budget) > 0:
            spans = self.tokenizer(words, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
            longest = max(range(len(words)), key=lambda k: len(spans[k]))
            n = max(0, len(spans[longest]) - over)
            words[longest] = words[longest][: spans[longest][n][0]].rstrip() if n else ""
        return words

    def sent(self, example: Example) -> dict[str, Any]:
        """Return what the model receives for an example: ``text``, and ``messages`` if the prompt is a chat."""
        (row,) = self._rows(self.numbers([example])[0])
        text = self.tokenizer.decode([*self.prefix, *row.tolist()], clean_up_tokenization_spaces=False)
        question = self.prompt.question(self._shortened(self._words(example)))
        return {"messages": self.prompt.messages(question), "text": text} if self.chat else {"text": text}

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        return self.store.lengths(self.numbers(examples)[0]).astype(np.int32)

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        """Return the number of truncated prompts, the share of unknown tokens, and the tokens kept per part."""
        numbers, full = self.numbers(examples)
        is_cut = numbers != full
        tokens = {}
        if is_cut.any():
            full = [[*self._words(example)] for example in examples]
            read = [self._shortened(words) if short else words for words, short in zip(full, is_cut, strict=True)]
            tokens = tokens_kept(self.prompt.task.parts, self._counts(read), self._counts(full))
        return Statistics(int(is_cut.sum()), self.store.unknown(numbers), tokens)

    def _counts(self, rows: Sequence[list[str]]) -> np.ndarray:
        tokenize = partial(self.tokenizer, add_special_tokens=False, verbose=False)
        return np.array([[*map(len, tokenize(words)["input_ids"])] for words in rows]).T

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = self.numbers(examples)[0]
        return self.store.hashes(numbers, self.store.lengths(numbers))

    def order(self, examples: Sequence[Example], lengths: np.ndarray) -> np.ndarray:
        """Return a sort key per example that puts prompts with the same beginning next to each other: int64."""
        numbers, place = np.unique(self.numbers(examples)[0], return_inverse=True)
        return beginning_sort_keys(self._rows(numbers))[place]

    def _rows(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Return the token ids of prompts, without the prefix of all prompts; ``numbers`` are indices in ``store``."""
        bounds = zip(self.store.starts(numbers), self.store.starts(numbers + 1), strict=True)
        return [self.store.tokens[start:stop] for start, stop in bounds]

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Yield ``rows`` per batch: the token ids of each prompt, without the prefix of all prompts: int32 [tokens]."""
        numbers = self.numbers(examples)[0]
        return ({"rows": self._rows(numbers[batch])} for batch in batches)

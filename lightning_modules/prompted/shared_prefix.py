"""Log-likelihoods of answers after prompts, whose shared prefix is read into a cache once.

Prompts are padded on the left, so that the last token of each prompt is in the last column. Answers are scored one
after the other: an answer is read after all prompts of the batch, and then removed from the cache.
"""

import re
from collections.abc import Sequence
from inspect import signature
from os.path import commonprefix
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

LEAST = 8  # fewest tokens of a shared beginning
WORTH = 0.9  # prompts are split only if the share of tokens to read is lower
NO_WINDOW = 2**31  # columns, for a model without windows of attention
# entries of configs with the size of a window, such as window_size of GPT-Neo; "sliding_window" may be unused, which
# DynamicCache knows
WINDOW = re.compile(r"(?!sliding_window$).*(window(_size|_len)?|block_size|chunk_length)")


# beginnings


def _groups(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the index of each prompt's group, int64 [prompts]; the prompts of a group begin with the same 8 tokens."""
    first = np.full((len(rows), LEAST), -1, np.int64)
    for i, row in enumerate(rows):
        first[i, : len(row)] = row[:LEAST]
    return np.unique(first, axis=0, return_inverse=True)[1].reshape(-1)


def beginning_sort_keys(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return sort keys, int64 [prompts], that in descending order put prompts with the same beginning together."""
    group_of = _groups(rows)
    longest = np.zeros(group_of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, group_of, [len(row) for row in rows])
    return longest[group_of] * len(longest) + group_of


def split_beginnings(rows: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Split prompts into beginnings, which the prompts of a group share, and suffixes of at least one token.

    As all suffixes are padded to the longest suffix in groups of several prompts, say 20 tokens, the suffix of a prompt
    that is alone in its group is its last 20 tokens.

    Returns:
        The beginnings, one per group, and the index of the beginning per prompt, int64 [prompts]. All prompts have one
        empty beginning if no two are in a group, or if splitting saves at most a tenth of the tokens and padding.
    """
    group_of = _groups(rows)
    groups = [[rows[i].tolist() for i in np.flatnonzero(group_of == k)] for k in range(group_of.max(initial=-1) + 1)]
    common = [min(len(commonprefix(group)), *(len(row) - 1 for row in group)) for group in groups]
    suffixes = [max(map(len, group)) - n for group, n in zip(groups, common, strict=True) if len(group) > 1]
    longest = max(suffixes, default=0)
    common = [n if len(group) > 1 else max(0, n + 1 - longest) for group, n in zip(groups, common, strict=True)]
    split = len(groups) * max(common, default=0) + len(rows) * longest
    if not suffixes or split >= WORTH * len(rows) * max(map(len, rows)):
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    return [np.array(group[0][:n], np.int64) for group, n in zip(groups, common, strict=True)], group_of


# networks


def pad(rows: Sequence[Sequence[int] | np.ndarray], device: torch.device, side: str = "left") -> tuple[Tensor, Tensor]:
    """Pad token ids on one side, and return them with their mask: int64 [rows, tokens] each."""
    ids = [torch.as_tensor(row, dtype=torch.int64) for row in rows]
    mask = pad_sequence([*map(torch.ones_like, ids)], batch_first=True, padding_side=side)
    return pad_sequence(ids, batch_first=True, padding_side=side).to(device), mask.to(device)


def width_limit(network: nn.Module) -> int:
    """Return the smallest window of attention of a network, in tokens; :data:`NO_WINDOW` without a window.

    0 means that the network cannot share a prefix, because it has recurrent states or takes no position ids.
    """
    # padding between prefix and suffix is harmless if the model accepts position ids and attends to all columns
    layers = DynamicCache(config=network.config).layers
    takes_positions = "position_ids" in signature(network.forward).parameters
    if not takes_positions or not {type(layer) for layer in layers} <= {DynamicLayer, DynamicSlidingWindowLayer}:
        return 0
    entries = network.config.get_text_config(decoder=True).to_dict().items()
    # not every model declares its windows to the cache
    windows = [size for name, size in entries if WINDOW.fullmatch(name) and type(size) is int and size > 0]
    return min([*windows, *(layer.sliding_window for layer in layers if layer.is_sliding)], default=NO_WINDOW)


class PromptStates(NamedTuple):
    """What a network has read of the prompts of a batch."""

    cache: Cache  # states of attention, one row per prompt
    ids: Tensor  # token ids with padding: int64 [prompts, tokens]
    mask: Tensor  # 0 for padding: int64 [prompts, tokens]
    logits: Tensor  # of the next token: [prompts, 1, vocabulary]


class SharedPrefix:
    """Reads prompts and answers after a prefix that all prompts share, which is read once.

    Args:
        network: The model.
        ids: Token ids of the prefix.
        longest: Largest number of tokens of a generated answer.
    """

    def __init__(self, network: nn.Module, ids: Sequence[int], longest: int) -> None:
        self.network = network
        self.ids = torch.tensor([list(ids)], dtype=torch.int64, device=network.device)
        self.cache = DynamicCache(config=network.config)
        self.limit = width_limit(network) - longest - 1  # columns of a batch of prompts
        if self.limit > 0 and ids:
            network(input_ids=self.ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)

    def read(self, rows: Sequence[np.ndarray]) -> PromptStates | None:
        """Read the prompts of a batch, int [tokens] each, without the prefix.

        Returns:
            The states after the prompts; None if the batch is too wide for a window of attention of the network, or if
            the network cannot share a prefix.
        """
        beginnings, beginning_of = split_beginnings(rows)
        suffixes = [row[len(beginnings[k]) :] for row, k in zip(rows, beginning_of, strict=True)]
        (begun, begun_mask), (ids, mask) = (pad(several, self.network.device) for several in (beginnings, suffixes))
        if self.ids.shape[1] + begun.shape[1] + ids.shape[1] > self.limit:
            return None
        first = self.ids.expand(len(begun), -1)
        begun_mask = torch.cat([torch.ones_like(first), begun_mask], dim=1)
        n = len(begun) if begun.shape[1] else len(rows)
        copies = [[state.expand(n, -1, -1, -1) for state in layer[:2]] for layer in self.cache if layer[0] is not None]
        cache = DynamicCache(copies, config=self.network.config)
        index = torch.from_numpy(beginning_of).to(self.network.device)
        if begun.shape[1]:
            self._forward(cache, begun, begun_mask)
            cache.batch_select_indices(index)
        mask = torch.cat([begun_mask[index], mask], dim=1)
        logits = self._forward(cache, ids, mask)
        return PromptStates(cache, torch.cat([first[index], begun[index], ids], dim=1), mask, logits)

    def score(self, states: PromptStates, answers: Sequence[Tensor], ends: Tensor | None) -> tuple[Tensor, Tensor]:
        """Score answers after the prompts of a batch; the cache is unchanged afterwards.

        Args:
            states: Result of :meth:`read`.
            answers: Token ids of the answers: int64 [tokens] each.
            ends: Tokens that end a generated answer: int64; None if the second result is not needed.

        Returns:
            Log-likelihoods, float32 [examples, answers]; and whether greedy decoding generates an answer followed by an
            end token, bool [examples, answers].
        """
        scores, generated = [], []
        for answer in answers:
            logits, ids = states.logits.float(), answer.expand(len(states.ids), -1)
            if n := len(answer) - (ends is None):
                mask = torch.cat([states.mask, torch.ones_like(ids[:, :n])], dim=1)
                logits = torch.cat([logits, self._forward(states.cache, ids[:, :n], mask, keep=n).float()], dim=1)
                states.cache.crop(-n)
            scores.append(_likelihoods(logits[:, : len(answer)], ids))
            best = logits.argmax(dim=-1)
            is_spelled = (best[:, : len(answer)] == ids).all(dim=1)
            generated.append(is_spelled & torch.isin(best[:, -1], ends) if ends is not None else is_spelled & False)
        return torch.stack(scores, dim=1), torch.stack(generated, dim=1)

    def _forward(self, cache: Cache, ids: Tensor, mask: Tensor, keep: int = 1) -> Tensor:
        """Add ids to a cache, given the mask of all tokens so far, and return the logits of the last tokens."""
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
        return self.network(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=keep).logits


def plain_scores(network: nn.Module, texts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Tensor:
    """Compute the log-likelihoods of answers after whole texts, without a cache: float32 [texts, answers].

    ``texts`` and ``answers`` are token ids. Each answer takes one forward pass over all texts.
    """
    scores = []
    for answer in answers:
        ids, mask = pad([[*text, *answer] for text in texts], network.device, "right")
        logits = network(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
        rows = [row[len(text) - 1 :][: len(answer)] for row, text in zip(logits, texts, strict=True)]
        tokens = torch.tensor(answer, device=network.device).expand(len(texts), -1)
        scores.append(_likelihoods(torch.stack(rows), tokens))
    return torch.stack(scores, dim=1)


def _likelihoods(logits: Tensor, ids: Tensor) -> Tensor:
    """Return the log-likelihood of each row of ids, given the logits of each of its tokens."""
    return logits.log_softmax(dim=-1).gather(2, ids[:, :, None]).sum(dim=(1, 2))

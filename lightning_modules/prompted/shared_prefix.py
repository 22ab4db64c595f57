"""Log-likelihoods of answers after prompts, whose shared prefix is read into a cache once.

Prompts are padded on the left, so that the last token of each prompt is in the last column. Answers are scored one
after the other: an answer is read after all prompts of the batch, and then removed from the cache.
"""

import re
from collections.abc import Sequence
from inspect import signature
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

UNLIMITED = 2**31  # columns, for a model without windows of attention
# entries of configs with the size of a window, such as window_size of GPT-Neo; "sliding_window" may be unused, which
# DynamicCache knows
WINDOW = re.compile(r"(?!sliding_window$).*(window(_size|_len)?|block_size|chunk_length)")


class Queries(NamedTuple):
    """The prompts of a batch after the prefix that all examples share, split into beginnings and suffixes.

    A beginning is shared by several prompts of the batch, such as prompts with the same premise.

    Attributes:
        beginnings: int64 [beginnings, tokens], padded on the left; 0 tokens if no beginnings are shared.
        beginnings_mask: int64 [beginnings, tokens], 0 for padding.
        beginning_of: int64 [examples], index of the beginning per prompt.
        input_ids: int64 [examples, tokens], the suffixes, padded on the left; at least one token each.
        attention_mask: int64 [examples, tokens], 0 for padding.
    """

    beginnings: Tensor
    beginnings_mask: Tensor
    beginning_of: Tensor
    input_ids: Tensor
    attention_mask: Tensor

    def join(self, prefix: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the complete prompts: join the prefix of all prompts with the beginning and the suffix of each prompt.

        Args:
            prefix: Token ids with which all prompts start, before the beginnings that only some prompts share.

        Returns:
            Token ids with padding, and their mask: int64 [examples, tokens] each.
        """
        first = self.input_ids.new_tensor(prefix).expand(len(self.input_ids), -1)
        ids = torch.cat([first, self.beginnings[self.beginning_of], self.input_ids], dim=1)
        begun = self.beginnings_mask[self.beginning_of]
        return ids, torch.cat([torch.ones_like(first), begun, self.attention_mask], dim=1)

    def whole(self, prefix: Sequence[int]) -> list[list[int]]:
        """Return the token ids of the complete prompts, including the prefix, without padding."""
        rows = zip(*self.join(prefix), strict=True)
        return [row[mask.bool()].tolist() for row, mask in rows]


def width_limit(network: nn.Module) -> int:
    """Return a limit: the prompts of a batch can share a cached prefix if the width of the batch is below the limit.

    The width is the number of token positions in the padded batch, from the prefix to the end of the longest answer.

    Returns:
        The size of the smallest window of attention of the network, in tokens; :data:`UNLIMITED` for a network without
        a window; 0 for a network that cannot share a prefix, such as one with recurrent states.
    """
    # A prompt has padding between its prefix and its suffix. The padding is harmless if the model accepts position ids
    # and attends to all columns. A model with a window attends to all columns within the window. A model with recurrent
    # states attends to none.
    layers = DynamicCache(config=network.config).layers
    takes_positions = "position_ids" in signature(network.forward).parameters
    if not takes_positions or not {type(layer) for layer in layers} <= {DynamicLayer, DynamicSlidingWindowLayer}:
        return 0
    entries = network.config.get_text_config(decoder=True).to_dict().items()
    # not every model declares its windows to the cache
    windows = [size for name, size in entries if WINDOW.fullmatch(name) and type(size) is int and size > 0]
    return min([*windows, *(layer.sliding_window for layer in layers if layer.is_sliding)], default=UNLIMITED)


def _forward(network: nn.Module, cache: Cache, ids: Tensor, mask: Tensor, keep: int = 1) -> Tensor:
    """Let the network read ids after the tokens in a cache, and add them to the cache.

    Args:
        network: A causal language model.
        cache: States of the tokens read before.
        ids: int64 [rows, tokens].
        mask: int64 [rows, tokens in the cache and ids], 0 for padding.
        keep: Number of last tokens to compute logits for.

    Returns:
        Logits of the last tokens: [rows, keep, vocabulary].
    """
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    inputs = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    return network(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=keep).logits


def read_prefix(network: nn.Module, prefix: Sequence[int]) -> Cache:
    """Let the network read the prefix of all prompts, and return the cache, which has one row."""
    cache = DynamicCache(config=network.config)
    if prefix:
        ids = torch.tensor([list(prefix)], device=network.device)
        network(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return cache


def _repeat(network: nn.Module, prefix: Cache, rows: int) -> Cache:
    """Return a cache with several rows, each a copy of the only row of ``prefix``."""
    states = [[state.expand(rows, -1, -1, -1) for state in layer[:2]] for layer in prefix if layer[0] is not None]
    return DynamicCache(states, config=network.config)


def read_queries(network: nn.Module, prefix: Cache, queries: Queries) -> tuple[Cache, Tensor, Tensor]:
    """Let the network read the prompts of a batch after their shared prefix.

    Returns:
        The cache, with one row per prompt; its mask, int64 [examples, tokens]; and the logits of the next token,
        [examples, 1, vocabulary].
    """
    beginning_of = queries.beginning_of
    begun = queries.beginnings_mask
    mask = torch.cat([begun.new_ones(len(begun), prefix.get_seq_length()), begun], dim=1)
    cache = _repeat(network, prefix, len(begun) if begun.shape[1] else len(beginning_of))
    if begun.shape[1]:
        _forward(network, cache, queries.beginnings, mask)
        cache.batch_select_indices(beginning_of)
    mask = torch.cat([mask[beginning_of], queries.attention_mask], dim=1)
    return cache, mask, _forward(network, cache, queries.input_ids, mask)


def read_answers(
    network: nn.Module, read: tuple[Cache, Tensor, Tensor], answers: Sequence[Tensor], ends: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Score answers after the prompts of a batch; the cache is unchanged afterwards.

    Args:
        network: The model that has read the prompts.
        read: Result of :func:`read_queries`.
        answers: Token ids of the answers: int64 [tokens] each.
        ends: int64 [ends], the tokens that end a generated answer; None if the second result is not needed.

    Returns:
        Log-likelihoods, float32 [examples, answers]; and whether greedy decoding generates an answer followed by an end
        token, bool [examples, answers].
    """
    cache, mask, behind = read
    behind = behind.float()
    scores = []
    written = []
    for answer in answers:
        logits = behind
        ids = answer.expand(len(mask), -1)
        if n := len(answer) - (ends is None):
            longer = torch.cat([mask, torch.ones_like(ids[:, :n])], dim=1)
            logits = torch.cat([behind, _forward(network, cache, ids[:, :n], longer, keep=n).float()], dim=1)
            cache.crop(-n)
        likelihoods = logits[:, : len(answer)].log_softmax(dim=-1)
        scores.append(likelihoods.gather(2, ids[:, :, None]).sum(dim=(1, 2)))
        best = logits.argmax(dim=-1)
        is_spelled = (best[:, : len(answer)] == ids).all(dim=1)
        written.append(is_spelled & torch.isin(best[:, -1], ends) if ends is not None else is_spelled & False)
    return torch.stack(scores, dim=1), torch.stack(written, dim=1)


def plain_scores(network: nn.Module, texts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Tensor:
    """Compute the log-likelihoods of answers after texts, without a cache: float32 [texts, answers].

    Each answer takes one forward pass over all texts.

    Args:
        network: A causal language model.
        texts: Token ids of whole prompts.
        answers: Token ids of the answers.
    """
    scores = []
    for answer in answers:
        rows = [torch.tensor([*text, *answer]) for text in texts]
        ids = pad_sequence(rows, batch_first=True).to(network.device)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(network.device)
        logits = network(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
        first = torch.tensor([len(text) - 1 for text in texts], device=network.device)[:, None]
        places = first + torch.arange(len(answer), device=network.device)
        picked = logits.gather(1, places[:, :, None].expand(-1, -1, logits.shape[2])).log_softmax(dim=-1)
        tokens = torch.tensor(answer, device=network.device).expand(len(texts), -1)
        scores.append(picked.gather(2, tokens[:, :, None])[:, :, 0].sum(dim=1))
    return torch.stack(scores, dim=1)

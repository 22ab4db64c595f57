"""Log-likelihoods of answers after prompts, whose shared prefix is read into a cache once.

Prompts are padded on the left, so that the last token of each prompt is in the last column. Answers are scored one
after the other: an answer is read after all prompts of the batch, and then removed from the cache.
"""

import re
from collections.abc import Sequence
from inspect import signature
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from heedful.lightning_modules.prompted.beginnings import split_beginnings

NO_WINDOW = 2**31  # columns, for a model without windows of attention
# entries of configs with the size of a window, such as window_size of GPT-Neo; "sliding_window" may be unused, which
# DynamicCache knows
WINDOW = re.compile(r"(?!sliding_window$).*(window(_size|_len)?|block_size|chunk_length)")


class PromptStates(NamedTuple):
    """What a network has read of the prompts of a batch.

    Attributes:
        cache: The states of attention, one row per prompt.
        ids: Token ids with padding: int64 [prompts, tokens].
        mask: 0 for padding: int64 [prompts, tokens].
        logits: Logits of the next token: [prompts, 1, vocabulary].
    """

    cache: Cache
    ids: Tensor
    mask: Tensor
    logits: Tensor


def pad(rows: Sequence[Sequence[int] | np.ndarray], device: torch.device, side: str = "left") -> tuple[Tensor, Tensor]:
    """Pad token ids on one side, and return them with their mask: int64 [rows, tokens] each."""
    ids = [torch.as_tensor(row, dtype=torch.int64) for row in rows]
    mask = pad_sequence([*map(torch.ones_like, ids)], batch_first=True, padding_side=side)
    return pad_sequence(ids, batch_first=True, padding_side=side).to(device), mask.to(device)


def width_limit(network: nn.Module) -> int:
    """Return the width that a padded batch, with the prefix and the longest answer, must stay below to share a prefix.

    Returns:
        The size of the smallest window of attention of the network, in tokens; :data:`NO_WINDOW` for a network without
        a window; 0 for a network that cannot share a prefix, such as one with recurrent states.
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


def _forward(network: nn.Module, cache: Cache, ids: Tensor, mask: Tensor, keep: int = 1) -> Tensor:
    """Add ids to a cache, given the mask of all tokens so far, and return the logits of the last ``keep`` tokens."""
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


def read_prompts(
    network: nn.Module, prefix: Cache, prefix_ids: Sequence[int], rows: Sequence[np.ndarray], limit: int
) -> PromptStates | None:
    """Let the network read the prompts of a batch after their shared prefix.

    Args:
        network: The model.
        prefix: Result of :func:`read_prefix`.
        prefix_ids: Token ids of the prefix.
        rows: Token ids of the prompts, without the prefix.
        limit: Largest number of columns, padding included; None is returned if they are more.
    """
    beginnings, beginning_of = split_beginnings(rows)
    suffixes = [row[len(beginnings[k]) :] for row, k in zip(rows, beginning_of, strict=True)]
    (begun, begun_mask), (ids, mask) = (pad(several, network.device) for several in (beginnings, suffixes))
    if len(prefix_ids) + begun.shape[1] + ids.shape[1] > limit:
        return None
    first = begun.new_tensor(prefix_ids).expand(len(begun), -1)
    begun_mask = torch.cat([torch.ones_like(first), begun_mask], dim=1)
    n = len(begun) if begun.shape[1] else len(rows)
    copies = [[state.expand(n, -1, -1, -1) for state in layer[:2]] for layer in prefix if layer[0] is not None]
    cache = DynamicCache(copies, config=network.config)
    index = torch.from_numpy(beginning_of).to(network.device)
    if begun.shape[1]:
        _forward(network, cache, begun, begun_mask)
        cache.batch_select_indices(index)
    mask = torch.cat([begun_mask[index], mask], dim=1)
    logits = _forward(network, cache, ids, mask)
    return PromptStates(cache, torch.cat([first[index], begun[index], ids], dim=1), mask, logits)


def read_answers(
    network: nn.Module, states: PromptStates, answers: Sequence[Tensor], ends: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Score answers after the prompts of a batch; the cache is unchanged afterwards.

    Args:
        network: The model.
        states: Result of :func:`read_prompts`.
        answers: Token ids of the answers: int64 [tokens] each.
        ends: Tokens that end a generated answer: int64; None if the second result is not needed.

    Returns:
        Log-likelihoods, float32 [examples, answers]; and whether greedy decoding generates an answer followed by an end
        token, bool [examples, answers].
    """
    behind = states.logits.float()
    scores = []
    generated = []
    for answer in answers:
        logits = behind
        ids = answer.expand(len(behind), -1)
        if n := len(answer) - (ends is None):
            mask = torch.cat([states.mask, torch.ones_like(ids[:, :n])], dim=1)
            logits = torch.cat([behind, _forward(network, states.cache, ids[:, :n], mask, keep=n).float()], dim=1)
            states.cache.crop(-n)
        likelihoods = logits[:, : len(answer)].log_softmax(dim=-1)
        scores.append(likelihoods.gather(2, ids[:, :, None]).sum(dim=(1, 2)))
        best = logits.argmax(dim=-1)
        is_spelled = (best[:, : len(answer)] == ids).all(dim=1)
        generated.append(is_spelled & torch.isin(best[:, -1], ends) if ends is not None else is_spelled & False)
    return torch.stack(scores, dim=1), torch.stack(generated, dim=1)


def plain_scores(network: nn.Module, texts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Tensor:
    """Compute the log-likelihoods of answers after whole texts, without a cache: float32 [texts, answers].

    ``texts`` and ``answers`` are token ids. Each answer takes one forward pass over all texts.
    """
    scores = []
    for answer in answers:
        ids, mask = pad([[*text, *answer] for text in texts], network.device, "right")
        logits = network(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
        before = [slice(len(text) - 1, len(text) - 1 + len(answer)) for text in texts]
        picked = torch.stack([row[places] for row, places in zip(logits, before, strict=True)]).log_softmax(dim=-1)
        tokens = torch.tensor(answer, device=network.device).expand(len(texts), -1)
        scores.append(picked.gather(2, tokens[:, :, None])[:, :, 0].sum(dim=1))
    return torch.stack(scores, dim=1)

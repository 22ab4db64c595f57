"""Scores of answers and written answers, where all prompts begin alike: that beginning is read once.

Behind it, what several queries of a batch begin with is read once, too. All is padded on the left, so that queries end
in one column, and the answers follow there. The tokens of all answers stand behind the query side by side, and a mask
keeps them from seeing each other: several answers of several tokens cost one pass over the query. That pass shows, too,
where the model would write one of these answers and end there; only other answers are written token by token.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache

States = list[tuple[Tensor, Tensor]]  # keys and values of each layer, [examples, heads, tokens, width] each


class Answers(NamedTuple):
    """Answers side by side.

    Attributes:
        tokens: int64 [packed], the tokens of all answers, which are read: the last of each only if it may be written.
        of: int64 [packed], the answer that each belongs to.
        depth: int64 [packed], its place in the answer, from 0.
        row: int64 [scored], for each token of each answer the row of the logits that predicts it: 0 for that of the
            query, 1 + i for that behind packed token i.
        scored: int64 [scored], the token.
        label: int64 [scored], the answer.
        lengths: int64 [answers], tokens of each.
        ends: int64 [ends], the tokens that end a written answer; none if answers are only scored.
    """

    tokens: Tensor
    of: Tensor
    depth: Tensor
    row: Tensor
    scored: Tensor
    label: Tensor
    lengths: Tensor
    ends: Tensor

    @classmethod
    def packed(cls, ids: Sequence[Sequence[int]], ends: Sequence[int] = ()) -> "Answers":
        """Pack the token ids of each answer, with the last of each if answers may be written and so have ``ends``."""
        until = None if ends else -1
        read = [(token, k, d) for k, answer in enumerate(ids) for d, token in enumerate(answer[:until])]
        place = {(k, d): 1 + i for i, (_, k, d) in enumerate(read)}
        scored = [
            (place[k, d - 1] if d else 0, token, k) for k, answer in enumerate(ids) for d, token in enumerate(answer)
        ]
        columns = [torch.tensor(column, dtype=torch.int64) for column in zip(*read, strict=True)]
        columns = columns or [torch.zeros(0, dtype=torch.int64) for _ in range(3)]
        columns += [torch.tensor(column) for column in zip(*scored, strict=True)]
        lengths = torch.tensor([len(answer) for answer in ids], dtype=torch.int64)
        return cls(*columns, lengths, torch.tensor(ends, dtype=torch.int64))

    def to(self, device: torch.device) -> "Answers":
        """The same on a device."""
        return Answers(*(column.to(device) for column in self))

    def log_likelihoods(self, logits: Tensor) -> Tensor:
        """Log-likelihood of each answer: float32 [examples, answers].

        Args:
            logits: [examples, 1 + packed, vocabulary].
        """
        logits = logits.float()
        tokens = logits[:, self.row, self.scored] - logits.logsumexp(dim=-1)[:, self.row]
        scores = logits.new_zeros(len(logits), len(self.lengths))
        return scores.index_add(1, self.label, tokens)

    def written(self, logits: Tensor) -> Tensor:
        """The answer that the most probable tokens spell, up to a token that ends it: int64 [examples]; -1 for none.

        Args:
            logits: [examples, 1 + packed, vocabulary].
        """
        if not len(self.ends):
            return torch.full((len(logits),), -1, device=logits.device)
        best = logits.argmax(dim=-1)
        follows = best[:, self.row] == self.scored
        none = torch.zeros(len(logits), len(self.lengths), dtype=torch.int64, device=logits.device)
        spelled = none.index_add(1, self.label, follows.long()) == self.lengths
        ended = torch.isin(best[:, self.lengths.cumsum(dim=0)], self.ends)  # row 1 + i is that behind packed token i
        # whether one is written, and which; no two can be, as none begins with another
        is_written, answer = (spelled & ended).max(dim=1)
        return answer.where(is_written, -1)


class Read(NamedTuple):
    """What a model knows once it has read a batch of queries.

    Attributes:
        scores: float32 [examples, answers], log-likelihoods.
        logits: [examples, vocabulary], of the first token of a written answer.
        states: Of the shared beginning and the whole queries.
        mask: int64 [examples, tokens], which of these states count.
        answers: int64 [examples], the answer that is written; -1 where that is not known yet.
    """

    scores: Tensor
    logits: Tensor
    states: States
    mask: Tensor
    answers: Tensor

    def rows(self, indices: Tensor) -> "Read":
        """What it knows of some examples: int64 [chosen]."""
        states = [(keys[indices], values[indices]) for keys, values in self.states]
        return Read(self.scores[indices], self.logits[indices], states, self.mask[indices], self.answers[indices])


def read_prefix(network: nn.Module, prefix: Sequence[int]) -> States:
    """Read the shared beginning: the states of one example; of an empty one, none."""
    if not prefix:
        return []
    ids = torch.tensor([list(prefix)], device=network.device)
    cache = DynamicCache()
    network(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    return [(layer.keys, layer.values) for layer in cache.layers]


class Queries(NamedTuple):
    """The queries of a batch behind the shared beginning, each cut in two; padded on the left.

    Attributes:
        beginnings: int64 [beginnings, tokens], which one or more queries begin with; of no token if none is shared.
        beginnings_mask: int64 [beginnings, tokens], 0 for padding.
        beginning_of: int64 [examples], the beginning of each query.
        input_ids: int64 [examples, tokens], the rest of each, of one token or more.
        attention_mask: int64 [examples, tokens], 0 for padding.
    """

    beginnings: Tensor
    beginnings_mask: Tensor
    beginning_of: Tensor
    input_ids: Tensor
    attention_mask: Tensor

    def first(self, n: int) -> "Queries":
        """Some examples alone."""
        ids = self.input_ids[:n]
        mask = self.attention_mask[:n]
        return self._replace(beginning_of=self.beginning_of[:n], input_ids=ids, attention_mask=mask)

    def whole(self, prefix: Sequence[int]) -> list[list[int]]:
        """The ids of each whole prompt, without padding."""
        begun = [row[mask.bool()].tolist() for row, mask in zip(self.beginnings, self.beginnings_mask, strict=True)]
        rests = zip(self.beginning_of.tolist(), self.input_ids, self.attention_mask, strict=True)
        return [[*prefix, *begun[of], *row[mask.bool()].tolist()] for of, row, mask in rests]


def read_queries(network: nn.Module, prefix: States, queries: Queries, answers: Answers) -> Read:
    """Read queries behind the shared beginning, with all answers behind them.

    Args:
        network: A causal language model.
        prefix: As :func:`read_prefix` returns it.
        queries: The queries.
        answers: The answers.
    """
    ids = queries.input_ids
    mask = queries.attention_mask
    packed = len(answers.tokens)
    states_before, before = _read_beginnings(network, prefix, queries)
    read = before.sum(dim=1, keepdim=True)
    behind = mask.sum(dim=1, keepdim=True) + answers.depth
    cache = _cache(states_before)
    logits = network(
        input_ids=torch.cat([ids, answers.tokens.expand(len(ids), -1)], dim=1),
        position_ids=read + torch.cat([_places(mask), behind], dim=1),
        attention_mask=_added(_seen(before, mask, answers), network.dtype),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1 + packed,
    ).logits
    until = before.shape[1] + ids.shape[1]  # without the packed answers: what is written follows the query
    states = [(layer.keys[:, :, :until], layer.values[:, :, :until]) for layer in cache.layers]
    whole = torch.cat([before, mask], dim=1)
    return Read(answers.log_likelihoods(logits), logits[:, 0], states, whole, answers.written(logits))


def _read_beginnings(network: nn.Module, prefix: States, queries: Queries) -> tuple[States, Tensor]:
    """The states before the rest of each query, and which of them count: int64 [examples, tokens]."""
    ids = queries.beginnings
    mask = queries.beginnings_mask
    of = queries.beginning_of
    before = mask.new_ones(len(ids), prefix[0][0].shape[2] if prefix else 0)
    states = [tuple(state.expand(len(ids), -1, -1, -1) for state in layer) for layer in prefix]
    if ids.shape[1]:
        cache = _cache(states)
        network(
            input_ids=ids,
            position_ids=before.shape[1] + _places(mask),
            attention_mask=_added(_seen(before, mask), network.dtype),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        states = [(layer.keys, layer.values) for layer in cache.layers]
    return [(keys[of], values[of]) for keys, values in states], torch.cat([before, mask], dim=1)[of]


def _places(mask: Tensor) -> Tensor:
    """The place of each token among those that count: int64 [rows, tokens]."""
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


def _cache(states: States) -> DynamicCache:
    cache = DynamicCache()
    for layer, (keys, values) in enumerate(states):
        cache.update(keys, values, layer)
    return cache


def _seen(before: Tensor, mask: Tensor, answers: Answers | None = None) -> Tensor:
    """What each token may see: bool [rows, read, before + read]. Padding sees itself, so that each sees something.

    Args:
        before: int64 [rows, before], which of the states that are there count.
        mask: int64 [rows, tokens], which tokens count.
        answers: What is read behind them.
    """
    n, width = mask.shape
    begin = before.shape[1]
    packed = 0 if answers is None else len(answers.tokens)
    columns = torch.arange(width, device=mask.device)
    seen = torch.zeros(n, width + packed, begin + width + packed, dtype=torch.bool, device=mask.device)
    seen[:, :, :begin] = before[:, None].bool()
    seen[:, :width, begin : begin + width] = (columns[:, None] >= columns) & mask[:, None].bool()
    seen[:, columns, begin + columns] = True
    if answers is not None:
        together = (answers.of[:, None] == answers.of) & (answers.depth[:, None] >= answers.depth)
        seen[:, width:, begin : begin + width] = mask[:, None].bool()
        seen[:, width:, begin + width :] = together
    return seen


def _added(seen: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to attention, so that only this is seen: [rows, 1, read, all] of ``dtype``."""
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, torch.finfo(dtype).min)[:, None]


def write(network: nn.Module, read: Read, longest: int, ends: Tensor) -> Tensor:
    """The most probable token, one after the other, until all answers have ended: int64 [examples, at most longest].

    Args:
        network: The model that has read the queries.
        read: What it has read.
        longest: Most tokens of an answer.
        ends: int64 [ends], the tokens that end an answer.
    """
    cache = _cache(read.states)
    mask = read.mask
    token = read.logits.argmax(dim=-1)
    written = [token]
    ended = torch.isin(token, ends)
    while len(written) < longest and not ended.all():
        position = mask.sum(dim=1, keepdim=True)
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        logits = network(
            input_ids=token[:, None],
            position_ids=position,
            attention_mask=_added(mask[:, None].bool(), network.dtype),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        token = logits[:, -1].argmax(dim=-1)
        written.append(token)
        ended = ended | torch.isin(token, ends)
    return torch.stack(written, dim=1)


def plain_scores(network: nn.Module, texts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> Tensor:
    """Log-likelihood of each answer by a pass over each whole text with each answer: float32 [texts, answers].

    Args:
        network: A causal language model.
        texts: Token ids of whole prompts.
        answers: Token ids of each answer.
    """
    scores = []
    for answer in answers:
        rows = [torch.tensor([*text, *answer]) for text in texts]
        ids = pad_sequence(rows, batch_first=True).to(network.device)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.int64) for row in rows], batch_first=True)
        logits = network(input_ids=ids, attention_mask=mask.to(network.device), use_cache=False).logits.float()
        first = torch.tensor([len(text) - 1 for text in texts], device=network.device)[:, None]
        places = first + torch.arange(len(answer), device=network.device)
        picked = logits.gather(1, places[:, :, None].expand(-1, -1, logits.shape[2])).log_softmax(dim=-1)
        tokens = torch.tensor(answer, device=network.device).expand(len(texts), -1)
        scores.append(picked.gather(2, tokens[:, :, None])[:, :, 0].sum(dim=1))
    return torch.stack(scores, dim=1)

"""Texts that a decoder is to write, as tensors, and how likely it is to write them."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

IGNORED = -100  # a target that is padding


def teach(ids: Sequence[Sequence[int]], pad: int, start: int | None) -> tuple[Tensor, Tensor]:
    """Targets of a decoder, and what it reads while it writes them: each int64 [texts, tokens].

    Args:
        ids: The tokens of each text, with the end of the text.
        pad: Id of the padding token.
        start: Id of the token that comes before the first one; that of padding if None.
    """
    rows = [torch.tensor(row) for row in ids]
    written = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
    read = torch.full_like(written, pad if start is None else start)
    read[:, 1:] = written[:, :-1].masked_fill(written[:, :-1] == IGNORED, pad)
    return written, read


def writing_loss(logits: Tensor, written: Tensor) -> Tensor:
    """Cross-entropy of a token on average, given those before it.

    Args:
        logits: [texts, tokens, vocabulary].
        written: int64 [texts, tokens], as :func:`teach` makes them.
    """
    return F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED)


def log_likelihoods(logits: Tensor, written: Tensor) -> Tensor:
    """Log-likelihood of each text: float32 [texts]; arguments are those of :func:`writing_loss`."""
    losses = F.cross_entropy(logits.float().flatten(0, 1), written.flatten(), ignore_index=IGNORED, reduction="none")
    return -losses.view(written.shape).sum(dim=1)

"""Tests that label texts get the log-likelihoods of a token-by-token computation, also with ranks."""

import math

import pytest
import torch

from heedful.lightning_modules import heads
from heedful.lightning_modules.heads import LabelTexts
from heedful.lightning_modules.learned import LabelMap
from heedful.records import ModelError

from refusals import refused

IDS = [[3, 2], [3, 4, 2], [5, 2], [3, 4, 6, 2], [7, 2], [6, 6, 2]]
PAD, START, WORDS = 0, 1, 8
STATES = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(0))
MASK = torch.tensor([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 0]])
WEIGHTS = torch.randn(4 + WORDS, WORDS, generator=torch.Generator().manual_seed(1))


def decode(states, mask, read):
    """Scores that depend on the unmasked states and on all tokens read so far."""
    seen = (states * mask[:, :, None]).sum(dim=1, keepdim=True).expand(-1, read.shape[1], -1)
    before = torch.nn.functional.one_hot(read, WORDS).float().cumsum(dim=1)
    return torch.cat([seen, before], dim=-1) @ WEIGHTS


class Tokenizer:
    """The parts of a tokenizer that a head uses."""

    pad_token_id, bos_token_id, eos_token_id = PAD, None, 2

    def decode(self, ids):
        return str(ids)


class Model:
    """A model whose encoder states are its inputs."""

    decoded = staticmethod(lambda *args: decode(*args))

    def encoded(self, inputs):
        return STATES


def head(**settings):
    texts, labels = LabelTexts(**settings), [str(ids) for ids in IDS]
    texts.prepare_texts(LabelMap.identity(labels), labels, IDS, Tokenizer(), START)
    return texts


def loss(labels):
    return head().loss(Model(), {"inputs": {"attention_mask": MASK}, "labels": labels})


def expected():
    """Log-likelihoods [examples, labels], computed token by token."""
    found = torch.zeros(len(STATES), len(IDS))
    for i in range(len(STATES)):
        for k, ids in enumerate(IDS):
            for n, token in enumerate(ids):
                read = torch.tensor([[START, *ids[:n]]])
                scores = decode(STATES[i : i + 1], MASK[i : i + 1], read)[0, -1]
                found[i, k] += scores.log_softmax(dim=-1)[token]
    return found


@pytest.mark.parametrize("sequences", [1, 4, 7, 256])
@pytest.mark.parametrize("mean", [False, True])
def test_labels_are_scored_as_token_by_token(monkeypatch, sequences, mean):
    monkeypatch.setattr(heads, "SEQUENCES", sequences)
    found = head(mean=mean).scores(Model(), {"attention_mask": MASK})
    sizes = torch.tensor([len(ids) for ids in IDS]) if mean else 1
    torch.testing.assert_close(found, expected() / sizes)


@pytest.mark.parametrize("rank", [1, 3, 5, 6, 9])
def test_of_many_labels_those_with_the_most_probable_first_token_are_scored(rank):
    """Ties of first tokens go to the first label; the shared start token is read once."""
    calls: list[tuple[int, ...]] = []

    def counted(states, mask, read):
        calls.append(tuple(read.shape))
        return decode(states, mask, read)

    found = head(rank=rank).likelihoods(counted, STATES, MASK)
    first = decode(STATES, MASK, torch.full((len(STATES), 1), START))[:, 0]
    for row, before, whole in zip(found, first, expected(), strict=True):
        chosen = sorted(range(len(IDS)), key=lambda k, before=before: (-before[IDS[k][0]].item(), k))[:rank]
        assert sorted(chosen) == row.isfinite().nonzero().flatten().tolist()
        torch.testing.assert_close(row[chosen], whole[chosen])
    assert calls[0] == ((5, 1) if rank < len(IDS) else (5 * len(IDS), 4))
    assert sum(n for n, _ in calls) == 5 * (min(rank, len(IDS)) + (rank < len(IDS)))


@pytest.mark.parametrize("further", [[], [7], [7, 2]])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_a_text_whose_tokens_begin_with_another_text_is_refused(further, order):
    """The second would never be more likely than the first."""
    texts, ids = ["Not", "Not so", "Never", "None"], [[5, 2], [5, 2, *further], [5, 9], [3]]
    chosen = [texts[k] for k in order]
    with refused(ModelError, "Not, Not so apart", "prompts"):
        LabelTexts().prepare_texts(LabelMap.identity(chosen), chosen, [ids[k] for k in order], Tokenizer(), START)


def test_the_loss_is_that_of_the_tokens_of_the_gold_texts():
    labels = torch.tensor([3, 0, 1, 5, 4])
    gold = expected()[range(5), labels]
    found = loss(labels)
    assert found.item() == pytest.approx(-gold.sum().item() / sum(len(IDS[k]) for k in labels), rel=1e-5)


def test_soft_labels_weigh_the_loss_of_every_text():
    worth = torch.tensor([[0.0, 0.3, 0, 1, 0, 0], [0] * 6, [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0.6], [0] * 6])
    found = loss(worth)
    assert found.item() == pytest.approx(-(expected() * worth).sum().item() / 5, rel=1e-5)
    assert not math.isnan(found.item())

"""Batches for evaluation and for training hold the same inputs, labels and positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from heedful.datamodules.base import collate as collating
from heedful.datamodules.base.collate import Collate, EvaluationLoader, loading
from heedful.datamodules.base.sampler import TrainingLoader, TrainingSampler, evaluation_batches
from heedful.datamodules.base.splits import with_counterfactuals
from heedful.interventions import Swap
from heedful.lightning_modules import TextProcessor
from heedful.records import CLASSIFICATION, SOFT, Composed, Example, Examples, Task

PARTS, LABELS = ("premise", "hypothesis"), ("yes", "no")
TASK = Task(CLASSIFICATION, PARTS, LABELS, "no")
WORDS = "the dog in a park saw two old trees and a cat by some water".split()


def pool_of(labels: Sequence[str | None], seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    texts = [[" ".join(rng.choice(WORDS, rng.integers(1, 12))) for _ in PARTS] for _ in labels]
    rows = zip(labels, texts, strict=True)
    return Examples.of(
        Example(f"u{i}", dict(zip(PARTS, pair, strict=True)), label) for i, (label, pair) in enumerate(rows)
    )


@pytest.fixture
def processor(tiny_bert) -> TextProcessor:
    return TextProcessor(AutoTokenizer.from_pretrained(tiny_bert), PARTS, 32)


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected) == ["inputs", "labels", "positions", "size"]
    assert list(found["inputs"]) == list(expected["inputs"])
    for name, tensor in expected["inputs"].items():
        assert torch.equal(found["inputs"][name], tensor), name
    assert found["labels"].dtype == expected["labels"].dtype
    assert torch.equal(found["labels"], expected["labels"])
    assert found["positions"].dtype == expected["positions"].dtype == np.int64
    assert found["positions"].tolist() == expected["positions"].tolist()
    assert found["size"] == expected["size"]


GOLDS = {
    "classification": (TASK, ["yes", "no", None, "maybe"]),
    "soft": (Task(SOFT, PARTS, LABELS), ['{"yes": 1.0}', '{"no": 0.3, "yes": 0.6}', None, "{}"]),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("kind", GOLDS)
def test_evaluation_batches_are_those_of_the_examples(processor: TextProcessor, kind: str, device: str) -> None:
    task, golds = GOLDS[kind]
    pool = pool_of(golds * 12)
    batches = [batch + 3 for batch in evaluation_batches(processor.lengths(pool)[3:], np.arange(45), 8)]
    batches.append(np.zeros(0, dtype=np.int64))
    encoded = processor.encode(Composed.whole(pool))
    loader, collate = EvaluationLoader(pool, batches, encoded, task, torch.device(device)), Collate(processor, task)
    assert len(loader) == len(batches) == 7
    for _ in range(2):  # each epoch
        for batch, found in zip(batches, loader, strict=True):
            assert_same(found, collate((batch.tolist(), [pool[int(i)] for i in batch])))


def test_another_device_than_the_cpu_finds_batches_ready(
    processor: TextProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread makes them; for a GPU it pins their memory."""
    pool, seen = pool_of(["yes"] * 4), []

    def spy(batches: Any, pin: bool) -> Any:
        seen.append(pin)
        return batches

    monkeypatch.setattr(collating, "ahead", spy)
    for device in ("cpu", "meta", "cuda"):
        list(EvaluationLoader(pool, [np.arange(4)], processor.encode(pool), TASK, torch.device(device)))
    assert seen == [False, True]


@pytest.mark.parametrize("workers", [0, 2])
def test_training_batches_are_those_of_the_examples_and_their_counterfactuals(
    processor: TextProcessor, workers: int
) -> None:
    pool, swap = pool_of(["yes", "no"] * 20), Swap("premise", "no")
    partners = np.where(np.arange(40) % 2, -1, (np.arange(40) + 5) % 40)
    examples = with_counterfactuals(pool, swap, partners)
    assert len(examples) == 60
    lengths = processor.lengths(examples)
    sampler = TrainingSampler(lengths, 8, seed=1)
    loader = TrainingLoader(position=lambda: 0, **loading(examples, sampler, processor, TASK, workers))
    whole, collate = list(examples), Collate(processor, TASK)
    assert [e.label for e in whole[40:]] == ["no"] * 20
    found = list(loader)
    assert [batch["positions"].tolist() for batch in found] == list(sampler)
    for batch in found:
        positions = batch["positions"].tolist()
        assert_same(batch, collate((positions, [whole[i] for i in positions])))
        assert batch["inputs"]["attention_mask"].sum(dim=1).tolist() == lengths[positions].tolist()

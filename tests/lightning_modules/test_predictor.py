"""The contract between the engine and a model."""

import numpy as np
import pytest

from heedful.lightning_modules.predictor import Encoded, Statistics
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Example

POOL = [Example(str(n), {"text": "a" * n}) for n in (3, 1, 2)]


class Counting(Processor):
    """Reads letters, and notes what is computed."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def lengths(self, examples):
        self.calls.append("lengths")
        return np.array([len(example.parts["text"]) for example in examples], dtype=np.int32)

    def order(self, examples, lengths):
        self.calls.append("order")
        return -lengths

    def fingerprints(self, examples):
        self.calls.append("fingerprints")

    def statistics(self, examples):
        self.calls.append("statistics")
        return Statistics(truncated=1, tokens_kept={"text": [5, 6]})

    def __call__(self, examples):
        self.calls.append("inputs")
        return {"texts": [example.parts["text"] for example in examples]}


class Pool(list):
    def take(self, positions):
        return [self[i] for i in positions.tolist()]


def test_nothing_is_computed_before_it_is_used_and_nothing_twice() -> None:
    processor = Counting()
    encoded = processor.encode(POOL)
    assert (len(encoded), processor.calls) == (3, [])
    for _ in range(2):
        assert encoded.order.tolist() == [-3, -1, -2]
        assert encoded.lengths.tolist() == [3, 1, 2]
        assert encoded.fingerprints is None
        assert encoded.statistics.truncated == 1
    assert processor.calls == ["lengths", "order", "fingerprints", "statistics"]


def test_batches_are_made_one_at_a_time() -> None:
    processor = Counting()
    batches = Encoded(processor, Pool(POOL)).batches([np.array([2, 0]), np.array([1])])
    assert processor.calls == []
    assert next(batches) == {"texts": ["aa", "aaa"]}
    assert processor.calls == ["inputs"]
    assert list(batches) == [{"texts": ["a"]}]


def test_statistics_of_a_model_that_reads_everything_are_zero_and_cannot_be_changed() -> None:
    assert Statistics() == Statistics(0, 0.0, 0, {})
    with pytest.raises(AttributeError):
        Statistics().truncated = 1  # type: ignore[misc]

"""Tests of the interface between the engine and a model."""

import numpy as np
import torch

from heedful.lightning_modules import Classifier, Outputs
from heedful.lightning_modules.learned import Fit, LabelMap
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.lightning_modules.predictor_module import module_of, predictor_of
from heedful.lightning_modules.processors.processor import Processor, Statistics
from heedful.records import CLASSIFICATION, Composed, Example, Examples, Task

POOL = [Example(str(n), {"text": "a" * n}) for n in (3, 1, 2)]


class Counting(Processor):
    """A processor that reads letters, and records its calls."""

    def __init__(self):
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


def test_nothing_is_computed_before_it_is_used_and_nothing_twice():
    processor = Counting()
    encoded = processor.encode(POOL)
    assert (len(encoded), processor.calls) == (3, [])
    for _ in range(2):
        assert encoded.order.tolist() == [-3, -1, -2]
        assert encoded.lengths.tolist() == [3, 1, 2]
        assert encoded.fingerprints is None
        assert encoded.statistics.truncated == 1
    assert processor.calls == ["lengths", "order", "fingerprints", "statistics"]


# a Trainer

TASK = Task(CLASSIFICATION, ("text",), ("short", "long"))


class Lengths(Predictor):
    """A model that answers by the length of a text; its network is a linear layer."""

    def __init__(self):
        super().__init__()
        self.network: torch.nn.Module | None = None

    def prepare(self, task):
        self.task, self.processor = task, Counting()

    def configure_model(self):
        self.network = self.network or torch.nn.Linear(1, 2)

    def answer(self, inputs):
        lengths = torch.tensor([[float(len(text))] for text in inputs["texts"]])
        return Outputs(self.network(lengths).softmax(dim=-1))


def test_a_trainer_gets_a_module_around_a_model_that_is_none():
    predictor = Lengths()
    module = module_of(predictor)
    assert module.state_dict() == {}
    predictor.bind(TASK)
    module.configure_model()
    assert list(module.state_dict()) == list(module_of(predictor).state_dict()) == ["network.weight", "network.bias"]
    batch = {"inputs": predictor.processor(POOL), "size": 3}
    assert torch.equal(module.validation_step(batch, 0).probs, predictor.predict(batch).probs)
    assert module.to(torch.float64).network is predictor.network
    assert module.validation_step({"inputs": {}, "size": 0}, 0) is None
    model = Classifier()
    assert module_of(model) is predictor_of(model) is model


def test_a_model_binds_to_a_task_and_counts_begin_anew_with_each_evaluation():
    predictor = Lengths()
    assert predictor.bind(TASK) == Fit(
        TASK, LabelMap(("short", "long"), ("short", "long"), (0, 1)), ("short", "long"), "new"
    )
    assert predictor.capabilities == Capabilities(probabilities=True, writes=False, repeats=None, ranks=None)
    assert predictor.encode(POOL).lengths.tolist() == [3, 1, 2]
    predictor.count("no_answers", ["well", "well", "hm"])
    assert predictor.counts_of(predictor.counted) == {"no_answers": [["well", 2], ["hm", 1]]}
    predictor.start(Composed.whole(Examples.of(POOL)), None)
    assert predictor.counts_of(predictor.counted) == {}

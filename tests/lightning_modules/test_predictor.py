"""The contract between the engine and a model."""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.lightning_modules import Classifier, Outputs
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.predictor import Capabilities, Encoded, LabelMap, Statistics
from heedful.lightning_modules.predictor_module import PredictorModule, module_of, predictor_of
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import CLASSIFICATION, Composed, Example, Examples, ModelError, Task

from refusals import refused

POOL = [Example(str(n), {"text": "a" * n}) for n in (3, 1, 2)]


class Counting(Processor):
    """Reads letters, and notes what is computed."""

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


class Pool(list):
    def take(self, positions):
        return [self[i] for i in positions.tolist()]


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


def test_batches_are_made_one_at_a_time():
    processor = Counting()
    batches = Encoded(processor, Pool(POOL)).batches([np.array([2, 0]), np.array([1])])
    assert processor.calls == []
    assert next(batches) == {"texts": ["aa", "aaa"]}
    assert processor.calls == ["inputs"]
    assert list(batches) == [{"texts": ["a"]}]


# what is no network needs no Lightning

ROOT = Path(__file__).parents[2]
HOMES = ("callbacks", "datamodules", "lightning_modules")  # outside the folder heedful


def source_of(module):
    """The file of a module of Heedful."""
    _, *names = module.split(".")
    home = ROOT / "heedful" if names[:1] and names[0] not in HOMES else ROOT
    path = home.joinpath(*names)
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def imported(path):
    """The modules that a file imports when it is imported itself."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {node.module or ""} | {name for name in names if name.startswith("heedful.") and source_of(name)}
    return found


def reached(module):
    """All modules that importing one imports, as far as Heedful's own files say."""
    found, new = set(), {module}
    while new:
        found |= new
        files = [path for name in new if name.startswith("heedful.") and (path := source_of(name))]
        new = set().union(*map(imported, files)) - found
    return found


@pytest.mark.parametrize(
    "module", ["predictor", "base_predictor", "function", "prompted.endpoint", "prompted.batch", "prompted.causal_lm"]
)
def test_what_is_no_network_imports_no_lightning(module):
    found = reached(f"heedful.lightning_modules.{module}")
    assert len(found) > 5
    assert "pytorch_lightning" in reached("heedful.lightning_modules.text.encoder")
    assert not [name for name in found if "lightning" in name.split(".")[0]]


# a Trainer

TASK = Task(CLASSIFICATION, ("text",), ("short", "long"))


class Lengths(BasePredictor):
    """Answers by the length of a text; its network has one weight."""

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


def test_a_trainer_gets_a_module_around_what_is_none():
    predictor = Lengths()
    module = module_of(predictor)
    assert (isinstance(module, PredictorModule), predictor_of(module)) == (True, predictor)
    assert module.state_dict() == {}
    predictor.bind(TASK)
    module.configure_model()
    assert list(module.state_dict()) == ["network.weight", "network.bias"], "as of a model that is a module itself"
    batch = {"inputs": predictor.processor(POOL), "size": 3}
    expected = predictor.predict(batch).probs
    assert torch.equal(module.validation_step(batch, 0).probs, expected)
    assert module.to(torch.float64).network is predictor.network
    assert module.validation_step({"inputs": {}, "size": 0}, 0) is None
    with refused(ModelError, "Lengths", "evaluate.py"):
        module.configure_optimizers()


def test_a_model_that_is_there_is_taken_at_once():
    predictor = Lengths()
    predictor.configure_model()
    assert len(module_of(predictor).state_dict()) == 2
    model = Classifier()
    assert module_of(model) is predictor_of(model) is model


def test_a_model_binds_to_a_task_and_counts_begin_anew_with_each_evaluation():
    predictor = Lengths()
    assert predictor.bind(TASK) == LabelMap(("short", "long"), ("short", "long"), (0, 1))
    assert predictor.capabilities == Capabilities(probabilities=True, writes=False, repeats=None, ranks=None)
    assert predictor.encode(POOL).lengths.tolist() == [3, 1, 2]
    predictor.count("no_answers", ["well", "well", "hm"])
    assert predictor.counts_of(predictor.counted) == {"no_answers": [["well", 2], ["hm", 1]]}
    predictor.start(Composed.whole(Examples.of(POOL)), None)
    assert predictor.counts_of(predictor.counted) == {}

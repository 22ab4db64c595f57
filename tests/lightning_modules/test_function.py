"""Tests of functions as models: their inputs, and the hashes of the inputs."""

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st

from heedful.assembly.loading import load_model
from heedful.lightning_modules.function import Function, name_of
from heedful.lightning_modules.processors.contents import FunctionProcessor
from heedful.records import CLASSIFICATION, EMPTIED, Composed, Example, Examples, SettingError, Table, Task

from commands import job_of
from refusals import refused

TABLE = Table("Dog", (("legs", ("4",)), ("eats", ("meat", "bread"))))
WORDS = st.text(alphabet="ab é", min_size=1, max_size=5).filter(str.strip)
PAIRS = st.lists(st.tuples(WORDS, WORDS), min_size=2, max_size=8)


def pool_of(pairs):
    return Examples.of([Example(f"d/v/{i}", {"left": a, "right": b}, "no") for i, (a, b) in enumerate(pairs)])


@given(PAIRS, st.data())
def test_inputs_are_the_composed_examples(pairs, data):
    """Compared with examples that are composed one by one; equal contents have equal keys."""
    pool = pool_of(pairs)
    positions = np.array(data.draw(st.lists(st.integers(0, len(pairs)), min_size=1, max_size=9)))
    lenders = [data.draw(st.integers(EMPTIED, len(pairs) - 1)) for _ in positions]
    other = Example("d/v/new", {"left": "new", "right": pairs[0][1]}, "no")
    composed = Composed(pool, positions, {"left": np.array(lenders)}, [other], again=True)
    processor = FunctionProcessor(["left", "right"])
    expected = [dict(example.parts) for example in composed]
    inputs = processor(composed)["function"]
    assert inputs.rows == expected
    assert inputs.again.tolist() == composed.repeated.tolist()
    assert processor.lengths(composed).tolist() == [
        sum(len(text.encode()) for text in row.values()) for row in expected
    ]
    same = {(i, j) for i in range(len(expected)) for j in range(len(expected)) if expected[i] == expected[j]}
    assert same == {
        (i, j) for i in range(len(expected)) for j in range(len(expected)) if inputs.keys[i] == inputs.keys[j]
    }
    batches = [np.arange(len(positions))[::2], np.arange(len(positions))[1::2], np.arange(0)]
    found = [one["function"] for one in pickle.loads(pickle.dumps(processor)).batches(composed, batches)]
    assert [one.rows for one in found] == [[expected[i] for i in batch] for batch in batches]
    assert [one.keys.tolist() for one in found] == [inputs.keys[batch].tolist() for batch in batches]


def test_tables_are_dictionaries():
    pool = Examples.of([Example("d/v/0", {"table": TABLE, "text": "It runs."}, "no")])
    (row,) = FunctionProcessor(["table", "text"])(Composed.whole(pool))["function"].rows
    assert row == {"table": {"title": "Dog", "legs": ("4",), "eats": ("meat", "bread")}, "text": "It runs."}


def test_an_array_that_the_function_fills_again_is_copied():
    filled = np.zeros((1, 2), dtype=np.float32)

    def predict(rows):
        filled[:] = [0, 1] if rows[0]["left"] == "b" else [1, 0]
        return filled

    model = Function(predict, {"yes": [], "no": []}, is_ordered=True)
    model.bind(Task(CLASSIFICATION, ("left", "right"), ("yes", "no")))
    for text, expected in (("a", [1, 0]), ("b", [0, 1]), ("a", [1, 0])):
        pool = Composed.whole(pool_of([(text, "x")]))
        assert model.answer(model.processor(pool)).probs.tolist() == [expected]
    assert len(model.answered) == 2


@pytest.mark.parametrize("named", ["os.system", "(in memory)", 3])
def test_no_file_names_a_function(named, tmp_path, monkeypatch):
    """Neither Python nor the command line import a function by name."""
    section = {"class_path": "heedful.lightning_modules.function.Function", "init_args": {"predict": named}}
    with refused(SettingError, "predict"):
        load_model(section)
    (tmp_path / "f.yaml").write_text(yaml.safe_dump(section))
    with refused(SettingError, "predict"):
        job_of(["--model", str(tmp_path / "f.yaml")], True)


def test_the_name_of_a_function_is_without_decorators_and_fixed_arguments():
    assert name_of(torch.no_grad()(partial(pool_of, pairs=[]))) == "pool_of"
    assert name_of(partial(torch.no_grad()(pool_of))) == "pool_of"
    assert name_of(Task.from_dict) == "from_dict"
    assert name_of(SimpleNamespace()) == "SimpleNamespace"

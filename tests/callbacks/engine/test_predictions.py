"""Predictions, collected batch by batch on several processes, and joined."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heedful.callbacks.engine.predictions import MOST, Collector, join
from heedful.lightning_modules.outputs import NO_LABEL_NUMBER, NOT_FINITE, Outputs
from heedful.records import CLASSIFICATION, NO_LABEL, SOFT, SPAN, ModelError, Task

from refusals import refused

LABELS = ("a", "b", "c")
TASK = Task(CLASSIFICATION, ("premise",), LABELS)


@given(st.permutations(range(12)), st.integers(1, 3), st.sampled_from(["probs", "numbers", "both", "texts"]))
def test_predictions_of_all_ranks_are_joined_by_position(order, processes, how):
    task = (
        Task(SPAN, ("text",), ())
        if how == "texts"
        else Task(SOFT if how == "numbers" else CLASSIFICATION, ("x",), LABELS)
    )
    answers = {
        i: f"answer {i % 5}" if how == "texts" else (*LABELS, NO_LABEL)[i % (3 if how == "probs" else 4)] for i in order
    }
    numbers = {**{label: k for k, label in enumerate(LABELS)}, NO_LABEL: NO_LABEL_NUMBER}

    def outputs(batch):
        probs = np.eye(3, dtype=np.float32)[[i % 3 for i in batch]] * 0.5 + np.float32(0.1)
        given = [answers[i] for i in batch]
        if how in ("probs", "texts"):
            return Outputs(torch.tensor(probs)) if how == "probs" else Outputs(answers=given)
        return Outputs(torch.tensor(probs) if how == "both" else None, torch.tensor([numbers[a] for a in given]))

    several = []
    for rank in range(processes):
        mine, collector = order[rank::processes], Collector(task)
        for start in range(0, len(mine), 4):
            collector.add(np.array(mine[start : start + 4]), outputs(mine[start : start + 4]))
        several.append(collector.predictions())
    base = join(several)
    assert base.positions.tolist() == sorted(order)
    assert base.texts.to_pylist() == [answers[i] for i in sorted(order)]
    assert base.count(answers[0]) == sum(a == answers[0] for a in answers.values())
    assert base.count("never given") == 0
    if how in ("probs", "both"):
        assert np.array_equal(base.probs, outputs(sorted(order)).probs.numpy())
    else:
        assert base.probs is None
    assert not base.broken.any()


def test_selecting_an_example_without_a_prediction_is_an_error():
    collector = Collector(TASK)
    collector.add(np.array([2, 4]), Outputs(torch.tensor([[0.2, 0.5, 0.3], [0.5, 0.3, 0.2]])))
    base = collector.predictions()
    assert base.select(np.array([4, 2, 4])).texts.to_pylist() == ["a", "b", "a"]
    for missing in (0, 3, 5):
        with pytest.raises(KeyError, match="not predicted"):
            base.select(np.array([2, missing]))


def test_outputs_are_copied_from_the_device_in_between():
    collector, probs = Collector(TASK), torch.rand(MOST + 40, 3).softmax(dim=1)
    for start in range(0, len(probs), 64):
        batch = probs[start : start + 64]
        collector.add(np.arange(start, start + len(batch)), Outputs(batch))
    assert len(collector._copied) == 1
    found = collector.predictions()
    assert np.array_equal(found.probs, probs.numpy())
    assert found.positions.tolist() == list(range(len(probs)))
    assert found.texts.to_pylist() == [LABELS[k] for k in probs.argmax(dim=1)]


def test_a_rank_may_have_no_example():
    nothing, collector = Collector(TASK), Collector(TASK)
    nothing.add(np.zeros(0, dtype=np.int64), None)
    collector.add(np.array([9, 4]), Outputs(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])))
    found = join([nothing.predictions(), collector.predictions()])
    assert (found.positions.tolist(), found.texts.to_pylist()) == ([4, 9], ["a", "b"])
    assert len(join([nothing.predictions()])) == 0


@pytest.mark.parametrize(
    ("outputs", "n"), [(None, 0), (Outputs(torch.zeros(1, 3)), 1), (Outputs(answers=["a", "b", "c"]), 3)]
)
def test_a_model_must_return_one_prediction_per_example(outputs, n):
    with refused(ModelError, f"{n} predictions", "2 examples"):
        Collector(TASK).add(np.array([1, 2]), outputs)


def test_outputs_that_are_not_finite_are_marked():
    collector, soft = Collector(TASK), Collector(Task(SOFT, ("x",), LABELS))
    collector.add(np.arange(3), Outputs(torch.tensor([[0.5, 0.5, 0.0], [torch.nan] * 3, [torch.inf, 0, 0]])))
    assert collector.predictions().broken.tolist() == [False, True, True]
    soft.add(np.arange(3), Outputs(answers=torch.tensor([2, NOT_FINITE, NO_LABEL_NUMBER])))
    assert soft.predictions().broken.tolist() == [False, True, False]
    texts = Collector(Task(SPAN, ("text",), ()))
    texts.add(np.arange(3), Outputs(answers=["a", "b", None]))
    assert join([texts.predictions()]).broken.tolist() == [False, False, True]

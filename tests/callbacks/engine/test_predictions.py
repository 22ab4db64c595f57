"""Base predictions, collected by several processes and looked up by position."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbacks.engine.predictions import BasePredictions, Predictions
from records import Prediction


@given(st.permutations(range(12)), st.integers(1, 3), st.booleans())
def test_whoever_predicted_it_and_in_whatever_order_it_is_found_by_its_position(order, processes, probs):
    made = {i: Prediction(f"answer {i % 3}", np.float32([i, i / 7]) if probs else None) for i in order}
    tables = []
    for rank in range(processes):
        mine, collected = order[rank::processes], Predictions(labels=2)
        for start in range(0, len(mine), 4):
            batch = mine[start : start + 4]
            collected.add(batch, [made[i] for i in batch])
        tables.append(collected.table())
    base = BasePredictions(tables)
    assert base.positions.tolist() == sorted(order)
    assert len(base) == 12
    assert (base.probs is not None) == probs
    for i in order:
        assert base[i].answer == made[i].answer
        assert np.array_equal(base[i].probs, made[i].probs) if probs else base[i].probs is None


def test_positions_that_were_left_out_and_no_prediction_at_all():
    collected = Predictions(labels=2)
    collected.add([9, 4], [Prediction("b", None), Prediction("a", None)])
    base = BasePredictions([collected.table(), Predictions(2).table()])
    assert [(i, base[i].answer) for i in base.positions.tolist()] == [(4, "a"), (9, "b")]
    assert len(BasePredictions([Predictions(2).table()])) == 0


def test_positions_and_predictions_are_as_many():
    with pytest.raises(ValueError):
        Predictions(2).add([1, 2], [Prediction("a", None)])

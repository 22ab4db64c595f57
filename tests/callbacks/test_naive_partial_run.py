"""Naive partial inputs through the real engine."""

import pytest

from heedful.callbacks import NaivePartial
from heedful.records import Example

from oracles import NLI, ByParts, Given, measure


def test_a_model_of_the_hypothesis_agrees_on_the_hypothesis_alone():
    pairs = [{"premise": a, "hypothesis": b} for a in "abc" for b in "abc"]
    data = Given([Example(f"d/v/{i}", pair, NLI[i % 3]) for i, pair in enumerate(pairs)], swap=[])
    model = ByParts(lambda premise, hypothesis: NLI["abc".find(hypothesis or "a")])
    found = measure(model, data, NaivePartial(), only=["accuracy", "naive_partial"])
    assert found["naive_partial/d/hypothesis"].value == 1
    assert found["naive_partial/d/premise"].value == pytest.approx(3 / 9)
    assert not any("naive" in name for name in measure(model, data, NaivePartial())), "it runs if it is named"

"""Naive partial inputs through the real engine."""

from heedful.callbacks import NaivePartial
from heedful.datamodules import PairedData
from heedful.records import Example, Examples

from oracles import ByParts, measure

LABELS = ("entailment", "neutral", "contradiction")


class Pairs(PairedData):
    """Nine pairs of a letter and a letter."""

    def __init__(self):
        super().__init__("d", ("premise", "hypothesis"), LABELS, default_label="neutral", swap=[])

    def load(self, split):
        pairs = [{"premise": a, "hypothesis": b} for a in "abc" for b in "abc"]
        return Examples.of(Example(f"d/v/{i}", pair, LABELS[i % 3]) for i, pair in enumerate(pairs))


def test_a_model_of_the_hypothesis_agrees_on_the_hypothesis_alone():
    model = ByParts(lambda premise, hypothesis: LABELS["abc".find(hypothesis or "a")])
    found = measure(model, Pairs(), NaivePartial(), only=["accuracy", "naive_partial"])
    assert found["naive_partial/d/hypothesis"].value == 1
    assert found["naive_partial/d/premise"].value == 3 / 9
    assert not any("naive" in name for name in measure(model, Pairs(), NaivePartial())), "it runs if it is named"

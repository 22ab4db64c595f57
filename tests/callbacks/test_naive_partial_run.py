"""One part alone for models of both, through the real engine."""

from heedful.callbacks import NaivePartial
from heedful.datamodules import PairedData
from heedful.records import Example, Examples

from oracles import measure

LABELS = ("entailment", "neutral", "contradiction")


class Pairs(PairedData):
    """Nine pairs of a letter and a letter."""

    def __init__(self, **settings):
        super().__init__("d", ("premise", "hypothesis"), LABELS, default_label="neutral", swap=[], **settings)

    def load(self, split):
        pairs = [(a, b) for a in "abc" for b in "abc"]
        return Examples.of(
            [
                Example(f"d/v/{i}", {"premise": a, "hypothesis": b}, LABELS[0 if a == b else 2], {})
                for i, (a, b) in enumerate(pairs)
            ]
        )


def of_text(hypothesis):
    return LABELS[len(hypothesis) and "abc".index(hypothesis)]


def test_a_model_that_reads_the_hypothesis_agrees_on_it_alone_and_nowhere_else():
    def rule(table, hypothesis):
        return of_text(hypothesis)

    found = measure(rule, Pairs(), NaivePartial(), only=["accuracy", "naive_partial"])
    assert found["naive_partial/d/hypothesis"].value == 1
    assert found["naive_partial/d/premise"].value == 3 / 9  # the empty text is as "a"
    assert not any("naive" in name for name in measure(rule, Pairs(), NaivePartial()))

"""The interaction of parts on functions with known synergy through the real engine."""

import pytest

import heedful
from heedful.callbacks import Interaction, Nothing, Setting
from heedful.callbacks.engine.evaluation import PROBABILITIES
from heedful.lightning_modules.predictor import Capabilities
from heedful.records import Example
from heedful.records.rows import select

from oracles import NLI, Given

NUMBERS = range(40)
ROWS = [
    {"premise": f"p{i} {i % 2}", "hypothesis": f"h{i} {i // 2 % 2}", "label": "yn"[(i + i // 2) % 2]} for i in NUMBERS
]


def trait(text: str) -> float:
    """The last digit of a text as -1 or 1; 0 for the empty text."""
    return 2 * int(text[-1]) - 1 if text else 0


def run(probability):
    """The numbers of a function that returns the probability of "n" from the traits of premise and hypothesis."""

    def predict(inputs):
        values = [probability(trait(each["premise"]), trait(each["hypothesis"])) for each in inputs]
        return [{"y": 1 - p, "n": p} for p in values]

    about = {"labels": ["y", "n"], "label": "label", "evaluations": ["interaction"]}
    return heedful.measure(predict, ROWS, ["premise", "hypothesis"], **about)


@pytest.mark.parametrize(
    ("probability", "emptied", "swapped"),
    [
        (lambda a, b: 0.5 - 0.4 * a * b, 0.4, 0.4),  # the label is whether the traits differ
        (lambda a, b: 0.5 + 0.2 * a + 0.2 * b, 0, 0),
        (lambda a, b: 0.5 + 0.4 * b, 0, 0),
    ],
    ids=["both", "sum", "one"],
)
def test_the_truth_is_in_the_interval(probability, emptied, swapped):
    found = run(probability)
    for way, truth in (("emptied", emptied), ("swapped", swapped)):
        m = found["interaction", "premise+hypothesis", way]
        assert m.n == len(ROWS)
        low, high = m.ci95 or (m.value, m.value)  # equal numbers have no interval
        assert low - 1e-6 <= truth <= high + 1e-6
    if emptied:
        assert found["interaction", "premise+hypothesis", "emptied/share"].value == pytest.approx(1)


def test_one_partner_lends_both_parts():
    rows = run(lambda a, b: 0.5).rows_of("interaction")
    swaps = select(rows, intervention="swap").to_pylist()
    assert len(swaps) == len(ROWS) * 5 * 3
    partners = {}
    for row in swaps:
        partners.setdefault((row["uid"], row["draw"]), set()).add(row["partner"])
    assert {len(each) for each in partners.values()} == {1}
    assert {row["part"] for row in select(rows, intervention="empty").to_pylist()} == {row["part"] for row in swaps}


def test_what_it_needs():
    pairs = [Example(f"d/v/{i}", {"premise": f"a{i}", "hypothesis": f"b{i}"}, NLI[i % 3]) for i in range(6)]
    data = Given(pairs)
    data.setup("validate")
    silent = Interaction().plan(Setting(data, capabilities=Capabilities(probabilities=False)))
    assert silent == Nothing(PROBABILITIES)
    alone = Given(pairs, partial="premise")
    alone.setup("validate")
    assert isinstance(Interaction().plan(Setting(alone)), Nothing)
    plan = Interaction(draws=3).plan(Setting(data))
    assert [each.name for each in plan.interventions] == ["empty"] * 3 + ["swap"] * 3
    assert not Interaction.by_default
    assert not Interaction.in_training

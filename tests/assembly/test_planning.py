"""A study is planned from a pilot: the numbers, their costs, and studies on fresh rows that are measured."""

import random
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.assembly.planning import plan_study
from heedful.metrics.statistics import study_size
from heedful.metrics.statistics.study_size import Told

from refusals import refused

pytestmark = pytest.mark.slow  # hundreds of data sets

QUIET = {"enable_progress_bar": False}
PARTS = ["premise", "hypothesis"]
Row = dict[str, str]


def rows(n: int, seed: int) -> list[Row]:
    """Pairs whose parts hold a code each, and a gold label that follows from both."""
    rng = random.Random(seed)
    found = []
    for i in range(n):
        codes = [rng.randrange(4), rng.randrange(3)]
        texts = {part: f"{part} {seed} {i} says {code}" for part, code in zip(PARTS, codes, strict=True)}
        found.append({**texts, "label": answer(*codes)})
    return found


def answer(premise: int, hypothesis: int) -> str:
    return "neutral" if hypothesis == 2 else ("entailment" if premise < 2 else "contradiction")


def codes(row: Row) -> list[int]:
    return [int(row[part][-1]) for part in PARTS]


def seeing(inputs: list[Row]) -> list[str]:
    """Right, and heeds both parts."""
    return [answer(*codes(row)) for row in inputs]


def half_blind(inputs: list[Row]) -> list[str]:
    """Sees the premise in some of the examples alone."""
    return [answer(codes(row)[0] if int(row["premise"].split()[2]) % 2 else 0, codes(row)[1]) for row in inputs]


def measured(predict: Any, data: list[Row], draws: int = 2, **more: Any) -> heedful.Results:
    only = ["accuracy", "attentiveness"]
    return heedful.measure(predict, data, PARTS, "neutral", draws=draws, trainer=QUIET, evaluations=only, **more)


@pytest.fixture(autouse=True)
def _few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_size, "STUDIES", 25)


def test_studies_on_fresh_rows_have_the_width() -> None:
    """Of ten: at least six, since fewer come once in 160 times if four of five do."""
    plan = plan_study(measured(half_blind, rows(150, seed=1)), width=0.25)
    needs = {(need.name, need.draws): need for need in plan.needs}
    assert [*needs] == [
        ("accuracy", None),
        ("attentiveness premise", 1),
        ("attentiveness premise", 2),
        ("attentiveness hypothesis", 1),
        ("attentiveness hypothesis", 2),
    ]
    most = needs["attentiveness premise", 1].examples
    widths = []
    for seed in range(10, 20):
        number = measured(half_blind, rows(most, seed), draws=1)["attentiveness", "premise"]
        widths.append(number.high - number.low)
    assert sum(width <= 0.25 for width in widths) >= 6, widths
    assert min(widths) > 0.15  # and no more examples than that


def test_what_a_study_costs() -> None:
    result = measured(seeing, rows(120, seed=2))
    plan = plan_study(result, width=0.2, tokens=(50, 2), prices=[1.0, 10.0])
    eligible = result["attentiveness", "premise", "eligible"].value
    assert plan.shared == 2
    for need in plan.needs:
        assert need.inputs == pytest.approx(2 + (need.draws or 0) * eligible)
    for one in plan.costs:
        assert one.examples == max(need.examples for need in plan.needs if need.draws in (None, one.draws))
        assert one.forwards == pytest.approx(one.examples * (2 + 2 * one.draws * eligible), abs=1)
    assert plan.dollars(1e6) == 50 + 20
    assert plan.available == 120
    assert plan.best is None or plan.best.examples <= 120


def test_a_pilot_of_more_data_knows_how_many_there_are() -> None:
    result = heedful.measure(
        seeing, rows(120, seed=2), PARTS, "neutral", trainer=QUIET | {"limit_val_batches": 2}, batch_size=30
    )
    plan = plan_study(result, width=0.3)
    assert (plan.examples, plan.available) == (60, 120)


def test_two_models(capsys: pytest.CaptureFixture[str]) -> None:
    data = rows(120, seed=3)
    one, other = measured(half_blind, data), measured(seeing, data)
    plan = plan_study([one, other])
    seen = (other - one)["attentiveness", "premise"]
    need = next(need for need in plan.needs if (need.name, need.draws) == ("attentiveness premise", 2))
    assert need.pilot.value() == pytest.approx(seen.value)
    assert need.pilot.bounds() == pytest.approx((seen.low, seen.high))
    assert need.aim == Told(need.pilot.value())
    smaller = plan_study([one, other], difference=abs(seen.value) / 2)
    assert smaller.needs[2].examples > 2 * need.examples
    back = plan_study([other, one])
    assert back.needs[2].aim == Told(-need.aim.difference)
    assert back.needs[2].examples == pytest.approx(need.examples, rel=0.2)
    narrow = plan_study([one, other], width=0.1)
    assert narrow.needs[2].examples > 120
    narrow.show()
    assert "95 % intervals of each difference of 10.0 points" in capsys.readouterr().out


def test_two_that_do_not_belong_together(tmp_path: Path) -> None:
    one, other = (measured(seeing, rows(60, seed), output=tmp_path / f"{seed}") for seed in (4, 5))
    with refused("other-examples"):
        plan_study([one, other])
    with refused("bad-setting"):
        plan_study([one, one, one])

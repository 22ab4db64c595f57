"""The figure "partial": pairs of runs, rank correlations against loops, and points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import Context, Measurement, MetricName
from heedful.reports.figures import partial_inputs as report
from heedful.reports.figures.partial_inputs import Point, scatter, spearman
from heedful.reports.figures.registry import COLORS
from heedful.reports.runs import read_runs

import written_results
from made_rows import make

PARTS = ("premise", "hypothesis")


def point(data, x, y, above=True, model="m"):
    return Point(data, model, Measurement(x, 9, ci95=(x - 0.1, x + 0.1)), Measurement(y, 9, ci95=(y, y)), above)


def ranks(values):
    """Average ranks of values."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def pearson(x, y):
    x, y = np.array(x) - np.mean(x), np.array(y) - np.mean(y)
    norm = np.sqrt((x**2).sum() * (y**2).sum())
    return (x * y).sum() / norm if norm else None


few = st.sampled_from([0.1, 0.2, 0.3, 0.4])


@given(st.lists(st.builds(point, st.sampled_from("ab"), few, few), max_size=9))
def test_spearman_is_the_correlation_of_ranks_over_all_and_within_data_sets(points):
    for within, sets in ((False, ["ab"]), (True, ["a", "b"])):
        columns = {"gain": [], "attentiveness": []}
        for data in sets:
            members = [p for p in points if p.data in data]
            for name, values in columns.items() if len(members) > 1 else ():
                of_set = ranks([getattr(p, name).value for p in members])
                values += [rank - np.mean(of_set) for rank in of_set]
        expected = pearson(*columns.values()) if len(columns["gain"]) > 2 else None
        assert spearman(points, within) == (expected if expected is None else pytest.approx(expected))


def test_clusters_of_data_sets_mislead():
    """Attentiveness rises with the gain within each data set, and falls over both."""
    points = [point("a", x, 0.9 + x) for x in (0.01, 0.02, 0.03)] + [point("b", x, x) for x in (0.2, 0.21, 0.22)]
    assert spearman(points) < 0
    texts = report.correlations([*points, point("b", 0.5, 0.0, above=False)])
    assert (texts["within data sets"], texts["a"]) == ("+1.00 (n=6)", "+1.00 (n=3)")


def save(folder, score, attention=None, flags=(), data="d", reason=None, **settings):
    numbers = {
        MetricName("accuracy", data): Measurement(score, 100, ci95=(score - 0.05, score + 0.05)),
        MetricName("accuracy", data, statistic="majority"): Measurement(0.4, 100),
    }
    rows, context = {}, Context(data, parts=PARTS, labels=("yes", "no"), own={"swap": [["premise", "leaves"]]})
    if "partial" not in settings:
        ci95 = None if attention is None else (attention - 0.1, attention + 0.1)
        m = Measurement(attention, 60, 5, 0.01, ci95, flags=flags, reason=reason)
        numbers[MetricName("attentiveness", data, "premise")] = m
        made = make({"u0": ("yes", "yes")}, labels=2)
        rows = {"attentiveness": (made, written_results.about(made, context))}
    found = written_results.results(numbers, data=data)
    return written_results.configured(folder, found=found, written=rows, **settings)


@pytest.fixture
def runs(tmp_path):
    return [
        save(tmp_path / "full", 0.8, 0.7),
        save(tmp_path / "alone", 0.6, partial="hypothesis"),
        save(tmp_path / "not", 0.9, partial="premise"),
        save(tmp_path / "augmented", 0.8, 0.9, augment="counterfactual"),
        save(tmp_path / "flagged", 0.4, 0.2, ("not_above_majority",), data="e"),
        save(tmp_path / "alone_e", 0.4, partial="hypothesis", data="e"),
        save(tmp_path / "other", 0.7, 0.5, data="f"),
        save(tmp_path / "undefined", 0.7, None, data="g", reason="why not"),
        save(tmp_path / "few", 0.7, 0.5, ("few_examples",), data="h"),
    ]


@pytest.mark.slow
def test_a_run_is_matched_with_the_model_of_the_parts_that_stay_and_drawn_with_bars_both_ways(runs):
    points, without = report.points_of(read_runs(runs))
    assert [(p.data, p.model, round(p.gain.value, 9), p.attentiveness.value, p.is_above) for p in points] == [
        ("d: premise", "minilm", 0.2, 0.7, True),
        ("d: premise", "minilm counterfactual", 0.2, 0.9, True),
        ("e: premise", "minilm", 0.0, 0.2, False),
    ]
    assert points[0].gain.ci95 == pytest.approx((0.15, 0.25))
    facts = "no run of minilm on f trained with --partial hypothesis", "undefined: why not", "rests on too few examples"
    assert all(fact in sentence for fact, sentence in zip(facts, without, strict=True))
    (axes,) = scatter(points, {"over all": "+0.50 (n=2)", "d: premise": "+1.00"}).axes
    containers = list(axes.containers)
    places = [(round(c[0].get_xdata()[0], 6), round(c[0].get_ydata()[0], 6)) for c in containers]
    assert places == [(20, 70), (20, 90), (0, 20)]
    assert [c[0].get_markerfacecolor() for c in containers] == [COLORS[0], COLORS[0], "white"]
    assert all(c.has_xerr and c.has_yerr for c in containers)
    assert axes.get_title("left") == "Spearman over all: +0.50 (n=2)"
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    symbols = ["not above majority", "bars: 95 % intervals", "line: the majority share"]
    assert labels == ["d: premise\nSpearman +1.00", "e: premise", *symbols]

"""The figure "epochs": headlines over epochs."""

from heedful.records import Measurement
from heedful.reports.figures.history import history_figure


def test_the_figure_leaves_a_gap_where_a_value_is_undefined():
    defined = Measurement(0.5, 10, ci95=(0.4, 0.7))
    history = [
        (1, {"accuracy": defined, "attentiveness": Measurement(None, 0, reason="none")}),
        (2, {"accuracy": defined, "attentiveness": defined}),
    ]
    axes = history_figure(history, "title").axes[0]
    points = [line[0].get_ydata().tolist() for line in axes.containers]
    assert points == [[50.0, 50.0], [50.0]]
    assert axes.get_ylim()[0] < 0  # a line at 0 is visible

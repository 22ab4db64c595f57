"""The figure "epochs": headlines over epochs."""

from heedful.records import Measurement
from heedful.reports.figures.history import history_figure, is_drawn
from heedful.reports.figures.registry import style


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


def test_a_curve_without_a_value_is_left_out_and_the_others_keep_their_colours():
    defined, undefined = Measurement(0.5, 10, ci95=(0.4, 0.7)), Measurement(None, 0, reason="none")
    history = [(epoch, {"premise": undefined, "hypothesis": defined}) for epoch in (1, 2)]
    figure = history_figure(history, "title")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["hypothesis"]
    (line,) = (line[0] for line in figure.axes[0].containers)
    assert line.get_color() == style(1)[0]
    assert is_drawn(history)
    assert not is_drawn([(1, {"premise": undefined})])
    assert not is_drawn([])

"""The lines of a table: which numbers have one, and their labels, levels, units and order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics import METRICS
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number
from heedful.records import Context, Measurement, MetricName
from heedful.reports.lines import Line, count_hidden, label_of, lines_of
from heedful.reports.results import score

from made_rows import make
from written_results import about, results

MAIN = MetricName("mine", "d", "premise")
VALUE, UNDEFINED = Measurement(0.5, 4), Measurement(None, 0, reason="no example")
PLACES = st.sampled_from(["", "a", "a/b", "a/b/c", "b"])


def lines(*names: MetricName, measurement: Measurement = VALUE, **others) -> list[Line]:
    """The lines of numbers that all have one measurement."""
    return lines_of(results(dict.fromkeys(names, measurement), **others))


def shown(*names: MetricName, **others) -> list[str]:
    """The labels, indented by level."""
    return ["  " * line.level + line.label for line in lines(*names, **others)]


def below(statistic: str = "", slice_: str = "") -> MetricName:
    return MAIN._replace(statistic=statistic, slice=slice_)


def test_a_number_is_below_the_number_whose_name_it_continues():
    names = [MAIN, below("read"), below("flipped"), below("flipped/read"), below("flipped/kind/drop")]
    names += [below("flipped", "kind=c"), below("", "kind=b"), below("read", "kind=b")]
    assert shown(*names) == [
        "mine premise",
        "  read",
        "  flipped",
        "    read",
        "    kind/drop",
        "    kind=c",
        "  kind=b",
        "    read",
    ]


def test_another_data_set_part_or_family_is_no_number_below():
    others = [MAIN._replace(data="e", statistic="x"), MAIN._replace(part="other", statistic="x")]
    others += [MAIN._replace(family="other_one", statistic="x"), below("flip"), below("flipped")]
    assert shown(MAIN, *others) == [
        "mine premise",
        "  flip",
        "  flipped",
        "mine premise x",
        "mine other x",
        "other one premise x",
    ]


def test_a_number_without_a_main_number_has_its_whole_name():
    assert shown(below("kept"), below("kept", "from_yes"), below("changed")) == [
        "mine premise kept",
        "  from_yes",
        "mine premise changed",
    ]


@given(st.lists(st.builds(below, PLACES, st.sampled_from(["", "kind=b"])), unique=True), st.randoms())
def test_every_number_has_a_line_below_the_right_one_in_any_order(names, random):
    found = {line.metric: line for line in lines(*names)}
    other = list(names)
    random.shuffle(other)
    again = lines(*other)
    assert len(found) == len(names)
    assert {line.metric: line for line in again} == found
    for before, line in zip(again, again[1:], strict=False):
        assert line.level <= before.level + 1
    for i, line in enumerate(again):
        if line.level:
            parent = next(each for each in reversed(again[:i]) if each.level < line.level)
            assert line.metric.startswith(f"{parent.metric.removesuffix('/kind=b')}/")


def test_words_replace_labels_and_none_hides_a_number_and_those_below_it():
    words = {"mine": "{part} of {data}", "mine/drop": None, "mine/*": "in {part}", "mine/read/*": None}
    names = [MAIN, below("drop"), below("drop/every"), below("", "kind=b"), below("read"), below("read", "kind=b")]
    found = results(dict.fromkeys(names, VALUE), words=words)
    assert [line.label for line in lines_of(found)] == ["premise of d", "in premise", "read"]
    assert count_hidden(found) == 3
    assert count_hidden(results(dict.fromkeys(names, VALUE), words={})) == 0


def test_a_part_of_two_words_and_a_number_without_a_part_fill_the_placeholder():
    words = {"mine": "invalid: {part}"}
    assert shown(MAIN._replace(part="delete_relevant"), MAIN._replace(part=""), words=words) == [
        "invalid: delete, relevant",
        "invalid: d",
    ]


@pytest.mark.parametrize(("value", "has_line"), [(0.0, False), (0.1, True), (None, True)])
def test_the_share_of_unread_changes_has_a_line_unless_it_is_0(value, has_line):
    unread = Measurement(value, 4)
    for name in (below("unread"), below("tce/unread")):
        found = lines_of(results({MAIN: VALUE, name: unread}))
        assert [line.metric for line in found] == [str(MAIN), *[str(name)] * has_line]
        assert count_hidden(results({MAIN: VALUE, name: unread})) == 0


@pytest.mark.parametrize(("undefined", "texts"), [(2, []), (3, ["undefined: 3 labels are never predicted"])])
def test_more_than_two_labels_that_are_never_predicted_share_a_line(undefined, texts):
    other = MAIN._replace(part="other")
    numbers = {MAIN: VALUE, below("", "from_yes"): VALUE}
    numbers |= {below("", f"from_l{i}"): UNDEFINED for i in range(undefined)}
    numbers |= {below("", "kind=b"): UNDEFINED, other: VALUE, other._replace(slice="from_l0"): UNDEFINED}
    found = lines_of(results(numbers))
    assert [line.text for line in found if line.text] == texts
    each = [] if texts else [f"from_l{i}" for i in range(undefined)]
    labels = ["mine premise", "from_yes", *(["from_..."] if texts else each), "kind=b", "mine other", "from_l0"]
    assert [line.label for line in found] == labels
    assert [line.level for line in found] == [0, *[1] * (len(labels) - 3), 0, 1]


def test_units_and_headlines_are_those_of_results():
    ratio = MAIN._replace(part="ratio")
    found = lines_of(results({MAIN: VALUE, ratio: Measurement(1.5, 4, unit="ratio")}, [MAIN]))
    assert [(line.unit, line.is_headline) for line in found] == [("percent", True), ("ratio", False)]


def test_curves_have_the_labels_of_lines():
    metrics = (metric for metric in METRICS.values() if metric.headlines is None)
    names = [MetricName(metric.name, "d") for metric in metrics]
    names += [MetricName("natural_logic", "n", "context", "tce"), MetricName("transitions", "d", "delete", "invalid")]
    names += [MetricName("attentiveness", "d", "premise", "kept"), MetricName("f1", "d"), MetricName("loss", "d")]
    assert [label_of(name) for name in names] == [line.label for name in names for line in lines(name)]


def test_the_words_of_a_foreign_metric_stay_in_the_results():
    """Labels do not need the metric, which the process that shows results may not know."""

    def numbers(rows, context):
        yield Number(MAIN, VALUE, headline=True)
        yield Number(below("part"), Measurement(1.5, 4, unit="ratio"))
        yield Number(below("inner"), VALUE)
        yield {"counted": 3}

    words = {"mine": "my {part}", "mine/part": "ratio to {data}", "mine/inner": None}
    rows = make({"u": ("yes", "yes")})
    metric = Metric("mine", numbers, words=words, rows="accuracy")
    metadata = about(rows, Context("d", labels=("yes", "no")))
    metrics = {"accuracy": METRICS["accuracy"], "mine": metric}
    content = score(metadata["run"], {"accuracy": (rows, metadata)}, metrics).results
    content = json.loads(json.dumps(content))
    assert "mine" not in METRICS
    assert [line for line in lines_of(content) if line.metric.startswith("mine/")] == [
        Line(str(MAIN), "my premise", is_headline=True),
        Line(str(below("part")), "ratio to d", 1, "ratio"),
    ]
    assert count_hidden(content) == 1
    assert content["counts"]["accuracy/counted"] == 3

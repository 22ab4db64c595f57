"""The figure "transitions": percentages and colours of the cells."""

import pytest
from matplotlib.colors import to_hex

from heedful.cli import command
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import Measurement, MetricName
from heedful.reports.figures.registry import COLORS, RED
from heedful.reports.figures.transitions import collect, heat_maps
from heedful.reports.runs import read_runs

import written_results
from tiers import first_tier


def save(folder, first=0.10, operations=("delete",), data=("infotabs",), splits=()) -> str:
    """Write a run with transitions whose shares rise by 1 % per edge and 10 % per split; the last is undefined."""
    found = {MetricName("accuracy", "infotabs"): Measurement(0.5, 4)}
    for name in data:
        for operation in operations:
            of = MetricName("transitions", name, operation)
            found[of._replace(statistic="invalid")] = Measurement(0.3, 4)
            for b, before in enumerate(LABELS):
                found[of._replace(statistic=f"invalid/from_{before}")] = Measurement(0.3, 4)
                for a, after in enumerate(LABELS):
                    value = None if (b, a) == (2, 2) else first + (3 * b + a) / 100
                    m = Measurement(value, 1000 + b, reason=None if value else "none")
                    edge = of._replace(statistic=f"from_{before}/to_{after}")
                    found[edge] = m
                    for k, split in enumerate(splits, 1):
                        of_split = Measurement(None if value is None else value + k / 10, 100, reason=m.reason)
                        found[edge._replace(slice=f"split={split}")] = of_split
            for split in splits:
                found[of._replace(statistic="invalid", slice=f"split={split}")] = Measurement(0.3, 4)
    return str(written_results.save(folder, written_results.results(found, data="infotabs")))


def shown(runs, operation="delete"):
    """The number in each cell of each heat map, row by row, by the title of the heat map."""
    drawn = heat_maps(collect(runs, operation), operation)
    return {
        axes.get_title(): [text.get_text().split("\n")[0] for text in axes.texts]
        for axes in drawn.axes
        if axes.get_visible()
    }


def numbers(first):
    return [f"{first + i}.0" for i in range(8)] + ["–"]


def test_each_run_has_a_heat_map_with_a_number_per_cell(tmp_path):
    firsts = {"a": 10, "b": 20, "c": 30, "d": 40}
    runs = read_runs([save(tmp_path / name, first / 100) for name, first in firsts.items()])
    assert shown(runs) == {name: numbers(first) for name, first in firsts.items()}
    axes = heat_maps(collect(runs, "delete"), "delete").axes[0]
    ticks = [[tick.get_text() for tick in ticks] for ticks in (axes.get_yticklabels(), axes.get_xticklabels())]
    assert ticks == [[f"{label}\nn={1000 + k:,}" for k, label in enumerate(LABELS)], list(LABELS)]
    places = [(text.get_position()[1], text.get_position()[0]) for text in axes.texts]
    assert places == [(before, after) for before in range(3) for after in range(3)]


def test_a_single_run_has_a_heat_map_per_split_and_several_runs_one_each(tmp_path):
    run = save(tmp_path / "a", splits=("alpha1", "alpha2"))
    assert shown(read_runs([run])) == {f"a (infotabs, alpha{k})": numbers(10 + 10 * k) for k in (1, 2)}
    assert shown(read_runs([run, save(tmp_path / "b", 0.5)])) == {"a": numbers(10), "b": numbers(50)}
    both = read_runs([save(tmp_path / "c", data=("infotabs", "other"))])
    assert shown(both) == {f"c ({name})": numbers(10) for name in ("infotabs", "other")}


KEPT = {"EE": "irrelevant", "CC": "irrelevant"}


@pytest.mark.parametrize(
    ("operation", "red", "by_row"),
    [
        (
            "delete",
            {"EC", "NE", "NC", "CE"},
            {"EE": "irrelevant", "CC": "irrelevant", "EN": "relevant", "CN": "relevant"},
        ),
        ("delete_relevant", {"EE", "EC", "NE", "NC", "CE", "CC"}, {}),
        ("delete_irrelevant", {"EN", "EC", "NE", "NC", "CE", "CN"}, {}),
        ("insert", {"EN", "EC", "CE", "CN"}, {}),
        ("update", {"CE"}, {}),
        ("permute", {"EN", "EC", "NE", "NC", "CE", "CN"}, {}),
        ("delete+insert", {"EC", "CE"}, None),
    ],
)
def test_what_is_not_allowed_is_red_and_what_depends_on_the_row_says_so(tmp_path, operation, red, by_row):
    runs = read_runs([save(tmp_path / "a", operations=(operation,))])
    (axes,) = heat_maps(collect(runs, operation), operation).axes
    names = [before[0].upper() + after[0].upper() for before in LABELS for after in LABELS]
    colors = dict(zip(names, (to_hex(patch.get_facecolor()) for patch in axes.patches), strict=True))
    assert colors == {name: RED.lower() if name in red else COLORS[0].lower() for name in names}
    words = dict(zip(names, (text.get_text().partition("\n")[2] for text in axes.texts), strict=True))
    assert {name for name in names if words[name] == "not allowed"} == red
    if by_row is not None:
        assert {name: word[3:] for name, word in words.items() if word.startswith("if ")} == by_row


@pytest.mark.parametrize(
    ("name", "start"), first_tier(1, [("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("new/f.SVG", b"<?xml")])
)
def test_the_command_writes_a_file_and_says_where(tmp_path, name, start, capsys):
    output = tmp_path / name
    run = save(tmp_path / "a", operations=("delete", "insert"))
    command.main(["figure", "transitions", run, run, "--name", "insert", "--output", str(output)])
    assert capsys.readouterr().out.split() == [str(output)]
    assert output.read_bytes().startswith(start)

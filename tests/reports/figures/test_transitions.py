"""The figure "transitions": percentages and styles of the edges."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch

from heedful.cli import command
from heedful.interventions.tables.allowed_transitions import LABELS
from heedful.records import Measurement, MetricName
from heedful.reports.figures import transitions as transition_figure
from heedful.reports.figures.transitions import collect, graph
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


def shown(drawn):
    return [t.get_text() for t in drawn.axes[0].texts]


def arrows(drawn):
    """The colour of each edge, and whether it is dashed."""
    found = [p for p in drawn.axes[0].patches if isinstance(p, FancyArrowPatch)]
    return [(to_hex(p.get_edgecolor()), p.get_linestyle() != "-") for p in found]


def test_each_edge_has_the_percentages_of_all_runs(tmp_path):
    folders = [save(tmp_path / "alpha1"), save(tmp_path / "alpha2", 0.2), save(tmp_path / "alpha3", 0.3)]
    texts = shown(graph(collect(read_runs(folders), "delete"), "delete"))
    assert {"10.0 / 20.0 / 30.0", "11.0 / 21.0 / 31.0", "14.0 / 24.0 / 34.0*", "– / – / –"} < set(texts)
    assert [t for t in texts if t in "ENC"] == ["E", "N", "C"]
    assert [t for t in texts if "alpha" in t] == [
        f"alpha{i}: edited examples E 1,000, N 1,001, C 1,002" for i in (1, 2, 3)
    ]
    assert texts[-1] == "E entailment, N neutral, C contradiction; –: no prediction of this label"


def test_the_splits_of_a_run_stand_side_by_side_and_of_several_runs_the_means(tmp_path):
    run = save(tmp_path / "a", splits=("alpha1", "alpha2"))
    texts = shown(graph(collect(read_runs([run]), "delete"), "delete"))
    assert {"20.0 / 30.0", "24.0 / 34.0*", "– / –"} < set(texts)
    assert [t for t in texts if "alpha" in t] == [
        f"a (infotabs, alpha{i}): edited examples E 100, N 100, C 100" for i in (1, 2)
    ]
    other = save(tmp_path / "b", 0.5)
    texts = shown(graph(collect(read_runs([run, other]), "delete"), "delete"))
    assert {"10.0 / 50.0", "14.0 / 54.0*"} < set(texts)
    assert not [t for t in texts if "alpha" in t]


RED, BLACK = (to_hex(c) for c in (transition_figure.RED, transition_figure.BLACK))


@pytest.mark.parametrize(
    ("operation", "red", "dashed"),
    [
        ("delete", {"EC", "NE", "NC", "CE"}, {"EE", "CC"}),
        ("delete_relevant", {"EE", "EC", "NE", "NC", "CE", "CC"}, set()),
        ("delete_irrelevant", {"EN", "EC", "NE", "NC", "CE", "CN"}, set()),
        ("insert", {"EN", "EC", "CE", "CN"}, set()),
        ("update", {"CE"}, set()),
        ("permute", {"EN", "EC", "NE", "NC", "CE", "CN"}, set()),
        ("delete+insert", {"EC", "CE"}, set()),
    ],
)
def test_what_is_not_allowed_is_red_and_what_is_allowed_for_irrelevant_rows_only_is_dashed(
    tmp_path, operation, red, dashed
):
    drawn = graph(collect(read_runs([save(tmp_path / "a", operations=(operation,))]), operation), operation)
    edges = [b[0].upper() + a[0].upper() for b in LABELS for a in LABELS]
    expected = [(RED if edge in red else BLACK, edge in dashed) for edge in edges]
    assert arrows(drawn) == expected


@pytest.mark.parametrize(
    ("name", "start"), first_tier(1, [("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("new/f.SVG", b"<?xml")])
)
def test_the_command_writes_a_file_and_says_where(tmp_path, name, start, capsys):
    output = tmp_path / name
    run = save(tmp_path / "a", operations=("delete", "insert"))
    command.main(["figure", "transitions", run, run, "--name", "insert", "--output", str(output)])
    assert capsys.readouterr().out.split() == [str(output)]
    assert output.read_bytes().startswith(start)

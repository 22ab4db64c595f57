"""The figure "causal_effects": points, intervals and names of runs."""

import pytest

from heedful.cli import command
from heedful.records import Measurement, MetricName
from heedful.reports.figures.causal_effects import draw
from heedful.reports.runs import read_runs

import written_results


def save(
    folder, dce: float | None = 0.3, tce: float = 0.6, data=("nlixy",), kinds=("context", "insertion"), **others
) -> str:
    found = {MetricName("accuracy", "nlixy"): Measurement(0.5, 4)}
    for kind in kinds:
        for name in data:
            for effect, value in (("dce", dce), ("tce", tce)):
                ci95 = None if value is None else (value - 0.1, value + 0.2)
                found[MetricName("natural_logic", name, kind, effect)] = Measurement(
                    value, 4, ci95=ci95, reason=None if value else "none"
                )
            found[MetricName("natural_logic", name, kind, f"{effect}/naive")] = Measurement(0.9, 4)
    return str(written_results.save(folder, written_results.results(found, data="nlixy", **others)))


def markers(axes) -> dict[str, tuple]:
    """(DCE, TCE) in percent by name in the legend."""
    found = {c.get_label(): c.get_offsets().data[0] for c in axes.collections if not c.get_label().startswith("_")}
    return {name: tuple(round(float(x), 6) for x in point) for name, point in found.items()}


def test_each_run_is_a_marker_in_both_panels_with_its_intervals(tmp_path):
    folders = [save(tmp_path / "bert", 0.3, 0.6), save(tmp_path / "roberta", 0.1, 0.8)]
    (drawn,) = (one.figure for one in draw(read_runs(folders)))
    for axes, title in zip(drawn.axes, ("changed contexts", "changed word pairs"), strict=True):
        assert axes.get_title() == title
        assert markers(axes) == {"bert": (30, 60), "roberta": (10, 80)}
        bars = [s.round(6).tolist() for c in axes.collections if hasattr(c, "get_segments") for s in c.get_segments()]
        assert [[20, 60], [50, 60]] in bars
        assert [[10, 70], [10, 100]] in bars
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["bert", "roberta"]


def test_runs_look_different_and_an_undefined_effect_leaves_its_marker_out(tmp_path):
    save(tmp_path / "a", kinds=("insertion",))
    folders = [str(tmp_path / "a"), *(save(tmp_path / f"b{i}") for i in range(11))]
    (drawn,) = (one.figure for one in draw(read_runs(folders)))
    contexts, insertions = map(markers, drawn.axes)
    assert str(contexts["a"]) == "(nan, nan)"
    assert insertions["a"] == (30, 60)
    points = [c for c in drawn.axes[1].collections if not c.get_label().startswith("_")]
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in points}
    assert len(looks) == 12


def test_several_data_sets_of_a_run_are_told_apart(tmp_path):
    folder = save(tmp_path / "a", data=("nlixy", "other"))
    ((_, _, drawn, _),) = draw(read_runs([folder]))
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["a (nlixy)", "a (other)"]


@pytest.mark.slow
def test_runs_measured_on_different_pairs_are_drawn_and_said_to_be(tmp_path, capsys):
    for name in "ab":
        folder = save(tmp_path / name, counts={"natural_logic/I0": {"sha256": name}})
        command.main(["figure", "causal_effects", folder, "--output", str(tmp_path / "f.svg")])
    assert capsys.readouterr().err == ""
    command.main(
        ["figure", "causal_effects", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "f.svg")]
    )
    assert capsys.readouterr().err == (
        "Note: The numbers of natural_logic rest on different pairs of examples in these runs.\n"
    )

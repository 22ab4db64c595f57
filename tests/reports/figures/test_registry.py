"""A new figure and a new output format are one function each, for the commands and the page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from heedful.cli import compare
from heedful.cli import figure as command
from heedful.reports.figures import FIGURES, Drawn, figure
from heedful.reports.page.writing import write_page
from heedful.reports.runs import Run, read_runs
from heedful.reports.tables import FORMATS, Cells

RUNS = Path(__file__).parents[2] / "frozen" / "schema_11" / "runs"
RUN = str(RUNS / "plain")


def test_a_new_figure_is_drawn_by_the_command_and_on_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FIGURES, "sizes", None)  # removed after the test

    @figure("sizes", "number of examples", "attentiveness")
    def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
        for run in runs:
            drawn = Figure()
            drawn.subplots().bar(["examples"], [run.score["n"]])
            yield Drawn("", f"Examples of {run.data}", drawn)

    command.main(["sizes", RUN, "--output", str(tmp_path / "sizes.svg")])
    assert "<svg" in (tmp_path / "sizes.svg").read_text()
    assert "Examples of planted" in write_page([RUN], tmp_path / "page.html").read_text()


def test_attentiveness_of_several_runs_is_one_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [RUN, f"{RUN}/evaluations/planted-validation/version_0"]
    command.main(["attentiveness", *folders, "--output", str(tmp_path / "all.svg")])
    assert "--name: " in capsys.readouterr().err  # the figure of each run
    (together, *each) = FIGURES["attentiveness"].draw(read_runs(folders))
    assert len(each) == len(together.figure.axes[0].get_yticklabels()) == 2


def test_a_new_format_is_a_choice_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def as_words(table: Cells) -> str:
        return "|".join(table.header) + "".join("\n" + "|".join(map(str, row)) for row in table.rows) + "\n"

    monkeypatch.setitem(FORMATS, "words", as_words)
    compare.main([RUN, "--format", "words"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[0] for line in lines][1:3] == ["accuracy", "accuracy majority"]

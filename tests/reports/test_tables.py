"""File formats of tables: cells survive CSV, LaTeX and Markdown."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from heedful.reports.tables import FORMATS, Cells

HEADER, ROWS = ["model", "mnli & rte"], [["a|b_1", "50.0 ± 1.2 %"], ["~/x^2 {#}\\", "-"]]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8)
texts = texts.filter(lambda text: not text.startswith(tuple("=+-@\t")))
cells = texts | st.sampled_from(["=1+A1", "-1.5 [-2.0, 1.0] (new)", "+1", "-", "- no", "@SUM(A1)", "+A1"])


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_csv_gives_back_what_was_written(rows):
    """But for an apostrophe before a formula; numbers are no formulas."""
    header, *others = rows
    formulas = {"=1+A1", "- no", "@SUM(A1)", "+A1"}
    rows = [[f"'{cell}" if cell in formulas else cell for cell in row] for row in rows]
    assert list(csv.reader(io.StringIO(FORMATS["csv"](Cells("", header, others)), newline=""))) in (
        rows,
        _without_empty(rows),
    )


def _without_empty(rows):
    """The rows as CSV readers return them that read a single empty cell as an empty line."""
    return [[] if row == [""] else row for row in rows]


def test_latex_escapes_what_it_would_obey():
    assert FORMATS["latex"](Cells("", HEADER, ROWS)).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"model & mnli \& rte \\",
        r"\midrule",
        r"a|b\_1 & 50.0 ± 1.2 \% \\",
        r"\textasciitilde /x\textasciicircum 2 \{\#\}\textbackslash  & - \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_markdown_keeps_its_columns():
    lines = FORMATS["markdown"](Cells("", HEADER, ROWS)).splitlines()
    assert lines[1] == "| --- | ---: |"
    assert lines[2] == r"| a\|b\_1 | 50.0 ± 1.2 % |"
    assert [line.replace(r"\|", "").count("|") for line in lines] == [3] * 4

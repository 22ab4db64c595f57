"""One way to write a table for a paper or a spreadsheet: as CSV, as LaTeX, as Markdown."""

import csv
import io
from collections.abc import Callable, Sequence

from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.records import printable
from heedful.reports.figures.contact_sheet import escaped

LATEX = {ord(mark): f"\\{mark}" for mark in "&%$#_{}"} | {
    ord("\\"): r"\textbackslash{}",
    ord("~"): r"\textasciitilde{}",
    ord("^"): r"\textasciicircum{}",
    ord("<"): r"\textless{}",
    ord(">"): r"\textgreater{}",
    ord("|"): r"\textbar{}",
    ord("±"): r"$\pm$",
}


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]], form: str) -> str:
    r"""A table as a text that ends with a line break.

    Args:
        header: What stands above each column.
        rows: The cells of each row, as many as the header has.
        form: One of :data:`FORMATS`. LaTeX needs the package booktabs.

    Example:
        >>> print(table_text(["model", "n"], [["a_b", "3"]], "latex"), end="")
        \begin{tabular}{lr}
        \toprule
        model & n \\
        \midrule
        a\_b & 3 \\
        \bottomrule
        \end{tabular}
    """
    if uneven := [row for row in rows if len(row) != len(header)]:
        raise ValueError(f"{len(header)} columns, and the row {uneven[0]}")
    return FORMATS[form](header, rows)


def too_few(n: float, flags: Sequence[str]) -> str:
    """What every table shows in place of attentiveness that rests on too few examples: their number; else "".

    Args:
        n: How many examples it rests on; of a mean over seeds, their mean.
        flags: Of the measurement.

    Example:
        >>> too_few(3, ["few_examples"]), too_few(9.5, ["few_examples"]), too_few(300, [])
        ('n=3', 'n=9.5', '')
    """
    return "n=" + f"{n:.1f}".removesuffix(".0") if FEW_EXAMPLES in flags else ""


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [map(escaped, header), ["---", *["---:"] * (len(header) - 1)], *(map(escaped, row) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _latex(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = (rf"{' & '.join(printable(cell).translate(LATEX) for cell in row)} \\" for row in (header, *rows))
    columns = f"l{'r' * (len(header) - 1)}"
    start = rf"\begin{{tabular}}{{{columns}}}"
    end = r"\end{tabular}"
    return "\n".join([start, r"\toprule", first, r"\midrule", *others, r"\bottomrule", end, ""])


FORMATS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], str]] = {
    "csv": _csv,
    "latex": _latex,
    "markdown": _markdown,
}

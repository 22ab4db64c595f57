"""One way to write numbers and tables: in a terminal, and for a paper or a spreadsheet as CSV, LaTeX or Markdown."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.records import Measurement, printable

LATEX = {mark: f"\\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # behind the end of a row, it would begin an argument of it, as * would
    "*": "{*}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
}
MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_[]|#"} | {ord("&"): "&amp;", ord("<"): "&lt;", ord("~"): "&#126;"}
Measured = Measurement | Mapping[str, Any]  # a number, or as it stands in results.json


class Cells(NamedTuple):
    """One table.

    Attributes:
        heading: Above it.
        header: Above each column.
        rows: As long as the header.
    """

    heading: str
    header: list[str]
    rows: list[list[str]]


def percents(value: float, sign: str = "", digits: int = 1) -> str:
    """A share as a number of percent.

    Example:
        >>> percents(0.1234), percents(0.1234, "+"), percents(-0.0001)
        ('12.3', '+12.3', '0.0')
    """
    return f"{100 * value:{sign}z.{digits}f}"


def spread(std: float | None) -> str:
    """A standard deviation in percent; "" where there is none."""
    return "" if std is None else percents(std)


def bounds(ci95: Sequence[float] | None, sign: str = "", digits: int = 1) -> str:
    """An interval in percent; "" where there is none."""
    return "" if ci95 is None else f"[{', '.join(percents(bound, sign, digits) for bound in ci95)}]"


def number(m: Measured | None, sign: str = "", std: bool = False, ci95: bool = False) -> str:
    """A measurement in percent; "" where there is none.

    Args:
        m: The measurement.
        sign: "+" for a difference.
        std: With the standard deviation over draws.
        ci95: With its interval.

    Example:
        >>> number(Measurement(0.5, 20, std=0.01, ci95=(0.4, 0.6)), std=True, ci95=True)
        '50.0 ± 1.0 [40.0, 60.0]'
        >>> number(Measurement(None, 0)), number(Measurement(1.0, 3, flags=("few_examples",)))
        ('undefined', 'n=3')
    """
    if m is None:
        return ""
    of = m if isinstance(m, Mapping) else vars(m)
    if of["value"] is None:
        return "undefined"
    if few := too_few(of["n"], of["flags"]):
        return few
    of_draws = f" ± {spread(of['std'])}" if std and of["std"] is not None else ""
    interval = f" {bounds(of['ci95'], sign)}" if ci95 and of["ci95"] is not None else ""
    return f"{percents(of['value'], sign)}{of_draws}{interval}"


def grid(header: Sequence[str | Text], rows: Sequence[Sequence[str | Text]], between: int = 2) -> Table:
    """A table for a terminal; cells are shown as they are, and folded where they are too long.

    Args:
        header: Above each column.
        rows: The cells of each row, as many as the header has.
        between: Spaces between two columns.
    """
    table = Table(box=None, pad_edge=False, padding=(0, between, 0, 0), header_style="bold")
    for title in header:
        table.add_column(_text(title), overflow="fold")
    for row in rows:
        table.add_row(*map(_text, row))
    return table


def _text(cell: str | Text) -> Text:
    return Text(printable(cell)) if isinstance(cell, str) else cell


def print_cells(cells: Cells, console: Console, between: int = 2) -> None:
    """Print a table in pieces that fit the width, each with its first column.

    Args:
        cells: The table.
        console: Where to print.
        between: Spaces between two columns.
    """
    console.print(f"\n{printable(cells.heading)}", style="bold", markup=False, highlight=False)
    widths = [max(map(len, column)) + between for column in zip(cells.header, *cells.rows, strict=True)]
    columns = list(range(1, len(widths)))
    while columns:
        used = widths[0]
        piece = [0]
        while columns and (len(piece) == 1 or used + widths[columns[0]] <= console.width):
            used += widths[columns[0]]
            piece.append(columns.pop(0))
        console.print(grid([cells.header[k] for k in piece], [[row[k] for k in piece] for row in cells.rows], between))


def escaped(text: str) -> str:
    """A text on one line that Markdown shows as it is.

    Example:
        >>> print(escaped("# a|b *c* <d>"))
        \\# a\\|b \\*c\\* &lt;d>
    """
    return printable(" ".join(text.split())).translate(MARKS)


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


def latex(text: str) -> str:
    r"""A text on one line as LaTeX shows it, in UTF-8.

    Example:
        >>> print(latex("a_b & 50 %"), latex("Müller"))
        a\_b \& 50 \% Müller
    """
    signs = "".join(LATEX.get(sign, sign) for sign in printable(text))
    return re.sub("-(?=-)", "-{}", signs)  # two would become a dash


def _latex(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = (rf"{' & '.join(latex(cell) for cell in row)} \\" for row in (header, *rows))
    columns = f"l{'r' * (len(header) - 1)}"
    start = rf"\begin{{tabular}}{{{columns}}}"
    end = r"\end{tabular}"
    return "\n".join([start, r"\toprule", first, r"\midrule", *others, r"\bottomrule", end, ""])


FORMATS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], str]] = {
    "csv": _csv,
    "latex": _latex,
    "markdown": _markdown,
}

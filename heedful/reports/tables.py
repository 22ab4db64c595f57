"""One way to write numbers and tables: in a terminal, and for a paper, a spreadsheet or a notebook."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.records import Measurement, printable

MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_[]|#"} | {ord("&"): "&amp;", ord("<"): "&lt;", ord("~"): "&#126;"}
Measured = Measurement | Mapping[str, Any]  # a number, or as it stands in results.json


class Cells(NamedTuple):
    """One table.

    Attributes:
        heading: Above it.
        header: Above each column.
        rows: As long as the header.
        notes: What a reader must know of it; the caption in LaTeX, which is then a floating table.
    """

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: str = ""


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


def precise(m: Mapping[str, Any], unit: str) -> tuple[str, str]:
    """A number that has a value, with two digits and its standard deviation over draws; and its interval.

    Args:
        m: The measurement, as results.json has it.
        unit: "percent", or "ratio" for numbers that are no shares; tiny ones are powers of ten, as the noise floor.

    Example:
        >>> precise({"value": 0.5, "std": 0.01, "ci95": [0.4, 0.6]}, "percent")
        ('50.00 ± 1.00', '[40.0, 60.0]')
        >>> precise({"value": 3e-7, "std": None, "ci95": None}, "ratio")
        ('3e-07', '')
    """
    scale, digits = (0.01, 2) if unit == "ratio" else (1, 1)
    is_tiny = 0 < abs(100 * scale * m["value"]) < 1e-2
    text = f"{100 * scale * m['value']:.0e}" if is_tiny else percents(scale * m["value"], digits=2)
    text += "" if m["std"] is None else f" ± {percents(scale * m['std'], digits=2)}"
    return text, "" if m["ci95"] is None else bounds([scale * bound for bound in m["ci95"]], digits=digits)


def too_few(n: float, flags: Sequence[str]) -> str:
    """The number of examples, which every table shows in place of attentiveness that rests on too few; else "".

    Args:
        n: How many examples it rests on; of a mean over seeds, their mean.
        flags: Of the measurement.

    Example:
        >>> too_few(3, ["few_examples"]), too_few(9.5, ["few_examples"]), too_few(300, [])
        ('n=3', 'n=9.5', '')
    """
    return "n=" + f"{n:.1f}".removesuffix(".0") if FEW_EXAMPLES in flags else ""


def basis(m: Measured) -> str:
    """How many examples an interval rests on, and in how many clusters they are, where these are fewer.

    Example:
        >>> basis(Measurement(0.5, 202)), basis(Measurement(0.5, 202, clusters=11))
        ('n=202', 'n=202 in 11 clusters')
    """
    of = m if isinstance(m, Mapping) else vars(m)
    clusters = of.get("clusters")
    return f"n={of['n']}" if clusters is None else f"n={of['n']} in {clusters} cluster{'s' * (clusters > 1)}"


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


def emit(tables: Iterable[Cells], form: str | None = None, between: int = 2) -> None:
    """Print tables.

    Args:
        tables: The tables.
        form: One of :data:`FORMATS`, with an empty line between tables; by default the terminal, in whose width a table
            stands in pieces, each with its first column.
        between: Spaces between two columns in the terminal.
    """
    if form:
        print("\n".join(FORMATS[form](table) for table in tables), end="")
        return
    console = Console()
    for table in tables:
        console.print(f"\n{printable(table.heading)}", style="bold", markup=False, highlight=False)
        widths = [max(map(len, column)) + between for column in zip(table.header, *table.rows, strict=True)]
        columns = list(range(1, len(widths)))
        while columns:
            used, piece = widths[0], [0]
            while columns and (len(piece) == 1 or used + widths[columns[0]] <= console.width):
                used += widths[columns[0]]
                piece.append(columns.pop(0))
            rows = [[row[k] for k in piece] for row in table.rows]
            console.print(grid([table.header[k] for k in piece], rows, between))


def _lines(table: Cells) -> list[Sequence[str]]:
    """Header and rows, with the heading above the first column.

    Raises:
        ValueError: A row is of another length.
    """
    if uneven := [row for row in table.rows if len(row) != len(table.header)]:
        raise ValueError(f"{len(table.header)} columns, and the row {uneven[0]}")
    return [[table.heading or table.header[0], *table.header[1:]], *table.rows]


def as_csv(table: Cells) -> str:
    """A table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_lines(table))
    return text.getvalue()


def escaped(text: str) -> str:
    """A text on one line that Markdown shows as it is.

    Example:
        >>> print(escaped("# a|b *c* <d>"))
        \\# a\\|b \\*c\\* &lt;d>
    """
    return printable(" ".join(text.split())).translate(MARKS)


def as_markdown(table: Cells) -> str:
    """A table as Markdown."""
    header, *rows = (map(escaped, row) for row in _lines(table))
    lines = [header, ["---", *["---:"] * (len(table.header) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def as_latex(table: Cells) -> str:
    r"""A table as LaTeX in UTF-8, which needs the package booktabs.

    Example:
        >>> print(as_latex(Cells("", ["model", "n"], [["a_b", "3"]])), end="")
        \begin{tabular}{lr}
        \toprule
        model & n \\
        \midrule
        a\_b & 3 \\
        \bottomrule
        \end{tabular}
    """
    import pandas

    header, *rows = ([_in_braces(printable(cell)) for cell in row] for row in _lines(table))
    frame = pandas.DataFrame(rows, columns=header)
    columns = "l" + "r" * (len(header) - 1)
    caption = re.sub(r"([&%$#_])", r"\\\1", table.notes) or None
    return frame.to_latex(index=False, escape=True, column_format=columns, caption=caption).replace("+lb+", "{[}")


def _in_braces(text: str) -> str:
    """A text whose first "[" will stand in braces: behind the end of a row it would begin an argument of it."""
    return f"+lb+{text[1:]}" if text.startswith("[") else text


def as_html(table: Cells) -> str:
    """A table as HTML with its notes below; all texts are escaped.

    Example:
        >>> as_html(Cells("", ["part", "n"], [["<b>", "3"]]))[-67:]
        '<td style="text-align:left">&lt;b&gt;</td><td>3</td></tr>\\n</table>\\n'
    """
    left = ' style="text-align:left"'
    lines = []
    for tag, cells in zip(["th", *["td"] * len(table.rows)], _lines(table), strict=True):
        inner = (f"<{tag}{'' if k else left}>{escape(printable(cell))}</{tag}>" for k, cell in enumerate(cells))
        lines.append(f"<tr>{''.join(inner)}</tr>")
    told = "<br>".join(escape(printable(line)) for line in table.notes.splitlines())
    said = f'<caption style="caption-side:bottom;text-align:left">{told}</caption>\n' if told else ""
    return "<table>\n" + said + "\n".join(lines) + "\n</table>\n"


FORMATS: dict[str, Callable[[Cells], str]] = {
    "csv": as_csv,
    "html": as_html,
    "latex": as_latex,
    "markdown": as_markdown,
}

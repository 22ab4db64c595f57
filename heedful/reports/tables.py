"""Format numbers as texts, and tables for a terminal or in a file format such as LaTeX; :func:`emit` prints tables."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.records import Measurement, printable
from heedful.reports.flags import FLAGS, lettered, letters, marks
from heedful.reports.frame import Entry, entries_of, fields_of

if TYPE_CHECKING:
    import pandas as pd

MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*_[]|#"} | {ord("&"): "&amp;", ord("<"): "&lt;", ord("~"): "&#126;"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # starts of texts that a spreadsheet reads as formulas
NUMBERS = re.compile(r"-|[-+]?\d[-+\d.,e±%\[\] ]*( \([a-z_]+\))*")  # with bounds and flags
WIDEST = 24  # characters; wider columns of a table in a terminal are folded
FIELDS = ("value", "std", "low", "high", "n", "clusters", "flags", "reason")  # columns of a number in CSV


class Number(str):
    """The text of a number in a table, with the measurement that CSV writes to a column for each of its fields."""

    entry: Measurement | Mapping[str, Any]

    def __new__(cls, text: str, entry: Entry) -> "Number":
        """Create the text of ``entry``."""
        new = super().__new__(cls, text)
        new.entry = entry
        return new


class Cells(NamedTuple):
    """A table of texts."""

    heading: str
    header: Sequence[str]  # title per column
    rows: Sequence[Sequence[str | Text]]  # cells per row, as many as columns; a terminal prints Text with its style
    notes: str = ""  # caption


def percents(value: float, sign: str = "", digits: int = 1) -> str:
    """Format a share as a percentage, without the sign "%". ``sign`` is "+" for a difference.

    Example:
        >>> percents(0.1234), percents(0.1234, "+"), percents(-0.0001)
        ('12.3', '+12.3', '0.0')
    """
    return f"{100 * value:{sign}z.{digits}f}"


def bounds(ci95: Sequence[float] | None, sign: str = "", digits: int = 1) -> str:
    """Format an interval of shares in percent, as "[40.0, 60.0]"; "" for None."""
    return "" if ci95 is None else f"[{', '.join(percents(bound, sign, digits) for bound in ci95)}]"


def number(m: Entry | None, sign: str = "", std: bool = False, ci95: bool = False, flagged: bool = False) -> str:
    """Format a measurement as a text: usually its value in percent, such as "50.0".

    The text is "" for None, "undefined" for a measurement without value, and "n=3" for a measurement over only 3
    examples that has the flag "few_examples": a share of so few examples is not shown.

    Args:
        m: The measurement.
        sign: "+" for a difference.
        std: Whether to add the standard deviation over draws.
        ci95: Whether to add the interval.
        flagged: Whether to add the flags.

    Example:
        >>> number(Measurement(0.5, 20, std=0.01, ci95=(0.4, 0.6)), std=True, ci95=True)
        '50.0 ± 1.0 [40.0, 60.0]'
        >>> number(Measurement(None, 0)), number(Measurement(1.0, 3, flags=("few_examples",)))
        ('undefined', 'n=3')
    """
    if m is None:
        return ""
    entry = m if isinstance(m, Mapping) else vars(m)
    text = "undefined" if entry["value"] is None else too_few(entry["n"], entry["flags"])
    if not text:
        over_draws = f" ± {percents(entry['std'])}" if std and entry["std"] is not None else ""
        interval = f" {bounds(entry['ci95'], sign)}" if ci95 and entry["ci95"] is not None else ""
        text = f"{percents(entry['value'], sign)}{over_draws}{interval}"
    return Number(text + (marks(entry["flags"]) if flagged else ""), m)


def precise(m: Mapping[str, Any], unit: str) -> tuple[str, str]:
    """Format a measurement and its interval.

    Args:
        m: Entry of results.json with a value.
        unit: "percent" multiplies all numbers by 100; "ratio" leaves them, for a number that is not a share.

    Returns:
        Two texts: the value with its standard deviation over draws, with two decimals; and the interval ("" for none),
        with one decimal, or with two for "ratio" and for a value that is not 0, but less than 0.1 in absolute value
        in this unit. A value between 0 and 0.01 is in scientific notation, and so are its bounds in this range.

    Example:
        >>> precise({"value": 0.5, "std": 0.01, "ci95": [0.4, 0.6]}, "percent")
        ('50.00 ± 1.00', '[40.0, 60.0]')
        >>> precise({"value": 3e-7, "std": None, "ci95": [-1e-7, 7e-7]}, "ratio")
        ('3e-07', '[-1e-07, 7e-07]')
        >>> precise({"value": -5e-5, "std": None, "ci95": [-1.4e-4, 4e-5]}, "percent")
        ('-5e-03', '[-0.01, 4e-03]')
    """
    scale = 0.01 if unit == "ratio" else 1
    size = abs(100 * scale * m["value"])
    is_tiny, digits = 0 < size < 1e-2, 2 if unit == "ratio" or 0 < size < 0.1 else 1
    text = f"{100 * scale * m['value']:.0e}" if is_tiny else percents(scale * m["value"], digits=2)
    text += "" if m["std"] is None else f" ± {percents(scale * m['std'], digits=2)}"
    ends = [100 * scale * bound for bound in m["ci95"] or ()]
    texts = [f"{end:.0e}" if is_tiny and 0 < abs(end) < 1e-2 else f"{end:z.{digits}f}" for end in ends]
    return text, f"[{', '.join(texts)}]" if ends else ""


def too_few(n: float, flags: Sequence[str]) -> str:
    """Return the text "n=..." for a share of ``n`` examples with the flag that they are too few; "" without the flag.

    Example:
        >>> too_few(3, ["few_examples"]), too_few(9.5, ["few_examples"]), too_few(300, [])
        ('n=3', 'n=9.5', '')
    """
    return "n=" + f"{n:.1f}".removesuffix(".0") if FEW_EXAMPLES in flags else ""


def basis(m: Entry) -> str:
    """Return the number of examples of a measurement, and of their clusters, as text.

    Example:
        >>> basis(Measurement(0.5, 202)), basis(Measurement(0.5, 202, clusters=11))
        ('n=202', 'n=202 in 11 clusters')
    """
    entry = m if isinstance(m, Mapping) else vars(m)
    n, clusters = entry["n"], entry.get("clusters")  # a difference has clusters of two runs, and the smaller n
    return f"n={n}" if clusters is None or clusters >= n else f"n={n} in {clusters} cluster{'s' * (clusters > 1)}"


def emit(
    tables: Iterable[Cells],
    form: str | None = None,
    notes: Iterable[str] = (),
    footer: Iterable[str] = (),
    console: Console | None = None,
) -> None:
    """Print tables with their notes.

    In a terminal, flags in cells become letters of footnotes, and a table that is too wide is split into tables that
    repeat its first column.

    Args:
        tables: The tables.
        form: One of :data:`FORMATS`: the tables are printed to standard output in this format, notes and footer to
            standard error. None: all is printed for a terminal.
        notes: Sentences below the tables.
        footer: Lines that are not wrapped, such as paths.
        console: The terminal.
    """
    console = console or Console(stderr=bool(form))
    footnotes: dict[str, str] = {}
    if form:
        print("\n".join(FORMATS[form](table) for table in tables), end="")
    else:
        tables = list(tables)
        footnotes = letters(str(cell) for table in tables for row in table.rows for cell in row)
        for table in tables:
            _print_table(table, footnotes, console)
        if len(tables) > 1:
            console.print()
        for flag, letter in footnotes.items():
            console.print(f"({letter}) {FLAGS[flag].short}.")
    for note in notes:
        console.print(printable(lettered(note, footnotes)), markup=False, highlight=False)
    for line in footer:
        console.print(printable(lettered(line, footnotes)), soft_wrap=True, markup=False, highlight=False)


def _print_table(table: Cells, footnotes: dict[str, str], console: Console) -> None:
    rows = [[cell if isinstance(cell, Text) else lettered(cell, footnotes) for cell in row] for row in table.rows]
    console.print(f"\n{printable(table.heading)}".rstrip("\n"), style="bold", markup=False, highlight=False)
    across = zip(table.header, *rows, strict=True)
    widths = [max(len(line) for cell in column for line in str(cell).split("\n")) for column in across]
    widths = [widths[0], *(min(width, WIDEST) for width in widths[1:])]
    between = 2 if sum(widths) + 2 * (len(widths) - 1) <= console.width else 1
    columns = list(range(1, len(widths)))
    while columns:
        used, piece = widths[0], [0]
        while columns and (len(piece) == 1 or used + between + widths[columns[0]] <= console.width):
            used += between + widths[columns[0]]
            piece.append(columns.pop(0))
        grid = Table(box=None, pad_edge=False, padding=(0, between, 0, 0), header_style="bold")
        for k in piece:
            is_label = k == 0 and widths[0] <= console.width // 2
            grid.add_column(Text(printable(table.header[k])), overflow="fold", no_wrap=is_label)
        for row in rows:
            grid.add_row(*(cell if isinstance(cell := row[k], Text) else Text(_lines(cell)) for k in piece))
        console.print(grid)
    if table.notes:
        console.print(_lines(table.notes), markup=False, highlight=False)


def _lines(cell: str) -> str:
    """Escape unprintable characters of a text, but keep its line breaks."""
    return "\n".join(map(printable, cell.split("\n")))


def _grid(table: Cells) -> list[list[str]]:
    """Return the header, whose first title is the heading if there is one, and the rows of a table as texts."""
    header = [table.heading or table.header[0], *table.header[1:]]
    return [header, *([cell if isinstance(cell, str) else str(cell) for cell in row] for row in table.rows)]


def tabulate(
    frame: "pd.DataFrame",
    rows: str,
    columns: str,
    text: Callable[[Mapping[str, Any]], str] = number,
    heading: str = "",
    notes: str = "",
) -> Cells:
    """Build a table from a long frame of numbers (:mod:`.frame`).

    Args:
        frame: The numbers; the first number of a cell counts.
        rows: Column of the frame that names the row of a number, and the title of the first column.
        columns: Column of the frame that names the column of a number.
        text: Formats an entry (value, n, ci95, ...), such as :func:`number`.
        heading: Title of the table.
        notes: Caption.

    Example:
        >>> from heedful.records import MetricName
        >>> from heedful.reports.frame import frame_of
        >>> numbers = {MetricName("accuracy", "mnli"): Measurement(0.5, 20), MetricName("f1", "rte"): Measurement(1, 9)}
        >>> tabulate(frame_of([("bert", numbers)]), "data", "evaluation").rows
        [['mnli', '50.0', ''], ['rte', '', '100.0']]
    """
    cells: dict[tuple[str, str], str] = {}
    for entry in entries_of(frame):
        cells.setdefault((entry[rows], entry[columns]), text(entry))
    names, header = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    texts = [[name, *(cells.get((name, column), "") for column in header)] for name in names]
    return Cells(heading, [rows, *header], texts, notes)


def csv_cell(text: str) -> str:
    """Escape a text that a spreadsheet would read as a formula, by an apostrophe; numbers stay as they are.

    Example:
        >>> csv_cell("=1+A1"), csv_cell("- no"), csv_cell("-1.5 [-2.0, -1.0] (new)")
        ("'=1+A1", "'- no", '-1.5 [-2.0, -1.0] (new)')
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMBERS.fullmatch(text) else text


def as_csv(table: Cells) -> str:
    """Format a table as CSV; a column of numbers becomes a column for each of the :data:`FIELDS` that one of them has.

    Numbers in percent are multiplied by 100, and have up to twelve digits. A share of fewer than ten examples is left
    out, as in other tables.

    Example:
        >>> print(as_csv(Cells("", ["model", "d"], [["a", number(Measurement(0.5, 20, ci95=(0.4, 0.6)))]])), end="")
        model,d,d low,d high,d n
        a,50,40,60,20
    """
    text = io.StringIO()
    columns = [column for each in zip(*_grid(table), strict=True) for column in _columns_of_numbers(each)]
    csv.writer(text, lineterminator="\n").writerows([*map(csv_cell, row)] for row in zip(*columns, strict=True))
    return text.getvalue()


def _columns_of_numbers(column: Sequence[str]) -> list[Sequence[str]]:
    """Return a column, or the columns of its numbers; texts among numbers are in the column of the values."""
    header, *cells = column
    if not any(isinstance(cell, Number) for cell in cells):
        return [column]
    texts = [_csv_fields(cell.entry) if isinstance(cell, Number) else {FIELDS[0]: cell} for cell in cells]
    always = FIELDS if not header else FIELDS[:1]  # a table of one number per row has the same columns for all runs
    names = [name for name in FIELDS if name in always or any(each.get(name) for each in texts)]
    titles = {name: f"{header} {name}".strip() for name in names} | ({FIELDS[0]: header} if header else {})
    return [[titles[name], *(each.get(name, "") for each in texts)] for name in names]


def _csv_fields(m: Entry) -> dict[str, str]:
    fields = fields_of(m)
    scale = 100 if fields["unit"] in ("share", "percent") else 1
    for name in ("value", "std", "low", "high"):
        is_shown = fields[name] is not None and FEW_EXAMPLES not in fields["flags"]
        fields[name] = f"{scale * fields[name]:.12g}" if is_shown else None
    for name in ("n", "clusters"):  # floats in a frame
        fields[name] = None if fields[name] is None else f"{fields[name]:.15g}"
    return {name: fields[name] or "" for name in FIELDS}


def escaped(text: str) -> str:
    """Escape a text for Markdown, and replace line breaks by spaces.

    Example:
        >>> print(escaped("# a|b *c* <d>"))
        \\# a\\|b \\*c\\* &lt;d>
    """
    return printable(" ".join(text.split())).translate(MARKS)


def as_markdown(table: Cells) -> str:
    """Format a table as Markdown."""
    header, *rows = (map(escaped, row) for row in _grid(table))
    lines = [header, ["---", *["---:"] * (len(table.header) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def as_latex(table: Cells) -> str:
    r"""Format a table as LaTeX for the package booktabs; a table with notes is a float with a caption.

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
    import pandas as pd

    header, *rows = ([_guarded(printable(cell)) for cell in row] for row in _grid(table))
    frame = pd.DataFrame(rows, columns=header)
    columns = "l" + "r" * (len(header) - 1)
    caption = re.sub(r"([&%$#_])", r"\\\1", table.notes) or None
    return frame.to_latex(index=False, escape=True, column_format=columns, caption=caption).replace("+lb+", "{[}")


def _guarded(text: str) -> str:
    """Replace a leading "[" by the placeholder "+lb+": at the start of a row, it would be an optional argument."""
    return f"+lb+{text[1:]}" if text.startswith("[") else text


def as_html(table: Cells) -> str:
    """Format a table as HTML with its notes as a caption; texts are escaped."""
    align = ' style="text-align:left"'
    lines = []
    for tag, cells in zip(["th", *["td"] * len(table.rows)], _grid(table), strict=True):
        inner = (f"<{tag}{'' if k else align}>{escape(printable(cell))}</{tag}>" for k, cell in enumerate(cells))
        lines.append(f"<tr>{''.join(inner)}</tr>")
    notes = "<br>".join(escape(printable(line)) for line in table.notes.splitlines())
    caption = f'<caption style="caption-side:bottom;text-align:left">{notes}</caption>\n' if notes else ""
    return "<table>\n" + caption + "\n".join(lines) + "\n</table>\n"


FORMATS: dict[str, Callable[[Cells], str]] = {
    "csv": as_csv,
    "html": as_html,
    "latex": as_latex,
    "markdown": as_markdown,
}

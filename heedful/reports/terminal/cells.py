"""A table of texts in a terminal: in pieces that fit its width."""

from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heedful.records import printable


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
        piece = []
        while columns and (not piece or used + widths[columns[0]] <= console.width):
            used += widths[columns[0]]
            piece.append(columns.pop(0))
        table = Table(box=None, pad_edge=False, padding=(0, between, 0, 0), header_style="bold")
        for k in (0, *piece):
            table.add_column(Text(printable(cells.header[k])), overflow="fold")
        for row in cells.rows:
            table.add_row(*(Text(printable(row[k])) for k in (0, *piece)))
        console.print(table)

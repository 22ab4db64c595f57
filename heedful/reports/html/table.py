"""A table and a figure as HTML, for a notebook."""

import base64
import io
import sys
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from heedful.records import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def table(header: Sequence[str], rows: Sequence[Sequence[str]], captions: Sequence[str] = ()) -> str:
    """A table; all texts are escaped.

    Args:
        header: Above each column.
        rows: The cells of each row, as many as the header has.
        captions: Below the table, a line each.

    Example:
        >>> table(["part", "n"], [["<b>", "3"]])[-66:]
        '<td style="text-align:left">&lt;b&gt;</td><td>3</td></tr>\\n</table>'
    """
    left = ' style="text-align:left"'
    lines = []
    for tag, cells in [("th", header), *(("td", row) for row in rows)]:
        inner = (f"<{tag}{'' if k else left}>{_text(cell)}</{tag}>" for k, cell in enumerate(cells))
        lines.append(f"<tr>{''.join(inner)}</tr>")
    told = "<br>".join(map(_text, captions))
    said = f'<caption style="caption-side:bottom;text-align:left">{told}</caption>\n' if told else ""
    return "<table>\n" + said + "\n".join(lines) + "\n</table>"


def image(drawn: "Figure", told: str) -> str:
    """A figure as an image that needs no file beside it.

    Args:
        drawn: The figure.
        told: What it shows, for who cannot see it.
    """
    file = io.BytesIO()
    drawn.savefig(file, dpi=100, format="png")
    return f'<img alt="{_text(told)}" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'


def in_notebook() -> bool:
    """Whether this is a cell of a notebook, so that HTML can be displayed."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def has_bars() -> bool:
    """Whether progress bars can be drawn: not in a notebook without ipywidgets, where each would warn of that."""
    return not in_notebook() or find_spec("ipywidgets") is not None


def _text(text: str) -> str:
    return escape(printable(text))

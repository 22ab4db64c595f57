"""A table and a figure as HTML, for a notebook."""

import base64
import io
import sys
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from heedful.records import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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

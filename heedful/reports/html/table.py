"""Output in a notebook: figures as HTML, and whether progress bars can be drawn."""

import base64
import io
import sys
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from heedful.records import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def image(figure: "Figure", title: str) -> str:
    """Convert a figure to an HTML image with embedded data.

    Args:
        figure: The figure.
        title: Text for readers who cannot see the figure.
    """
    file = io.BytesIO()
    figure.savefig(file, dpi=100, format="png")
    alt = escape(printable(title))
    return f'<img alt="{alt}" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'


def in_notebook() -> bool:
    """Whether the code runs in a notebook, which displays HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def has_bars() -> bool:
    """Whether progress bars can be drawn without a warning: a notebook needs ipywidgets for them."""
    return not in_notebook() or find_spec("ipywidgets") is not None

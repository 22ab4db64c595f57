"""Figures as SVG that stands in a page: with ids of its own, and a title for who cannot see it."""

import io
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from heedful.records import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IDS = re.compile(r'(\bid="|\bhref="#|url\(#)')
BROAD = 620  # pixels; wider figures scroll on a narrow screen, on which their letters would be too small
INKS = {  # colours of figures that follow the theme of the page: black on white becomes text on its background
    "#000000": "currentColor",
    "#ffffff": "var(--back)",
    "#eaf0f7": "var(--card)",
    "#4c4c4c": "var(--soft)",
    "#666666": "var(--soft)",
    "#737373": "var(--soft)",
    "#0072b2": "var(--ci)",
    "#c1121f": "var(--bad)",
    "#882255": "var(--wine)",
}
INK = re.compile("|".join(INKS), re.IGNORECASE)
SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)pt"')


class Drawn(NamedTuple):
    """A figure of a page.

    Attributes:
        title: What it shows.
        svg: The figure.
        is_folded: Whether it is shown on demand.
    """

    title: str
    svg: str
    is_folded: bool = False


def inline(figure: "Figure", name: str, title: str) -> str:
    """A figure as SVG for the inside of a page: texts are paths, since not every reader has the same letters.

    Args:
        figure: The figure.
        name: Unique on the page; ids in the figure begin with it.
        title: What it shows, for who cannot see it.
    """
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for a sign that the font does not have
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing, transparent=True)
    text = file.getvalue()
    width = float(SIZE.findall(text)[0]) * 4 / 3  # points to pixels
    text = text[text.index("<svg ") :]
    start = text.index(">") + 1
    box = re.findall(r'viewBox="[^"]*"', text)[0]
    broad = ' class="broad"' if width > BROAD else ""
    opening = f'<svg{broad} {box} width="{width:.0f}" fill="currentColor" role="img" aria-labelledby="{name}-title" '
    opening += 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    inner = IDS.sub(rf"\g<1>{name}-", text[start:])
    inner = INK.sub(lambda found: INKS[found[0].lower()], inner)
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    return f'{opening}<title id="{name}-title">{escape(printable(title))}</title>{inner}'

"""Convert figures to SVG for the section of a page about an evaluation."""

import io
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.records.storage.results import read_epochs
from heedful.reports.figures import FIGURES
from heedful.reports.page.about import in_order
from heedful.reports.page.numbers import quoted
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = "epochs"  # kind of figure with curves of several evaluations
IDS = re.compile(r'(\bid="|\bhref="#|url\(#)')
INKS = {  # colours of matplotlib, and the colours of the light or dark theme that replace them
    "#000000": "currentColor",
    "#ffffff": "var(--back)",
    "#666666": "var(--soft)",
    "#737373": "var(--soft)",
    "#0072b2": "var(--ci)",
    "#c1121f": "var(--bad)",
    "#882255": "var(--wine)",
}
INK = re.compile("|".join(INKS), re.IGNORECASE)


class Drawing(NamedTuple):
    """A figure of an HTML page, or a sentence that replaces it."""

    title: str
    name: str = ""  # HTML id, unique on the page; "" for a sentence
    body: str = ""  # content of the SVG element
    box: str = ""  # viewBox
    width: int = 0  # pixels
    is_folded: bool = False


def figures_of(run: Run, evaluation: str, name: str) -> Iterator[Drawing]:
    """Yield the figures about an evaluation, the first per kind unfolded; ``name`` is the prefix of HTML ids."""
    for key, kind in FIGURES.items():
        if kind.evaluation == evaluation:
            for k, entry in enumerate(kind.draw([run])):
                yield inline(entry.figure, f"{name}-{key}-{k}", entry.title)._replace(is_folded=k > 0)
    first, *_ = sections = in_order(run)
    for entry in FIGURES[EPOCHS].draw([run]):  # the first section shows curves that belong to no section
        if (entry.name if entry.name in sections else first) == evaluation:
            (epoch, curves), *later_points = read_epochs(Path(run.folder))[entry.name]
            if later_points:
                yield inline(entry.figure, f"{name}-{EPOCHS}-{entry.name}", entry.title)
            else:
                values = (f"{curve} {quoted(m.as_dict())}" for curve, m in curves.items() if m.value is not None)
                yield Drawing(f"After epoch {epoch}, on the examples watched during training: {', '.join(values)}.")


def inline(figure: "Figure", name: str, title: str) -> Drawing:
    """Convert a figure to SVG whose frequent colours follow the theme; ``name`` is the prefix of HTML ids."""
    from matplotlib import rc_context

    file = io.StringIO()
    # Texts become paths, which look the same on every machine
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box replaces a character that the font lacks
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing, transparent=True)
    opening, body = re.fullmatch(r".*?<svg (.*?)>(.*)</svg>\s*", file.getvalue(), re.DOTALL).groups()  # type: ignore[union-attr]
    body = re.sub(r"<metadata>.*?</metadata>", "", IDS.sub(rf"\g<1>{name}-", body), flags=re.DOTALL)
    body = INK.sub(lambda match: INKS[match[0].lower()], body)
    (box,) = re.findall(r'viewBox="(.*?)"', opening)
    return Drawing(title, name, body, box, round(float(box.split()[2]) * 4 / 3))  # points to pixels

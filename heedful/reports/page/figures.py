"""Convert figures to SVG, and words with their attributions to HTML, for the section of a page about an evaluation."""

import io
import re
import warnings
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from heedful.metrics.attributions.attribution import attributions
from heedful.records import printable
from heedful.records.storage.results import read_epochs
from heedful.reports.figures import FIGURES
from heedful.reports.page.about import in_order
from heedful.reports.page.numbers import quoted
from heedful.reports.page.words import example_html, explanations
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = "epochs"  # kind of figure with curves of several evaluations
IDS = re.compile(r'(\bid="|\bhref="#|url\(#)')
BROAD = 620  # pixels; wider figures scroll on a narrow screen
INKS = {  # colours of matplotlib, and the colours of the light or dark theme that replace them
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


class Shown(NamedTuple):
    """A figure of an HTML page.

    Attributes:
        title: The title, or a sentence that replaces the figure.
        svg: The figure as SVG or HTML; empty if a sentence replaces it.
        is_folded: Whether the figure is hidden until a reader of the page opens it.
    """

    title: str
    svg: str
    is_folded: bool = False


def figures_of(run: Run, evaluation: str, name: str) -> Iterator[Shown]:
    """Yield the figures in the section of a page about an evaluation; all but the first figure of each kind are folded.

    Args:
        run: The run.
        evaluation: Name of the evaluation.
        name: Prefix of the HTML ids in the figures.
    """
    for key, kind in FIGURES.items():
        if kind.evaluation == evaluation:
            for k, entry in enumerate(kind.draw([run])):
                yield Shown(entry.title, inline(entry.figure, f"{name}-{key}-{k}", entry.title), is_folded=k > 0)
    first, *_ = sections = in_order(run)
    for entry in FIGURES[EPOCHS].draw([run]):  # the first section shows curves that belong to no section
        if (entry.name if entry.name in sections else first) == evaluation:
            (epoch, curves), *more = read_epochs(Path(run.folder))[entry.name]
            if more:
                yield Shown(entry.title, inline(entry.figure, f"{name}-{EPOCHS}-{entry.name}", entry.title))
            else:
                values = [f"{curve} {quoted(m.as_dict())}" for curve, m in curves.items() if m.value is not None]
                text = f"After epoch {epoch}, on the examples watched during training: {', '.join(values)}."
                yield from [Shown(text, "")] if values else []
    if evaluation == "attributions" and evaluation in run.rows:
        for explanation in explanations(attributions(run.rows[evaluation][0], run.contexts[evaluation])):
            yield Shown("", f'<div class="words">{example_html(explanation)}</div>')


def inline(figure: "Figure", name: str, title: str) -> str:
    """Convert a figure to SVG for a page. Texts become paths, which look the same on every machine.

    Args:
        figure: The figure.
        name: Prefix of the HTML ids in the figure, unique on the page.
        title: Text for readers who cannot see the figure.
    """
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box replaces a character that the font lacks
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
    inner = INK.sub(lambda match: INKS[match[0].lower()], IDS.sub(rf"\g<1>{name}-", text[start:]))
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    return f'{opening}<title id="{name}-title">{escape(printable(title))}</title>{inner}'

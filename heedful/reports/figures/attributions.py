"""Words coloured by what they add, as a figure: the first few examples of :mod:`heedful.reports.html.attributions`."""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from heedful.records import printable
from heedful.reports.figures.canvas import GAP, GREY, MARGIN, Canvas
from heedful.reports.figures.contact_sheet import shortened
from heedful.reports.figures.explanations import (
    Explanation,
    Explanations,
    Segment,
    Word,
    about,
    color,
    legend,
    line_color,
    numbers,
    variant_name,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 3  # examples of a figure
WORDS, CHARACTERS = 80, 30  # of a part, and of a word
SMALL, SIZE, LARGE = 7.0, 8.5, 11.0  # of letters: points
COLUMN, LINE, HEIGHT, PAD, SPACE = 6.0, 0.2, 0.16, 0.025, 0.08  # of words: inches
SYMBOLS = "underlined: lowers it; dashed frame: what stands between parts"
NUMBERS = "f(x): probability of y; f(nothing): with all words hidden; delta: what the words (phi) do not add up to"
LETTER = 0.085  # of the heading: inches
POINTS = 72  # of an inch


@dataclass(frozen=True)
class Placed:
    """A text in a column of words.

    Attributes:
        x: From the left side of the column, in inches.
        line: Its number, from 0.
        width: In inches.
        text: The text.
        word: The word that it is; None where it says something about words.
    """

    x: float
    line: int
    width: float
    text: str
    word: Word | None


@contextmanager
def boxes_for_unknown_signs() -> Iterator[None]:
    """Keep matplotlib from warning of signs that its font does not have: a box stands for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


@cache
def _width(text: str) -> float:
    """Of a text, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return text_to_path.get_text_width_height_descent(text, FontProperties(size=SIZE), ismath=False)[0] / POINTS


def placed(segment: Segment) -> list[Placed]:
    """The name of a part, its words and its separator, broken into lines; of a long part the first words."""
    *words, separator = segment.words
    texts: list[tuple[str, Word | None]] = [(shortened(segment.label, 2 * CHARACTERS), None)]
    texts += [(shortened(word.text, CHARACTERS), word) for word in words[:WORDS]]
    if len(words) > WORDS:
        texts.append((f"and {len(words) - WORDS} more words", None))
    texts.append((shortened(separator.text, CHARACTERS), separator))
    result = []
    x = 0.0
    line = 0
    for text, word in texts:
        shown = printable(text)
        width = _width(shown)
        if x and x + width > COLUMN:
            x = 0.0
            line += 1
        result.append(Placed(x, line, width, shown, word))
        x += width + SPACE
    return result


@dataclass(frozen=True)
class _Cell:
    """One attribution: the heading, its numbers, and the words of each part, in lines."""

    title: str
    numbers: str
    segments: Sequence[tuple[Segment, Sequence[Placed]]]

    @property
    def height(self) -> float:
        return LINE * (2 + sum(words[-1].line + 1 for _, words in self.segments))


def _rows(explanation: Explanation) -> list[list[_Cell | None]]:
    """A row for each method, with a cell for each variant that it has explained."""
    rows: list[list[_Cell | None]] = []
    for method in explanation.methods:
        rows.append([])
        for variant in explanation.variants:
            one = explanation.of.get((method, variant))
            if one is None:
                rows[-1].append(None)
                continue
            segments = [(segment, placed(segment)) for segment in explanation.segments(method, variant)]
            rows[-1].append(_Cell(f"{method}, {variant_name(variant)}", numbers(one), segments))
    return rows


def _word(canvas: Canvas, x: float, y: float, at: Placed, scale: float) -> None:
    """Draw a word on its background, with the line of those that lower the value; ``y`` is the base line."""
    if at.word is None:
        canvas.text(x, y, at.text, SIZE, color=GREY)
        return
    border = {"edgecolor": GREY, "linewidth": 0.6, "linestyle": "--"} if at.word.is_separator else {}
    left = x - PAD
    width = at.width + 2 * PAD
    top = y - 0.75 * HEIGHT
    canvas.box(left, top, width, HEIGHT, facecolor=color(at.word.phi, scale), **border)
    canvas.box(left, top + HEIGHT, width, PAD, facecolor=line_color(at.word.phi, scale))
    canvas.text(x, y, at.text, SIZE)


def _legend(canvas: Canvas, y: float, scale: float) -> None:
    """Draw the scale of an example."""
    x = MARGIN + PAD
    for phi in legend(scale):
        text = f"{phi:+.2f}" if phi else "0"
        width = _width(text)
        _word(canvas, x, y, Placed(0.0, 0, width, text, Word(text, phi)), scale)
        x += width + SPACE
    canvas.text(x + SPACE, y, SYMBOLS, SMALL, color=GREY)


def _draw_cell(canvas: Canvas, x: float, y: float, cell: _Cell, scale: float) -> None:
    """Draw an attribution below ``y``."""
    canvas.text(x, y + 0.7 * LINE, cell.title, SIZE, weight="bold")
    canvas.text(x, y + 1.6 * LINE, cell.numbers, SMALL, color=GREY)
    y += 2.7 * LINE
    for _, words in cell.segments:
        for at in words:
            _word(canvas, x + at.x, y + at.line * LINE, at, scale)
        y += LINE * (words[-1].line + 1)


def figure(explained: Explanations, most: int = SHOWN) -> "Figure":
    """The first examples below each other: methods below each other, and beside each other what the example became.

    Args:
        explained: The examples; there may be none.
        most: Draw so many.
    """
    several = explained.shown[:most]
    with boxes_for_unknown_signs():
        tables = [_rows(explanation) for explanation in several]
    columns = max((len(explanation.variants) for explanation in several), default=1)
    width = 2 * MARGIN + columns * COLUMN + (columns - 1) * GAP
    heading = explained.title + (f" Drawn: the first {most}." if len(explained.shown) > most else "")
    lines = textwrap.wrap(printable(heading), int((width - 2 * MARGIN) / LETTER))
    heights = [[max(cell.height for cell in row if cell) + GAP / 2 for row in table] for table in tables]
    top = MARGIN + 1.2 * LINE * len(lines) + (LINE if several else 0.0) + GAP
    canvas = Canvas(width, top + sum(sum(of) + 2 * LINE + GAP for of in heights))
    for k, text in enumerate(lines):
        canvas.text(MARGIN, MARGIN + LINE * (0.8 + 1.2 * k), text, LARGE)
    if several:
        canvas.text(MARGIN, top - GAP, NUMBERS, SMALL, color=GREY)
    y = top
    for explanation, table, of_rows in zip(several, tables, heights, strict=True):
        canvas.line(y - GAP / 2)
        canvas.text(MARGIN, y + 0.7 * LINE, printable(shortened(about(explanation), 100)), 9.5, weight="bold")
        _legend(canvas, y + 1.8 * LINE, explanation.scale)
        y += 2.2 * LINE
        for row, height in zip(table, of_rows, strict=True):
            for k, cell in enumerate(row):
                if cell:
                    _draw_cell(canvas, MARGIN + k * (COLUMN + GAP), y, cell, explanation.scale)
            y += height
        y += GAP - 0.2 * LINE
    return canvas.figure

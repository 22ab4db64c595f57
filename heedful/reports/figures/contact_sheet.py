"""A contact sheet: examples whose prediction did not change though a part of them was another's, to be looked at.

With pictures it is a figure, otherwise Markdown. What stands in it was predicted already: see :func:`unchanged`.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike, hits
from heedful.records import Context, keys, random_key, words_of
from heedful.records.rows import codes, where
from heedful.reports.figures.canvas import GAP, GREY, LINE, MARGIN, RED, Canvas
from heedful.reports.tables import escaped, percents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Content = str | np.ndarray  # a text, or a picture: uint8 [height, width, 3]

SHOWN = 8  # examples on a sheet
FIGURE, MARKDOWN = 220, 1500  # characters of a text
WORDS = 60  # characters of a line
CHARACTER, BOLD, LARGE = 0.072, 0.084, 0.09  # inches
MOST_HEIGHT, MOST_WIDTH, ALL_WIDTHS = 1.35, 3.2, 7.0  # of a picture, and of those beside each other: inches


@dataclass(frozen=True)
class Unchanged:
    """Examples whose prediction stayed.

    Attributes:
        rows: Those chosen to be shown, as they stand among the rows.
        stayed: How many there are.
        swapped: How many examples had the part of another.
        always: How many predictions stayed in every draw.
        draws: How many draws there are.
    """

    rows: tuple[Mapping[str, Any], ...]
    stayed: int
    swapped: int
    always: int = 0
    draws: int = 1


@dataclass(frozen=True)
class Pair:
    """An example, and what it became when parts of it were those of a partner.

    Attributes:
        uid: Of the example.
        partner: uid of the partner.
        before: Name to content of the parts that were swapped, as they were.
        after: The same of the partner, as they were swapped in.
        others: Name to content of the parts that stayed.
        gold: Gold label of the example.
        answer: What is predicted of both.
        probs: Its probability before and after; None where the model has none.
    """

    uid: str
    partner: str
    before: Mapping[str, Content]
    after: Mapping[str, Content]
    others: Mapping[str, Content]
    gold: str
    answer: str
    probs: tuple[float, float] | None = None


def unchanged(rows: pa.Table, part: str, context: Context, most: int = SHOWN) -> Unchanged:
    """Choose among the examples whose prediction stayed when ``part`` came from another example, in the first draw.

    The choice depends on (seed, uid) alone: an example that is shown stays as long as its prediction does. Those count
    that count for attentiveness (:func:`~heedful.metrics.hits.hits`).

    Args:
        rows: Base rows and rows of the intervention "swap".
        part: The part that was swapped, or several joined by "+".
        context: Of the rows.
        most: Choose so many.
    """
    every = hits(rows, part, context).counted
    swapped = every & where(rows, draw=0)
    stays = alike(rows, every, context.kind)
    stayed = swapped & stays
    uid = codes(rows, "uid")[0]
    always = len(np.setdiff1d(uid[every & stays], uid[every & ~stays]))
    draws = len(np.unique(rows["draw"].to_numpy()[every]))
    uids = rows["uid"].filter(pa.array(stayed)).to_pylist()
    ranks = words_of(random_key(context.seed, "unchanged"), keys(uids))[0]
    first = np.flatnonzero(stayed)[np.argsort(ranks, kind="stable")[:most]]
    chosen = tuple(rows.slice(i, 1).to_pylist()[0] for i in first.tolist())
    return Unchanged(chosen, len(uids), int(swapped.sum()), always, max(1, draws))


def title(data: str, part: str, found: Unchanged) -> str:
    """The title of a sheet, in one sentence."""
    named = part.replace("+", " and ")
    shown = len(found.rows)
    if not found.swapped:
        return f"{data}: no example got another's {named}, so that there is nothing to see."
    of = f"{data}: {found.stayed:,} of {found.swapped:,}"
    kept = f"{of} examples keep their prediction with another example's {named}"
    if found.draws > 1:
        kept += " in the first draw"
    if not found.stayed:
        return f"{kept}: every prediction changed."
    if found.draws > 1:
        kept += f", {found.always:,} in all {found.draws}"
    return f"{kept}; {'all' if shown == found.stayed else shown} are shown."


def shortened(text: str, most: int) -> str:
    """A text on one line, with an ellipsis in the middle where it has more than ``most`` characters.

    Example:
        >>> shortened("one  two three four", 13)
        'one t … four'
    """
    text = " ".join(text.split())
    kept = most - 3
    if len(text) <= most:
        return text
    return f"{text[: (kept + 1) // 2].rstrip()} … {text[len(text) - kept // 2 :].lstrip()}"


def _contents(pair: Pair) -> dict[str, Content]:
    """All contents by what they are, in the order in which they are shown."""
    return {**pair.before, **{_swapped(name): content for name, content in pair.after.items()}, **pair.others}


def _who(pair: Pair) -> str:
    return f"{pair.uid} with the {' and '.join(pair.before)} of {pair.partner}"


def _said(pair: Pair, most: int) -> list[tuple[str, str]]:
    """(What it is, text) of all that is no picture."""
    texts = [(name, content) for name, content in _contents(pair).items() if isinstance(content, str)]
    before, after = (f" ({percents(p)} %)" for p in pair.probs) if pair.probs else ("", "")
    said = f"{pair.answer}{before} \N{RIGHTWARDS ARROW} {pair.answer}{after}"
    texts += [("original gold", pair.gold), ("prediction", said)]
    return [(name, shortened(text, most)) for name, text in texts]


def _swapped(part: str) -> str:
    return f"{part}, swapped in"


def markdown(pairs: Sequence[Pair], heading: str) -> str:
    """Pairs of texts as Markdown: a list for each.

    Args:
        pairs: Without pictures, which would be left out.
        heading: What is shown, in one sentence.
    """
    blocks = [f"# {escaped(heading)}"]
    for pair in pairs:
        lines = (f"- **{escaped(name)}:** {escaped(text)}" for name, text in _said(pair, MARKDOWN))
        blocks += [f"## {escaped(_who(pair))}", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _columns(pairs: Sequence[Pair]) -> dict[str, list[np.ndarray]]:
    """The pictures that stand below each other, by what they are."""
    columns: dict[str, list[np.ndarray]] = {}
    for pair in pairs:
        for name, content in _contents(pair).items():
            if not isinstance(content, str):
                columns.setdefault(name, []).append(content)
    return columns


def _size(picture: np.ndarray, most: float) -> tuple[float, float]:
    """Width and height at which a picture is shown, in inches."""
    height, width = picture.shape[:2]
    scale = min(most / width, MOST_HEIGHT / height)
    return width * scale, height * scale


class _Sheet(Canvas):
    """A figure of pairs."""

    def said(self, x: float, y: float, pair: Pair, texts: Sequence[tuple[str, list[str]]], indent: float) -> None:
        """The parts of a pair that are not pictures, as (name, lines)."""
        y += 0.7 * LINE
        for name, lines in texts:
            self.text(x, y, name, color=GREY)
            for line in lines:
                self.text(x + indent, y, line, color=_color(name, "black"))
                y += LINE
        self.text(x, y, shortened(_who(pair), 120), size=7, color=GREY)

    def picture(self, x: float, y: float, size: tuple[float, float], picture: np.ndarray, color: str) -> None:
        """A picture in a frame; one that is enlarged is not smoothed."""
        width, height = size
        box = x / self.width, 1 - (y + height) / self.height, width / self.width, height / self.height
        axes = self.figure.add_axes(box, xticks=[], yticks=[])
        axes.imshow(picture, aspect="auto", interpolation="nearest" if picture.shape[1] < 100 * width else None)
        axes.spines[:].set_color(color)


def figure(pairs: Sequence[Pair], heading: str) -> "Figure":
    """Pairs below each other: their pictures, and beside them texts, gold label and predictions.

    Args:
        pairs: Each with pictures in the same places; there may be none.
        heading: What is shown, in one sentence.
    """
    columns = _columns(pairs)
    most = min(MOST_WIDTH, ALL_WIDTHS / max(1, len(columns)))
    sizes = {name: [_size(picture, most) for picture in pictures] for name, pictures in columns.items()}
    texts = [[(name, textwrap.wrap(text, WORDS) or [""]) for name, text in _said(pair, FIGURE)] for pair in pairs]
    heights = [LINE * (1 + sum(len(lines) for _, lines in said)) for said in texts]
    heights = [max([height, *(of[k][1] for of in sizes.values())]) for k, height in enumerate(heights)]
    indent = max((len(name) * CHARACTER for said in texts for name, _ in said), default=0) + GAP
    places, x = {}, MARGIN
    for name, of in sizes.items():
        places[name] = x
        x += max([len(name) * BOLD, *(width for width, _ in of)]) + GAP
    width = x + indent + WORDS * CHARACTER + MARGIN
    lines = textwrap.wrap(heading, int((width - 2 * MARGIN) / LARGE))
    y = MARGIN + 0.22 * len(lines) + 2 * LINE
    sheet = _Sheet(width, y + sum(heights) + GAP * len(pairs))
    for k, line in enumerate(lines, 1):
        sheet.text(MARGIN, 0.05 + 0.22 * k, line, size=12)
    for name, place in places.items():
        sheet.text(place, y - 0.4 * LINE, name, color=_color(name, "black"), weight="bold")
    for k, pair in enumerate(pairs):
        for name, place in places.items():
            sheet.picture(place, y, sizes[name][k], columns[name][k], _color(name, "0.7"))
        sheet.said(x, y, pair, texts[k], indent)
        y += heights[k] + GAP
        if k + 1 < len(pairs):
            sheet.line(y - GAP / 2)
    return sheet.figure


def _color(name: str, otherwise: str) -> str:
    """Of what belongs to a part: what was swapped in stands out."""
    return RED if name.endswith(_swapped("")) else otherwise

"""Words coloured by what they add: ``heedful figure attributions RUN [RUN ...]``.

Draws figures/attributions.html and figures/attributions.png of a run again, from its rows alone: of each example the
words of all parts, by each method, and beside them the same with a part swapped.
"""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.metrics.attributions.attribution import attributions
from heedful.records import Context, RunError, atomic_path, printable
from heedful.records.command_lines import CommandParser
from heedful.records.storage.results import distinct, read_evaluation
from heedful.reports.figures.explanations import (
    Explanation,
    Explanations,
    Segment,
    Word,
    about,
    color,
    explanations,
    legend,
    line_color,
    numbers,
    variant_name,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "attributions"  # of the evaluation, and of the files
STYLE = """*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{font:16px/1.75 sans-serif;max-width:75em;margin:1em auto;padding:0 1em;color:#000;overflow-wrap:anywhere}
h1{font-size:1.25em}h2{font-size:1.05em;margin:0}h3{font-size:1em;margin:0}p{margin:.15em 0}
article{border-top:1px solid #999;padding:.8em 0}.small{color:#555;font-size:.85em;line-height:1.4}
.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22em),1fr));gap:0 2em;margin:.6em 0}
section{break-inside:avoid}.part,.swapped{color:#555}.swapped{font-weight:bold}
.w,.s{padding:.1em .2em;border-radius:.2em;border-bottom:.15em solid}.s{font-size:.8em;outline:1px dashed #999}"""


def page(explained: Explanations) -> str:
    """A page of HTML that needs nothing beside it, and has no script: a block for each example.

    Below each other stand the methods, beside each other the example and what it was changed into. All words of a block
    have one scale of colours. A word shows its number when it is pointed at.
    """
    head = '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width,initial-scale=1">'
    lines = [f"{head}<title>{_text(explained.title)}</title>", f"<style>{STYLE}</style>"]
    lines.append(f"<h1>{_text(explained.title)}</h1>")
    lines.append(
        "<p>Red words raise it, blue underlined words lower it; point at a word for its number. Words in a dashed "
        "frame stand behind a part. f(x) is of the text, f(nothing) of the text with all words hidden, and delta is "
        "what the words do not add up to.</p>"
    )
    return "\n".join([*lines, *blocks(explained), "</html>\n"])


def blocks(explained: Explanations, level: int = 2) -> list[str]:
    """The HTML of each example that is shown.

    Args:
        explained: The examples.
        level: That of their headings; those of methods are one below.
    """
    return [_block(explanation, level) for explanation in explained.shown]


def _block(explanation: Explanation, level: int) -> str:
    """One example: what is known of it, its scale, and a row for each method."""
    scale = explanation.scale
    steps = " ".join(_word(Word(f"{phi:+.2f}" if phi else "0", phi), scale, "w", "") for phi in legend(scale))
    lines = [f"<article><h{level}>{_text(about(explanation))}</h{level}><p class=small>{steps}</p>"]
    for method in explanation.methods:
        cells = [_cell(explanation, method, variant, level + 1) for variant in explanation.variants]
        lines.append(f"<div class=row>{''.join(cells)}</div>")
    return "\n".join([*lines, "</article>"])


def _cell(explanation: Explanation, method: str, variant: str, level: int) -> str:
    """One attribution: its numbers, and a paragraph for each part."""
    one = explanation.of.get((method, variant))
    if one is None:
        return "<section></section>"
    heading = f"<h{level}>{_text(f'{method}, {variant_name(variant)}')}</h{level}>"
    lines = [f"{heading}<p class=small>{_text(numbers(one))}</p>"]
    lines += [_paragraph(segment, explanation.scale) for segment in explanation.segments(method, variant)]
    return f"<section>{''.join(lines)}</section>"


def _paragraph(segment: Segment, scale: float) -> str:
    kind = "swapped" if segment.is_changed else "part"
    words = [_word(word, scale, "s" if word.is_separator else "w", word.number) for word in segment.words]
    return f"<p><span class={kind}>{_text(segment.label)}</span> {' '.join(words)}</p>\n"


def _word(word: Word, scale: float, kind: str, number: str) -> str:
    style = f"background:{color(word.phi, scale)};border-color:{line_color(word.phi, scale)}"
    title = f' title="{_text(number)}"' if number else ""
    return f'<span class={kind} style="{style}"{title}>{_text(word.text)}</span>'


def _text(text: str) -> str:
    return escape(printable(text))


def write(explained: Explanations, folder: str | Path) -> "Figure":
    """Write attributions.html and attributions.png into a folder.

    Returns:
        What the second shows.
    """
    from heedful.reports.figures.attributions import boxes_for_unknown_signs, figure

    drawn = figure(explained)
    with atomic_path(Path(folder) / f"{NAME}.html") as temporary:
        temporary.write_text(page(explained), encoding="utf-8")
    with boxes_for_unknown_signs(), atomic_path(Path(folder) / f"{NAME}.png") as temporary:
        drawn.savefig(temporary, dpi=120, format="png")
    return drawn


def main(arguments: list[str]) -> None:
    """Draw the attributions of runs again."""
    about = (
        "Words coloured by what they add to the probability of the answer: figures/attributions.html and .png of runs."
    )
    parser = CommandParser("figure attributions", about, [("RUN", "drawn again, from the rows alone")])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run or of an evaluation")
    for run in distinct(parser.parse_args(arguments).runs):
        evaluated = read_evaluation(run, NAME)
        if evaluated is None:
            raise RunError(f"{run} has no rows of {NAME}. Evaluate again, with that evaluation among evaluations.")
        rows, metadata = evaluated
        context = Context.of(metadata["context"])
        folder = Path(run) / "figures"
        write(explanations(attributions(rows, context), context), folder)
        print(printable(f"in {folder}/{NAME}.html and {NAME}.png"))

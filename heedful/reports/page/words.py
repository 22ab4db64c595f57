"""Words coloured by what they add, as HTML: a block for each explained example."""

from html import escape

from heedful.records import printable
from heedful.reports.page.explanations import (
    Explanation,
    Segment,
    Word,
    about,
    color,
    legend,
    line_color,
    numbers,
    variant_name,
)

LEVEL = 4  # of the heading of a block; those of methods are one below


def block(explanation: Explanation) -> str:
    """One example: what is known of it, its scale, and a row for each method.

    Below each other stand the methods, beside each other the example and what it was changed into. All words of a block
    have one scale of colours. A word shows its number when it is pointed at.
    """
    scale = explanation.scale
    steps = " ".join(_word(Word(f"{phi:+.2f}" if phi else "0", phi), scale, "w", "") for phi in legend(scale))
    lines = [f"<article><h{LEVEL}>{_text(about(explanation))}</h{LEVEL}><p class=small>{steps}</p>"]
    for method in explanation.methods:
        cells = [_cell(explanation, method, variant) for variant in explanation.variants]
        lines.append(f"<div class=row>{''.join(cells)}</div>")
    return "\n".join([*lines, "</article>"])


def _cell(explanation: Explanation, method: str, variant: str) -> str:
    """One attribution: its numbers, and a paragraph for each part."""
    one = explanation.of.get((method, variant))
    if one is None:
        return "<section></section>"
    heading = f"<h{LEVEL + 1}>{_text(f'{method}, {variant_name(variant)}')}</h{LEVEL + 1}>"
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

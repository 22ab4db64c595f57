"""Show words coloured by their attribution, as HTML.

An attribution assigns a number phi to each word of an example: its contribution to the probability of the answer.
"""

import math
from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

from heedful.metrics.attributions.attribution import Attribution
from heedful.records import printable

MOST = 10  # examples on a page
LEVEL = 4  # level of the HTML heading of an example; methods are one level below
# Attributions of one example by method and variant; the variant "" is the original example, others are changed examples
Explanation = Mapping[tuple[str, str], Attribution]


def explanations(attributions: Iterable[Attribution], most: int = MOST) -> list[Explanation]:
    """Group attributions by example, up to ``most`` examples. If some examples were also explained after a change, only
    these are returned.
    """
    by_uid: dict[str, dict[tuple[str, str], Attribution]] = {}
    for attribution in attributions:
        by_uid.setdefault(attribution.uid, {})[attribution.method, attribution.variant] = attribution
    changed = [uid for uid, explanation in by_uid.items() if any(variant for _, variant in explanation)]
    return [by_uid[uid] for uid in (changed or list(by_uid))[:most]]


def example_html(explanation: Explanation) -> str:
    """Return the HTML of an example: a legend of colours, and a row of cells for each attribution method.

    A row has a cell for each variant (the original example, or a change of it). All words of the example share one
    scale of colours. The pointer over a word shows its phi.
    """
    first, largest = next(iter(explanation.values())), scale_of(explanation)
    about = f"{first.uid}, gold {'none' if first.gold is None else first.gold}, y {first.y}"
    steps = " ".join(_word(f"{phi:+.2f}" if phi else "0", phi, largest, "w", "") for phi in legend_values(largest))
    lines = [f"<article><h{LEVEL}>{_text(about)}</h{LEVEL}><p class=small>{steps}</p>"]
    variants = sorted({variant for _, variant in explanation})
    for method in dict.fromkeys(method for method, _ in explanation):
        cells = [_cell(explanation, method, variant, largest) for variant in variants]
        lines.append(f"<div class=row>{''.join(cells)}</div>")
    return "\n".join([*lines, "</article>"])


def scale_of(explanation: Explanation) -> float:
    """Return the largest abs(phi) of all words, methods and variants, which gets the full colour; 0 without words."""
    phi = np.concatenate([np.concatenate([*a.phi.values(), a.separator_phi]) for a in explanation.values()])
    return float(np.abs(phi[np.isfinite(phi)]).max(initial=0.0))


def _cell(explanation: Explanation, method: str, variant: str, scale: float) -> str:
    """Return the HTML of one attribution: its numbers, and for each input part a paragraph with its words and the
    separator after it.
    """
    attribution, base = explanation.get((method, variant)), explanation.get((method, ""))
    if attribution is None:
        return "<section></section>"
    heading = f"<h{LEVEL + 1}>{_text(', '.join([method, variant or 'as it is']))}</h{LEVEL + 1}>"
    lines = [f"{heading}<p class=small>{_text(numbers(attribution))}</p>"]
    separators = zip(attribution.separators, attribution.separator_phi.tolist(), strict=True)
    for (part, texts), (separator, separator_phi) in zip(attribution.words.items(), separators, strict=True):
        is_changed = base is not None and list(base.words[part]) != list(texts)
        phi, errors = attribution.phi[part].tolist(), attribution.errors[part].tolist()
        label = f"{part}{', swapped in' if is_changed else ''} ({sum(phi):+z.3f})"
        words = [
            _word(*word, scale, "w", phi_text(*word[1:], error))
            for *word, error in zip(texts, phi, errors, strict=True)
        ]
        words.append(_word(separator or "(no separator)", separator_phi, scale, "s", phi_text(separator_phi)))
        kind = "swapped" if is_changed else "part"
        lines.append(f"<p><span class={kind}>{_text(label)}</span> {' '.join(words)}</p>\n")
    return f"<section>{''.join(lines)}</section>"


def _word(text: str, phi: float, scale: float, kind: str, number: str) -> str:
    sign = "" if share_of(phi, scale) == 0 else " up" if phi > 0 else " down"
    title = f' title="{_text(number)}"' if number else ""
    return f'<span class="{kind}{sign}" style="--share:{share_of(phi, scale):.0%}"{title}>{_text(text)}</span>'


def share_of(phi: float, scale: float) -> float:
    """Return the strength of the colour of a word, from 0 to 1: abs(phi) divided by ``scale``.

    Example:
        >>> share_of(0.0, 0.5), share_of(0.5, 0.5), share_of(-0.25, 0.5), share_of(1.0, 0.0)
        (0.0, 1.0, 0.5, 0.0)
    """
    return min(1.0, abs(phi) / scale) if scale > 0 and not math.isnan(phi) else 0.0


def phi_text(phi: float, error: float = math.nan) -> str:
    """Format phi, the contribution of a word, with its standard error over random masks; nan for no standard error.

    Example:
        >>> phi_text(0.3206, 0.0271), phi_text(-0.25)
        ('+0.3206 ± 0.0271', '-0.2500')
    """
    return f"{phi:+z.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")


def numbers(attribution: Attribution) -> str:
    """Format the numbers of an attribution: the probability for the whole input, the probability for the empty input,
    and delta, which is their difference minus the sum of the attributions of all words.
    """
    text = f"f(x) {attribution.full:z.3f}, f(nothing) {attribution.nothing:z.3f}, delta {attribution.delta:+z.4f}"
    errors = np.concatenate([*attribution.errors.values()])
    errors = errors[~np.isnan(errors)]
    return text + (f", mean error of a phi {errors.mean():.4f}" if len(errors) else "")


def legend_values(scale: float, steps: int = 7) -> list[float]:
    """Return ``steps`` equidistant values of phi from -scale to +scale. ``steps`` is odd, so that one value is 0."""
    half = steps // 2
    return [scale * k / half for k in range(-half, half + 1)]


def _text(text: str) -> str:
    return escape(printable(text))

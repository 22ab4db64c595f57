"""Words coloured by what they add, as HTML: a block for each explained example."""

import math
from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

from heedful.metrics.attributions.attribution import Attribution
from heedful.records import printable

MOST = 10  # examples that are shown
LEVEL = 4  # of the heading of a block; those of methods are one below
Explanation = Mapping[tuple[str, str], Attribution]  # (method, variant) to the attribution of one example


def explanations(several: Iterable[Attribution], most: int = MOST) -> list[Explanation]:
    """Choose the examples to show: those that are also explained as changed, or else the first ones.

    Args:
        several: Attributions in their order: those of an example together.
        most: Choose so many.
    """
    of: dict[str, dict[tuple[str, str], Attribution]] = {}
    for one in several:
        of.setdefault(one.uid, {})[one.method, one.variant] = one
    changed = [uid for uid, own in of.items() if any(variant for _, variant in own)]
    return [of[uid] for uid in (changed or list(of))[:most]]


def block(explanation: Explanation) -> str:
    """One example: what is known of it, its scale, and a row for each method.

    Methods stand below each other; the example and what it was changed into beside each other. All words of a block
    have one scale of colours. A word shows its number when it is pointed at.
    """
    one, largest = next(iter(explanation.values())), scale_of(explanation)
    about = f"{one.uid}, gold {'none' if one.gold is None else one.gold}, y {one.y}"
    steps = " ".join(_word(f"{phi:+.2f}" if phi else "0", phi, largest, "w", "") for phi in legend(largest))
    lines = [f"<article><h{LEVEL}>{_text(about)}</h{LEVEL}><p class=small>{steps}</p>"]
    variants = sorted({variant for _, variant in explanation})
    for method in dict.fromkeys(method for method, _ in explanation):
        cells = [_cell(explanation, method, variant, largest) for variant in variants]
        lines.append(f"<div class=row>{''.join(cells)}</div>")
    return "\n".join([*lines, "</article>"])


def scale_of(explanation: Explanation) -> float:
    """The largest abs(phi) of all words, methods and variants, which has the full colour; 0 where there is none."""
    phi = np.concatenate([np.concatenate([*one.phi.values(), one.separator_phi]) for one in explanation.values()])
    return float(np.abs(phi[np.isfinite(phi)]).max(initial=0.0))


def _cell(explanation: Explanation, method: str, variant: str, scale: float) -> str:
    """One attribution: its numbers, and a paragraph for each part, with the separator behind it."""
    one, base = explanation.get((method, variant)), explanation.get((method, ""))
    if one is None:
        return "<section></section>"
    heading = f"<h{LEVEL + 1}>{_text(', '.join([method, variant or 'as it is']))}</h{LEVEL + 1}>"
    lines = [f"{heading}<p class=small>{_text(numbers(one))}</p>"]
    for (part, texts), separator, of_separator in zip(
        one.words.items(), one.separators, one.separator_phi.tolist(), strict=True
    ):
        is_changed = base is not None and list(base.words[part]) != list(texts)
        label = f"{part}{', swapped in' if is_changed else ''} ({sum(one.phi[part].tolist()):+z.3f})"
        phis = zip(texts, one.phi[part].tolist(), one.errors[part].tolist(), strict=True)
        words = [_word(text, phi, scale, "w", phi_text(phi, error)) for text, phi, error in phis]
        words.append(_word(separator or "(no separator)", of_separator, scale, "s", phi_text(of_separator)))
        kind = "swapped" if is_changed else "part"
        lines.append(f"<p><span class={kind}>{_text(label)}</span> {' '.join(words)}</p>\n")
    return f"<section>{''.join(lines)}</section>"


def _word(text: str, phi: float, scale: float, kind: str, number: str) -> str:
    sign = "" if share_of(phi, scale) == 0 else " up" if phi > 0 else " down"
    title = f' title="{_text(number)}"' if number else ""
    return f'<span class="{kind}{sign}" style="--share:{share_of(phi, scale):.0%}"{title}>{_text(text)}</span>'


def share_of(phi: float, scale: float) -> float:
    """How much of the full colour a word has.

    Args:
        phi: What the word adds.
        scale: The abs(phi) that has the full colour; more has it too.

    Example:
        >>> share_of(0.0, 0.5), share_of(0.5, 0.5), share_of(-0.25, 0.5), share_of(1.0, 0.0)
        (0.0, 1.0, 0.5, 0.0)
    """
    return min(1.0, abs(phi) / scale) if scale > 0 and not math.isnan(phi) else 0.0


def phi_text(phi: float, error: float = math.nan) -> str:
    """Phi and its standard error by the masks that were drawn, where some are.

    Example:
        >>> phi_text(0.3206, 0.0271), phi_text(-0.25)
        ('+0.3206 ± 0.0271', '-0.2500')
    """
    return f"{phi:+z.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")


def numbers(one: Attribution) -> str:
    """What is known of an attribution as a whole, in one line."""
    told = f"f(x) {one.full:z.3f}, f(nothing) {one.nothing:z.3f}, delta {one.delta:+z.4f}"
    errors = np.concatenate([*one.errors.values()])
    drawn = errors[~np.isnan(errors)]
    return told + (f", mean error of a phi {drawn.mean():.4f}" if len(drawn) else "")


def legend(scale: float, steps: int = 7) -> list[float]:
    """Values from the lowest to the highest of a scale, an odd number of them, with 0 in the middle."""
    half = steps // 2
    return [scale * k / half for k in range(-half, half + 1)]


def _text(text: str) -> str:
    return escape(printable(text))

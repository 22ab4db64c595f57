"""Words coloured by their attribution, for a page.

An attribution assigns a number phi to each word of an example: its contribution to the probability of the answer.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from heedful.metrics.attributions.attribution import Attribution

MOST = 10  # examples on a page
LEGEND = 3  # steps of the legend on each side of 0
Explanation = Mapping[tuple[str, str], Attribution]  # of one example, by method and variant; "": the original example


class Word(NamedTuple):
    """A coloured word, or a separator after a part."""

    text: str
    kind: str  # CSS classes: "w" (word) or "s" (separator), and "up" or "down" for the sign of phi
    share: str  # strength of the colour, such as "50%": abs(phi) divided by the largest of the example
    title: str  # under the pointer: phi, and its standard error over random masks; "" in the legend


class Cell(NamedTuple):
    """One attribution of an example."""

    heading: str
    numbers: str
    parts: Sequence[tuple[str, bool, Sequence[Word]]]  # label, whether the part was changed, words


class Explained(NamedTuple):
    """The attributions of one example."""

    heading: str
    legend: Sequence[Word]
    rows: Sequence[Sequence[Cell | None]]  # a row per method, with a cell per variant (None if it was not explained)


def explained(attributions: Iterable[Attribution], most: int = MOST) -> list[Explained]:
    """Group attributions by example, up to ``most`` examples: those explained before and after a change, if any."""
    by_uid: dict[str, dict[tuple[str, str], Attribution]] = {}
    for attribution in attributions:
        by_uid.setdefault(attribution.uid, {})[attribution.method, attribution.variant] = attribution
    changed = [uid for uid, explanation in by_uid.items() if any(variant for _, variant in explanation)]
    return [_explained(by_uid[uid]) for uid in (changed or list(by_uid))[:most]]


def _explained(explanation: Explanation) -> Explained:
    phi = np.concatenate([np.concatenate([*a.phi.values(), a.separator_phi]) for a in explanation.values()])
    scale = float(np.abs(phi[np.isfinite(phi)]).max(initial=0.0))
    steps = [scale * k / LEGEND for k in range(-LEGEND, LEGEND + 1)]
    legend = [word(f"{step:+.2f}" if step else "0", step, math.nan, scale)._replace(title="") for step in steps]
    first = next(iter(explanation.values()))
    variants = sorted({variant for _, variant in explanation})
    methods = dict.fromkeys(method for method, _ in explanation)
    rows = [[_cell(explanation, method, variant, scale) for variant in variants] for method in methods]
    return Explained(f"{first.uid}, gold {'none' if first.gold is None else first.gold}, y {first.y}", legend, rows)


def _cell(explanation: Explanation, method: str, variant: str, scale: float) -> Cell | None:
    attribution, base = explanation.get((method, variant)), explanation.get((method, ""))
    if attribution is None:
        return None
    parts = []
    for k, (part, texts) in enumerate(attribution.words.items()):
        is_changed = base is not None and list(base.words[part]) != list(texts)
        phi, errors = attribution.phi[part].tolist(), attribution.errors[part].tolist()
        words = [word(*columns, scale) for columns in zip(texts, phi, errors, strict=True)]
        separator = attribution.separators[k] or "(no separator)"
        words.append(word(separator, float(attribution.separator_phi[k]), math.nan, scale, "s"))
        parts.append((f"{part}{', swapped in' if is_changed else ''} ({sum(phi):+z.3f})", is_changed, words))
    return Cell(f"{attribution.method}, {attribution.variant or 'as it is'}", numbers(attribution), parts)


def word(text: str, phi: float, error: float, scale: float, kind: str = "w") -> Word:
    """Return a coloured word. ``scale`` is the abs(phi) of the full colour; ``error`` is nan for no standard error.

    Example:
        >>> word("it", -0.25, math.nan, 0.5), word("ran", 0.3206, 0.0271, 0.3)[2:]
        (Word(text='it', kind='w down', share='50%', title='-0.2500'), ('100%', '+0.3206 ± 0.0271'))
    """
    share = min(1.0, abs(phi) / scale) if scale > 0 and not math.isnan(phi) else 0.0
    sign = "" if share == 0 else " up" if phi > 0 else " down"
    return Word(text, kind + sign, f"{share:.0%}", f"{phi:+z.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}"))


def numbers(attribution: Attribution) -> str:
    """Format the probabilities for the whole and the empty input, and delta: their difference minus the sum of phi."""
    text = f"f(x) {attribution.full:z.3f}, f(nothing) {attribution.nothing:z.3f}, delta {attribution.delta:+z.4f}"
    errors = np.concatenate([*attribution.errors.values()])
    errors = errors[~np.isnan(errors)]
    return text + (f", mean error of a phi {errors.mean():.4f}" if len(errors) else "")

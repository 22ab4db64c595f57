"""Explained examples as a page shows them: which ones, in which colours, with which numbers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heedful.metrics.attributions.attribution import Attribution

MOST = 10  # examples that are shown
ENDS = {True: (0xEF, 0x8A, 0x62), False: (0x67, 0xA9, 0xCF)}  # of phi above 0, and below: as light as each other
UNDERLINE = 0x21, 0x66, 0xAC  # darker
WHITE = 255


@dataclass(frozen=True)
class Word:
    """A word of a text, or a separator.

    Attributes:
        text: The word.
        phi: What it adds; nan where that is not defined.
        error: The standard error of phi by the masks that were drawn; nan where nothing is drawn.
        is_separator: Whether it stands behind a part, and is not of it.
    """

    text: str
    phi: float
    error: float = math.nan
    is_separator: bool = False

    @property
    def number(self) -> str:
        """Phi and its error.

        Example:
            >>> Word("not", 0.3206, 0.0271).number, Word("not", -0.25).number
            ('+0.3206 ± 0.0271', '-0.2500')
        """
        return f"{self.phi:+z.4f}" + ("" if math.isnan(self.error) else f" ± {self.error:.4f}")


@dataclass(frozen=True)
class Segment:
    """A part of an example with the separator behind it.

    Attributes:
        part: The name of the part.
        is_changed: Whether its words are not those of the example itself.
        words: Its words, then the separator.
    """

    part: str
    is_changed: bool
    words: Sequence[Word]

    @property
    def label(self) -> str:
        """The name, and what the words of the part add together."""
        total = sum(word.phi for word in self.words if not word.is_separator)
        return f"{self.part}{', swapped in' if self.is_changed else ''} ({total:+z.3f})"


@dataclass(frozen=True)
class Explanation:
    """All attributions of one example.

    Attributes:
        of: (method, variant) to the attribution.
    """

    of: dict[tuple[str, str], Attribution]

    @property
    def first(self) -> Attribution:
        """The attribution that says what all have in common: that of the example itself comes first."""
        return next(iter(self.of.values()))

    @property
    def methods(self) -> list[str]:
        """The names of the methods, in the order of the rows."""
        return list(dict.fromkeys(method for method, _ in self.of))

    @property
    def variants(self) -> list[str]:
        """How the example was changed: "" for the example itself, which comes first."""
        return sorted({variant for _, variant in self.of})

    @cached_property
    def scale(self) -> float:
        """The largest abs(phi) of all words, methods and variants, which has the full colour; 0 where there is none."""
        phi = np.concatenate([np.concatenate([*one.phi.values(), one.separator_phi]) for one in self.of.values()])
        return float(np.abs(phi[np.isfinite(phi)]).max(initial=0.0))

    def segments(self, method: str, variant: str) -> list[Segment]:
        """The words of one attribution, part by part."""
        one = self.of[method, variant]
        base = self.of.get((method, ""))
        parts = zip(one.words.items(), one.separators, one.separator_phi.tolist(), strict=True)
        segments = []
        for (part, texts), separator, phi in parts:
            numbers = zip(texts, one.phi[part].tolist(), one.errors[part].tolist(), strict=True)
            words = [Word(*number) for number in numbers]
            words.append(Word(separator or "(no separator)", phi, is_separator=True))
            segments.append(Segment(part, base is not None and list(base.words[part]) != list(texts), words))
        return segments


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
    return [Explanation(of[uid]) for uid in (changed or list(of))[:most]]


def color(phi: float, scale: float) -> str:
    """The background of a word: white at 0, and at both ends of the scale so light that black can be read on it.

    Args:
        phi: What the word adds.
        scale: The abs(phi) that has the full colour; more has it too.

    Example:
        >>> color(0.0, 0.5), color(0.5, 0.5), color(-0.5, 0.5), color(-0.25, 0.5)
        ('#ffffff', '#ef8a62', '#67a9cf', '#b3d4e7')
    """
    return _mixed(ENDS[phi > 0], phi, scale)


def line_color(phi: float, scale: float) -> str:
    """The line below a word that adds less than nothing, by which it is told apart in print without colours.

    White for other words; as strong as the background for these.
    """
    return _mixed(UNDERLINE, min(phi, 0.0), scale)


def _mixed(end: tuple[int, int, int], phi: float, scale: float) -> str:
    share = min(1.0, abs(phi) / scale) if scale > 0 and not math.isnan(phi) else 0.0
    return "#" + "".join(f"{round(WHITE + share * (channel - WHITE)):02x}" for channel in end)


def numbers(one: Attribution) -> str:
    """What is known of an attribution as a whole, in one line."""
    told = f"f(x) {one.full:z.3f}, f(nothing) {one.nothing:z.3f}, delta {one.delta:+z.4f}"
    errors = np.concatenate([*one.errors.values()])
    drawn = errors[~np.isnan(errors)]
    return told + (f", mean error of a phi {drawn.mean():.4f}" if len(drawn) else "")


def about(explanation: Explanation) -> str:
    """What is known of an example, in one line."""
    one = explanation.first
    return f"{one.uid}, gold {'none' if one.gold is None else one.gold}, y {one.y}"


def legend(scale: float, steps: int = 7) -> list[float]:
    """Values from the lowest to the highest of a scale, an odd number of them, with 0 in the middle."""
    half = steps // 2
    return [scale * k / half for k in range(-half, half + 1)]


def variant_name(variant: str) -> str:
    """How a variant is called in print."""
    return variant or "as it is"

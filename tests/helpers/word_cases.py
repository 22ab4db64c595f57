"""Attributions of examples, for the tests of coloured words."""

from dataclasses import replace

import numpy as np

from heedful.metrics.attributions.attribution import Attribution
from heedful.metrics.attributions.sample import example
from heedful.reports.page.words import Explanation, explanations

HOSTILE = "<script>alert('1')</script> \"q\" &amp; $x^2$ \u202e\ud800 猫 " + "long" * 40


def several(n: int, methods: tuple[str, ...] = ("lime", "shap")) -> list[Attribution]:
    """Attributions of n pairs by each method."""
    made = [replace(example("it ran", [0.1, 0.2], "a cat", [0.3, -0.05]), uid=f"d/{k:02d}") for k in range(n)]
    return [replace(one, method=method) for one in made for method in methods]


def _pair() -> list[Explanation]:
    """A pair and the same pair with a swapped first part, by two methods; one method has standard errors."""
    base = several(1)
    swapped = example("no", [-0.4], "a cat", [0.1, -0.05], separators=[0.05, 0.0])
    swapped = replace(swapped, uid="d/00", variant="swap a", gold=None)
    drawn = {"a": np.array([0.015]), "b": np.array([0.02, 0.03])}
    both = [replace(swapped, method="lime", errors=drawn), replace(swapped, method="shap")]
    return explanations([base[0], both[0], base[1], both[1]])


def _hostile() -> list[Explanation]:
    words = HOSTILE.split()
    one = replace(example(HOSTILE, [0.1] * len(words)), uid="<b>&uid</b>", y="<i>", gold='"')
    return explanations([one])


CASES = {"pair": _pair(), "hostile": _hostile()}

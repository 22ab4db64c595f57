"""Explained examples for the tests of what draws them."""

from dataclasses import replace

import numpy as np

from heedful.metrics.attributions.attribution import Attribution
from heedful.reports.page.words import Explanation, explanations

from attribution_rows import example

HOSTILE = "<script>alert('1')</script> \"q\" &amp; $x^2$ \u202e\ud800 猫 " + "long" * 40


def several(n: int, methods: tuple[str, ...] = ("lime", "shap")) -> list[Attribution]:
    """Attributions of n pairs."""
    made = [replace(example("it ran", [0.1, 0.2], "a cat", [0.3, -0.05]), uid=f"d/{k:02d}") for k in range(n)]
    return [replace(one, method=method) for one in made for method in methods]


def _pair() -> list[Explanation]:
    """Two methods, and the same with other words in the first part; errors of one of them."""
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


CASES = {
    "pair": _pair(),
    "hostile": _hostile(),
    "one part": explanations([example("it ran", [0.25, 0.5])]),
    "empty part": explanations([example("", [], "it", [0.5])]),
    "long": explanations([example("word " * 500, [0.25] * 500)]),
    "many": explanations(several(12)),
    "a method that has not explained all": explanations(
        [*several(1, ("lime",)), replace(several(1)[1], variant="swap a")]
    ),
}

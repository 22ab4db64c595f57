"""Factors: functions of an attribution; a higher mean predicts a lower out-of-distribution accuracy.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023), sections 5 and
6.1; docstrings say where the paper is ambiguous. ``a`` and ``b`` are the first two parts. An undefined factor is None.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps

import numpy as np

from heedful.metrics.attributions.alignment import aligned, shared, swapped
from heedful.metrics.attributions.attribution import Attribution
from heedful.records.word_lists import word_lists

CONTROL = word_lists(__file__)
SUBCASE, TARGET = "subcase", "target"  # meta columns
FEATURES = "irregular_form", "syntactic_category", "main_verb"  # names in the tasks of MSGS
WINDOW = 2  # words on either side of the target
Factor = Callable[[Attribution], float | None]


def of_two_parts(function: Callable[..., float | None]) -> Callable[..., float | None]:
    """Make a factor from a function of the words of a and b and their phi, float64 [words]; None unless both have
    words."""

    @wraps(function)
    def factor(attribution: Attribution, **settings: bool) -> float | None:
        sides = [(attribution.words[part], attribution.phi[part]) for part in attribution.words][:2]
        if len(sides) < 2 or not all(len(words) for words, _ in sides):
            return None
        return function(*sides[0], *sides[1], **settings)

    return factor


@of_two_parts
def max_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """MAX-DIFF: the largest phi of a minus the largest of b.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> max_diff(example("the cat slept", [0.1, 0.5, 0.2], "it slept", [0.0, 0.3]))
        0.2
    """
    return float(phi_a.max() - phi_b.max())


@of_two_parts
def sum_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SUM-DIFF: the sum of phi over a minus the sum over b.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> round(sum_diff(example("the cat slept", [0.1, 0.5, 0.2], "it slept", [0.0, 0.3])), 6)
        0.5
    """
    return float(phi_a.sum() - phi_b.sum())


@of_two_parts
def index_diff(
    a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray, mean: bool = False, bag: bool = False
) -> float | None:
    """INDEX-DIFF: the sum of phi_a - phi_b over the words of the longest common subsequence of a and b.

    If there are several longest subsequences, it is the mean over all of them: the paper does not specify one, and any
    choice would depend on the direction of reading. ``mean`` averages phi over these words instead of summing, and is
    None if there are none; ``bag`` uses all common words, in any order.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("the cat slept", [0.1, 0.5, 0.2], "Slept the cat", [0.4, 0.0, 0.3])
        >>> [round(index_diff(of, bag=bag), 6) for bag in (False, True)]
        [0.3, 0.1]
        >>> of = example("cat saw dog", [0.6, 0.0, 0.0], "dog saw cat", [0.0, 0.0, 0.3])  # one of three words
        >>> round(index_diff(of), 6)
        0.1
    """
    in_a, in_b = shared(a, b) if bag else aligned(a, b)
    if mean and not in_a.any():
        return None
    sums = [float((phi[weight > 0] * weight[weight > 0]).sum()) for phi, weight in ((phi_a, in_a), (phi_b, in_b))]
    return sums[0] / float(in_a.sum()) - sums[1] / float(in_b.sum()) if mean else sums[0] - sums[1]


def first_tok(attribution: Attribution) -> float | None:
    """FIRST-TOK: the phi of the separator after a; templates may put b before a.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> first_tok(example("it slept", [0.1, 0.5], "it", [0.4], separators=[0.25, 0.0]))
        0.25
    """
    return float(attribution.separator_phi[0]) if len(attribution.separator_phi) else None


def control_words(premise: Sequence[str], subcase: str) -> np.ndarray | None:
    """The positions of the control words of a premise in a subcase of HANS, int64 [words]; None if there are none.

    All words of the longest expression count: "whether or not", "without a doubt", a verb with its "that".

    Example:
        >>> control_words("The author knew that the judge ran .".split(), "ce_embedded_under_verb").tolist()
        [2, 3]
    """
    kind = CONTROL["subcases"].get(subcase)
    if kind is None:
        return None
    lower = [word.lower() for word in premise]
    table = CONTROL["kinds"][kind]
    starts = range(1 if table["place"] == "start" else len(lower))
    for expression in sorted((text.split() for text in table["words"]), key=len, reverse=True):
        for start in starts:
            if lower[start : start + len(expression)] == expression:
                return np.arange(start, start + len(expression))
    return None


def const(attribution: Attribution) -> float | None:
    """CONST: the mean phi of the control words of a; the meta column "subcase" holds the subcase of HANS.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> round(const(example("If it ran , he slept", [0.3, 0, 0, 0, 0, 0], "it ran", [0, 0],
        ...                     subcase="cn_embedded_under_if")), 6)
        0.3
    """
    subcase = attribution.meta.get(SUBCASE, "")

    @of_two_parts
    def mean_of_control_words(a: Sequence[str], phi_a: np.ndarray, *second: object) -> float | None:
        places = control_words(a, subcase)
        return None if places is None else float(phi_a[places].mean())

    return mean_of_control_words(attribution)


def has_swapped_words(attribution: Attribution) -> bool | None:
    """Whether any words of a and b are swapped; if not, the SWAP factors are 0. None unless there are two parts."""
    words = of_two_parts(lambda a, phi_a, b, phi_b: len(swapped(a, b)[0]))(attribution)
    return None if words is None else words > 0


@of_two_parts
def swap_avg(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SWAP-AVG: the mean phi of swapped words (:func:`swapped`), in both segments; 0 if there are none.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("good dog , bad cat", [0.4, 0, 0, 0.2, 0], "bad dog , good cat", [0.1, 0, 0, 0.3, 0])
        >>> swap_avg(of)
        0.25
    """
    in_a, in_b = swapped(a, b)
    return float(np.concatenate([phi_a[in_a], phi_b[in_b]]).mean()) if len(in_a) else 0.0


@of_two_parts
def swap_max_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SWAP-MAX-DIFF: the phi with the largest absolute value among swapped words of a, minus that among swapped words
    of b; 0 if there are none.

    Two phi of equal size and opposite sign count as 0, so that the result does not depend on their order.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("good dog , bad cat", [-0.4, 0, 0, 0.2, 0], "bad dog , good cat", [0.1, 0, 0, 0.3, 0])
        >>> swap_max_diff(of)
        -0.7
    """
    in_a, in_b = swapped(a, b)
    return _largest(phi_a[in_a]) - _largest(phi_b[in_b]) if len(in_a) else 0.0


def _largest(phi: np.ndarray) -> float:
    """The phi with the largest absolute value; 0 for a tie between opposite signs."""
    low = float(phi.min())
    high = float(phi.max())
    return 0.0 if low == -high else max(low, high, key=abs)


def around_target(attribution: Attribution, feature: str) -> float | None:
    """IRREG, ADJ and VERB: minus the sum of phi over the target and two words on either side of it.

    The target is the irregular form, the adjective or the main verb; the meta column "target" is its number among the
    words of the first part. None in MSGS tasks about another feature.

    Args:
        attribution: The attribution.
        feature: One of :data:`FEATURES`.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> FACTORS["irreg"](example("a b c d e f", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], target="1"))
        -15.0
    """
    data = attribution.uid.partition("/")[0]
    if feature not in data and any(task in data for task in FEATURES):
        return None
    text = attribution.meta.get(TARGET, "")
    phi = next(iter(attribution.phi.values()))
    if not text.isdecimal() or int(text) >= len(phi):
        return None
    target = int(text)
    return -float(phi[max(0, target - WINDOW) : target + WINDOW + 1].sum())


FACTORS: dict[str, Factor] = {
    "max_diff": max_diff,
    "sum_diff": sum_diff,
    "index_diff": index_diff,
    "first_tok": first_tok,
    "const": const,
    "swap_avg": swap_avg,
    "swap_max_diff": swap_max_diff,
    **{
        name: partial(around_target, feature=feature)
        for name, feature in zip(("irreg", "adj", "verb"), FEATURES, strict=True)
    },
}
VARIANTS: dict[str, Factor] = {  # by name alone
    "index_diff_mean": partial(index_diff, mean=True),
    "index_diff_bag": partial(index_diff, bag=True),
    "index_diff_bag_mean": partial(index_diff, mean=True, bag=True),
}

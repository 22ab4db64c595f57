"""Factors: a number of one example's attribution; the higher its mean, the worse a model is predicted to do elsewhere.

Source: "Assessing Out-of-Domain Language Model Performance from Few Examples" (Singhal et al. 2023),
sections 5 and 6.1; docstrings name what the paper leaves open. ``a`` and ``b`` are the first two parts. Where a
factor is not defined, it is None.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from heedful.metrics.attributions.alignment import aligned, shared, swapped
from heedful.metrics.attributions.attribution import Attribution
from heedful.records.word_lists import word_lists

CONTROL = word_lists(__file__)
SUBCASE, TARGET = "subcase", "target"  # meta columns
FEATURES = "irregular_form", "syntactic_category", "main_verb"  # as the tasks of MSGS call them
WINDOW = 2  # words on either side of the target
Factor = Callable[[Attribution], float | None]


def sides(attribution: Attribution) -> tuple[tuple[Sequence[str], np.ndarray], ...] | None:
    """The words and their phi, float64 [words], of the first two parts; None where there are not two with words."""
    pairs = tuple((attribution.words[part], attribution.phi[part]) for part in attribution.words)[:2]
    return pairs if len(pairs) == 2 and all(len(words) for words, _ in pairs) else None


def max_diff(attribution: Attribution) -> float | None:
    """MAX-DIFF: the largest phi of a less the largest of b.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> max_diff(example("the cat slept", [0.1, 0.5, 0.2], "it slept", [0.0, 0.3]))
        0.2
    """
    if (two := sides(attribution)) is None:
        return None
    (_, phi_a), (_, phi_b) = two
    return float(phi_a.max() - phi_b.max())


def sum_diff(attribution: Attribution) -> float | None:
    """SUM-DIFF: the sum of phi over a less that over b.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> round(sum_diff(example("the cat slept", [0.1, 0.5, 0.2], "it slept", [0.0, 0.3])), 6)
        0.5
    """
    if (two := sides(attribution)) is None:
        return None
    (_, phi_a), (_, phi_b) = two
    return float(phi_a.sum() - phi_b.sum())


def index_diff(attribution: Attribution, mean: bool = False, bag: bool = False) -> float | None:
    """INDEX-DIFF: the sum of phi_a - phi_b over the words of the longest common subsequence of a and b.

    Where there are several longest ones it is the mean over all of them: the paper chooses none, and any choice hangs
    on the direction of reading.

    Args:
        attribution: The attribution.
        mean: The mean of phi over these words of a, minus the mean over b, instead of sums; None without any.
        bag: Take the words that occur in both, in any order.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("the cat slept", [0.1, 0.5, 0.2], "Slept the cat", [0.4, 0.0, 0.3])
        >>> [round(index_diff(of, bag=bag), 6) for bag in (False, True)]
        [0.3, 0.1]
        >>> of = example("cat saw dog", [0.6, 0.0, 0.0], "dog saw cat", [0.0, 0.0, 0.3])  # one of three words
        >>> round(index_diff(of), 6)
        0.1
    """
    if (two := sides(attribution)) is None:
        return None
    (a, phi_a), (b, phi_b) = two
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
    """The numbers of the control words of a premise, int64 [words]; None where the table has none for it.

    All words of the longest expression count: "whether or not", "without a doubt", a verb with its "that".

    Args:
        premise: Its words.
        subcase: The subcase of HANS.

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
    """CONST: the mean phi of the control words of a; the meta column "subcase" says which of HANS it is.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> round(const(example("If it ran , he slept", [0.3, 0, 0, 0, 0, 0], "it ran", [0, 0],
        ...                     subcase="cn_embedded_under_if")), 6)
        0.3
    """
    two = sides(attribution)
    if two is None:
        return None
    (words, phi), _ = two
    places = control_words(words, attribution.meta.get(SUBCASE, ""))
    return None if places is None else float(phi[places].mean())


def has_swapped_words(attribution: Attribution) -> bool | None:
    """Whether a and b have words in another order; where not, the SWAP factors are 0. None where there are not two."""
    two = sides(attribution)
    return None if two is None else len(swapped(two[0][0], two[1][0])[0]) > 0


def swap_avg(attribution: Attribution) -> float | None:
    """SWAP-AVG: the mean phi of the words that change places (:func:`swapped`), in both segments; 0 without any.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("good dog , bad cat", [0.4, 0, 0, 0.2, 0], "bad dog , good cat", [0.1, 0, 0, 0.3, 0])
        >>> swap_avg(of)
        0.25
    """
    if (two := sides(attribution)) is None:
        return None
    (a, phi_a), (b, phi_b) = two
    of_a, of_b = swapped(a, b)
    return float(np.concatenate([phi_a[of_a], phi_b[of_b]]).mean()) if len(of_a) else 0.0


def swap_max_diff(attribution: Attribution) -> float | None:
    """SWAP-MAX-DIFF: the largest phi, by absolute value, of a swapped word of a minus the largest of b; 0 without any.

    Of two opposite phi that are equally large neither counts, so that it makes no difference which stands first.

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> of = example("good dog , bad cat", [-0.4, 0, 0, 0.2, 0], "bad dog , good cat", [0.1, 0, 0, 0.3, 0])
        >>> swap_max_diff(of)
        -0.7
    """
    if (two := sides(attribution)) is None:
        return None
    (a, phi_a), (b, phi_b) = two
    of_a, of_b = swapped(a, b)
    return _largest(phi_a[of_a]) - _largest(phi_b[of_b]) if len(of_a) else 0.0


def _largest(phi: np.ndarray) -> float:
    """The phi with the largest absolute value; 0 where two opposite ones have it."""
    low = float(phi.min())
    high = float(phi.max())
    return 0.0 if low == -high else max(low, high, key=abs)


def irreg(attribution: Attribution) -> float | None:
    """IRREG: minus the sum of phi over the irregular form and two words on either side of it (:func:`around_target`).

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> irreg(example("a b c d e f", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], target="1"))
        -15.0
    """
    return around_target(attribution, "irregular_form")


def adj(attribution: Attribution) -> float | None:
    """ADJ: minus the sum of phi over the adjective and two words on either side of it (:func:`around_target`).

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> adj(example("a b c d e f", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], target="3"))
        -62.0
    """
    return around_target(attribution, "syntactic_category")


def verb(attribution: Attribution) -> float | None:
    """VERB: minus the sum of phi over the main verb and two words on either side of it (:func:`around_target`).

    Example:
        >>> from heedful.metrics.attributions.sample import example
        >>> verb(example("a b c d e f", [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], target="5"))
        -56.0
    """
    return around_target(attribution, "main_verb")


def around_target(attribution: Attribution, feature: str) -> float | None:
    """Minus the sum of phi over a window of words around the target, which ends where the sentence does.

    The meta column "target" is the number of the word in the first part. The three factors differ only in
    their data: in a task of MSGS that is named after the feature of a different factor they are None.

    Args:
        attribution: The attribution.
        feature: One of :data:`FEATURES`.
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
    "irreg": irreg,
    "adj": adj,
    "verb": verb,
}
VARIANTS: dict[str, Factor] = {  # by name alone
    "index_diff_mean": partial(index_diff, mean=True),
    "index_diff_bag": partial(index_diff, bag=True),
    "index_diff_bag_mean": partial(index_diff, mean=True, bag=True),
}

"""Factors: numbers computed from the attribution of an example; models are ranked by the mean over examples.

An attribution gives each word its phi, the contribution of the word to the probability of the prediction. Parts a and b
are the first two parts of an example, such as premise and hypothesis. A factor is None for examples where the factor is
undefined. A higher factor predicts a lower out-of-distribution accuracy. Source: "Assessing Out-of-Domain Language
Model Performance from Few Examples" (Singhal et al. 2023), sections 5 and 6.1.
"""

import pkgutil
import sys
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path

import numpy as np

from heedful.metrics.attributions.alignment import aligned, swapped
from heedful.metrics.attributions.attribution import Attribution
from heedful.records import SettingError
from heedful.records.errors import suggestion
from heedful.records.storage.yaml_files import word_lists

CONTROL = word_lists(__file__)  # control words of HANS
SUBCASE, TARGET = "subcase", "target"  # meta columns
FEATURES = "irregular_form", "syntactic_category", "main_verb"  # linguistic features in the names of MSGS tasks
WINDOW = 2  # words on either side of the target
Factor = Callable[[Attribution], float | None]


def of_two_parts(function: Callable[[Sequence[str], np.ndarray, Sequence[str], np.ndarray], float]) -> Factor:
    """Make a factor from a function of the words of part a, their phi, the words of part b, and their phi.

    The factor is None unless both parts have words.
    """

    @wraps(function)
    def factor(attribution: Attribution) -> float | None:
        words, phi = [*attribution.words.values()], [*attribution.phi.values()]
        if len(words) < 2 or not words[0] or not words[1]:
            return None
        return function(words[0], phi[0], words[1], phi[1])

    return factor


@of_two_parts
def max_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """MAX-DIFF: the largest phi of a word in part a minus the largest phi of a word in part b."""
    return float(phi_a.max() - phi_b.max())


@of_two_parts
def sum_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SUM-DIFF: the sum of phi over the words of part a, minus the sum over the words of part b."""
    return float(phi_a.sum() - phi_b.sum())


@of_two_parts
def index_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """INDEX-DIFF: the sum of phi_a - phi_b over the words of the longest common subsequence of both parts.

    If several subsequences are longest, it is the mean over all of them; the paper does not say which one to take.
    """
    in_a, in_b = aligned(a, b)
    return float((phi_a * in_a).sum() - (phi_b * in_b).sum())


def first_tok(attribution: Attribution) -> float | None:
    """FIRST-TOK: the phi of the separator after the first part; None without separators."""
    return float(attribution.separator_phi[0]) if len(attribution.separator_phi) else None


def control_words(premise: Sequence[str], subcase: str) -> np.ndarray | None:
    """Return the positions of the control words of a premise of HANS: int64 [words]; None if there are none.

    Each subcase of HANS has a list of expressions, such as "knew that". The control words are the words of the longest
    expression that the premise contains (for some subcases, at the start): three words for "whether or not".

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
    """CONST: the mean phi of the :func:`control_words` in the first part; None without control words."""
    words, phi = next(zip(attribution.words.values(), attribution.phi.values(), strict=True))
    places = control_words(words, attribution.meta.get(SUBCASE, ""))
    return None if places is None else float(phi[places].mean())


@of_two_parts
def has_swapped_words(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> bool:
    """Whether parts a and b have words in another order (:func:`.alignment.swapped`); if not, SWAP factors are 0."""
    return len(swapped(a, b)[0]) > 0


@of_two_parts
def swap_avg(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SWAP-AVG: the mean phi of the swapped words of both parts; 0 without swapped words."""
    in_a, in_b = swapped(a, b)
    return float(np.concatenate([phi_a[in_a], phi_b[in_b]]).mean()) if len(in_a) else 0.0


@of_two_parts
def swap_max_diff(a: Sequence[str], phi_a: np.ndarray, b: Sequence[str], phi_b: np.ndarray) -> float:
    """SWAP-MAX-DIFF: the strongest phi of a swapped word in part a, minus the strongest phi of one in part b.

    The strongest phi has the largest absolute value; if a positive and a negative phi tie, 0 replaces the strongest
    phi. The factor is 0 without swapped words.
    """
    in_a, in_b = swapped(a, b)
    return _largest_by_magnitude(phi_a[in_a]) - _largest_by_magnitude(phi_b[in_b]) if len(in_a) else 0.0


def _largest_by_magnitude(phi: np.ndarray) -> float:
    low, high = float(phi.min()), float(phi.max())
    return 0.0 if low == -high else max(low, high, key=abs)


def around_target(attribution: Attribution, feature: str) -> float | None:
    """IRREG, ADJ and VERB: minus the sum of phi over the target word of part a and two words on either side.

    The target is an irregular form, an adjective or the main verb. The meta column "target" holds its position. The
    result is None without this position, and for data sets of MSGS about a feature other than ``feature``.
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


def factors_named(names: Sequence[str]) -> dict[str, Factor]:
    """Map names to factors, functions that compute a number or None from an :class:`.Attribution`.

    Args:
        names: Keys of :data:`FACTORS`; or ``module:function`` for a user's function, in a module that can be
            imported from the working directory.

    Raises:
        HeedfulError: There is no such factor, module or function.
    """
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    factors = {}
    for name in names:
        try:
            factors[name] = FACTORS.get(name) or pkgutil.resolve_name(name)
        except (AttributeError, ImportError, ValueError) as error:
            raise SettingError(
                f"factors {name}: {error}. {suggestion(name, FACTORS)} A function of your own is module:function."
            ) from error
    return factors

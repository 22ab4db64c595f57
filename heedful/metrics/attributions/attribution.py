"""Attributions: contributions of words to a prediction, as rows (one per word) and as objects (one per example).

A row is identified by uid and four columns: ``intervention`` is the attribution method, ``part`` the part that the
word belongs to, ``variant`` the change of the example ("" for none), ``draw`` the position of the word in its part.
The row of a separator between parts has the part "", and ``draw`` is the position of the part before the separator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from heedful.records import Context
from heedful.records.rows import ABOUT, strings

SEPARATOR = ""  # part of separators
GRADIENTS = "gradients"  # the only method that masks no words
SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*ABOUT, "intervention", "part", "variant", "word", "gold", "y")]
    + [("draw", pa.int16()), ("version", pa.int16()), ("masks", pa.int32())]
    + [(name, pa.float64()) for name in ("phi", "error", "full", "nothing", "delta")]
    + [("slices", pa.list_(pa.string()))]
)


@dataclass(frozen=True)
class Attribution:
    """Attribution of one example by one method (Singhal et al. 2023, section 3).

    Attributes:
        uid: uid of the example.
        method: "lime", "shap", "owen" or "gradients".
        variant: The change of the example, such as "swap premise"; "" for none.
        y: The label whose probability is explained, by default the prediction.
        gold: The gold label; None if there is none.
        words: Maps each part to its words.
        phi: Maps each part to the contributions of its words to the probability: float64 [words].
        errors: Maps each part to the standard errors of phi due to random masks, nan if unknown: float64 [words].
        separators: The separator after each part.
        separator_phi: Contribution per separator: float64 [parts].
        full: The probability of ``y`` without masks.
        nothing: The probability of ``y`` with all words masked.
        delta: Error of the method, ``full - nothing`` minus the sum of all phi.
        meta: Meta columns of the example.
    """

    uid: str
    method: str
    variant: str
    y: str
    gold: str | None
    words: Mapping[str, Sequence[str]]
    phi: Mapping[str, np.ndarray]
    errors: Mapping[str, np.ndarray]
    separators: Sequence[str]
    separator_phi: np.ndarray
    full: float
    nothing: float
    delta: float
    meta: Mapping[str, str]


def normalised(attribution: Attribution) -> Attribution:
    """Return a copy whose phi are divided by the sum of their absolute values, including separators.

    Then each example has the same weight in means over examples, also if masks hardly change its probability.
    """
    total = sum(float(np.abs(phi).sum()) for phi in (*attribution.phi.values(), attribution.separator_phi))
    if not total:
        return attribution
    phi = {part: values / total for part, values in attribution.phi.items()}
    errors = {part: values / total for part, values in attribution.errors.items()}
    return replace(attribution, phi=phi, errors=errors, separator_phi=attribution.separator_phi / total)


def attributions(rows: pa.Table, context: Context) -> Iterator[Attribution]:
    """Convert rows of :data:`SCHEMA`, in their canonical order, to attributions, one per uid, method and variant.

    The order of rows is the order of the attributions. ``context`` has the names of the parts in order.
    """
    texts = {name: strings(rows, name) for name in ("uid", "intervention", "part", "variant", "word", "gold", "y")}
    numbers = {name: rows[name].to_numpy() for name in ("phi", "error", "full", "nothing", "delta")}
    slices = rows["slices"].combine_chunks()
    places: dict[tuple[str, str, str], list[int]] = {}
    for row, key in enumerate(zip(texts["uid"], texts["intervention"], texts["variant"], strict=True)):
        places.setdefault(key, []).append(row)
    for (uid, method, variant), several in places.items():
        index, first = np.array(several), several[0]
        of_part = {part: index[texts["part"][index] == part] for part in (*context.parts, SEPARATOR)}
        between = of_part.pop(SEPARATOR)
        yield Attribution(
            uid,
            method,
            variant,
            texts["y"][first],
            texts["gold"][first],
            words={part: texts["word"][at].tolist() for part, at in of_part.items()},
            phi={part: numbers["phi"][at] for part, at in of_part.items()},
            errors={part: numbers["error"][at] for part, at in of_part.items()},
            separators=texts["word"][between].tolist(),
            separator_phi=numbers["phi"][between],
            **{name: float(numbers[name][first]) for name in ("full", "nothing", "delta")},
            meta=dict(text.split("=", 1) for text in slices[first].as_py()),
        )


def by_method(rows: pa.Table, context: Context) -> dict[str, list[Attribution]]:
    """Map each method to its :func:`attributions` of unchanged examples."""
    of_method: dict[str, list[Attribution]] = {}
    for attribution in attributions(rows, context):
        if attribution.variant == "":
            of_method.setdefault(attribution.method, []).append(attribution)
    return of_method

"""Attributions as rows, a row for each word, and as values, one for each example.

The key is the same as for other rows: ``intervention`` is the method, ``part`` the segment (a part, or "" for a
separator between parts), ``variant`` is "" for the example itself, ``draw`` the number of the word within its segment;
for a separator, it is the number of the part before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from heedful.records import Context
from heedful.records.rows import ABOUT, strings

SEPARATOR = ""  # the segment of separators
GRADIENTS = "gradients"  # the method that masks nothing
SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*ABOUT, "intervention", "part", "variant", "word", "gold", "y")]
    + [("draw", pa.int16()), ("version", pa.int16()), ("masks", pa.int32())]
    + [(name, pa.float64()) for name in ("phi", "error", "full", "nothing", "delta")]
    + [("slices", pa.list_(pa.string()))]
)


@dataclass(frozen=True)
class Attribution:
    """The attributions of one example by one method (Singhal et al. 2023, section 3).

    Attributes:
        uid: uid of the example.
        method: "lime", "shap", "owen" or "gradients".
        variant: "" for the example itself, else how it was changed: "swap premise".
        y: The label whose probability is explained: by default the prediction.
        gold: The gold label.
        words: Part to its words, in the order of the parts.
        phi: Part to the contributions of its words to the probability: float64 [words].
        errors: Part to the standard error of phi over random masks: float64 [words]; nan without random masks.
        separators: Text of the separator after each part.
        separator_phi: The same as for words: float64 [parts].
        full: The probability, f(x).
        nothing: The probability with all words masked.
        delta: ``full - nothing`` minus the sum of all phi: the error of the method.
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
    """The attribution with phi divided by the sum of absolute values, separators included.

    Rows hold phi before that; normalised factors give more weight to examples whose probability hardly changes.
    """
    total = sum(float(np.abs(phi).sum()) for phi in (*attribution.phi.values(), attribution.separator_phi))
    if not total:
        return attribution
    phi = {part: values / total for part, values in attribution.phi.items()}
    errors = {part: values / total for part, values in attribution.errors.items()}
    return replace(attribution, phi=phi, errors=errors, separator_phi=attribution.separator_phi / total)


def attributions(rows: pa.Table, context: Context) -> Iterator[Attribution]:
    """The attributions in rows in their canonical order: by uid, then by method, then by variant.

    Args:
        rows: Rows of :data:`SCHEMA`.
        context: Names the parts in their order.
    """
    columns = {name: strings(rows, name) for name in ("uid", "intervention", "part", "variant", "word", "gold", "y")}
    numbers = {name: rows[name].to_numpy() for name in ("phi", "error", "full", "nothing", "delta")}
    slices = rows["slices"].combine_chunks()
    places: dict[tuple[str, str, str], list[int]] = {}
    for row, key in enumerate(zip(columns["uid"], columns["intervention"], columns["variant"], strict=True)):
        places.setdefault(key, []).append(row)
    for (uid, method, variant), several in places.items():
        index = np.array(several)
        first = several[0]
        segments = {part: index[columns["part"][index] == part] for part in (*context.parts, SEPARATOR)}
        between = segments[SEPARATOR]
        yield Attribution(
            uid,
            method,
            variant,
            columns["y"][first],
            columns["gold"][first],
            {part: columns["word"][segments[part]].tolist() for part in context.parts},
            {part: numbers["phi"][segments[part]] for part in context.parts},
            {part: numbers["error"][segments[part]] for part in context.parts},
            columns["word"][between].tolist(),
            numbers["phi"][between],
            float(numbers["full"][first]),
            float(numbers["nothing"][first]),
            float(numbers["delta"][first]),
            dict(text.split("=", 1) for text in slices[first].as_py()),
        )

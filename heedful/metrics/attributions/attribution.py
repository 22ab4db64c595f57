"""Attributions as rows (one per word) and as objects (one per example).

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
        variant: "" for the example itself, otherwise the change, such as "swap premise".
        y: The label whose probability is explained: by default the prediction.
        gold: The gold label.
        words: Maps each part to its words, in the order of the parts.
        phi: Maps each part to the contributions of its words to the probability: float64 [words].
        errors: Maps each part to the standard errors of phi over random masks: float64 [words]; nan without random
            masks.
        separators: Text of the separator after each part.
        separator_phi: Contribution of each separator: float64 [parts].
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

    Rows hold unnormalised phi; normalised factors give more weight to examples whose probability hardly changes.
    """
    total = sum(float(np.abs(phi).sum()) for phi in (*attribution.phi.values(), attribution.separator_phi))
    if not total:
        return attribution
    phi = {part: values / total for part, values in attribution.phi.items()}
    errors = {part: values / total for part, values in attribution.errors.items()}
    return replace(attribution, phi=phi, errors=errors, separator_phi=attribution.separator_phi / total)


def attributions(rows: pa.Table, context: Context) -> Iterator[Attribution]:
    """Convert rows to attributions, sorted by uid, method and variant.

    Args:
        rows: Rows of :data:`SCHEMA`.
        context: Context of the rows, which names the parts in order.
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

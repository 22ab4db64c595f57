"""Build an attribution from lists, to test a user's factor."""

from collections.abc import Sequence

import numpy as np

from heedful.metrics.attributions.attribution import Attribution


def example(
    first: str,
    phi: Sequence[float],
    second: str | None = None,
    phi_of_second: Sequence[float] = (),
    separators: Sequence[float] = (),
    **meta: str,
) -> Attribution:
    """An attribution of one or two sentences, called "a" and "b", which are split into words at spaces.

    Args:
        first: The words of a.
        phi: Their phi.
        second: The words of b; None for an example with one part.
        phi_of_second: Their phi.
        separators: The phi of the separator after each part; 0 by default.
        **meta: Meta columns.

    Example:
        >>> example("it ran", [0.25, 0.5], "it", [0.0]).delta
        0.0
    """
    texts = {"a": first} if second is None else {"a": first, "b": second}
    words = {part: text.split() for part, text in texts.items()}
    phi_of_part = dict(zip("ab", (phi, phi_of_second), strict=True))
    if uneven := [part for part in texts if len(phi_of_part[part]) != len(words[part])]:
        raise ValueError(f"{len(words[uneven[0]])} words in {uneven[0]}, and {len(phi_of_part[uneven[0]])} phi")
    numbers = {part: np.array(phi_of_part[part], dtype=np.float64) for part in texts}
    between = np.array(separators or [0.0] * len(texts), dtype=np.float64)
    full = float(sum(column.sum() for column in (*numbers.values(), between)))
    errors = {part: np.full(len(column), np.nan) for part, column in numbers.items()}
    fields = ("sample", "shap", "", "yes", "yes", words, numbers, errors, ["[SEP]"] * len(texts), between)
    return Attribution(*fields, full=full, nothing=0.0, delta=0.0, meta=meta)

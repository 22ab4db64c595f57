"""Attentiveness (CAT, §3.3): how often the prediction changes when a part is swapped for another example's."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.accuracy import majority_flags
from metrics.measurement import Measurement, bootstrap_interval, flagged
from records.rows import BASE, select, strings


def _mean_over_draws(
    hit: np.ndarray, uid: np.ndarray, draw: np.ndarray, key: tuple[str | int, ...], flags: tuple[str, ...], reason: str
) -> Measurement:
    """Mean over draws of the share of hits, with an interval clustered by uid."""
    if not len(hit):
        return Measurement(None, 0, flags=flags, reason=reason)
    per_draw = tuple(float(hit[draw == d].mean()) for d in np.unique(draw))
    _, cluster = np.unique(uid, return_inverse=True)
    totals, counts = np.bincount(cluster, weights=hit), np.bincount(cluster).astype(np.float64)
    low, high = bootstrap_interval(totals, counts, key)
    return Measurement(
        value=float(np.mean(per_draw)),
        n=len(totals),
        draws=len(per_draw),
        std=float(np.std(per_draw, ddof=1)) if len(per_draw) > 1 else None,
        ci95=(low, high),
        per_draw=per_draw,
        flags=flagged((low, high), flags),
    )


def attentiveness(
    rows: pa.Table, data: str, part: str, default_label: str | None, labels: Sequence[str], seed: int = 0
) -> dict[str, Measurement]:
    """Attentiveness to one part.

    Over the uids whose base prediction is not the default label: the share whose prediction changes when ``part`` comes
    from another example. One score for each draw; their mean and sample standard deviation. The interval resamples
    uids. With no such uid the score is undefined.

    Args:
        rows: Base rows and the rows of the intervention "swap".
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        default_label: The label of unrelated parts; None where the task has none, and then every uid counts.
        labels: All labels.
        seed: Keys the bootstrap.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``; ``name/to_default``, the share that changes to the
        default label; ``name/from_<label>``, the share that changes among the uids predicted as that label;
        ``name/eligible``, the share of uids with a base prediction that counts.
    """
    name = f"attentiveness/{data}/{part}"
    flags = majority_flags(rows)
    swapped = select(rows, intervention="swap", part=part)
    y, y2, uid = strings(swapped, "y"), strings(swapped, "y2"), strings(swapped, "uid")
    draw = swapped["draw"].to_numpy()
    if default_label is not None:
        kept = y != default_label
        y, y2, uid, draw = y[kept], y2[kept], uid[kept], draw[kept]
    base = strings(select(rows, intervention=BASE), "y")
    eligible = int(np.sum(base != default_label)) if default_label is not None else len(base)

    def measure(suffix: str, hit: np.ndarray, kept: np.ndarray, reason: str) -> None:
        full = name + suffix
        result[full] = _mean_over_draws(
            hit[kept].astype(np.float64), uid[kept], draw[kept], (seed, full), flags, reason
        )

    every = np.ones(len(y), dtype=bool)
    only_default = f"every prediction is the default label {default_label!r}"
    none = only_default if default_label is not None and eligible == 0 else "no example has a partner"
    result: dict[str, Measurement] = {}
    measure("", y != y2, every, none)
    if default_label is not None:
        measure("/to_default", y2 == default_label, every, none)
    for label in labels:
        if label != default_label:
            measure(f"/from_{label}", y != y2, y == label, f"no example that was swapped is predicted as {label!r}")
    reason = None if len(base) else "no example was predicted"
    result[f"{name}/eligible"] = Measurement(eligible / len(base) if len(base) else None, len(base), reason=reason)
    return result

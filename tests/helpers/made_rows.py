"""Rows of base examples and swaps with random probabilities, for the tests of metrics and reports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Number, measured
from heedful.records import Measurement

from python_rows import rows_from

EXPECTS = {"swap": "leaves", "sibling": "leaves", "null": "stays"}  # expectations of interventions


def make(
    base: Mapping[str, tuple[str, str]],
    changed: Sequence[Mapping[str, Any]] = (),
    labels: int = 3,
    seed: int = 0,
    likely: Sequence[str] = (),
) -> pa.Table:
    """Rows of base examples and changed examples with random probabilities.

    Args:
        base: Maps uids to (gold label, predicted label).
        changed: A mapping for each changed example, with ``uid``, ``y2`` and the columns that differ from a swap of the
            part "premise" in draw 0. ``y`` and ``gold`` are as in the base row. ``expects`` is by default that of the
            intervention, "gold2" for new content with a gold label.
        labels: Number of labels.
        seed: Seed of the probabilities, which only the noise floor reads.
        likely: The labels in the order of probabilities, to make each answer the most probable label.
    """
    rng = np.random.default_rng(seed)
    entries: list[dict[str, Any]] = [{"uid": uid, "gold": gold, "y": y} for uid, (gold, y) in base.items()]
    for change in changed:
        gold, y = base[change["uid"]]
        entries.append({"intervention": "swap", "part": "premise", "draw": 0, "gold": gold, "y": y, **change})
    drawn = iter(rng.dirichlet(np.ones(labels), len(base) + 2 * len(changed)).astype(np.float32))
    p_of: dict[str, np.ndarray] = {}
    for entry in entries:
        p = p_of.setdefault(entry["uid"], next(drawn))
        p2 = next(drawn) if "intervention" in entry else None
        name = entry.get("intervention", "")
        expects = EXPECTS.get(name, "gold2" if entry.get("gold2") is not None else "")
        gold2 = entry["gold"] if name == "null" else None
        clusters = [name for name in (entry["uid"], entry.get("partner")) if name]
        entry |= {"p": p, "p2": p2, "gold2": gold2, "expects": expects, "clusters": clusters, **entry}
        for answer, of in (("y", "p"), ("y2", "p2")) if likely else ():
            if entry.get(answer) is not None:
                entry[of] = np.roll(np.sort(entry[of])[::-1], likely.index(entry[answer]))
    return rows_from(entries, labels)


def by_text(
    metric: Callable[..., Mapping[Any, Measurement] | Iterable[Number]],
) -> Callable[..., dict[str, Measurement]]:
    """A metric with its numbers by name as text, as in results.json."""

    @wraps(metric)
    def named(*args: Any, **kwargs: Any) -> dict[str, Measurement]:
        numbers = metric(*args, **kwargs)
        found = numbers if isinstance(numbers, Mapping) else measured(numbers)
        texts = {str(name): m for name, m in found.items()}
        assert len(texts) == len(found)
        return texts

    return named

"""Rows of results from Python values: a reference for the arrays of the engine, and input of metrics and reports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.attributions.attribution import SCHEMA, SEPARATOR, Attribution
from heedful.metrics.natural_logic.causal_effects import causal_effects
from heedful.metrics.number import Number, measured
from heedful.records import Context, Measurement
from heedful.records import rows as r

USUAL = {  # columns of a row, unless it names them
    "intervention": r.BASE, "part": "", "variant": "", "draw": r.NO_DRAW, "partner": "", "allowed": "",
    "expectation": "", "content": "", "group": None, "version": 1, "slices": [], "gold": "", "y": "", "y2": None,
    "p": None, "p2": None, "unread": None,
}  # fmt: skip
THREE = ("contradiction", "entailment", "neutral")
KINDS = {"context": ("I0", "I2"), "insertion": ("I1", "I3")}  # intervention sets of natural logic by changed part


def sort_rows(rows: pa.Table) -> pa.Table:
    """Rows in their canonical order; keys are unique."""
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in r.KEY])).combine_chunks()
    assert len({*zip(*(rows[name].to_pylist() for name in r.KEY), strict=True)}) == rows.num_rows
    return rows


def rows_from(entries: Iterable[Mapping[str, Any]], labels: int) -> pa.Table:
    """Rows in the given order; columns that an entry does not name have the values of a base row."""
    full = [{**USUAL, "clusters": [entry["uid"]], **entry} for entry in entries]
    return pa.Table.from_pylist(full, schema=r.schema(labels))


def make(
    base: Mapping[str, tuple[str, str]],
    changed: Sequence[Mapping[str, Any]] = (),
    labels: int = 3,
    seed: int = 0,
    likely: Sequence[str] = (),
) -> pa.Table:
    """Sorted rows with random probabilities.

    Args:
        base: Maps uids to (gold label, predicted label).
        changed: One mapping for each changed example, with ``uid``, ``y2`` and the columns that differ from a swap of
            the part "premise" in draw 0. ``y`` and ``gold`` are those of the base.
        labels: Number of labels.
        seed: Seed of the probabilities, which no metric but the noise floor reads.
        likely: The labels, in the order of probabilities, if the answer is to be the most probable label.
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
        expectation = {"swap": "change", "null": "stay"}.get(entry.get("intervention", ""), "")
        clusters = [name for name in (entry["uid"], entry.get("partner")) if name]
        entry |= {"p": p, "p2": p2, "expectation": expectation, "clusters": clusters, **entry}
        for answer, of in (("y", "p"), ("y2", "p2")) if likely else ():
            if entry.get(answer) is not None:
                entry[of] = np.roll(np.sort(entry[of])[::-1], likely.index(entry[answer]))
    return sort_rows(rows_from(entries, labels))


def by_text(
    metric: Callable[..., Mapping[Any, Measurement] | Iterable[Number]],
) -> Callable[..., dict[str, Measurement]]:
    """A metric whose numbers are named by texts, as in results.json."""

    @wraps(metric)
    def named(*args: Any, **kwargs: Any) -> dict[str, Measurement]:
        numbers = metric(*args, **kwargs)
        found = numbers if isinstance(numbers, Mapping) else measured(numbers)
        texts = {str(name): m for name, m in found.items()}
        assert len(texts) == len(found)
        return texts

    return named


# natural logic


def base_row(uid: str, p, labels, gold: str = "entailment", slices=()) -> dict:
    """A base row that answers the most probable label."""
    about = {"uid": uid, "gold": gold, "y": labels[int(np.argmax(p))], "p": p}
    return USUAL | about | {"clusters": [uid], "slices": list(slices)}


def pair_row(
    uid: str, which: str, partner: str, p, p2, labels, gold: str, slices=(), variant: str = "", held: str | None = None
) -> dict:
    """A row of an intervention set."""
    part = next(kind for kind, sets in KINDS.items() if which in sets)
    return base_row(uid, p, labels, gold, slices) | {
        "intervention": which, "part": part, "variant": f"{partner} {variant}", "partner": f"{uid} {partner}",
        "expectation": "change" if which in ("I0", "I1") else "stay", "y2": labels[int(np.argmax(p2))], "p2": p2,
        "clusters": [uid, held or f"of {uid}", partner],
    }  # fmt: skip


def table(entries: list[dict], labels=THREE) -> pa.Table:
    """Rows in their canonical order."""
    return sort_rows(rows_from(entries, len(labels)))


def effects(rows: pa.Table, labels=THREE, seed: int = 0) -> dict[str, Measurement]:
    """The causal effects by the texts of their names."""
    return by_text(causal_effects)(rows, Context("d", seed, labels=tuple(labels), own={"data": "d"}))


# attributions


def word_rows(several: Sequence[Attribution], group: str | None = None, content: str = "") -> pa.Table:
    """Rows of attributions in their canonical order.

    Args:
        several: The attributions.
        group: Meta column that names the group of an example; None for none.
        content: Text before the uid in the column content.
    """
    rows = []
    for of in several:
        about = {
            "uid": of.uid, "group": of.meta[group] if group else None, "content": content + of.uid,
            "intervention": of.method, "variant": of.variant, "gold": of.gold, "y": of.y, "version": 1, "masks": 9,
            "full": of.full, "nothing": of.nothing, "delta": of.delta,
            "slices": [f"{name}={value}" for name, value in of.meta.items()],
        }  # fmt: skip
        for part, words in of.words.items():
            for k, word in enumerate(words):
                numbers = {"phi": of.phi[part][k], "error": of.errors[part][k]}
                rows.append(about | numbers | {"part": part, "draw": k, "word": word})
        for k, text in enumerate(of.separators):
            numbers = {"phi": of.separator_phi[k], "error": np.nan}
            rows.append(about | numbers | {"part": SEPARATOR, "draw": k, "word": text})
    return sort_rows(pa.Table.from_pylist(rows, schema=SCHEMA))

"""Rows of natural logic, made from dictionaries."""

import numpy as np
import pyarrow as pa

from heedful.metrics.natural_logic.causal_effects import causal_effects
from heedful.metrics.number import measured
from heedful.records import Context, Measurement
from heedful.records import rows as r

from python_rows import make_rows, sort_rows

THREE = ("contradiction", "entailment", "neutral")
KINDS = {"context": ("I0", "I2"), "insertion": ("I1", "I3")}


def answer(p, labels) -> str:
    return labels[int(np.argmax(p))]


def base_row(uid: str, p, labels, gold: str = "entailment", slices=()) -> dict:
    return {"uid": uid, "intervention": r.BASE, "part": "", "variant": "", "gold": gold, "y": answer(p, labels),
            "p": p, "partner": "", "clusters": [uid], "slices": list(slices)}  # fmt: skip


def pair_row(
    uid: str, which: str, partner: str, p, p2, labels, gold: str, slices=(), variant: str = "", held: str | None = None
) -> dict:
    part = next(kind for kind, sets in KINDS.items() if which in sets)
    return {"uid": uid, "intervention": which, "part": part, "variant": f"{partner} {variant}", "gold": gold,
            "expectation": "change" if which in ("I0", "I1") else "stay",
            "y": answer(p, labels), "y2": answer(p2, labels), "p": p, "p2": p2, "partner": f"{uid} {partner}",
            "clusters": [uid, held or f"of {uid}", partner], "slices": list(slices)}  # fmt: skip


def table(entries: list[dict], labels=THREE) -> pa.Table:
    """Rows in their canonical order."""
    common = {"group": None, "allowed": "", "expectation": "", "content": "", "version": 1}
    common |= {"draw": r.NO_DRAW, "y2": None, "p2": None, "unread": None}
    entries = [common | entry for entry in entries]
    columns = {name: [entry[name] for entry in entries] for name in r.schema(len(labels)).names}
    for name in ("p", "p2"):
        columns[name] = [None if p is None else np.array(p, dtype=np.float32) for p in columns[name]]
    return sort_rows(make_rows(columns, len(labels)))


def effects(rows: pa.Table, labels=THREE, seed: int = 0) -> dict[str, Measurement]:
    """Causal effects by their names as text."""
    context = Context("d", seed, labels=tuple(labels), own={"data": "d"})
    return {str(name): m for name, m in measured(causal_effects(rows, context)).items()}

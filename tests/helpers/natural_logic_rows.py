"""Rows of natural logic, made from dictionaries."""

import numpy as np
import pyarrow as pa

from heedful.metrics.natural_logic.causal_effects import causal_effects
from heedful.metrics.number import measured
from heedful.records import Context, Measurement

from python_rows import BASE_ROW, rows_from

THREE = ("contradiction", "entailment", "neutral")
KINDS = {"context": ("I0", "I2"), "insertion": ("I1", "I3")}


def answer(p, labels) -> str:
    return labels[int(np.argmax(p))]


def base_row(uid: str, p, labels, gold: str = "entailment", slices=()) -> dict:
    about = {"uid": uid, "gold": gold, "y": answer(p, labels), "p": p}
    return BASE_ROW | about | {"clusters": [uid], "slices": list(slices)}


def pair_row(
    uid: str, which: str, partner: str, p, p2, labels, gold: str, slices=(), variant: str = "", held: str | None = None
) -> dict:
    part = next(kind for kind, sets in KINDS.items() if which in sets)
    return {"uid": uid, "intervention": which, "part": part, "variant": f"{partner} {variant}", "gold2": gold,
            "expects": "leaves" if which in ("I0", "I1") else "stays",
            "y": answer(p, labels), "y2": answer(p2, labels), "p": p, "p2": p2, "partner": f"{uid} {partner}",
            "clusters": [uid, held or f"of {uid}", partner], "slices": list(slices)}  # fmt: skip


def table(entries: list[dict], labels=THREE) -> pa.Table:
    """Rows in their canonical order."""
    return rows_from(entries, len(labels))


def effects(rows: pa.Table, labels=THREE, seed: int = 0) -> dict[str, Measurement]:
    """Causal effects by their names as text."""
    context = Context("d", seed, labels=tuple(labels), own={"data": "d"})
    return {str(name): m for name, m in measured(causal_effects(rows, context)).items()}

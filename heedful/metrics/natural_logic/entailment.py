"""Convert predictions and gold labels to two classes, entailment and non-entailment."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.records import DataError, RunError, is_entailment, listing
from heedful.records.rows import BASE, probabilities, rows_with, select


def entailment_at(labels: Sequence[str]) -> int:
    """Return the index of the label "entailment" in a list of labels.

    Raises:
        HeedfulError: No label, or more than one, is "entailment".
    """
    positions = [i for i, label in enumerate(labels) if is_entailment(label)]
    if len(positions) != 1:
        raise DataError(
            f'Natural logic needs one label "entailment", and the labels of the model are {listing(labels)}. Leave '
            "that evaluation out, or take data with these labels."
        )
    return positions[0]


def probabilities_of(rows: pa.Table, labels: Sequence[str], name: str) -> np.ndarray:
    """Read the column of probabilities called ``name`` ("p" or "p2"): float64 [rows, labels].

    Raises:
        HeedfulError: The rows have probabilities of another number of labels.
    """
    width = rows.schema.field(name).type.list_size
    if width != len(labels):
        raise RunError(
            f"The rows hold {width} probabilities, and the model has {len(labels)} labels: {listing(labels)}. Evaluate "
            "again."
        )
    return probabilities(rows, name).astype(np.float64)


def entailed(rows: pa.Table, labels: Sequence[str], which: str = "y", rule: str = "sum") -> np.ndarray:
    """Whether predictions are entailment, in the two classes entailment and non-entailment: bool [rows].

    By the rule "sum" (the paper's formula), entailment must be more probable than all other labels together; a tie is
    non-entailment. By the rule "argmax" (the paper's text), the predicted label must be entailment. The rules differ if
    entailment is the most probable label, but has a probability of at most 0.5.

    Args:
        rows: Rows with probabilities.
        labels: Labels in the order of the probabilities; one of them is "entailment".
        which: "y" for the predictions on originals, "y2" for the predictions on changed examples.
        rule: "sum" or "argmax".

    Raises:
        HeedfulError: No label, or more than one, is "entailment"; or a row has no probabilities.
    """
    entail = entailment_at(labels)
    if rule == "argmax":
        return rows_with(rows, **{which: labels[entail]})
    if rule != "sum":
        raise ValueError(f'rule must be "sum" or "argmax", not {rule!r}')
    p = probabilities_of(rows, labels, {"y": "p", "y2": "p2"}[which])
    return p[:, entail] > np.delete(p, entail, axis=1).sum(axis=1)


def is_right_in_two_classes(rows: pa.Table, labels: Sequence[str], rule: str = "sum") -> np.ndarray:
    """Whether predictions on unchanged examples are correct if labels are merged into two classes, entailment and
    non-entailment: bool [rows]. A missing answer is wrong. ``rule`` is as in :func:`entailed`.
    """
    return (entailed(rows, labels, rule=rule) == gold_entailed(rows)) & is_answer(rows)


def disagreements(rows: pa.Table, labels: Sequence[str]) -> int:
    """Count the answered unchanged examples for which the rules "sum" and "argmax" of :func:`entailed` disagree."""
    base = select(rows, intervention=BASE)
    base = base.filter(pa.array(is_answer(base)))
    return int((entailed(base, labels) != entailed(base, labels, rule="argmax")).sum())


def gold_entailed(rows: pa.Table) -> np.ndarray:
    """Whether the gold label of each row is entailment: bool [rows]."""
    names = [name for name in pc.unique(rows["gold"]).to_pylist() if is_entailment(name)]
    return pc.is_in(rows["gold"], pa.array(names, pa.string())).to_numpy()

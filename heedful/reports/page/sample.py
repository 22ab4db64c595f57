"""Sample the predictions that a page shows as examples: some of each kind, selected by a hash of the uid."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike
from heedful.records import Context, keys, random_key, words_of
from heedful.records.rows import BASE, KEY, codes, equal_columns, rows_with, strings
from heedful.reports.results import Evaluated

MOST = 600  # examples per run
NULL = "null"
BASES = ("accuracy", "answers")  # evaluations of unchanged examples, which have base rows
COLUMNS = (*KEY, "gold", "y", "y2", "p", "p2", "partner", "slices", "unread")
STRATUM = ("intervention", "part", "y")
RIGHT = 0.5  # smallest score of a correct answer


class Sample(NamedTuple):
    """A sample of rows.

    Attributes:
        rows: The sampled rows, in the order of the page, as dictionaries. Further keys are "evaluation"; "p" and "p2",
            the probability of the original answer before and after the change; "moved", p2 minus p; and "changed",
            whether the prediction changed. A row of an unchanged example has only one prediction: "changed" then says
            whether the prediction is wrong (False without gold labels).
        total: Number of rows from which the sample was drawn.
    """

    rows: list[dict[str, Any]]
    total: int


def sampled(evaluated: Mapping[str, Evaluated], seed: int, most: int = MOST) -> Sample:
    """Draw a stratified sample of rows (predictions).

    Rows of one stratum have the same evaluation, intervention, input part and prediction, and agree in whether the
    prediction changed. Strata take turns, so that a large stratum does not displace a small one. The sample does not
    depend on the order of the rows.

    Args:
        evaluated: Rows and metadata by evaluation.
        seed: Seed of the run.
        most: Largest number of rows.
    """
    ranked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    total = 0
    for name, (rows, metadata) in evaluated.items():
        if "y2" not in rows.schema.names:  # attributions
            continue
        context = Context.of(metadata["context"])
        rows = rows.select(COLUMNS).filter(pa.array(_candidates(rows, name)))
        total += rows.num_rows
        changed = _changed(rows, context)
        turns, ranks = _stratum_order(rows, changed, seed)
        first = np.lexsort([ranks, turns])[:most]
        columns = zip(turns[first].tolist(), ranks[first].tolist(), changed[first].tolist(), strict=True)
        entries = _rows_as_dicts(rows.take(first), name, context.labels)
        for (turn, rank, has_changed), entry in zip(columns, entries, strict=True):
            entry["changed"] = has_changed
            ranked.append(((turn, rank, name, *(entry[column] for column in KEY)), entry))
    ranked.sort(key=lambda pair: pair[0])
    return Sample([entry for _, entry in ranked[:most]], total)


def _candidates(rows: pa.Table, name: str) -> np.ndarray:
    """Return which rows of the evaluation ``name`` the sample is drawn from: bool [rows].

    For evaluations in :data:`BASES`, these are the base rows (predictions for unchanged examples), and the rows of the
    null control (a second prediction of the same input) whose two predictions differ. For all other evaluations, these
    are the rows of changed examples; if a change has several random draws, only the first draw.
    """
    is_base, is_null = rows_with(rows, intervention=BASE), rows_with(rows, intervention=NULL)
    if name in BASES:
        return is_base | (is_null & ~equal_columns(rows, "y", "y2"))
    return (rows["draw"].to_numpy() <= 0) & ~is_base & ~is_null


def _changed(rows: pa.Table, context: Context) -> np.ndarray:
    """Whether the prediction of a changed example changed, or the prediction of an unchanged example is wrong: bool
    [rows].
    """
    is_base = rows_with(rows, intervention=BASE)
    changed = ~is_base & ~alike(rows, ~is_base, context.kind)
    if not context.unlabelled:
        base = rows.filter(pa.array(is_base))
        changed[is_base] = context.kind.scores(strings(base, "y"), strings(base, "gold")) < RIGHT
    return changed


def _stratum_order(rows: pa.Table, changed: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Order the rows within each stratum by a hash of the uid.

    A stratum is all rows with the same intervention, input part, prediction and value in ``changed``, the mask of
    :func:`_changed`: bool [rows].

    Returns:
        The position of each row in its stratum, int64 [rows], and its hash, uint64 [rows].
    """
    import pandas

    uid, uids = codes(rows, "uid")
    high, low, *_ = words_of(random_key(seed, "page"), keys([text or "" for text in uids])[uid])
    ranks = (high.astype(np.uint64) << np.uint64(32)) | low
    columns = {name: strings(rows, name) for name in (*STRATUM, "variant")}
    frame = pandas.DataFrame({**columns, "changed": changed, "rank": ranks}).sort_values(["rank", "variant"])
    turns = frame.groupby([*STRATUM, "changed"], dropna=False).cumcount()
    return turns.sort_index().to_numpy(), ranks


def _rows_as_dicts(rows: pa.Table, name: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of the evaluation ``name`` as dictionaries, with the probability of the original answer (before and
    after the change) instead of the probabilities of all labels.
    """
    index = {label: k for k, label in enumerate(labels)}
    entries = rows.select(COLUMNS).to_pylist()
    for entry in entries:
        k = index.get(entry["y"])
        p, p2 = (None if k is None or entry[column] is None else entry[column][k] for column in ("p", "p2"))
        entry |= {"evaluation": name, "p": p, "p2": p2, "moved": None if p is None or p2 is None else p2 - p}
    return entries

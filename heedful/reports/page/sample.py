"""Sample the predictions that a page shows as examples: some of each kind, selected by a hash of the uid."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics import METRICS
from heedful.metrics.hits import alike, verdicts
from heedful.records import Context, keys, random_key, words_of
from heedful.records.rows import BASE, KEY, codes, equal_columns, rows_with, strings
from heedful.reports.results import Evaluated

MOST = 600  # examples per run
NULL = "null"
BASES = ("accuracy", "answers")  # evaluations of unchanged examples, which have base rows
COLUMNS = (*KEY, "gold", "gold2", "y", "y2", "p", "p2", "partner", "slices", "unread", "expects")
STRATUM = ("intervention", "part", "y")


class Sample(NamedTuple):
    """A sample of rows.

    Attributes:
        rows: The sampled rows, in the order of the page, as dictionaries. Further keys are "evaluation"; "p" and "p2",
            the probability of the original answer before and after the change; "moved", p2 minus p; "most_probable",
            the most probable label before the change (the prediction if there are no probabilities); "changed", whether
            the prediction changed (False for an unchanged example); and "verdict", the value of :func:`.hits.verdicts`,
            None for NaN.
        total: Number of rows from which the sample was drawn.
    """

    rows: list[dict[str, Any]]
    total: int


def sampled(evaluated: Mapping[str, Evaluated], seed: int, most: int = MOST) -> Sample:
    """Draw a stratified sample of rows (predictions).

    Rows of one stratum have the same evaluation, intervention, input part, prediction and verdict, and agree in whether
    the prediction changed. Strata take turns, so that a large stratum does not displace a small one. The sample does
    not depend on the order of the rows.

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
        is_changed = ~rows_with(rows, intervention=BASE)
        changed = is_changed & ~alike(rows, context.kind)
        metric = METRICS.get(name)
        verdict = verdicts(metric.in_classes(rows, context) if metric and metric.in_classes else rows, context.kind)
        if context.own.get("perturbation"):  # its number leaves out changes that the model does not read
            verdict[rows_with(rows, unread=True)] = np.nan
        turns, ranks = _stratum_order(rows, changed, verdict, seed)
        first = np.lexsort([ranks, turns])[:most]
        columns = zip(*(column[first].tolist() for column in (turns, ranks, changed, verdict)), strict=True)
        entries = _rows_as_dicts(rows.take(first), name, context.labels)
        for (turn, rank, has_changed, value), entry in zip(columns, entries, strict=True):
            entry |= {"changed": has_changed, "verdict": None if np.isnan(value) else value}
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


def _stratum_order(
    rows: pa.Table, changed: np.ndarray, verdict: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Order the rows within each stratum by a hash of the uid.

    A stratum is all rows with the same intervention, input part, prediction, and values in ``changed``, bool [rows],
    and ``verdict``, float64 [rows].

    Returns:
        The position of each row in its stratum, int64 [rows], and its hash, uint64 [rows].
    """
    import pandas

    uid, uids = codes(rows, "uid")
    high, low, *_ = words_of(random_key(seed, "page"), keys([text or "" for text in uids])[uid])
    ranks = (high.astype(np.uint64) << np.uint64(32)) | low
    columns = {name: strings(rows, name) for name in (*STRATUM, "variant")}
    frame = pandas.DataFrame({**columns, "changed": changed, "verdict": verdict, "rank": ranks})
    frame = frame.sort_values(["rank", "variant"])
    turns = frame.groupby([*STRATUM, "changed", "verdict"], dropna=False).cumcount()
    return turns.sort_index().to_numpy(), ranks


def _rows_as_dicts(rows: pa.Table, name: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of the evaluation ``name`` as dictionaries, with the most probable label and the probability of the
    original answer (before and after the change) instead of the probabilities of all labels.
    """
    index = {label: k for k, label in enumerate(labels)}
    entries = rows.select(COLUMNS).to_pylist()
    for entry in entries:
        k = index.get(entry["y"])
        p, p2 = (None if k is None or entry[column] is None else entry[column][k] for column in ("p", "p2"))
        most_probable = labels[int(np.argmax(entry["p"]))] if labels and entry["p"] else entry["y"]
        moved = None if p is None or p2 is None else p2 - p
        entry |= {"evaluation": name, "most_probable": most_probable, "p": p, "p2": p2, "moved": moved}
    return entries

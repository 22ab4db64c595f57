"""Sample the predictions that a page shows as examples: some of each kind, selected by a hash of the uid."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics import METRICS
from heedful.metrics.hits import SwapSettings, alike, hits, verdicts
from heedful.records import Context, keys, random_key, words_of
from heedful.records.randomness import random_order
from heedful.records.rows import BASE, KEY, codes, equal_columns, rows_with, strings
from heedful.reports.results import Evaluated

MOST = 600  # examples per run
TO_JUDGE = 200  # swaps per run on which people judge
NULL = "null"
BASES = ("accuracy", "answers")  # evaluations of unchanged examples, which have base rows
COLUMNS = (*KEY, "gold", "gold2", "y", "y2", "p", "p2", "partner", "slices", "unread", "expects")
STRATUM = ("intervention", "part", "y")


class Sample(NamedTuple):
    """A sample of rows, in the order of the page, and the number of rows from which it was drawn.

    Further keys are "evaluation"; "p" and "p2", the probability of the original answer before and after the change;
    "moved", p2 minus p; "most_probable", the most probable label before (or else the prediction); "changed", whether
    the prediction changed; and "verdict", the value of :func:`.hits.verdicts`, None for NaN.
    """

    rows: list[dict[str, Any]]
    total: int


def sampled(evaluated: Mapping[str, Evaluated], seed: int, most: int = MOST) -> Sample:
    """Draw a stratified sample of at most ``most`` rows, which does not depend on their order.

    Rows of one stratum have the same evaluation, intervention, input part, prediction and verdict, and agree in whether
    the prediction changed. Strata take turns, so that a large stratum does not displace a small one.
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


def swaps_to_judge(rows: pa.Table, context: Context, most: int = TO_JUDGE) -> list[dict[str, Any]]:
    """Draw the swaps that people judge on a sheet from rows of attentiveness, as dictionaries like rows of a Sample.

    These are first swaps of examples whose prediction counts, in the order of a hash of seed and uid: the draw does not
    depend on the predictions for swapped inputs. Swapped parts take turns.
    """
    by_part = []
    for part in SwapSettings.from_context(context).parts:
        places = np.flatnonzero(hits(rows, part, context).base_answered & rows_with(rows, draw=0))
        uids = keys(strings(rows.take(places), "uid"))
        by_part.append(places[random_order(random_key(context.seed, "sheet", part), uids)].tolist())
    places = [place for turn in zip_longest(*by_part) for place in turn if place is not None]
    return _rows_as_dicts(rows.take(np.array(places[:most], dtype=np.int64)), "attentiveness", context.labels)


def _candidates(rows: pa.Table, name: str) -> np.ndarray:
    is_base, is_null = rows_with(rows, intervention=BASE), rows_with(rows, intervention=NULL)
    if name in BASES:  # flips of the null control are shown, too
        return is_base | (is_null & ~equal_columns(rows, "y", "y2"))
    return (rows["draw"].to_numpy() <= 0) & ~is_base & ~is_null


def _stratum_order(rows: pa.Table, changed: np.ndarray, verdict: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return positions of rows in their strata, int64 [rows], and the hashes that decide them, uint64 [rows]."""
    import pandas

    uid, uids = codes(rows, "uid")
    high, low, *_ = words_of(random_key(seed, "page"), keys([text or "" for text in uids])[uid])
    ranks = (high.astype(np.uint64) << np.uint64(32)) | low
    columns = {name: strings(rows, name) for name in (*STRATUM, "variant")}
    frame = pandas.DataFrame({**columns, "changed": changed, "verdict": verdict, "rank": ranks})
    frame = frame.sort_values(["rank", "variant"])
    turns = frame.groupby([*STRATUM, "changed", "verdict"], dropna=False).cumcount()
    return [turns.sort_index().to_numpy(), ranks]


def _rows_as_dicts(rows: pa.Table, name: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows of an evaluation as dictionaries, with probabilities of the original answer alone."""
    index = {label: k for k, label in enumerate(labels)}
    entries = rows.select(COLUMNS).to_pylist()
    for entry in entries:
        k = index.get(entry["y"])
        p, p2 = (None if k is None or entry[column] is None else entry[column][k] for column in ("p", "p2"))
        most_probable = labels[int(np.argmax(entry["p"]))] if labels and entry["p"] else entry["y"]
        moved = None if p is None or p2 is None else p2 - p
        entry |= {"evaluation": name, "most_probable": most_probable, "p": p, "p2": p2, "moved": moved}
    return entries

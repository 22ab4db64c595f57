"""Counterfactual tables that people have made (Gupta et al. 2022, "Is My Model Using the Right Evidence?", tables 7 and
8): accuracy on them and on what they were made of, and where a hypothesis-only model is right as well.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Expectation
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.challenge import (
    CHALLENGE,
    TITLE,
    UNANSWERED,
    challenge,
    challenge_lines,
    challenge_pairs,
    challenge_rows,
)
from heedful.records import Chart, Context, Line, MetricName, RunError, Shown

ANNOTATED: dict[str, Expectation] = {"annotated/flipped": "change", "annotated/preserved": "stay"}  # interventions
CELLS = tuple(product(("right", "wrong"), repeat=3))  # on the original, on the changed example; the hypothesis alone


def set_data(name: str) -> str:
    """The beginning of the uids of a set, and the data of its metrics."""
    return f"counterfactuals-{name}"


def set_changes(name: str) -> tuple[str, ...]:
    """Names of the interventions that change the examples of a set."""
    return *ANNOTATED, f"{TITLE}/{name}"


def rows_of_set(rows: pa.Table, name: str) -> pa.Table:
    """The rows of a set."""
    return rows.filter(pc.starts_with(rows["uid"], f"{set_data(name)}/"))


def _cell(of: MetricName, kind: str, cell: Sequence[str]) -> MetricName:
    return of._replace(statistic=f"{kind}/cells/{'_'.join(cell)}")


def eight_cells(
    rows: pa.Table,
    right_alone: Mapping[str, bool],
    of: MetricName,
    interventions: Sequence[str],
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> Numbers:
    """Pairs by who is right where (table 8; the paper prints the four cells in which the full model is right once).

    The full model right on the original, wrong on the changed example, while a hypothesis-only model is wrong on the
    original: the paper puts these errors down to what the language model knew beforehand (its second row).

    Args:
        rows: Rows of the full model, as for :func:`~heedful.metrics.tables.challenge.challenge`.
        right_alone: uid of each original to whether a hypothesis-only model is right on it.
        of: The names of the metrics but for the statistic.
        interventions: Names of the interventions that make challenge examples.
        kind: Which changed examples; the paper's are label-flipped counterfactual tables.
        seed: Keys the sample of changed examples.

    Returns:
        ``<kind>/cells/<a>_<b>_<c>``, each "right" or "wrong": a is the full model on the original, b the full model on
        the changed example, c the hypothesis-only model on the original. All eight shares of pairs, which sum to 1;
        pairs count in which the full model answers twice.
        Tables are the clusters of intervals.

    Raises:
        HeedfulError: As :func:`~heedful.metrics.tables.challenge.challenge_pairs`, or the hypothesis-only model did
            not predict an original.
    """
    every = challenge_pairs(rows, interventions, seed)[kind]
    pairs = [pair for pair in every if pair.answered]
    numbers = {}
    if missing := next((pair.uid for pair in pairs if pair.uid not in right_alone), None):
        raise RunError(f"The hypothesis-only model did not predict {missing}. Evaluate both on the same examples.")
    sides = [(pair.original, pair.is_right, right_alone[pair.uid]) for pair in pairs]
    cells = [tuple("right" if side else "wrong" for side in of_pair) for of_pair in sides]
    table = [pair.table for pair in pairs]
    reason = UNANSWERED if every else f"no example was changed with its label {kind}"
    for cell in CELLS:
        numbers[_cell(of, kind, cell)] = share([other == cell for other in cells], table, reason=reason)
    return numbers


def _score(rows: pa.Table, context: Context) -> Numbers:
    numbers: Numbers = {}
    for name in context.own["sets"]:
        of = MetricName(CHALLENGE, set_data(name))
        mine = rows_of_set(rows, name)
        numbers |= challenge(mine, of, set_changes(name), context.seed)
        if context.own["hypothesis_only"] is not None:
            numbers |= eight_cells(mine, context.own["hypothesis_only"], of, set_changes(name), seed=context.seed)
    return numbers


def _show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    lines = []
    for name in sorted(context.own["sets"]):
        of = MetricName(CHALLENGE, set_data(name))
        lines += challenge_lines(numbers, of)
        for original, changed, alone in CELLS:
            cell = _cell(of, "flipped", (original, changed, alone))
            if cell in numbers:
                lines.append(Line(str(cell), f"{original}, {changed}; alone: {alone}", level=1))
    return Shown(lines)


def _charts(context: Context) -> tuple[Chart, ...]:
    curves = {f"flipped: {name}": MetricName(CHALLENGE, set_data(name), "", "flipped") for name in context.own["sets"]}
    return (Chart("flipped", curves, "table_rows"),)


def _changed(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """The changed examples of each set and kind: bool [rows] each."""
    changed: dict[MetricName, np.ndarray] = {}
    for name in context.own["sets"]:
        mine = pc.starts_with(rows["uid"], f"{set_data(name)}/").to_numpy()
        of_set = challenge_rows(rows, MetricName(CHALLENGE, set_data(name)), set_changes(name))
        changed |= {full: mine & here for full, here in of_set.items()}
    return changed


METRIC = Metric("counterfactual_tables", _score, _show, _charts, rests_on=_changed)

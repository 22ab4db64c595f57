"""Counterfactual tables that people have made (Gupta et al. 2022, "Is My Model Using the Right Evidence?", tables 7 and
8): accuracy on them and on their originals, and how often a hypothesis-only model is right as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Expectation
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.challenge import CHALLENGE, FLIPPED, TITLE, UNANSWERED, challenge, challenge_pairs
from heedful.records import Context, MetricName, RunError

ANNOTATED: dict[str, Expectation] = {"annotated/flipped": "change", "annotated/preserved": "stay"}  # interventions
CELLS = tuple(product(("right", "wrong"), repeat=3))  # on the original, on the changed example; the hypothesis alone


@dataclass(frozen=True)
class CounterfactualTablesSettings(Settings):
    """Settings of counterfactual tables.

    Attributes:
        sets: Names of the sets.
        hypothesis_only: Whether a hypothesis-only model is right on each original, by uid; None without one.
    """

    sets: tuple[str, ...]
    hypothesis_only: Mapping[str, bool] | None


def set_data(name: str) -> str:
    """The prefix of the uids of a set, and the data name in its metrics."""
    return f"counterfactuals-{name}"


def set_changes(name: str) -> tuple[str, ...]:
    """Names of the interventions that change the examples of a set."""
    return *ANNOTATED, f"{TITLE}/{name}"


def is_of_set(rows: pa.Table, name: str) -> np.ndarray:
    """The rows of a set: bool [rows]."""
    return pc.starts_with(rows["uid"], f"{set_data(name)}/").to_numpy()


def rows_of_set(rows: pa.Table, name: str) -> pa.Table:
    """The rows of a set."""
    return rows.filter(pa.array(is_of_set(rows, name)))


def eight_cells(
    rows: pa.Table,
    right_alone: Mapping[str, bool],
    prefix: MetricName,
    interventions: Sequence[str],
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> Iterator[Number]:
    """Count pairs by which model is right on which example (table 8; the paper prints the four cells in which the full
    model is right exactly once).

    The second row of the paper has pairs in which the full model is right on the original and wrong on the changed
    example, while a hypothesis-only model is wrong on the original: the paper attributes these errors to prior
    knowledge of the language model.

    Args:
        rows: Rows of the full model, as for :func:`~heedful.metrics.tables.challenge.challenge`.
        right_alone: Whether a hypothesis-only model is right on an original, by uid.
        prefix: Metric name without the statistic.
        interventions: Names of the interventions that make challenge examples.
        kind: Kind of changed examples; the paper uses label-flipped counterfactual tables.
        seed: Keys the sample of changed examples.

    Yields:
        ``<kind>/cells/<a>_<b>_<c>``, each "right" or "wrong": a is the full model on the original, b the full model on
        the changed example, c the hypothesis-only model on the original. All eight shares of pairs, which sum to 1;
        a pair counts if the full model answers both examples.
        Tables are the clusters of intervals.

    Raises:
        HeedfulError: As :func:`~heedful.metrics.tables.challenge.challenge_pairs`, or the hypothesis-only model did
            not predict an original.
    """
    every = challenge_pairs(rows, interventions, seed)[kind]
    pairs = [pair for pair in every if pair.answered]
    if missing := next((pair.uid for pair in pairs if pair.uid not in right_alone), None):
        raise RunError(f"The hypothesis-only model did not predict {missing}. Evaluate both on the same examples.")
    sides = [(pair.original, pair.is_right, right_alone[pair.uid]) for pair in pairs]
    cells = [tuple("right" if side else "wrong" for side in of_pair) for of_pair in sides]
    table = [pair.table for pair in pairs]
    reason = UNANSWERED if every else f"no example was changed with its label {kind}"
    for cell in CELLS:
        original, changed, alone = cell
        measured = share([cell_of_pair == cell for cell_of_pair in cells], table, reason=reason)
        name = prefix._replace(statistic=f"{kind}/cells/{'_'.join(cell)}")
        yield Number(name, measured, f"{original}, {changed}; alone: {alone}", 1, headline=False)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """The numbers of all sets."""
    settings = CounterfactualTablesSettings.from_context(context)
    for name in sorted(settings.sets):
        prefix, is_mine = MetricName(CHALLENGE, set_data(name)), is_of_set(rows, name)
        mine = rows.filter(pa.array(is_mine))
        for number in challenge(mine, prefix, set_changes(name), context.seed):
            if number.changed is not None:
                changed = np.zeros(len(is_mine), dtype=bool)
                changed[is_mine] = number.changed
                number = replace(number, changed=changed)
            if number.name.statistic == FLIPPED:
                number = replace(number, curve=Curve(FLIPPED, f"{FLIPPED}: {name}", "table_rows"))
            yield number
        if settings.hypothesis_only is not None:
            yield from eight_cells(mine, settings.hypothesis_only, prefix, set_changes(name), seed=context.seed)


METRIC = Metric("counterfactual_tables", numbers)

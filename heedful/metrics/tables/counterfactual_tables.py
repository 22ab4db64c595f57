"""Counterfactual tables, changed by annotators: accuracy on them, and comparison with a hypothesis-only model.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), tables 7 and 8.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

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
CELLS = tuple(product(("right", "wrong"), repeat=3))  # original, changed example, hypothesis alone


@dataclass(frozen=True)
class CounterfactualTablesSettings(Settings):
    """Settings of counterfactual tables.

    Attributes:
        sets: Names of the sets of counterfactual tables.
        hypothesis_only: Maps uids of originals to whether a hypothesis-only model is right; None without such a model.
    """

    sets: tuple[str, ...]
    hypothesis_only: Mapping[str, bool] | None


def set_data(name: str) -> str:
    """Return "counterfactuals-<name>", the name of the data set of a set of counterfactual tables.

    Metric names contain it as the data set, and the uids of the examples of the set start with it and a slash.
    """
    return f"counterfactuals-{name}"


def set_changes(name: str) -> tuple[str, ...]:
    """Return the names of the interventions that create the changed examples of a set of counterfactual tables."""
    return *ANNOTATED, f"{TITLE}/{name}"


def is_of_set(rows: pa.Table, name: str) -> np.ndarray:
    """Whether rows belong to the set of counterfactual tables called ``name``: bool [rows]."""
    return pc.starts_with(rows["uid"], f"{set_data(name)}/").to_numpy()


def rows_of_set(rows: pa.Table, name: str) -> pa.Table:
    """Select the rows of the set of counterfactual tables called ``name``."""
    return rows.filter(pa.array(is_of_set(rows, name)))


def eight_cells(
    rows: pa.Table,
    right_alone: Mapping[str, bool],
    prefix: MetricName,
    interventions: Sequence[str],
    seed: int = 0,
) -> Iterator[Number]:
    """Measure how often the full and a hypothesis-only model are right on pairs with flipped labels (table 8).

    A pair is an original and its changed example; the pair counts if the full model answers both. A cell is one of the
    eight combinations of three predictions (see Yields), each right or wrong. The paper prints only the four cells in
    which the full model is right on exactly one of the two examples, and attributes an error on the changed example to
    prior knowledge if the hypothesis-only model is wrong on the original as well. For intervals, all pairs about a
    table form one cluster.

    Args:
        rows: Rows of the full model, which reads the tables, as for
            :func:`~heedful.metrics.tables.challenge.challenge`.
        right_alone: Maps uids of originals to whether the hypothesis-only model is right.
        prefix: Metric name without the statistic.
        interventions: Names of the interventions that make challenge examples.
        seed: Seed of the sample of changed examples.

    Yields:
        ``flipped/cells/<a>_<b>_<c>``, eight shares that sum to 1. Each letter is "right" or "wrong": a for the full
        model on the original, b for the full model on the changed example, c for the hypothesis-only model on the
        original.

    Raises:
        HeedfulError: As :func:`~heedful.metrics.tables.challenge.challenge_pairs`, or the hypothesis-only model did
            not predict an original.
    """
    every = challenge_pairs(rows, interventions, seed)[FLIPPED]
    pairs = [pair for pair in every if pair.answered]
    if missing := next((pair.uid for pair in pairs if pair.uid not in right_alone), None):
        raise RunError(f"The hypothesis-only model did not predict {missing}. Evaluate both on the same examples.")
    sides = [(pair.original, pair.is_right, right_alone[pair.uid]) for pair in pairs]
    cells = [tuple("right" if side else "wrong" for side in of_pair) for of_pair in sides]
    table = [pair.table for pair in pairs]
    reason = UNANSWERED if every else f"no example was changed with its label {FLIPPED}"
    for cell in CELLS:
        original, changed, alone = cell
        measured = share([cell_of_pair == cell for cell_of_pair in cells], table, reason=reason)
        name = prefix._replace(statistic=f"{FLIPPED}/cells/{'_'.join(cell)}")
        yield Number(name, measured, f"{original}, {changed}; alone: {alone}", 1, headline=False)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield, for each set of counterfactual tables, accuracy on the changed examples; and, if there is a
    hypothesis-only model, its comparison with the full model by :func:`eight_cells`.
    """
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

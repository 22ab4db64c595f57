"""Counterfactual tables, changed by annotators: accuracy on them, and comparison with a hypothesis-only model.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), tables 7 and 8.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.challenge import (
    CHALLENGE,
    FLIPPED,
    TITLE,
    UNANSWERED,
    WORDS,
    challenge,
    challenge_counts,
    challenge_pairs,
)
from heedful.records import Context, MetricName, RunError

ANNOTATED = {"annotated/flipped": True, "annotated/preserved": False}  # interventions, and whether the label changes
CELLS = tuple(product(("right", "wrong"), repeat=3))  # original, changed example, hypothesis alone


@dataclass(frozen=True)
class CounterfactualTablesSettings(Settings):
    """Settings of counterfactual tables: the names of the sets of tables, and, by uid of the original, whether a
    hypothesis-only model is right (None without such a model).
    """

    sets: tuple[str, ...]
    hypothesis_only: Mapping[str, bool] | None


def set_data(name: str) -> str:
    """Return the name of the data set of a set of counterfactual tables, with which the uids of its examples begin."""
    return f"counterfactuals-{name}"


def set_changes(name: str) -> tuple[str, ...]:
    """Return the names of the interventions that create the changed examples of a set of counterfactual tables."""
    return *ANNOTATED, f"{TITLE}/{name}"


def eight_cells(
    rows: pa.Table, right_alone: Mapping[str, bool], prefix: MetricName, interventions: Sequence[str], seed: int = 0
) -> Iterator[Number]:
    """Measure how often the full and a hypothesis-only model are right on pairs with flipped labels (table 8).

    A pair is an original and its changed example; the pair counts if the full model answers both. The paper prints only
    the four cells in which the full model is right on exactly one of the two examples, and attributes an error on the
    changed example to prior knowledge if the hypothesis-only model is wrong on the original as well. For intervals, all
    pairs about a table form one cluster. Arguments and errors are as for
    :func:`~heedful.metrics.tables.challenge.challenge`, with the rows of the full model, which reads the tables;
    ``right_alone`` maps uids of originals to whether the hypothesis-only model is right.

    Yields:
        ``flipped/cells/<a>_<b>_<c>``, eight shares that sum to 1. Each letter is "right" or "wrong": a for the full
        model on the original, b for the full model on the changed example, c for the hypothesis-only model on the
        original.

    Raises:
        HeedfulError: The hypothesis-only model did not predict an original.
    """
    every = challenge_pairs(rows, interventions, seed)[FLIPPED]
    pairs = [pair for pair in every if pair.answered]
    if missing := [pair.uid for pair in pairs if pair.uid not in right_alone]:
        raise RunError(f"The hypothesis-only model did not predict {missing[0]}. Evaluate both on the same examples.")
    sides = [(pair.original, pair.is_right, right_alone[pair.uid]) for pair in pairs]
    reason = UNANSWERED if every else f"no example was changed with its label {FLIPPED}"
    for cell in CELLS:
        hits = [cell == tuple("right" if side else "wrong" for side in of_pair) for of_pair in sides]
        measured = share(hits, [pair.table for pair in pairs], reason=reason)
        yield Number(prefix._replace(statistic=f"{FLIPPED}/cells/{'_'.join(cell)}"), measured)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield, for each set of counterfactual tables, accuracy on the changed examples; and, if there is a
    hypothesis-only model, its comparison with the full model by :func:`eight_cells`.
    """
    settings = CounterfactualTablesSettings.from_context(context)
    for name in sorted(settings.sets):
        prefix, changes = MetricName(CHALLENGE, set_data(name)), set_changes(name)
        is_mine = pc.starts_with(rows["uid"], f"{set_data(name)}/").to_numpy()
        mine = rows.filter(pa.array(is_mine))
        for number in challenge(mine, prefix, changes, context.seed):
            if number.changed is not None:
                changed = np.zeros(len(is_mine), dtype=bool)
                changed[is_mine] = number.changed
                number = replace(number, changed=changed)
            yield number
        yield {name: challenge_counts(mine, changes)}
        if settings.hypothesis_only is not None:
            yield from eight_cells(mine, settings.hypothesis_only, prefix, changes, context.seed)


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the accuracy on flipped examples of every set."""
    sets = sorted(CounterfactualTablesSettings.from_context(context).sets)
    return [MetricName(CHALLENGE, set_data(name), statistic=FLIPPED) for name in sets]


CELL_WORDS = {f"{CHALLENGE}/{FLIPPED}/cells/{a}_{b}_{c}": f"{a}, {b}; alone: {c}" for a, b, c in CELLS}
METRIC = Metric("counterfactual_tables", numbers, headlines, (CHALLENGE,), WORDS | CELL_WORDS)

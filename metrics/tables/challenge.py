"""Challenge examples (Gupta et al. 2022, "Is My Model Using the Right Evidence?", tables 4, 7 and 8): accuracy where a
change of hypothesis or table preserves the label, and where it flips it.

A changed example carries its own gold label; if that is the label of the original, the change preserves it. Pairs whose
original or changed label is neutral are left out. The models still have three classes: chance is not 50 %.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pyarrow as pa

from metrics.tables.by_table import by_table, difference, ratio, tables_of
from records import HeedError, Measurement, generator
from records.rows import BASE, same, select, strings, where

KINDS = ("preserved", "flipped")
SUBSAMPLES = 100
HALF_ERROR = "std_is_half_a_standard_error"
Which = tuple[str, str, str, int]  # intervention, part, variant, draw


@dataclass(frozen=True)
class Pair:
    """An original example and its changed examples of one kind, one of which is scored.

    Attributes:
        uid: The original example.
        table: Its table.
        original: Whether the prediction on the original is gold.
        changed: Whether the prediction on each changed example is the gold label of that.
        scored: The position of the one that is scored.
        which: Which change that is.
    """

    uid: str
    table: str
    original: bool
    changed: tuple[bool, ...]
    scored: int
    which: Which


def _right(rows: pa.Table) -> Iterator[tuple[str, Which, str | None, bool]]:
    """Of each changed example: uid, which change it is, gold label, and whether the prediction on it is that."""
    columns = [rows[name].to_pylist() for name in ("uid", "intervention", "part", "variant", "draw", "gold")]
    for uid, intervention, part, variant, draw, gold, right in zip(
        *columns, same(rows, "gold", "y2").tolist(), strict=True
    ):
        yield uid, (intervention, part, variant, draw), gold, right


def challenge_pairs(rows: pa.Table, interventions: Sequence[str], neutral: str, seed: int = 0) -> dict[str, list[Pair]]:
    """Original examples with what became of them, by kind, in ascending order of uids.

    An example may have been changed many times, or never. As in the paper, one changed example is sampled for each
    original and kind; which one depends on the seed, the uid and the kind alone, so that it is the same for all models.

    Args:
        rows: Base rows, and rows of the interventions, whose ``gold`` is the label of the changed example.
        interventions: Names of the interventions that make challenge examples.
        neutral: The label that is left out.
        seed: Keys the sample.

    Returns:
        "preserved" and "flipped" to their pairs.

    Raises:
        HeedError: An example has no gold label, or does not name its table.
    """
    base = select(rows, intervention=BASE)
    rows = rows.filter(pa.array(np.any([where(rows, intervention=name) for name in interventions], axis=0)))
    label = dict(zip(strings(base, "uid"), strings(base, "gold"), strict=True))
    original = dict(zip(strings(base, "uid"), same(base, "gold", "y").tolist(), strict=True))
    found: dict[str, dict[str, list[tuple[Which, bool]]]] = {kind: defaultdict(list) for kind in KINDS}
    for uid, which, gold, right in _right(rows):
        if gold is None or label[uid] is None:
            raise HeedError(f"{uid} or an example changed from it has no gold label: it cannot be a challenge example.")
        if neutral not in (gold, label[uid]):
            found["preserved" if gold == label[uid] else "flipped"][uid].append((which, right))
    uids = sorted(set().union(*found.values()))
    table = dict(zip(uids, tables_of(pa.concat_tables([base, rows]), uids), strict=True))
    pairs: dict[str, list[Pair]] = {}
    for kind, of_uid in found.items():
        pairs[kind] = []
        for uid, changes in sorted(of_uid.items()):
            changes.sort()
            scored = int(generator(seed, "challenge", kind, uid).integers(len(changes)))
            rights = tuple(right for _, right in changes)
            pairs[kind].append(Pair(uid, table[uid], original[uid], rights, scored, changes[scored][0]))
    return pairs


def challenge_counts(rows: pa.Table, interventions: Sequence[str], neutral: str) -> dict[str, int]:
    """How many examples :func:`challenge` rests on, and how many base examples it leaves out.

    Returns:
        "originals", "tables"; "preserved", "flipped", originals with such a change; "preserved_changes",
        "flipped_changes", the changes they have, of which one each is scored; "neutral", base examples with that gold
        label; "unchanged", other base examples without a challenge example.
    """
    pairs, base = challenge_pairs(rows, interventions, neutral), select(rows, intervention=BASE)
    table = {pair.uid: pair.table for kind in KINDS for pair in pairs[kind]}
    counts = {"originals": len(table), "tables": len(set(table.values()))}
    counts |= {kind: len(pairs[kind]) for kind in KINDS}
    counts |= {f"{kind}_changes": sum(len(pair.changed) for pair in pairs[kind]) for kind in KINDS}
    left_out = int(where(base, gold=neutral).sum())
    return counts | {"neutral": left_out, "unchanged": base.num_rows - left_out - len(table)}


def subsampled(hits: np.ndarray, key: tuple[str | int, ...], reason: str) -> Measurement:
    """The paper's "average accuracy and standard deviation across 100 samplings, with 80% of the data selected".

    Sampled without replacement, n of 0.8 n examples differ from all by half the standard error of n independent ones:
    sqrt((1 - 0.8) / 0.8) = 1/2. This is no error of the accuracy, and sees no table; a flag says so.

    Args:
        hits: [examples], what is averaged.
        key: Keys the samples.
        reason: Why there is none, where there are no examples.

    Returns:
        Mean and sample standard deviation (ddof 1; the paper does not say) of 100 means over int(0.8 n) examples, at
        least one. No interval.
    """
    n = len(hits)
    if not n:
        return Measurement(None, 0, flags=(HALF_ERROR,), reason=reason)
    rng, size = generator("subsamples", *key), max(1, 4 * n // 5)
    means = tuple(float(np.mean(hits[rng.permutation(n)[:size]])) for _ in range(SUBSAMPLES))
    std = float(np.std(means, ddof=1))
    return Measurement(float(np.mean(means)), n, SUBSAMPLES, std, per_draw=means, flags=(HALF_ERROR,))


def challenge(
    rows: pa.Table, data: str, interventions: Sequence[str], neutral: str, seed: int = 0
) -> dict[str, Measurement]:
    """Accuracy of one model on original, label-preserved and label-flipped examples (tables 4 and 7).

    Args:
        rows: Base rows and rows of the interventions, of a full or of a hypothesis-only model.
        data: Name of the data set, for the metric names.
        interventions: Names of the interventions that make challenge examples.
        neutral: The label that is left out.
        seed: Keys the sample of changed examples (:func:`challenge_pairs`) and the bootstrap.

    Returns:
        Under ``challenge/<data>/``: ``original``, accuracy on the originals of the others; ``preserved`` and
        ``flipped``, on one changed example of each original that has one; ``<...>/subsamples``, for each of the three
        the paper's mean and standard deviation over samples of 80 %; ``<preserved or flipped>/every``, the mean over
        originals of their accuracy on all of their changed examples; ``<...>/drop``, accuracy on the originals of this
        kind less that on the changed ones. Intervals resample tables.

    Raises:
        HeedError: As :func:`challenge_pairs`.
    """
    pairs, found = challenge_pairs(rows, interventions, neutral, seed), {}

    def measure(suffix: str, values: Sequence[float], table: Sequence[str], reason: str, *others: np.ndarray) -> None:
        name, one = f"challenge/{data}/{suffix}", np.ones(len(values))
        columns = (np.array(values, dtype=np.float64), one)
        formula = difference if others else ratio
        found[name] = by_table((*columns, *others), table, (seed, name), len(values), reason, formula)
        if not suffix.endswith(("/every", "/drop")):
            found[f"{name}/subsamples"] = subsampled(columns[0], (seed, name), reason)

    originals = {pair.uid: pair for kind in KINDS for pair in pairs[kind]}
    chosen = [originals[uid] for uid in sorted(originals)]
    measure("original", [p.original for p in chosen], [p.table for p in chosen], "no example has a challenge example")
    for kind in KINDS:
        table, reason = [p.table for p in pairs[kind]], f"no example was changed with its label {kind}"
        scored = np.array([p.changed[p.scored] for p in pairs[kind]], dtype=np.float64)
        measure(kind, scored, table, reason)
        measure(f"{kind}/every", [float(np.mean(p.changed)) for p in pairs[kind]], table, reason)
        before = [p.original for p in pairs[kind]]
        measure(f"{kind}/drop", before, table, reason, scored, np.ones(len(scored)))
    return found


def eight_cells(
    full: pa.Table,
    hypothesis_only: pa.Table,
    data: str,
    interventions: Sequence[str],
    neutral: str,
    kind: Literal["preserved", "flipped"] = "flipped",
    seed: int = 0,
) -> dict[str, Measurement]:
    """Pairs by who is right where (table 8; the paper prints the four cells in which the full model is right once).

    The full model right on the original, wrong on the changed example, while a hypothesis-only model is wrong on the
    original: the paper puts these errors down to what the language model knew beforehand (its second row).

    Args:
        full: Rows of the full model, as for :func:`challenge`.
        hypothesis_only: Rows of a hypothesis-only model; their base rows count.
        data: Name of the data set, for the metric names.
        interventions: Names of the interventions that make challenge examples.
        neutral: The label that is left out.
        kind: Which changed examples; the paper's are label-flipped counterfactual tables.
        seed: Keys the sample of changed examples and the bootstrap.

    Returns:
        ``challenge/<data>/<kind>/cells/<a>_<b>_<c>``, each "right" or "wrong": a is the full model on the original, b
        the full model on the changed example, c the hypothesis-only model on the original. All eight shares of pairs,
        which sum to 1. Intervals resample tables.

    Raises:
        HeedError: As :func:`challenge_pairs`, or the hypothesis-only model did not predict an original.
    """
    pairs, base = challenge_pairs(full, interventions, neutral, seed)[kind], select(hypothesis_only, intervention=BASE)
    partial = dict(zip(strings(base, "uid"), same(base, "gold", "y").tolist(), strict=True))
    missing = next((pair.uid for pair in pairs if pair.uid not in partial), None)
    if missing is not None:
        raise HeedError(f"The hypothesis-only model did not predict {missing}: evaluate both on the same examples.")
    cells = [(pair.original, pair.changed[pair.scored], partial[pair.uid]) for pair in pairs]
    table, one, found = [pair.table for pair in pairs], np.ones(len(pairs)), {}
    for cell in product((True, False), repeat=3):
        name = f"challenge/{data}/{kind}/cells/{'_'.join('right' if side else 'wrong' for side in cell)}"
        here = np.array([other == cell for other in cells], dtype=np.float64)
        reason = f"no example was changed with its label {kind}"
        found[name] = by_table((here, one), table, (seed, name), len(pairs), reason)
    return found
